//! Kernel density and Q of the released code, on traces of the scan.

use super::super::{BANDWIDTH, Choices, PROCESS_NOISE};
use super::Material;
use crate::learn::{Experiment, Normalisation};
use crate::methods::trace_loss::{Paths, TraceLoss, heirs};
use crate::objective::{BlockStart, LEAST_DENSITY};
use driftless_core::effective_sample_size;
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
    /// Steps of a block, Q's choices, what -Q is divided by, and its weight in the objective.
    block: usize,
    choices: Paths,
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
            block,
            choices: Paths {
                likelihoods: law.likelihoods,
                first_likelihood: law.first_likelihood,
                hold_weights: law.hold_weights,
                from: 0,
                steps,
            },
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
        let ([_, _, count], labels) = (self.material.sizes, self.material.labels(lesson));
        let (mut loss, mut density) = (TraceLoss::new(trace, count), 0.0);
        for (t, label) in labels.iter().enumerate() {
            if let Some(label) = label {
                density += self.label(trace, loss.own(t), label, loss.by_weights(t));
            }
        }
        let q = if self.weights.paths[1] > 0.0 { self.paths(lesson, &mut loss, trace) } else { 0.0 };
        loss.write(1.0, log_gradients);
        let sizes = trace.weights.chunks_exact(count).map(effective_sample_size).sum();
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
        let terms: Vec<f64> = at.map(term).collect();
        let sum = LEAST_DENSITY + terms.iter().sum::<f64>();
        for (by, term) in by.iter_mut().zip(&terms) {
            *by -= weight / share * term / sum;
        }
        -sum.ln()
    }

    /// Σ over blocks of Q at the ancestors of the last particles.
    fn paths(&self, lesson: usize, loss: &mut TraceLoss, trace: &Trace) -> f64 {
        let Weights { block, choices, paths: [share, weight], .. } = *self.weights;
        let [_, _, count] = self.material.sizes;
        let law = self.law(lesson);
        let heirs = heirs(&trace.ancestors, count, block);
        let one = |(b, heirs): (usize, &Vec<f64>)| {
            let block = b * block..(b + 1) * block;
            loss.add_paths(&choices, block, &law, (heirs, -weight / share))
        };
        heirs.iter().enumerate().rev().map(one).sum()
    }

    /// log p of all states; the density of the first.
    fn law(&self, lesson: usize) -> Vec<f64> {
        let [_, _, count] = self.material.sizes;
        let constant: f64 = PROCESS_NOISE.iter().map(|std| -std.ln() - 0.5 * TAU.ln()).sum();
        let moved = |z: &[f32; 3]| constant - 0.5 * z.iter().map(|&z| f64::from(z).powi(2)).sum::<f64>();
        let mut law: Vec<f64> = self.material.noise(lesson).iter().map(moved).collect();
        law[..count].fill(self.weights.start);
        law
    }
}
