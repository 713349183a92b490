//! Particle filter recurrent networks (Ma, Karkus, Hsu & Lee 2020): estimators whose memory is a set of weighted particles,
//! and their loss.

use super::particle_cell::{CellInput, CellKind, CellOutput, LEAK, ParticleCell, Statistics};
use crate::batch::{Batch, LabelMean, Labels};
use crate::belief::Belief;
use crate::draws::{Draw, Draws};
use crate::dropout::Phase;
use crate::filter::moving::screened;
use crate::model::{Encoder, Learnable, Screen};
use crate::nets::Dense;
use crate::parameters::Init;
use crate::prior::row;
use crate::resample::Resampler;
use burn::module::Module;
use burn::tensor::activation::{leaky_relu, relu, sigmoid};
use burn::tensor::{Tensor, TensorData};
use std::f64::consts::TAU;

/// Features of what is seen, and of how the robot moved, each.
const EMBEDDED: usize = 32;
/// Units of a particle, H.
pub const UNITS: usize = 64;
/// The share of what is said that dropout keeps.
const KEEP: f64 = 0.5;
/// Numbers in a pose.
const POSE: usize = 3;

/// In which box poses lie, and in which units actions are seen.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleUnits {
    /// The corner of least x and y.
    pub low: [f64; 2],
    /// How wide and high the box is.
    pub size: [f64; 2],
    /// Standard deviations of actions.
    pub action_std: [f64; 3],
}

/// Weights of a window's steps in the loss, d_t = exp(0.1 t) / Σ, and of the heading and of particles in it.
const GROWTH: f64 = 0.1;
const HEADING: f64 = 0.1;
const PARTICLES: f64 = 1.0;

/// Everything that a window comes to.
#[derive(Debug)]
pub struct ParticleRollout {
    /// What is said of the weighted mean of memories, in (0, 1), [B, T, 3].
    pub said: Tensor<3>,
    /// What is said of each, T times [B, K, 3].
    pub each: Vec<Tensor<3>>,
    /// Of each step's batch.
    pub statistics: Vec<Statistics>,
}

/// Embeddings of observations and actions, a cell, and a pose as shares of a box and of a turn.
#[derive(Module, Debug)]
pub struct ParticleRnn<O: Learnable> {
    /// Features of observations.
    pub observation: O,
    /// Of those, 32.
    pub seen: Dense,
    /// Of actions, 32.
    pub moved: Dense,
    /// o: what particles are weighted by.
    pub weighed: Dense,
    /// u: what they remember.
    pub remembered: Dense,
    /// The memory.
    pub cell: ParticleCell,
    /// From memory to pose.
    pub head: Dense,
    #[module(skip)]
    units: ParticleUnits,
}

impl<O: Learnable> ParticleRnn<O> {
    /// A network of K particles behind an encoder with so many features.
    pub fn new(
        kind: CellKind,
        (observation, features): (O, usize),
        particles: usize,
        units: ParticleUnits,
        init: &mut Init,
    ) -> Self {
        let both = 2 * EMBEDDED;
        Self {
            observation,
            seen: Dense::new(features, EMBEDDED, init),
            moved: Dense::new(units.action_std.len(), EMBEDDED, init),
            weighed: Dense::new(both, EMBEDDED, init),
            remembered: Dense::new(both, EMBEDDED, init),
            cell: ParticleCell::new(kind, [particles, UNITS, EMBEDDED], init),
            head: Dense::new(UNITS, POSE, init),
            units,
        }
    }

    /// Memories before the first step: uniform in (0, 1), all weights equal.
    pub fn first(draws: &Draws) -> Belief {
        Belief::uniform(draws.uniform_start.clone())
    }

    /// What is said of memories, [.., H] → [.., 3] in (0, 1).
    pub fn says<const D: usize>(&self, hidden: Tensor<D>, phase: Phase) -> Tensor<D> {
        sigmoid(self.head.forward(phase.dropout(hidden, KEEP)))
    }

    /// Poses of what is said.
    pub fn poses<const D: usize>(&self, said: &Tensor<D>) -> Tensor<D> {
        let of = |values: Vec<f64>| {
            let mut shape = [1; D];
            shape[D - 1] = POSE;
            Tensor::<D>::from_data(TensorData::new(values, shape), (&said.device(), said.dtype()))
        };
        let ParticleUnits { low, size, .. } = &self.units;
        said.clone() * of(vec![size[0], size[1], TAU]) + of(vec![low[0], low[1], 0.0])
    }

    /// A true pose as it should be said: shares of the box, and of a turn from 0 on. [B, T, 3] to the same.
    fn wanted(&self, truth: Tensor<3>) -> Tensor<3> {
        let ParticleUnits { low, size, .. } = &self.units;
        let shift = row(&[low[0], low[1], 0.0], &truth);
        let scale = row(&[size[0].recip(), size[1].recip(), TAU.recip()], &truth);
        let shares = (truth - shift) * scale;
        let turns = shares.clone().slice_dim(2, 2..3);
        let place = shares.slice_dim(2, 0..2);
        Tensor::cat(vec![place, turns.clone() - turns.floor()], 2)
    }

