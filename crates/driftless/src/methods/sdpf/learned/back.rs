//! The paper's losses of one sequence, and the way back through particles to networks and features.
//!
//! Two kinds of derivatives meet at each step. Those of the error at labels go through weights and poses to all steps
//! before. Those of Q, whose weights and positions are held, end at the networks of their own step.

use super::follow::{Followed, Memory, residuals};
use super::material::Material;
use super::steps::{Nets, StepMemory};
use crate::methods::trace_loss::{Paths, TraceLoss, inherited};
use crate::objective::Likelihoods;
use crate::ops::MovedGradient;
use driftless_core::effective_sample_size;
use driftless_kernels::Cpu;
use driftless_kernels::scan::Trace;
use driftless_world::pose::wrap;

/// A squared difference, at most, as for tensors.
const MOST: f64 = 1e30;

/// Factors of all terms.
pub(super) struct Terms {
    /// Weight of each labelled step's squared error.
    pub(super) labels: f64,
    /// What one counts as in each coordinate.
    pub(super) scale: [f64; 3],
    /// Weight of -Q of each block.
    pub(super) paths: f64,
    /// Steps of a block.
    pub(super) block: usize,
    /// log μ.
    pub(super) start: f64,
}

/// Derivatives of the error at labels, by log l of all particles, and by the mean of each step.
struct ByLabels {
    log_likelihoods: Vec<f32>,
    means: Vec<Option<[f64; 3]>>,
}

/// Squared error, Q and effective sample sizes, all summed up; adds derivatives by networks, and those by the features of
/// this sequence behind those there are.
pub(super) fn way_back(
    nets: &Nets,
    (material, k): (&Material, usize),
    terms: &Terms,
    followed: &Followed,
    memory: &mut Memory,
    (_, gradient, by_seen): &mut ([f64; 3], MovedGradient, Vec<f32>),
) -> [f64; 3] {
    let [_, steps, count] = material.sizes;
    let trace = &followed.trace;
    let (squared, by_labels) = error_at_labels(trace, count, material.labels(k), terms);
    let (q, held) = paths(followed, count, terms);
    let effective = trace.weights.chunks_exact(count).map(effective_sample_size).sum();
    let from = by_seen.len();
    by_seen.resize(from + steps * material.width(), 0.0);
    let way = Way { nets, material, k, terms, trace, by_labels: &by_labels, held: &held };
    way.go_back(memory, gradient, &mut by_seen[from..]);
    [squared, q, effective]
}

/// Σ ((s* - ŝ) / scale)² over labelled steps.
fn error_at_labels(
    trace: &Trace,
    count: usize,
    labels: &[Option<[f32; 3]>],
    terms: &Terms,
) -> (f64, ByLabels) {
    let mut loss = TraceLoss::new(trace, count);
    let (mut sum, mut means) = (0.0, vec![None; labels.len()]);
    for (t, label) in labels.iter().enumerate() {
        let Some(label) = label.filter(|_| terms.labels > 0.0) else { continue };
        let own = loss.own(t);
        let mean = Mean::of(trace, own.clone());
        let mut pull = [0.0; 3];
        for k in 0..3 {
            let apart = f64::from(label[k]) - mean.state[k];
            let apart = if k == 2 { wrap(apart) } else { apart } / terms.scale[k];
            sum += (apart * apart).min(MOST);
            if apart * apart <= MOST {
                pull[k] = -2.0 * terms.labels * apart / terms.scale[k];
            }
        }
        for (i, by) in own.zip(loss.by_weights(t)) {
            *by += f64::from(trace.weights[i]) * mean.by_weight(trace, i, pull);
        }
        means[t] = Some(pull);
    }
    let mut log_likelihoods = vec![0.0; trace.weights.len()];
    loss.write(1.0, &mut log_likelihoods);
    (sum, ByLabels { log_likelihoods, means })
}

/// The mean state of a step, with Σ w cos and Σ w sin.
struct Mean {
    state: [f64; 3],
    resultant: [f64; 2],
}

