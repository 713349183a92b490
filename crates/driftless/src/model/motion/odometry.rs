//! Odometry as it is given: nothing is learned.

use super::{Motion, per_particle};
use burn::module::Module;
use burn::tensor::Tensor;

/// Odometry in DPF's reflected frame, rotated into the world: x += a_x c + a_y s,
/// y += a_x s - a_y c, θ += a_θ. Nothing is learned.
#[derive(Module, Debug, Default)]
pub struct GivenOdometry {}

impl Motion for GivenOdometry {
    fn displacement(&self, states: Tensor<3>, actions: Tensor<3>) -> Tensor<3> {
        let heading = states.slice_dim(2, 2..3); // [B, N, 1]
        let (sine, cosine) = (heading.clone().sin(), heading.cos());
        let part = |k: usize| actions.clone().slice_dim(2, k..k + 1); // [B, 1 or N, 1]
        let turn = part(2).expand(sine.dims());
        let x = part(0) * cosine.clone() + part(1) * sine.clone();
        let y = part(0) * sine - part(1) * cosine;
        Tensor::cat(vec![x, y, turn], 2)
    }
}

/// The action is the displacement itself, in the world's frame: S = A. A known current, say.
#[derive(Module, Debug, Default)]
pub struct Shift {}

impl Motion for Shift {
    fn displacement(&self, states: Tensor<3>, actions: Tensor<3>) -> Tensor<3> {
        per_particle(actions, &states)
    }
}
