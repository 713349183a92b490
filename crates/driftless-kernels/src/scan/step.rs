//! One step of all particles: features, likelihoods and weights; and back.

use super::{Belief, PoseNet};
use crate::Cpu;
use crate::cpu::Work;
use crate::mlp::{MlpGradient, MlpMemory};
use crate::places::{Box2, add_by_poses, place_rows};
use crate::rows::dot;

/// Added to squares of lengths.
const LITTLE: f32 = 1e-12;

/// What a step is remembered by, and room to work.
#[derive(Clone, Debug, Default)]
pub struct Step {
    inputs: Vec<f32>,
    layers: MlpMemory,
    /// 1 / |ê|, cos and l of each particle.
    shrinks: Vec<f32>,
    cosines: Vec<f32>,
    likelihoods: Vec<f32>,
    by_features: Vec<f32>,
    by_inputs: Vec<f32>,
}

impl Step {
    /// l of each particle, as weighed last.
    pub fn likelihoods(&self) -> &[f32] {
        &self.likelihoods
    }

    /// Features and likelihoods of all particles.
    pub(super) fn weigh(&mut self, net: &PoseNet, cpu: Cpu, belief: &Belief, seen: &[f32]) {
        let ([x, y, _], [cosines, sines]) = (&belief.poses, &belief.turned);
        self.match_poses(net, cpu, [x, y, cosines, sines], seen);
    }

    /// The same of poses as columns: positions, and cosines and sines of headings.
    pub fn match_poses(&mut self, net: &PoseNet, cpu: Cpu, columns: [&[f32]; 4], seen: &[f32]) {
        let count = columns[0].len();
        for column in [&mut self.shrinks, &mut self.cosines, &mut self.likelihoods] {
            column.resize(count, 0.0);
        }
        encode(net, cpu, columns, (&mut self.inputs, &mut self.layers));
        let columns = [&mut self.shrinks[..], &mut self.cosines, &mut self.likelihoods];
        cpu.run(Match { features: self.layers.results(), seen, epsilon: net.epsilon, columns });
    }

    /// From derivatives by log l to layers and features.
    pub(super) fn backward(
        &mut self,
        net: &PoseNet,
        cpu: Cpu,
        (seen, log_gradients): (&[f32], &[f32]),
        (sum, by_seen): (&mut MlpGradient, &mut [f32]),
    ) {
        let mut by_features = std::mem::take(&mut self.by_features);
        by_features.resize(log_gradients.len() * seen.len(), 0.0);
        let log_gradients = [log_gradients; 2];
        cpu.run(BackThroughMatch { step: self, log_gradients, seen, by_features: &mut by_features, by_seen });
        net.layers.backward(cpu, &self.inputs, &by_features, &mut self.layers, sum);
        self.by_features = by_features;
    }

    /// The same where poses are not constants. Of the derivatives by log l, `learned` reach layers and features, and
    /// `moving` are added to those by the poses.
    pub fn backward_to_poses(
        &mut self,
        net: &PoseNet,
        cpu: Cpu,
        (seen, learned, moving): (&[f32], &[f32], &[f32]),
        (sum, by_seen): (&mut MlpGradient, &mut [f32]),
        by_poses: &mut [Vec<f32>; 3],
    ) {
        if moving.iter().all(|&by| by == 0.0) {
            return self.backward(net, cpu, (seen, learned), (sum, by_seen));
        }
        let mut by_features = std::mem::take(&mut self.by_features);
        by_features.resize(learned.len() * seen.len(), 0.0);
        let ones = vec![1.0; learned.len()];
        let log_gradients = [&ones[..], learned];
        cpu.run(BackThroughMatch { step: self, log_gradients, seen, by_features: &mut by_features, by_seen });
        let Self { inputs, layers, by_inputs, .. } = self;
        net.layers.backward_counted(cpu, (inputs, &by_features), learned, layers, sum);
        by_inputs.resize(inputs.len(), 0.0);
        net.layers.by_inputs(cpu, layers, by_inputs);
        add_by_poses(net.place(), (inputs, by_inputs), net.layers.input_width(), moving, by_poses);
        self.by_features = by_features;
    }

