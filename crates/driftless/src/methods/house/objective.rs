//! What teaches PF-net's filter: the squared error at known poses and the pseudo-likelihood of a block, and how they
//! pull at the log-likelihoods of all particles.
//!
//! Poses do not depend on the network, so everything is a function of its numbers a_t(i), step t, particle i:
//!
//! log w_t = log w_{t-1} + a_t, normalised for every use; drawn anew after a step, if at all:
//! q = α w + (1-α)/K, ancestors from q, log w ← log w - log q (PF-net's soft resampling; all alike for α = 1)
//!
//! L = λ₁ Σ_known (|0.02 (Σ w x - x*)|² + 0.36 (Σ w wrap(θ - θ*))²) - λ₂ Q, or, in the method `driftless`,
//! L = -λ₁ Σ_known log Σ w exp(-½ (|0.02 (x - x*)|² / h² + wrap(θ - θ*)² / k²)): how dense the belief is at the truth.
//! Q = Σ_i w_T(i) Σ_t (log p(s_t | s_{t-1}) + log l_t(i)), over each particle's own past.

use crate::resample::choose_by_markers;
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::wrap;

/// What a squared radian counts beside a squared metre: PF-net's.
pub(super) const HEADING: f64 = 0.36;
/// The least weight of which a logarithm is taken.
const LEAST: f64 = 1e-300;

/// By what a belief is judged where the pose is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judge {
    /// The squared error of its mean.
    SquaredError,
    /// Its density.
    Density,
}

/// h in metres and k in radians.
const WIDTHS: [f64; 2] = [0.15, 0.175];

/// What counts how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// By what beliefs are judged.
    pub(super) judge: Judge,
    /// λ₁ over the number of poses that are expected to be known in a batch.
    pub(super) known: f64,
    /// λ₂ over the number of trajectories.
    pub(super) pseudo: f64,
    /// Whether log l is normalised over the particles.
    pub(super) normalised: bool,
    /// α; 0 is no resampling.
    pub(super) softness: f64,
    /// Whether a block goes on where another one ended, with the motion in between.
    pub(super) goes_on: bool,
}

/// One step, as the way back needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// log l of all particles before drawing.
    log_likelihoods: Vec<f64>,
    /// Normalised weights after the network, before drawing.
    weighted: Vec<f64>,
    /// Whose child each particle is, if they were drawn.
    ancestors: Option<Vec<usize>>,
    /// Normalised weights in the end.
    weights: Vec<f64>,
    /// ∂L/∂log w, by what is known of the pose.
    by_log_weights: Option<Vec<f64>>,
}

/// A trajectory's block of steps.
#[derive(Clone, Debug)]
pub(super) struct Block {
    terms: Terms,
    /// log w of all particles, normalised.
    log_weights: Vec<f64>,
    /// log p and log l along each particle's past in this block.
    past: Vec<f64>,
    steps: Vec<Step>,
    /// The squared errors, before their weight.
    pub(super) error: f64,
    /// What beliefs are judged by, before its weight.
    pub(super) judged: f64,
    /// How many poses were known, by how surely.
    pub(super) known: f64,
}