    /// Σ_t d_t (|Δxy|² + 0.1 Δh²) over known steps of all sequences, and the mean over them of -log mean_k exp(-d_t Δ_k²),
    /// of position and a tenth of the heading: `[sum, mean]`, each `[1]`. Headings are compared as they are said, from 0 to a
    /// turn, which is the authors' way: just left and just right of 0 are a turn apart.
    pub fn losses(&self, rollout: &ParticleRollout, labels: &Labels) -> [Tensor<1>; 2] {
        let [_, steps, _] = rollout.said.dims();
        let grown: Vec<f64> = (0..steps).map(|t| (GROWTH * t as f64).exp()).collect();
        let whole: f64 = grown.iter().sum();
        let weights: Vec<f64> = grown.iter().map(|weight| weight / whole).collect();
        let said = &rollout.said;
        let of_steps = Tensor::<2>::from_data(
            TensorData::new(weights.clone(), [1, steps]),
            (&said.device(), said.dtype()),
        );
        let scale = row(&[1.0, 1.0, HEADING], said);
        let squared = |truth: Tensor<3>| {
            let error = (said.clone() - self.wanted(truth)).square() * scale.clone();
            error.sum_dim(2).squeeze_dim::<2>(2) * of_steps.clone()
        };
        let count = labels.count() as f64;
        let sum = labels.mean(LabelMean::Known, squared) * count;
        let of_particles = |truth: Tensor<3>| {
            let truth = self.wanted(truth);
            let step = |(t, each): (usize, &Tensor<3>)| {
                let apart = each.clone() - truth.clone().slice_dim(1, t..t + 1);
                // Shares of one and weights below one: exp needs no shift.
                -(apart.square() * -weights[t]).exp().mean_dim(1).log() // [B, 1, 3]
            };
            let all = Tensor::cat(rollout.each.iter().enumerate().map(step).collect(), 1); // [B, T, 3]
            let scale = row(&[0.5, 0.5, HEADING], &all);
            (all * scale).sum_dim(2).squeeze_dim(2)
        };
        [sum, labels.mean(LabelMean::Known, of_particles)]
    }

    /// Both of [`ParticleRnn::losses`], as the authors add them.
    pub fn loss([sum, particles]: &[Tensor<1>; 2]) -> Tensor<1> {
        sum.clone() + particles.clone() * PARTICLES
    }
}

impl<O: Encoder> ParticleRnn<O> {
    /// What the cell is given at all steps, o and u, [B, T, 32] each. What is not finite counts as zeros.
    fn inputs(&self, observations: &O::Input, actions: &Tensor<3>, phase: Phase) -> [Tensor<3>; 2] {
        let features = self.observation.encode(observations.clone().screen().0, phase);
        let (actions, _) = screened(actions.clone());
        let std = row(&self.units.action_std, &actions);
        let joint =
            Tensor::cat(vec![relu(self.seen.forward(features)), relu(self.moved.forward(actions / std))], 2);
        [&self.weighed, &self.remembered].map(|layer| leaky_relu(layer.forward(joint.clone()), LEAK))
    }

    /// Follows all sequences of a batch through time, with the statistics of the batch in training.
    pub fn run(&self, batch: &Batch<O::Input>, draws: &Draws, resampler: &dyn Resampler) -> ParticleRollout {
        let steps = batch.actions.dims()[1];
        let inputs = self.inputs(&batch.observations, &batch.actions, draws.phase);
        let mut belief = Self::first(draws);
        let (mut said, mut each, mut statistics) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..steps {
            let [weighed, remembered] =
                [0, 1].map(|k: usize| inputs[k].clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1));
            let Draw { noise, uniforms, .. } = &draws.steps[t];
            let input = CellInput { weighed, remembered, noise: noise.clone(), uniforms, statistics: None };
            let output = self.cell.step(belief, input, resampler);
            let phase = draws.phase.split(t as u64);
            let hidden = self.cell.hidden(output.belief.states.clone());
            said.push(self.says(mean(&output.belief, &hidden).unsqueeze_dim::<3>(1), phase));
            each.push(self.says(hidden, phase.split(u64::MAX)));
            statistics.push(output.statistics);
            belief = output.belief;
        }
        ParticleRollout { said: Tensor::cat(said, 1), each, statistics }
    }

    /// One step of one robot: its belief, the pose of the mean memory, `[1, 3]`, and those of all, [1, K, 3].
    pub fn follow(
        &self,
        (observations, actions): (&O::Input, &Tensor<3>),
        before: Belief,
        draw: &Draw,
        statistics: &Statistics,
        resampler: &dyn Resampler,
    ) -> (CellOutput, Tensor<2>, Tensor<3>) {
        let inputs = self.inputs(observations, actions, Phase::Evaluation);
        let [weighed, remembered] = inputs.map(|input| input.squeeze_dim::<2>(1));
        let Draw { noise, uniforms, .. } = draw;
        let statistics = Some(statistics);
        let input = CellInput { weighed, remembered, noise: noise.clone(), uniforms, statistics };
        let output = self.cell.step(before, input, resampler);
        let hidden = self.cell.hidden(output.belief.states.clone());
        let pose = self.poses(&self.says(mean(&output.belief, &hidden), Phase::Evaluation));
        let each = self.poses(&self.says(hidden, Phase::Evaluation));
        (output, pose, each)
    }
}

/// Σ w h, [B, H].
fn mean(belief: &Belief, hidden: &Tensor<3>) -> Tensor<2> {
    (belief.weights.exp().unsqueeze_dim::<3>(2) * hidden.clone()).sum_dim(1).squeeze_dim(1)
}

#[cfg(test)]
mod tests;