impl Mean {
    fn of(trace: &Trace, own: std::ops::Range<usize>) -> Self {
        let mean =
            |of: &dyn Fn(usize) -> f64| own.clone().map(|i| f64::from(trace.weights[i]) * of(i)).sum::<f64>();
        let heading = |i: usize| f64::from(trace.poses[2][i]);
        let resultant = [mean(&|i| heading(i).cos()), mean(&|i| heading(i).sin())];
        let [x, y] = [0, 1].map(|k| mean(&|i| f64::from(trace.poses[k][i])));
        // Opposite headings have no mean, and no derivatives.
        let nowhere = resultant[0].powi(2) + resultant[1].powi(2) < 1e-24;
        let heading = if nowhere { 0.0 } else { resultant[1].atan2(resultant[0]) };
        Self { state: [x, y, heading], resultant: if nowhere { [f64::INFINITY, 0.0] } else { resultant } }
    }

    /// The derivative of the mean along `pull` by a particle's weight; a constant that is the same for all is left out.
    fn by_weight(&self, trace: &Trace, i: usize, pull: [f64; 3]) -> f64 {
        let apart = [0, 1].map(|k| f64::from(trace.poses[k][i]) - self.state[k]);
        let (sine, cosine) = f64::from(trace.poses[2][i]).sin_cos();
        let [c, s] = self.resultant;
        let turn = if c.is_finite() { (sine * c - cosine * s) / (c * c + s * s) } else { 0.0 };
        pull[0] * apart[0] + pull[1] * apart[1] + pull[2] * turn
    }

    /// The derivative by a particle's heading, but for its weight.
    fn by_heading(&self, heading: f32) -> f64 {
        let (sine, cosine) = f64::from(heading).sin_cos();
        let [c, s] = self.resultant;
        if c.is_finite() { (cosine * c + sine * s) / (c * c + s * s) } else { 0.0 }
    }
}

/// Σ Q of all whole blocks, and the derivatives of its part of the loss by what each step adds to log η.
fn paths(followed: &Followed, count: usize, terms: &Terms) -> (f64, Vec<f32>) {
    let Followed { trace, law } = followed;
    let steps = trace.len();
    let mut held = vec![0.0; steps * count];
    if terms.paths <= 0.0 {
        return (0.0, held);
    }
    let mut law = law.clone();
    let loss = TraceLoss::new(trace, count);
    let choices = Paths {
        likelihoods: Likelihoods::Literal,
        first_likelihood: true,
        hold_weights: true,
        from: 0,
        steps,
    };
    let mut sum = 0.0;
    for start in (0..steps / terms.block).map(|b| b * terms.block) {
        let block = start..start + terms.block;
        law[start * count..(start + 1) * count].fill(terms.start);
        let weights = &trace.weights[loss.own(block.end - 1)];
        let eta = loss.log_eta(&choices, block.clone(), &law);
        sum += weights.iter().zip(&eta).map(|(&w, eta)| f64::from(w) * eta).sum::<f64>();
        let mut lines: Vec<f64> = weights.iter().map(|&w| -terms.paths * f64::from(w)).collect();
        for t in block.rev() {
            let own = loss.own(t);
            held[own.clone()].iter_mut().zip(&lines).for_each(|(held, line)| *held = *line as f32);
            lines = inherited(&trace.ancestors[own], &lines);
        }
    }
    (sum, held)
}

/// All that is known on the way back.
struct Way<'a> {
    nets: &'a Nets,
    material: &'a Material,
    k: usize,
    terms: &'a Terms,
    trace: &'a Trace,
    by_labels: &'a ByLabels,
    held: &'a [f32],
}

/// Derivatives by poses, as columns.
type ByPoses = [Vec<f32>; 3];

