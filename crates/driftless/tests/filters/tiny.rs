//! A very small learned model of poses and images, all weights taken from one vector.

use crate::common::f64s;
use burn::module::Module;
use burn::tensor::{Tensor, TensorData};
use driftless::model::{Encoder, FeatureMatch, GaussianMotion, Motion, StateEncoder, per_particle};
use driftless::{Measurement, Phase, Space, StateSpace};

/// tanh(x A) B for a motion, [B, N, ·].
#[derive(Module, Debug)]
pub struct TinyMotion {
    hidden: Tensor<3>,
    out: Tensor<3>,
}

impl Motion for TinyMotion {
    fn displacement(&self, states: Tensor<3>, actions: Tensor<3>) -> Tensor<3> {
        let actions = per_particle(actions, &states);
        Tensor::cat(vec![states, actions], 2).matmul(self.hidden.clone()).tanh().matmul(self.out.clone())
    }
}

/// tanh(o A) for images of four pixels.
#[derive(Module, Debug)]
pub struct TinyFrameEncoder {
    weights: Tensor<3>,
}

impl Encoder for TinyFrameEncoder {
    type Input = Tensor<5>;

    fn encode(&self, images: Tensor<5>, _: Phase) -> Tensor<3> {
        images.flatten::<3>(2, 4).matmul(self.weights.clone()).tanh()
    }
}

/// tanh((x, y, cos θ, sin θ) A).
#[derive(Module, Debug)]
pub struct TinyPlace {
    weights: Tensor<3>,
}

impl StateEncoder for TinyPlace {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        let heading = states.clone().slice_dim(2, 2..3);
        let place = vec![states.slice_dim(2, 0..2), heading.clone().cos(), heading.sin()];
        Tensor::cat(place, 2).matmul(self.weights.clone()).tanh()
    }
}

/// The whole model.
pub struct TinyModel(pub StateSpace<GaussianMotion<TinyMotion>, FeatureMatch<TinyFrameEncoder, TinyPlace>>);

impl TinyModel {
    /// Weights in all.
    pub const PARAMETERS: usize = 6 * 4 + 4 * 3 + 4 * 3 + 4 * 3;

    /// The model with these weights, [`TinyModel::PARAMETERS`] of them.
    pub fn new(theta: &Tensor<1>) -> Self {
        let part = |from: usize, rows: usize, columns: usize| {
            theta.clone().slice_dim(0, from..from + rows * columns).reshape([1, rows, columns])
        };
        let motion = TinyMotion { hidden: part(0, 6, 4), out: part(24, 4, 3) };
        let frame_encoder = TinyFrameEncoder { weights: part(36, 4, 3) };
        let place = TinyPlace { weights: part(48, 4, 3) };
        Self(StateSpace {
            transition: GaussianMotion::new(motion, vec![0.3, 0.3, 0.2], Space::SE2),
            measurement: FeatureMatch::new(frame_encoder, place).with_epsilon(1e-2),
        })
    }

    /// Features of two sequences of four images.
    pub fn cues(&self) -> Tensor<3> {
        let pixels: Vec<f64> = (0..32).map(|k| f64::from(k * 7 % 11) / 5.0 - 1.0).collect();
        self.0.measurement.encode(&f64s(TensorData::new(pixels, [2, 4, 1, 2, 2])), Phase::Evaluation)
    }

    /// Their actions.
    pub fn actions() -> Tensor<3> {
        let values: Vec<f64> = (0..24).map(|k| f64::from(k * 5 % 7) / 10.0 - 0.3).collect();
        f64s(TensorData::new(values, [2, 4, 3]))
    }
}
