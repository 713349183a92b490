//! Kernel density and Q of the released code, and what they pull at.

use super::super::{BANDWIDTH, Choices, PROCESS_NOISE};
use super::Material;
use crate::learn::{Experiment, Normalisation};
use crate::objective::{BlockStart, LEAST_DENSITY};
use driftless_kernels::scan::Trace;
use driftless_kernels::training::{Figures, SequenceLoss};
use driftless_world::pose::wrap;
use std::f64::consts::TAU;
use std::ops::Range;

/// Factors of all terms.
pub(super) struct Weights {
    /// What one counts as in each coordinate, times the kernel's σ.
    kernel: [f64; 3],
    /// Of a kernel, at its middle.
    peak: f64,
    /// What -log density is divided by, and its weight in the objective.
    labels: [f64; 2],
    /// Blocks, their steps, what -Q is divided by, and its weight in the objective.
    blocks: usize,
    block: usize,
    paths: [f64; 2],
    /// The log-density of a first state.
    start: f64,
}

impl Weights {
    pub(super) fn of(
        choices: &Choices,
        experiment: &Experiment,
        normalisation: &Normalisation,
        sizes: [usize; 3],
    ) -> Self {
        let [sequences, steps, _] = sizes;
        let share = sequences as f64 * steps as f64 * experiment.label_fraction;
        let law = choices.pseudo_likelihood(normalisation);
        let BlockStart::Carried(start) = law.start else {
            unreachable!("the released code carries blocks on")
        };
        let block = law.block.min(steps);
        let blocks = steps / block;
        Self {
            kernel: normalisation.step_size.map(|size| BANDWIDTH * size),
            peak: 1.0 / (TAU.sqrt() * BANDWIDTH),
            labels: [if share > 0.0 { share } else { f64::INFINITY }, choices.labels],
            blocks,
            block,
            paths: [(sequences * blocks) as f64, choices.paths],
            start,
        }
    }
}

/// What the released code trains by its labels and paths.
pub(super) struct Released<'a> {
    pub weights: &'a Weights,
    pub material: &'a Material,
}

impl SequenceLoss for Released<'_> {
    /// The mean -log density, the mean -Q, and the sum of effective sample sizes; of whole sequences, for Q counts
    /// descendants at their end.
    fn gradient(&self, lesson: usize, trace: &Trace, _: Range<usize>, log_gradients: &mut [f32]) -> Figures {
        let ([_, steps, count], labels) = (self.material.sizes, self.material.labels(lesson));
        // Derivatives by log w of each step, which gradients are made of in the end.
        let mut by_weights = vec![0.0; log_gradients.len()];
        let weights = |t: usize| &trace.weights[t * count..][..count];
        let mut density = 0.0;
        for (t, label) in labels.iter().enumerate() {
            if let Some(label) = label {
                density += self.label(trace, t * count..(t + 1) * count, label, &mut by_weights);
            }
        }
        let q = if self.weights.paths[1] > 0.0 {
            self.paths(self.material.noise(lesson), trace, count, &mut by_weights, log_gradients)
        } else {
            0.0
        };
        // log w = log l - log Σ l: ∂ / ∂ log l = ∂ / ∂ log w - w Σ ∂ / ∂ log w. The first step weighs nothing.
        for t in 1..steps {
            let by = &by_weights[t * count..][..count];
            let sum: f64 = by.iter().sum();
            let own = log_gradients[t * count..][..count].iter_mut();
            own.zip(by)
                .zip(weights(t))
                .for_each(|((pull, by), &w)| *pull += (by - f64::from(w) * sum) as f32);
        }
        let size = |t: usize| 1.0 / weights(t).iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
        let sizes = (0..steps).map(size).sum();
        [density / self.weights.labels[0], -q / self.weights.paths[0], sizes]
    }
}

