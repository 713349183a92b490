//! The losses of the standard step: kernel density at labels, and the pseudo-likelihood of blocks of 20 steps.

use driftless_core::exponential::log_sum_exp_64;
use driftless_kernels::scan::Trace;
use driftless_kernels::training::{Figures, SequenceLoss};
use std::f64::consts::{PI, TAU};
use std::ops::Range;

/// Steps of a block.
const BLOCK: usize = 20;
/// The kernel's σ: a fifth of normalisation statistics step in each coordinate.
const KERNEL: [f64; 3] = [4.0, 4.0, 0.1];
const BANDWIDTH: f64 = 0.2;
/// Standard deviations of the process noise.
const NOISE: [f64; 3] = [20.0, 20.0, 0.5];

/// Known poses of all trajectories.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    pub states: &'a [Option<[f32; 3]>],
    pub steps: usize,
}

/// What gradients at log l, block by block: nothing of a block depends on the next.
pub struct Objective<'a> {
    labels: Labels<'a>,
    noise: &'a [[f32; 3]],
    count: usize,
    /// What a label and a block of a trajectory count.
    factors: [f64; 2],
}

impl<'a> Objective<'a> {
    /// Means over labels and blocks, times these weights.
    pub fn new(labels: Labels<'a>, noise: &'a [[f32; 3]], sizes: [usize; 3], weights: [f64; 2]) -> Self {
        let [batch, steps, count] = sizes;
        let known = labels.states.iter().flatten().count().max(1) as f64;
        let blocks = (batch * steps.div_ceil(BLOCK)) as f64;
        Self { labels, noise, count, factors: [weights[0] / known, weights[1] / blocks] }
    }

    /// -log Σ w k of a label, and its derivatives by log l: log w = log l - log Σ l.
    fn label(&self, trace: &Trace, at: Range<usize>, label: &[f32; 3], log_gradients: &mut [f32]) -> f64 {
        let peak = -3.0 * BANDWIDTH.ln() - 1.5 * TAU.ln();
        let term = |i: usize| {
            let z = [0, 1, 2].map(|k| {
                let apart = f64::from(trace.poses[k][i]) - f64::from(label[k]);
                let apart = if k == 2 { (apart + PI).rem_euclid(TAU) - PI } else { apart };
                apart / KERNEL[k]
            });
            f64::from(trace.weights[i]).ln() - 0.5 * z.iter().map(|z| z * z).sum::<f64>()
        };
        let terms: Vec<f64> = at.clone().map(term).collect();
        let sum = log_sum_exp_64(&terms);
        for ((pull, term), &weight) in log_gradients.iter_mut().zip(&terms).zip(&trace.weights[at]) {
            *pull -= (self.factors[0] * ((term - sum).exp() - f64::from(weight))) as f32;
        }
        -(sum + peak)
    }

    /// Σ w η of a block, η = Σ (log l + log of the noise's density) along each particle's line; and its derivatives.
    fn paths(&self, lesson: usize, trace: &Trace, block: Range<usize>, log_gradients: &mut [f32]) -> f64 {
        let (count, first) = (self.count, block.start);
        let constant = -NOISE.iter().map(|std| std.ln()).sum::<f64>() - 1.5 * TAU.ln();
        let noise = &self.noise[lesson * self.labels.steps * count..];
        let mut eta = vec![0.0; count];
        for t in block.clone() {
            let term = |i: usize| {
                let square: f32 = noise[t * count + i].iter().map(|z| z * z).sum();
                let log = f64::from(trace.log_likelihoods[t * count + i]);
                log + constant - 0.5 * f64::from(square)
            };
            let before =
                |i: usize| if t == first { 0.0 } else { eta[trace.ancestors[t * count + i] as usize] };
            eta = (0..count).map(|i| before(i) + term(i)).collect();
        }
        let last = block.end - 1;
        let weights = || trace.weights[last * count..][..count].iter().map(|&w| f64::from(w));
        let sum: f64 = weights().zip(&eta).map(|(w, eta)| w * eta).sum();
        let factor = -self.factors[1];
        // w is not a constant: ∂ Σ w η / ∂ log l = w (η - Σ w η).
        let own = log_gradients[(last - first) * count..].iter_mut();
        for ((pull, w), eta) in own.zip(weights()).zip(&eta) {
            *pull += (factor * w * (eta - sum)) as f32;
        }
        let mut lines: Vec<f64> = weights().map(|w| factor * w).collect();
        for t in block.rev() {
            let own = log_gradients[(t - first) * count..][..count].iter_mut();
            own.zip(&lines).for_each(|(pull, line)| *pull += *line as f32);
            let mut sums = vec![0.0; count];
            for (&ancestor, line) in trace.ancestors[t * count..][..count].iter().zip(&lines) {
                sums[ancestor as usize] += line;
            }
            lines = sums;
        }
        sum
    }
}

impl SequenceLoss for Objective<'_> {
    fn stretch(&self) -> usize {
        BLOCK
    }

    fn gradient(
        &self,
        lesson: usize,
        trace: &Trace,
        steps: Range<usize>,
        log_gradients: &mut [f32],
    ) -> Figures {
        let (mut density, count, first) = (0.0, self.count, steps.start);
        for t in steps.clone() {
            if let Some(label) = &self.labels.states[lesson * self.labels.steps + t] {
                let own = &mut log_gradients[(t - first) * count..][..count];
                density += self.label(trace, t * count..(t + 1) * count, label, own);
            }
        }
        let q = self.paths(lesson, trace, steps, log_gradients);
        [self.factors[0] * density, -self.factors[1] * q, 0.0]
    }
}