impl Way<'_> {
    fn go_back(&self, memory: &mut Memory, gradient: &mut MovedGradient, by_seen: &mut [f32]) {
        let ([_, steps, count], width) = (self.material.sizes, self.material.width());
        let mut by_poses: ByPoses = std::array::from_fn(|_| vec![0.0; count]);
        // Whether a label comes at this step or later.
        let mut labelled = false;
        for t in (0..steps).rev() {
            if let Some(pull) = self.by_labels.means[t] {
                labelled = true;
                self.add_mean(t * count..(t + 1) * count, pull, &mut by_poses);
            }
            let Memory { steps, room, .. } = memory;
            let step = &mut steps[t];
            step.take_room(room);
            self.through_match(t, step, (gradient, &mut by_seen[t * width..][..width]), &mut by_poses);
            if t > 0 {
                self.through_motion((t, labelled), step, gradient, &mut by_poses);
                self.to_parents(t, &mut by_poses);
            }
            step.take_room(room);
        }
    }

    fn through_match(
        &self,
        t: usize,
        step: &mut StepMemory,
        (gradient, by_seen): (&mut MovedGradient, &mut [f32]),
        by_poses: &mut ByPoses,
    ) {
        let count = self.material.sizes[2];
        let Some(seen) = self.material.at(self.k, t).seen else { return };
        let moving = &self.by_labels.log_likelihoods[t * count..][..count];
        let both = moving.iter().zip(&self.held[t * count..][..count]);
        let learned: Vec<f32> = both.map(|(a, b)| a + b).collect();
        let (net, sinks) = (&self.nets.networks.poses, (&mut gradient.poses, by_seen));
        step.matched.backward_to_poses(net, Cpu::best(), (seen, &learned, moving), sinks, by_poses);
    }

    fn through_motion(
        &self,
        (t, labelled): (usize, bool),
        step: &mut StepMemory,
        gradient: &mut MovedGradient,
        by_poses: &mut ByPoses,
    ) {
        if self.nets.given(self.material.at(self.k, t).action).is_none() {
            return;
        }
        let (learned, moving) = (self.by_displacement(t, by_poses), by_poses.clone());
        if learned.iter().flatten().all(|&by| by == 0.0) && !labelled {
            return;
        }
        let pulls = (&learned, labelled.then_some(&moving));
        step.motion.backward(&self.nets.networks.motion, Cpu::best(), pulls, &mut gradient.motion, by_poses);
    }

    /// The error of a step's mean, by its particles.
    fn add_mean(&self, own: std::ops::Range<usize>, pull: [f64; 3], by_poses: &mut ByPoses) {
        let mean = Mean::of(self.trace, own.clone());
        for (at, i) in own.enumerate() {
            let weight = f64::from(self.trace.weights[i]);
            let turn = mean.by_heading(self.trace.poses[2][i]);
            for (by, pull) in by_poses.iter_mut().zip([pull[0], pull[1], pull[2] * turn]) {
                by[at] += (weight * pull) as f32;
            }
        }
    }

    /// By the displacements of a step: those of the error at labels, and of log g, which knows the noise alone.
    fn by_displacement(&self, t: usize, by_poses: &ByPoses) -> ByPoses {
        let (count, now) = (self.material.sizes[2], self.material.at(self.k, t));
        let mut by = by_poses.clone();
        if t.is_multiple_of(self.terms.block) {
            return by;
        }
        let std = self.nets.noise;
        for (i, (z, held)) in now.noise.iter().zip(&self.held[t * count..][..count]).enumerate() {
            let z = residuals(*z, std[2]);
            (0..3).for_each(|k| by[k][i] += held * z[k] / std[k]);
        }
        by
    }

    /// What particles know, added up at their ancestors.
    fn to_parents(&self, t: usize, by_poses: &mut ByPoses) {
        if !self.trace.resampled[t] {
            return;
        }
        let count = self.material.sizes[2];
        let ancestors = &self.trace.ancestors[t * count..][..count];
        for column in by_poses {
            let own = std::mem::replace(column, vec![0.0; count]);
            ancestors.iter().zip(own).for_each(|(&ancestor, by)| column[ancestor as usize] += by);
        }
    }
}