impl Released<'_> {
    /// -log(1e-16 + Σ w k), and its derivatives by log w.
    fn label(&self, trace: &Trace, at: Range<usize>, label: &[f32; 3], by: &mut [f64]) -> f64 {
        let Weights { kernel, peak, labels: [share, weight], .. } = *self.weights;
        let term = |i: usize| {
            let apart = |k: usize| f64::from(label[k]) - f64::from(trace.poses[k][i]);
            let z = [apart(0) / kernel[0], apart(1) / kernel[1], wrap(apart(2)) / kernel[2]];
            let square: f64 = z.iter().map(|z| z * z).sum();
            f64::from(trace.weights[i]) * peak * (-0.5 * square).exp()
        };
        let terms: Vec<f64> = at.clone().map(term).collect();
        let sum = LEAST_DENSITY + terms.iter().sum::<f64>();
        for (by, term) in by[at].iter_mut().zip(&terms) {
            *by -= weight / share * term / sum;
        }
        -sum.ln()
    }

    /// Σ over blocks of Q = Σ_i w log η at the ancestors of the last particles, and its derivatives.
    fn paths(
        &self,
        noise: &[[f32; 3]],
        trace: &Trace,
        count: usize,
        by: &mut [f64],
        log_gradients: &mut [f32],
    ) -> f64 {
        let Weights { block, blocks, paths: [share, weight], .. } = *self.weights;
        let (steps, factor) = (trace.weights.len() / count, -weight / share);
        // How many of the last particles descend from each one, from the end on.
        let mut heirs = vec![1.0; count];
        let mut sum = 0.0;
        for t in (0..steps).rev() {
            if (t + 1).is_multiple_of(block) && (t + 1) / block <= blocks {
                let first = t + 1 - block;
                let eta = self.log_eta(noise, trace, first..t + 1, count);
                let own = t * count..(t + 1) * count;
                let mut lines = Vec::with_capacity(count);
                for ((i, eta), heirs) in own.zip(&eta).zip(&heirs) {
                    let share = heirs * f64::from(trace.weights[i]);
                    sum += share * eta;
                    // The first step weighs nothing, and weights at a block's end are not constants.
                    by[i] += factor * share * eta;
                    lines.push(factor * share);
                }
                lead_back(trace, (first..t + 1, steps), lines, by, log_gradients);
            }
            heirs = inherited(&trace.ancestors[t * count..][..count], &heirs);
        }
        sum
    }

    /// log η of the line that leads to each particle at the end of a block.
    fn log_eta(&self, noise: &[[f32; 3]], trace: &Trace, block: Range<usize>, count: usize) -> Vec<f64> {
        let steps = trace.weights.len() / count;
        let constant: f64 = PROCESS_NOISE.iter().map(|std| -std.ln() - 0.5 * TAU.ln()).sum();
        let mut eta = Vec::new();
        for t in block.clone() {
            let term = |i: usize| {
                if t == 0 {
                    return self.weights.start - (count as f64).ln();
                }
                let z = noise[t * count + i].map(f64::from);
                let law = constant - 0.5 * z.iter().map(|z| z * z).sum::<f64>();
                let at = t * count + i;
                let last = t + 1 == steps;
                law + f64::from(if last { trace.log_likelihoods[at] } else { trace.weights[at].ln() })
            };
            let before = |i: usize| {
                if t == block.start { 0.0 } else { eta[trace.ancestors[t * count + i] as usize] }
            };
            eta = (0..count).map(|i| before(i) + term(i)).collect();
        }
        eta
    }
}

/// Derivatives by the likelihoods along the lines of a block, given those by log η.
fn lead_back(
    trace: &Trace,
    (block, steps): (Range<usize>, usize),
    mut lines: Vec<f64>,
    by: &mut [f64],
    log_gradients: &mut [f32],
) {
    let count = lines.len();
    for t in block.rev().filter(|&t| t > 0) {
        for (i, line) in lines.iter().enumerate() {
            // At the last step of all it is l itself that counts.
            if t + 1 == steps {
                log_gradients[t * count + i] += *line as f32;
            } else {
                by[t * count + i] += line;
            }
        }
        lines = inherited(&trace.ancestors[t * count..][..count], &lines);
    }
}

/// Numbers of particles, added up at their ancestors.
fn inherited(ancestors: &[u32], numbers: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; numbers.len()];
    ancestors.iter().zip(numbers).for_each(|(&ancestor, number)| sums[ancestor as usize] += number);
    sums
}
