//! The steps of one block: forward until its last weights are known, then backward.

use super::{Belief, Objective, PoseNet};
use crate::Cpu;
use crate::cpu::Work;
use crate::dense::LayerGradient;
use crate::mlp::{MlpGradient, MlpMemory};
use crate::rows::dot;
use std::f32::consts::{PI, TAU};

/// Added to squares of lengths.
const LITTLE: f32 = 1e-12;

#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    steps: Vec<Step>,
    by_paths: [Vec<f32>; 2],
    by_features: Vec<f32>,
}

/// Where gradients go.
pub(super) struct Gains<'a> {
    pub(super) sum: &'a mut MlpGradient,
    pub(super) by_seen: &'a mut [f32],
}

/// What a step is remembered by.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    inputs: Vec<f32>,
    layers: MlpMemory,
    /// 1 / |ê|, cos and l of each particle.
    shrinks: Vec<f32>,
    cosines: Vec<f32>,
    likelihoods: Vec<f32>,
    weights: Vec<f32>,
    ancestors: Vec<u32>,
    /// log η of the path that leads to each particle.
    paths: Vec<f32>,
    /// Derivatives of the objective by log l.
    pulls: Vec<f32>,
    /// Room for terms of a label's density.
    logs: Vec<f32>,
}

impl Step {
    /// Features of all particles, likelihoods, and weights l / Σ l.
    pub(super) fn weigh(&mut self, net: &PoseNet, cpu: Cpu, belief: &Belief, seen: &[f32]) {
        let (count, width) = (belief.weights.len(), net.layers.input_width());
        self.inputs.resize(count * width, 0.0);
        for (i, row) in self.inputs.chunks_exact_mut(width).enumerate() {
            row[0] = (belief.poses[0][i] - net.centre[0]) / net.extent[0];
            row[1] = (belief.poses[1][i] - net.centre[1]) / net.extent[1];
            (row[2], row[3]) = (belief.turned[0][i], belief.turned[1][i]);
        }
        net.layers.forward(cpu, &self.inputs, count, &mut self.layers);
        for column in [&mut self.shrinks, &mut self.cosines, &mut self.likelihoods] {
            column.resize(count, 0.0);
        }
        let columns = [&mut self.shrinks[..], &mut self.cosines, &mut self.likelihoods];
        cpu.run(Match { features: self.layers.results(), seen, epsilon: net.epsilon, columns });
        let whole: f32 = self.likelihoods.iter().sum();
        self.weights.clear();
        self.weights.extend(self.likelihoods.iter().map(|l| l / whole));
        self.pulls.clear();
        self.pulls.resize(count, 0.0);
    }

    /// log η = log η of the ancestor + log l + log p(motion).
    pub(super) fn remember(&mut self, belief: &Belief, density: impl Iterator<Item = f32>, goes_on: bool) {
        self.ancestors.clear();
        self.ancestors.extend_from_slice(&belief.ancestors);
        self.paths.clear();
        let here = self.likelihoods.iter().zip(density).map(|(l, density)| l.ln() + density);
        if goes_on {
            let before = self.ancestors.iter().map(|&ancestor| belief.paths[ancestor as usize]);
            self.paths.extend(here.zip(before).map(|(here, before)| here + before));
        } else {
            self.paths.extend(here);
        }
    }

    /// -log Σ w N(label; particle, kernel²), equation of the supervised loss; adds its derivatives by log l, which are
    /// w - p with the shares p of particles in the sum.
    pub(super) fn learn_label(&mut self, belief: &Belief, label: &[f32; 3], objective: &Objective) -> f64 {
        let kernel = objective.kernel;
        let constant: f32 = kernel.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
        let log = |i: usize| {
            let apart = [0, 1, 2].map(|k| belief.poses[k][i] - label[k]);
            let turn = (apart[2] + PI).rem_euclid(TAU) - PI;
            let z = [apart[0] / kernel[0], apart[1] / kernel[1], turn / kernel[2]];
            self.weights[i].ln() - constant - 0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2])
        };
        let mut logs = std::mem::take(&mut self.logs);
        logs.clear();
        logs.extend((0..self.weights.len()).map(log));
        let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = logs.iter().map(|log| (log - most).exp()).sum();
        for ((pull, log), weight) in self.pulls.iter_mut().zip(&logs).zip(&self.weights) {
            *pull += objective.labels * (weight - (log - most).exp() / sum);
        }
        self.logs = logs;
        -f64::from(most + sum.ln())
    }

    pub(super) fn likelihoods(&self) -> &[f32] {
        &self.likelihoods
    }

    /// Gives weights to the belief.
    pub(super) fn give_weights(&self, belief: &mut Belief) {
        belief.weights.copy_from_slice(&self.weights);
    }

    /// Takes derivatives by log l from elsewhere.
    pub(super) fn pull(&mut self, pulls: &[f32]) {
        self.pulls.copy_from_slice(pulls);
    }

    /// From log l to layers and features.
    pub(super) fn backward(
        &mut self,
        net: &PoseNet,
        cpu: Cpu,
        seen: &[f32],
        by_features: &mut Vec<f32>,
        gains: &mut Gains,
    ) {
        gains.sum.resize(net.layers.layers().len(), LayerGradient::default());
        by_features.resize(self.weights.len() * seen.len(), 0.0);
        cpu.run(BackThroughMatch { step: self, seen, by_features, by_seen: gains.by_seen });
        net.layers.backward(cpu, &self.inputs, by_features, &mut self.layers, gains.sum);
    }

    /// Gives weights and paths to the belief.
    pub(super) fn hand_over(&self, belief: &mut Belief) {
        self.give_weights(belief);
        belief.paths.clear();
        belief.paths.extend_from_slice(&self.paths);
    }
}

