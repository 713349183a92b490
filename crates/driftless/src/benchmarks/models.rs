//! The benchmarks' models on tensors: each sequence may have parameters of its own, so that one rollout is many runs.

use crate::belief::Belief;
use crate::draws::{DrawSizes, Draws};
use crate::dropout::Phase;
use crate::filter::Filter;
use crate::model::{Measurement, StateSpace, Transition};
use crate::resample::Resampler;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::f64::consts::TAU;

/// s' = a s + σ ε, coordinate by coordinate.
#[derive(Module, Debug)]
pub(super) struct Autoregression {
    /// a, [B, S].
    pub a: Tensor<2>,
    /// σ, [B, S].
    pub std: Tensor<2>,
}

impl Transition for Autoregression {
    fn sample(&self, parents: Tensor<3>, _: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        parents * self.a.clone().unsqueeze_dim(1) + noise * self.std.clone().unsqueeze_dim(1)
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, _: Tensor<2>) -> Tensor<2> {
        log_normal(states - parents * self.a.clone().unsqueeze_dim(1), self.std.clone().unsqueeze_dim(1))
    }
}

/// o = s + σ ε.
#[derive(Module, Debug)]
pub(super) struct Read {
    /// σ, [B, S].
    pub std: Tensor<2>,
}

impl Measurement for Read {
    type Observations = Tensor<3>;
    type Cues = Tensor<3>;

    fn encode(&self, observations: &Tensor<3>, _: Phase) -> Tensor<3> {
        observations.clone()
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        log_normal(states - cues.clone().slice_dim(1, t..t + 1), self.std.clone().unsqueeze_dim(1))
    }
}

/// o = β exp(s / 2) ε.
#[derive(Module, Debug)]
pub(super) struct Returns {
    /// β, [B, 1].
    pub scale: Tensor<2>,
}

impl Measurement for Returns {
    type Observations = Tensor<3>;
    type Cues = Tensor<3>;

    fn encode(&self, observations: &Tensor<3>, _: Phase) -> Tensor<3> {
        observations.clone()
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let seen = cues.clone().slice_dim(1, t..t + 1).expand(states.dims()); // [B, N, 1]
        log_normal(seen, (states * 0.5).exp() * self.scale.clone().unsqueeze_dim::<3>(1))
    }
}

/// Σ log N(x; 0, σ²) over the last dimension, [B, N, S] → [B, N].
fn log_normal(x: Tensor<3>, std: Tensor<3>) -> Tensor<2> {
    let z = x / std.clone(); // [B, N, S]
    ((z.square() + TAU.ln()) * -0.5 - std.log()).sum_dim(2).squeeze_dim(2)
}

/// Runs beside each other, and how they resample.
pub(super) struct Runs {
    /// Readings of each sequence, [B, T, S].
    pub readings: Tensor<3>,
    /// Particles.
    pub particles: usize,
    /// Names all random numbers.
    pub seed: u64,
}

impl Runs {
    /// log Ẑ of each sequence, `[B]`; the first states are normal with these deviations, [B, S].
    pub(super) fn log_evidence<L>(
        &self,
        model: &StateSpace<Autoregression, L>,
        resampler: Box<dyn Resampler>,
        spread: Tensor<2>,
    ) -> Tensor<1>
    where
        L: Measurement<Observations = Tensor<3>, Cues = Tensor<3>>,
    {
        let [batch, steps, _] = self.readings.dims();
        let state = spread.dims()[1];
        let uniforms = resampler.uniforms(self.particles, state);
        let sizes = DrawSizes { batch, steps, particles: self.particles, state, noise: state, uniforms };
        let draws = Draws::new(sizes, self.seed, &self.readings.device(), DType::F64);
        let first = Belief::uniform(draws.normal_start.clone() * spread.unsqueeze_dim(1));
        let filter = Filter::new(Space::LINEAR, resampler).weighing_first();
        let actions = self.readings.zeros_like();
        filter.rollout(model, first, self.readings.clone(), &actions, &draws).log_evidence()
    }
}

/// Readings of walks as a tensor, [B, T, S].
pub(super) fn readings(walks: &[Vec<[Vec<f64>; 2]>], device: &Device) -> Tensor<3> {
    let size = walks[0][0][1].len();
    let numbers: Vec<f64> = walks.iter().flatten().flat_map(|[_, read]| read.iter().copied()).collect();
    tensor(numbers, [walks.len(), walks[0].len(), size], device)
}

/// Numbers of 64 bits.
pub(super) fn tensor<const D: usize>(numbers: Vec<f64>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers, shape), (device, DType::F64))
}

/// Back on the host.
pub(super) fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.try_to_vec_as::<f64>().expect("they are numbers")
}
