//! What integration tests share: a linear-Gaussian model, its exact answers, and repeated runs.

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::resample::Resampler;
use driftless::{
    DrawSizes, Draws, Filter, Measurement, Phase, Prior, Rollout, Space, StateSpace, Transition,
};
use std::f64::consts::TAU;

/// A tensor of 64 bits, on which gradients can be asked for.
pub fn f64s<const D: usize>(data: impl Into<TensorData>) -> Tensor<D> {
    Tensor::from_data(data.into(), (&Device::flex().autodiff(), DType::F64))
}

/// The numbers of a tensor, row after row.
pub fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.try_to_vec_as::<f64>().unwrap()
}

/// Mean, and the standard error of it.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// s' = a s + b u + N(0, q), for states of one number.
#[derive(Module, Debug)]
pub struct LinearMotion {
    /// a, b and q.
    pub theta: Tensor<1>,
}

impl LinearMotion {
    fn theta(&self, k: usize) -> Tensor<3> {
        self.theta.clone().slice_dim(0, k..k + 1).reshape([1, 1, 1])
    }

    fn expected(&self, parents: Tensor<3>, action: Tensor<2>) -> Tensor<3> {
        parents * self.theta(0) + action.unsqueeze_dim::<3>(1) * self.theta(1)
    }
}

impl Transition for LinearMotion {
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        self.expected(parents, action) + noise * self.theta(2).sqrt()
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2> {
        normal(states - self.expected(parents, action), self.theta(2))
    }
}

/// o = s + N(0, r), times e^shift.
#[derive(Module, Debug)]
pub struct NoisyReading {
    /// r.
    pub variance: Tensor<1>,
    /// Added to all log-likelihoods.
    pub shift: f64,
}

impl Measurement for NoisyReading {
    type Observations = Tensor<3>;
    type Cues = Tensor<3>;

    fn encode(&self, observations: &Tensor<3>, _: Phase) -> Tensor<3> {
        observations.clone()
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        normal(states - cues.clone().slice_dim(1, t..t + 1), self.variance.clone().reshape([1, 1, 1]))
            + self.shift
    }
}

/// log N(residual; 0, variance), [B, N, 1] → [B, N].
fn normal(residual: Tensor<3>, variance: Tensor<3>) -> Tensor<2> {
    ((residual.square() / variance.clone() + (variance * TAU).log()) * -0.5).squeeze_dim(2)
}

/// The model of both parts.
pub type LinearGaussian = StateSpace<LinearMotion, NoisyReading>;

/// A scalar linear-Gaussian problem: the law of the first state, the parameters, and the data.
#[derive(Clone, Debug)]
pub struct Problem {
    pub first_variance: f64,
    /// a, b, q.
    pub motion: [f64; 3],
    /// r.
    pub reading: f64,
    /// Action t leads into step t; the first is unused.
    pub actions: Vec<f64>,
    pub observations: Vec<f64>,
}

impl Problem {
    /// An autoregression started in stationarity.
    pub fn golden_a() -> Self {
        Self {
            first_variance: 0.2 / (1.0 - 0.81),
            motion: [0.9, 0.0, 0.2],
            reading: 0.5,
            actions: vec![0.0; 5],
            observations: vec![0.5, -0.3, 0.8, 1.2, 0.1],
        }
    }

    /// A driven one.
    pub fn golden_b() -> Self {
        Self {
            first_variance: 1.5,
            motion: [0.7, 0.5, 0.2],
            reading: 0.4,
            actions: vec![0.3, -1.0, 0.8],
            observations: vec![0.2, -0.6, 0.9],
        }
    }

    /// Filter means, variances and log-evidence factors by Kalman's recursion.
    pub fn kalman(&self) -> Vec<[f64; 3]> {
        let [a, b, q] = self.motion;
        let (mut mean, mut variance) = (0.0, self.first_variance);
        let mut result = Vec::new();
        for (t, (action, observation)) in self.actions.iter().zip(&self.observations).enumerate() {
            if t > 0 {
                (mean, variance) = (a * mean + b * action, a * a * variance + q);
            }
            let (innovation, spread) = (observation - mean, variance + self.reading);
            let factor = -0.5 * ((TAU * spread).ln() + innovation * innovation / spread);
            mean += variance / spread * innovation;
            variance -= variance * variance / spread;
            result.push([mean, variance, factor]);
        }
        result
    }

    /// The exact log p(o).
    pub fn log_evidence(&self) -> f64 {
        self.kalman().iter().map(|[_, _, factor]| factor).sum()
    }

    /// The model with these parameters.
    pub fn model(&self, shift: f64) -> LinearGaussian {
        let measurement = NoisyReading { variance: f64s([self.reading]), shift };
        StateSpace { transition: LinearMotion { theta: f64s(self.motion) }, measurement }
    }

    /// Filters the data `runs` times at once, each with its own random numbers.
    pub fn run(&self, model: &LinearGaussian, filter: &Filter, runs: Runs) -> Rollout<LinearGaussian> {
        let steps = self.observations.len();
        let uniforms = filter.resampler.uniforms(runs.particles, 1);
        let Runs { count: batch, particles, seed } = runs;
        let sizes = DrawSizes { batch, steps, particles, state: 1, noise: 1, uniforms };
        let draws = Draws::new(sizes, seed, &Device::flex().autodiff(), DType::F64);
        let prior = Prior::Normal { mean: vec![0.0], std: vec![self.first_variance.sqrt()] };
        let repeat = |values: &[f64]| {
            f64s::<3>(TensorData::new(values.to_vec(), [1, steps, 1])).expand([batch, steps, 1])
        };
        let cues = model.measurement.encode(&repeat(&self.observations), Phase::Evaluation);
        filter.rollout(model, prior.sample(&draws), cues, &repeat(&self.actions), &draws)
    }
}

/// How often, with how many particles, with which random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub count: usize,
    pub particles: usize,
    pub seed: u64,
}

/// A filter that also weights by the first observation, as Kalman's does.
pub fn filter(resampler: impl Resampler + 'static) -> Filter {
    Filter::new(Space::LINEAR, resampler).weighing_first()
}