impl Block {
    pub(super) fn step(&mut self, number: usize) -> &mut Step {
        if self.steps.len() <= number {
            self.steps.resize(number + 1, Step::default());
        }
        &mut self.steps[number]
    }

    /// Q = Σ w log η at the last of so many steps; adds the derivatives of -factor Q by log l of all steps.
    pub(super) fn close(&mut self, steps: usize, factor: f32) -> f64 {
        let Self { steps: all, by_paths: [by, before], .. } = self;
        let last = &mut all[steps - 1];
        let q: f32 = last.weights.iter().zip(&last.paths).map(|(w, path)| w * path).sum();
        for ((pull, weight), path) in last.pulls.iter_mut().zip(&last.weights).zip(&last.paths) {
            *pull -= factor * weight * (path - q);
        }
        by.clear();
        by.extend(last.weights.iter().map(|weight| -factor * weight));
        for step in all[..steps].iter_mut().rev() {
            before.clear();
            before.resize(by.len(), 0.0);
            for ((pull, by), &ancestor) in step.pulls.iter_mut().zip(&*by).zip(&step.ancestors) {
                *pull += by;
                before[ancestor as usize] += by;
            }
            std::mem::swap(by, before);
        }
        f64::from(q)
    }

    /// From log l of all steps to layers and features.
    pub(super) fn backward(&mut self, net: &PoseNet, cpu: Cpu, seen: &[f32], gains: &mut Gains) {
        let width = net.layers.width();
        let rows = seen.chunks_exact(width).zip(gains.by_seen.chunks_exact_mut(width));
        for (step, (seen, by_seen)) in self.steps.iter_mut().zip(rows) {
            let mut gains = Gains { sum: &mut *gains.sum, by_seen };
            step.backward(net, cpu, seen, &mut self.by_features, &mut gains);
        }
    }
}

struct Match<'a> {
    features: &'a [f32],
    seen: &'a [f32],
    epsilon: f32,
    columns: [&'a mut [f32]; 3],
}

impl Work for Match<'_> {
    #[inline(always)]
    fn run(self) {
        let [shrinks, cosines, likelihoods] = self.columns;
        for (i, row) in self.features.chunks_exact(self.seen.len()).enumerate() {
            shrinks[i] = 1.0 / (dot(row, row) + LITTLE).sqrt();
            cosines[i] = dot(row, self.seen) * shrinks[i];
            likelihoods[i] = 1.0 / (self.epsilon + (1.0 - cosines[i]).max(0.0));
        }
    }
}

/// log l = -log(ε + 1 - cos), so ∂ log l / ∂ cos = l; and ∂ cos / ∂ ê = r (e - cos r ê), ∂ cos / ∂ e = r ê with
/// r = 1 / |ê|; all led back through the last ReLU.
struct BackThroughMatch<'a> {
    step: &'a Step,
    seen: &'a [f32],
    by_features: &'a mut [f32],
    by_seen: &'a mut [f32],
}

impl Work for BackThroughMatch<'_> {
    #[inline(always)]
    fn run(self) {
        let (step, width) = (self.step, self.seen.len());
        let rows = step.layers.results().chunks_exact(width).zip(self.by_features.chunks_exact_mut(width));
        for (i, (row, by)) in rows.enumerate() {
            let pull = step.pulls[i] * step.likelihoods[i] * step.shrinks[i];
            let back = step.cosines[i] * step.shrinks[i];
            for k in 0..width {
                let by_feature = pull * (self.seen[k] - back * row[k]);
                by[k] = if row[k] > 0.0 { by_feature } else { 0.0 };
                self.by_seen[k] += pull * row[k];
            }
        }
    }
}

#[cfg(test)]
impl Block {
    pub(super) fn ancestors(&self) -> Vec<Vec<u32>> {
        self.steps.iter().map(|step| step.ancestors.clone()).collect()
    }

    pub(super) fn pulls(&self) -> Vec<f32> {
        self.steps.iter().flat_map(|step| step.pulls.clone()).collect()
    }
}
