//! Motion with Gaussian noise around a displacement, given or learned.

use super::{Learnable, Transition};
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// The easy door: where a state goes without noise, f(s, a).
pub trait Motion: Learnable {
    /// The displacement, in the world's frame.
    ///
    /// # Shapes
    /// states [B, N, S], action [B, A]; result [B, N, S].
    fn displacement(&self, states: Tensor<3>, action: Tensor<2>) -> Tensor<3>;
}

/// s_t = s_{t-1} + f(s_{t-1}, a_t) + σ ε: paper section on the dynamic model. Angles are wrapped
/// after the noise, and the density sees wrapped differences.
#[derive(Module, Debug)]
pub struct GaussianMotion<F: Motion> {
    /// The displacement.
    pub motion: F,
    /// Standard deviations of the noise, one a coordinate.
    #[module(skip)]
    std: Vec<f64>,
    #[module(skip)]
    space: Space,
}

impl<F: Motion> GaussianMotion<F> {
    /// Fixed noise around a displacement.
    ///
    /// # Panics
    /// If a standard deviation is not positive: the density would not exist.
    pub fn new(motion: F, std: Vec<f64>, space: Space) -> Self {
        assert!(std.iter().all(|&std| std > 0.0), "standard deviations must be positive: {std:?}");
        Self { motion, std, space }
    }

    /// Standard deviations of the noise.
    pub fn std(&self) -> &[f64] {
        &self.std
    }
}

impl<F: Motion> Transition for GaussianMotion<F> {
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        let scaled = noise * row(&self.std, &parents);
        let moved = parents.clone() + self.motion.displacement(parents, action) + scaled; // [B, N, S]
        self.space.wrap(moved)
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2> {
        let expected = parents.clone() + self.motion.displacement(parents, action);
        let z = self.space.difference(states, expected.clone()) / row(&self.std, &expected); // [B, N, S]
        let normaliser: f64 = self.std.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
        (z.square().sum_dim(2) * -0.5 - normaliser).squeeze_dim(2)
    }
}

/// Odometry in DPF's reflected frame, rotated into the world: x += a_x c + a_y s,
/// y += a_x s - a_y c, θ += a_θ. Nothing is learned.
#[derive(Module, Debug, Default)]
pub struct GivenOdometry {}

impl Motion for GivenOdometry {
    fn displacement(&self, states: Tensor<3>, action: Tensor<2>) -> Tensor<3> {
        let heading = states.slice_dim(2, 2..3); // [B, N, 1]
        let (sine, cosine) = (heading.clone().sin(), heading.cos());
        let part = |k: usize| action.clone().slice_dim(1, k..k + 1).unsqueeze_dim::<3>(1); // [B, 1, 1]
        let turn = part(2).expand(sine.dims());
        let x = part(0) * cosine.clone() + part(1) * sine.clone();
        let y = part(0) * sine - part(1) * cosine;
        Tensor::cat(vec![x, y, turn], 2)
    }
}
