//! One step of all particles: features, likelihoods and weights; and back.

use super::{Belief, PoseNet};
use crate::Cpu;
use crate::cpu::Work;
use crate::mlp::{MlpGradient, MlpMemory};
use crate::rows::dot;

/// Added to squares of lengths.
const LITTLE: f32 = 1e-12;

/// What a step is remembered by, and room to work.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    inputs: Vec<f32>,
    layers: MlpMemory,
    /// 1 / |ê|, cos and l of each particle.
    shrinks: Vec<f32>,
    cosines: Vec<f32>,
    likelihoods: Vec<f32>,
    by_features: Vec<f32>,
}

impl Step {
    /// l of each particle, as weighed last.
    pub(super) fn likelihoods(&self) -> &[f32] {
        &self.likelihoods
    }

    /// Features and likelihoods of all particles.
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
    }

    /// From derivatives by log l to layers and features.
    pub(super) fn backward(
        &mut self,
        net: &PoseNet,
        cpu: Cpu,
        (seen, pulls): (&[f32], &[f32]),
        (sum, by_seen): (&mut MlpGradient, &mut [f32]),
    ) {
        let mut by_features = std::mem::take(&mut self.by_features);
        by_features.resize(pulls.len() * seen.len(), 0.0);
        cpu.run(BackThroughMatch { step: self, pulls, seen, by_features: &mut by_features, by_seen });
        net.layers.backward(cpu, &self.inputs, &by_features, &mut self.layers, sum);
        self.by_features = by_features;
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
    pulls: &'a [f32],
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
            let pull = self.pulls[i] * step.likelihoods[i] * step.shrinks[i];
            let back = step.cosines[i] * step.shrinks[i];
            for k in 0..width {
                let by_feature = pull * (self.seen[k] - back * row[k]);
                by[k] = if row[k] > 0.0 { by_feature } else { 0.0 };
                self.by_seen[k] += pull * row[k];
            }
        }
    }
}