    /// Takes the room that another step works in.
    pub fn take_room(&mut self, other: &mut Self) {
        self.layers.take_room(&mut other.layers);
        std::mem::swap(&mut self.by_features, &mut other.by_features);
        std::mem::swap(&mut self.by_inputs, &mut other.by_inputs);
    }
}

impl PoseNet {
    fn place(&self) -> Box2 {
        Box2 { centre: self.centre, extent: self.extent }
    }
}

/// Features of poses, given as columns: positions, and cosines and sines of headings.
fn encode(net: &PoseNet, cpu: Cpu, columns: [&[f32]; 4], (inputs, layers): (&mut Vec<f32>, &mut MlpMemory)) {
    place_rows(net.place(), columns, net.layers.input_width(), inputs);
    net.layers.forward(cpu, inputs, columns[0].len(), layers);
}

/// l of each pose, where nobody will ask for derivatives.
pub(crate) fn weigh_columns(
    net: &PoseNet,
    cpu: Cpu,
    columns: [&[f32]; 4],
    seen: &[f32],
    (inputs, layers): (&mut Vec<f32>, &mut MlpMemory),
    likelihoods: &mut [f32],
) {
    encode(net, cpu, columns, (inputs, &mut *layers));
    let features = layers.results();
    cpu.run(MatchOnly { features, seen, epsilon: net.epsilon, likelihoods });
}

/// 1 / (ε + 1 - cos), of a cosine that rounding may have made too large; what is not a number stays so.
#[inline(always)]
fn likelihood(epsilon: f32, cosine: f32) -> f32 {
    let gap = 1.0 - cosine;
    1.0 / (epsilon + if gap < 0.0 { 0.0 } else { gap })
}

/// A row of features along those seen, and its length: the cosine is their quotient.
#[inline(always)]
fn against(row: &[f32], seen: &[f32]) -> [f32; 2] {
    [dot(row, seen), (dot(row, row) + LITTLE).sqrt()]
}

struct MatchOnly<'a> {
    features: &'a [f32],
    seen: &'a [f32],
    epsilon: f32,
    likelihoods: &'a mut [f32],
}

impl Work for MatchOnly<'_> {
    #[inline(always)]
    fn run(self) {
        for (row, l) in self.features.chunks_exact(self.seen.len()).zip(self.likelihoods) {
            let [along, length] = against(row, self.seen);
            *l = likelihood(self.epsilon, along / length);
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
            let [along, length] = against(row, self.seen);
            shrinks[i] = 1.0 / length;
            cosines[i] = along * shrinks[i];
            likelihoods[i] = likelihood(self.epsilon, cosines[i]);
        }
    }
}

/// log l = -log(ε + 1 - cos), so ∂ log l / ∂ cos = l, and 0 where the cosine has come to its end; and ∂ cos / ∂ ê = r (e - cos r ê), ∂ cos / ∂ e = r ê with
/// r = 1 / |ê|; all led back through the last ReLU.
struct BackThroughMatch<'a> {
    step: &'a Step,
    /// Those that go on to the features of poses, and to those seen.
    log_gradients: [&'a [f32]; 2],
    seen: &'a [f32],
    by_features: &'a mut [f32],
    by_seen: &'a mut [f32],
}

impl Work for BackThroughMatch<'_> {
    #[inline(always)]
    fn run(self) {
        let (step, width, [to_poses, to_seen]) = (self.step, self.seen.len(), self.log_gradients);
        let rows = step.layers.results().chunks_exact(width).zip(self.by_features.chunks_exact_mut(width));
        for (i, (row, by)) in rows.enumerate() {
            let by_cosine = if step.cosines[i] >= 1.0 { 0.0 } else { step.likelihoods[i] };
            let pull = to_poses[i] * by_cosine * step.shrinks[i];
            let pull_seen = to_seen[i] * by_cosine * step.shrinks[i];
            let back = step.cosines[i] * step.shrinks[i];
            for k in 0..width {
                let by_feature = pull * (self.seen[k] - back * row[k]);
                by[k] = if row[k] > 0.0 { by_feature } else { 0.0 };
                self.by_seen[k] += pull_seen * row[k];
            }
        }
    }
}
