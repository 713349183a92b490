//! Cells of the particle filter recurrent networks: K memories with weights, in place of one (Ma, Karkus, Hsu & Lee 2020).

use crate::belief::Belief;
use crate::nets::Dense;
use crate::parameters::Init;
use crate::resample::Resampler;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::{leaky_relu, sigmoid, softplus};

/// The slope of LeakyReLU below 0, PyTorch's own.
pub(super) const LEAK: f64 = 0.01;
/// What batch normalisation adds to a variance, PyTorch's own.
const EPSILON: f64 = 1e-5;

/// Which recurrent cell particles are memories of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// PF-LSTM: particles hold (h, c).
    Lstm,
    /// PF-GRU: particles hold h.
    Gru,
}

impl CellKind {
    /// Numbers in a particle of so many units.
    pub fn state(self, units: usize) -> usize {
        match self {
            Self::Lstm => 2 * units,
            Self::Gru => units,
        }
    }
}

/// Means and variances of candidates, one for each particle index.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Means, K.
    pub mean: Vec<f64>,
    /// Variances, K.
    pub variance: Vec<f64>,
}

impl Statistics {
    /// PyTorch's own before any batch.
    pub fn first(particles: usize) -> Self {
        Self { mean: vec![0.0; particles], variance: vec![1.0; particles] }
    }

    /// A tenth of what was found is taken over.
    pub fn follow(&mut self, found: &Self) {
        let pairs = [(&mut self.mean, &found.mean), (&mut self.variance, &found.variance)];
        for (own, found) in pairs {
            own.iter_mut().zip(found).for_each(|(own, found)| *own += 0.1 * (found - *own));
        }
    }
}

/// What a cell is given at a step.
#[derive(Debug)]
pub struct CellInput<'a> {
    /// What particles are weighted by, o(x), [B, ·].
    pub weighed: Tensor<2>,
    /// What they remember, u(x), [B, ·].
    pub remembered: Tensor<2>,
    /// Standard normal, [B, K, H].
    pub noise: Tensor<3>,
    /// For resampling.
    pub uniforms: &'a [f64],
    /// By which candidates are normalised; those of the batch itself if none are given.
    pub statistics: Option<&'a Statistics>,
}

/// What became of a step.
#[derive(Debug)]
pub struct CellOutput {
    /// Memories and weights after resampling.
    pub belief: Belief,
    /// log Σ w l before it, `[B]`.
    pub log_evidence: Tensor<1>,
    /// Of the batch, with the variance that expects the whole to be wider (K - 1 in place of K), as PyTorch keeps it.
    pub statistics: Statistics,
}

/// A PF-LSTM or PF-GRU. Candidates are drawn, μ + softplus(ν) ε, and normalised for each *particle index* over the batch and
/// the units, so that particles may not be exchanged, as in the authors' code.
#[derive(Module, Debug)]
pub struct ParticleCell {
    /// (h, u) → f, i, o, μ, ν of a PF-LSTM, or z, r of a PF-GRU, in turn.
    pub gates: Dense,
    /// (r h, u) → μ, ν of a PF-GRU; nothing of a PF-LSTM.
    pub candidate: Vec<Dense>,
    /// Of the normalisation, K.
    pub scale: Param<Tensor<1>>,
    /// Of the normalisation, K.
    pub shift: Param<Tensor<1>>,
    /// (o, h') of a PF-LSTM, (h', o) of a PF-GRU → log l.
    pub likelihood: Dense,
    #[module(skip)]
    kind: CellKind,
    #[module(skip)]
    units: usize,
}

impl ParticleCell {
    /// A cell of K particles with H units, and inputs of a width each.
    pub fn new(kind: CellKind, [particles, units, inputs]: [usize; 3], init: &mut Init) -> Self {
        let joint = units + inputs;
        let (gates, candidate) = match kind {
            CellKind::Lstm => (Dense::new(joint, 5 * units, init), Vec::new()),
            CellKind::Gru => (Dense::new(joint, 2 * units, init), vec![Dense::new(joint, 2 * units, init)]),
        };
        let likelihood = Dense::new(joint, 1, init);
        let (scale, shift) = (init.constant([particles], 1.0), init.constant([particles], 0.0));
        Self { gates, candidate, scale, shift, likelihood, kind, units }
    }