/// log Σ exp.
fn log_sum(numbers: &[f64]) -> f64 {
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + numbers.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

fn normalise(numbers: &mut [f64]) {
    let sum = log_sum(numbers);
    for x in numbers {
        *x -= sum;
    }
}

impl Block {
    /// Begins with carried weights, which are constants.
    pub(super) fn new(terms: Terms, log_weights: Vec<f64>) -> Self {
        let past = vec![0.0; log_weights.len()];
        Self { terms, log_weights, past, steps: Vec::new(), error: 0.0, judged: 0.0, known: 0.0 }
    }

    /// What the network says of all particles; `uniforms` choose ancestors. Returns them, if particles were drawn.
    pub(super) fn weigh(&mut self, mut log_l: Vec<f64>, uniforms: &[f64]) -> Option<&[usize]> {
        self.log_weights.iter_mut().zip(&log_l).for_each(|(w, a)| *w += a);
        normalise(&mut self.log_weights);
        if self.terms.normalised {
            normalise(&mut log_l);
        }
        self.past.iter_mut().zip(&log_l).for_each(|(past, log_l)| *past += log_l);
        let weighted: Vec<f64> = self.log_weights.iter().map(|w| w.exp()).collect();
        let ancestors = (self.terms.softness > 0.0).then(|| self.draw(&weighted, uniforms));
        let weights = self.log_weights.iter().map(|w| w.exp()).collect();
        self.steps.push(Step { log_likelihoods: log_l, weighted, ancestors, weights, by_log_weights: None });
        self.steps.last().and_then(|step| step.ancestors.as_deref())
    }

    /// Multinomial resampling from α w + (1-α)/K.
    fn draw(&mut self, weighted: &[f64], uniforms: &[f64]) -> Vec<usize> {
        let (softness, count) = (self.terms.softness, weighted.len());
        let shares: Vec<f64> =
            weighted.iter().map(|w| softness * w + (1.0 - softness) / count as f64).collect();
        let mut ancestors = Vec::new();
        choose_by_markers(&shares, uniforms[..count].iter().copied(), &mut Vec::new(), &mut ancestors);
        self.log_weights = ancestors.iter().map(|&i| (weighted[i].max(LEAST) / shares[i]).ln()).collect();
        if softness >= 1.0 {
            self.log_weights.fill(0.0);
        }
        normalise(&mut self.log_weights);
        self.past = ancestors.iter().map(|&i| self.past[i]).collect();
        ancestors
    }

    /// The true pose of the step that was weighed last, and how certain it is, up to 1.
    pub(super) fn know(&mut self, poses: &[[f64; 3]], truth: [f64; 3], certainty: f64) {
        let step = self.steps.last_mut().expect("a step was weighed");
        let differences = |pose: &[f64; 3]| {
            let [x, y] = [0, 1].map(|k| METRES_PER_PIXEL * (pose[k] - truth[k]));
            [x, y, wrap(pose[2] - truth[2])]
        };
        let mut mean = [0.0; 3];
        for (pose, weight) in poses.iter().zip(&step.weights) {
            mean.iter_mut().zip(differences(pose)).for_each(|(mean, x)| *mean += weight * x);
        }
        let [x, y, heading] = mean;
        let error = x * x + y * y + HEADING * heading * heading;
        self.error += certainty * error;
        self.known += certainty;
        let (judged, mut by) = match self.terms.judge {
            Judge::SquaredError => {
                let by = |pose: &[f64; 3]| {
                    let d = differences(pose);
                    2.0 * (x * d[0] + y * d[1] + HEADING * heading * d[2])
                };
                let (by, mut sum) = (poses.iter().map(by).collect::<Vec<f64>>(), vec![0.0; poses.len()]);
                add_through_softmax(&step.weights, &by, &mut sum);
                (error, sum)
            }
            Judge::Density => density(&step.weights, poses.iter().map(differences)),
        };
        self.judged += certainty * judged;
        for by in &mut by {
            *by *= certainty * self.terms.known;
        }
        step.by_log_weights = Some(by);
    }

    /// The log density of the move that all particles have just made.
    pub(super) fn moved(&mut self, log_densities: impl Iterator<Item = f64>) {
        self.past.iter_mut().zip(log_densities).for_each(|(past, log_p)| *past += log_p);
    }

    /// Weights of the step that was weighed last.
    pub(super) fn weights(&self) -> &[f64] {
        &self.steps.last().expect("a step was weighed").weights
    }

    /// Q.
    pub(super) fn pseudo_likelihood(&self) -> f64 {
        self.weights().iter().zip(&self.past).map(|(weight, past)| weight * past).sum()
    }

    /// Normalised log weights to carry on with.
    pub(super) fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// ∂L/∂a for all particles, step after step.
    pub(super) fn pulls(&self) -> Vec<f32> {
        let count = self.past.len();
        let mut pulls = vec![0.0; count * self.steps.len()];
        let last = self.weights();
        // By w_T, and by each particle's past.
        let by_weights: Vec<f64> = self.past.iter().map(|past| -self.terms.pseudo * past).collect();
        let mut by_past: Vec<f64> = last.iter().map(|weight| -self.terms.pseudo * weight).collect();
        let mut by_log_weights = vec![0.0; count];
        add_through_softmax(last, &by_weights, &mut by_log_weights);
        for (step, pulls) in self.steps.iter().zip(pulls.chunks_exact_mut(count)).rev() {
            if let Some(by) = &step.by_log_weights {
                by_log_weights.iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
            }
            if let Some(ancestors) = &step.ancestors {
                by_log_weights = self.back_to_parents(step, ancestors, &by_log_weights);
                by_past = to_parents(ancestors, &by_past);
            }
            // Weights are normalised again after the network: only differences count.
            let sum: f64 = by_log_weights.iter().sum();
            by_log_weights.iter_mut().zip(&step.weighted).for_each(|(by, weight)| *by -= weight * sum);
            let total: f64 = if self.terms.normalised { by_past.iter().sum() } else { 0.0 };
            for (i, pull) in pulls.iter_mut().enumerate() {
                // Normalised numbers are at most 0; of others nothing is taken, as the total is 0.
                let share = step.log_likelihoods[i].min(0.0).exp();
                *pull = (by_log_weights[i] + by_past[i] - share * total) as f32;
            }
        }
        pulls
    }

    /// Back through soft resampling: ∂ log w of parents, given those of children.
    fn back_to_parents(&self, step: &Step, ancestors: &[usize], by: &[f64]) -> Vec<f64> {
        let (softness, count) = (self.terms.softness, by.len() as f64);
        let uniform = (1.0 - softness) / count;
        let of_parents = to_parents(ancestors, by);
        let share = |(by, w): (&f64, &f64)| {
            // log w - log q: q's own derivative is α w / q; none is left where all weights became alike.
            if softness >= 1.0 { 0.0 } else { by * uniform / (softness * w + uniform) }
        };
        of_parents.iter().zip(&step.weighted).map(share).collect()
    }
}

/// -log of a belief's density at the truth, and its derivatives by log w: the weights less those that knowing the
/// truth would give. Given how far each particle is from it, in metres and radians.
fn density(weights: &[f64], apart: impl Iterator<Item = [f64; 3]>) -> (f64, Vec<f64>) {
    let log_kernel = |[x, y, heading]: [f64; 3]| {
        -0.5 * ((x * x + y * y) / WIDTHS[0].powi(2) + (heading / WIDTHS[1]).powi(2))
    };
    let terms = weights.iter().zip(apart).map(|(weight, d)| weight.max(LEAST).ln() + log_kernel(d));
    let terms: Vec<f64> = terms.collect();
    let sum = log_sum(&terms);
    (-sum, weights.iter().zip(&terms).map(|(weight, term)| weight - (term - sum).exp()).collect())
}

/// Sums over children, parent by parent.
fn to_parents(ancestors: &[usize], of_children: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; of_children.len()];
    ancestors.iter().zip(of_children).for_each(|(&parent, x)| sums[parent] += x);
    sums
}

/// Adds ∂ log w of normalised weights w.
fn add_through_softmax(weights: &[f64], by: &[f64], sum: &mut [f64]) {
    let mean: f64 = weights.iter().zip(by).map(|(weight, by)| weight * by).sum();
    for ((sum, weight), by) in sum.iter_mut().zip(weights).zip(by) {
        *sum += weight * (by - mean);
    }
}

#[cfg(test)]
mod tests;