    /// How many particles there are: the normalisation knows each by its number.
    pub fn particles(&self) -> usize {
        self.scale.dims()[0]
    }

    /// Numbers in a particle.
    pub fn state(&self) -> usize {
        self.kind.state(self.units)
    }

    /// What of particles is said to others, h: [.., ·] → [.., H].
    pub fn hidden<const D: usize>(&self, states: Tensor<D>) -> Tensor<D> {
        states.slice_dim(D - 1, 0..self.units)
    }

    /// One step: particles remember, are weighted, p' = p + log l, and resampled.
    pub fn step(&self, before: Belief, input: CellInput, resampler: &dyn Resampler) -> CellOutput {
        let [batch, particles, _] = before.dims();
        let each = |x: Tensor<2>| {
            let width = x.dims()[1];
            x.unsqueeze_dim::<3>(1).expand([batch, particles, width])
        };
        let (u, o) = (each(input.remembered), each(input.weighed));
        let h = self.hidden(before.states.clone());
        let gates = self.gates.forward(Tensor::cat(vec![h.clone(), u.clone()], 2));
        let gate = |k: usize| gates.clone().slice_dim(2, k * self.units..(k + 1) * self.units);
        let (states, statistics, seen) = match self.kind {
            CellKind::Lstm => {
                let drawn = gate(3) + softplus(gate(4), 1.0) * input.noise;
                let (candidate, statistics) = self.normalised(drawn, input.statistics);
                let c = before.states.slice_dim(2, self.units..2 * self.units);
                let c = sigmoid(gate(0)) * c + sigmoid(gate(1)) * candidate;
                let h = sigmoid(gate(2)) * c.clone().tanh();
                (Tensor::cat(vec![h.clone(), c], 2), statistics, Tensor::cat(vec![o, h], 2))
            }
            CellKind::Gru => {
                let (z, r) = (sigmoid(gate(0)), sigmoid(gate(1)));
                let both = self.candidate[0].forward(Tensor::cat(vec![r * h.clone(), u], 2));
                let half = |k: usize| both.clone().slice_dim(2, k * self.units..(k + 1) * self.units);
                let drawn = half(0) + softplus(half(1), 1.0) * input.noise;
                let (candidate, statistics) = self.normalised(drawn, input.statistics);
                let h = (z.ones_like() - z.clone()) * candidate + z * h;
                (h.clone(), statistics, Tensor::cat(vec![h, o], 2))
            }
        };
        let log_likelihood = self.likelihood.forward(seen).squeeze_dim::<2>(2);
        let weighted = before.weights.reweight(log_likelihood);
        let belief = Belief { states, weights: weighted.weights };
        let belief = resampler.resample(belief, particles, input.uniforms).belief;
        CellOutput { belief, log_evidence: weighted.log_evidence, statistics }
    }

    /// Candidates normalised and put through LeakyReLU, [B, K, H].
    fn normalised(&self, drawn: Tensor<3>, given: Option<&Statistics>) -> (Tensor<3>, Statistics) {
        let [batch, particles, units] = drawn.dims();
        let mean_of = |x: Tensor<3>| x.mean_dim(2).mean_dim(0); // [1, K, 1]
        let mean = mean_of(drawn.clone());
        let variance = mean_of((drawn.clone() - mean.clone()).square());
        let numbers = |x: &Tensor<3>| x.try_to_vec_as::<f64>().expect("statistics are numbers");
        let count = (batch * units) as f64;
        let wider = count / (count - 1.0).max(1.0);
        let found = Statistics {
            mean: numbers(&mean),
            variance: numbers(&variance).iter().map(|variance| wider * variance).collect(),
        };
        let of = |values: &[f64]| {
            let data = burn::tensor::TensorData::new(values.to_vec(), [1, particles, 1]);
            Tensor::<3>::from_data(data, (&drawn.device(), drawn.dtype()))
        };
        let [mean, variance] = match given {
            Some(given) => [of(&given.mean), of(&given.variance)],
            None => [mean, variance],
        };
        let own = |values: &Param<Tensor<1>>| values.val().reshape([1, particles, 1]);
        let normal = (drawn - mean) / (variance + EPSILON).sqrt();
        (leaky_relu(normal * own(&self.scale) + own(&self.shift), LEAK), found)
    }
}
