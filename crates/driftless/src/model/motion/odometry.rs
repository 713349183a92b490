//! Odometry as it is given: nothing is learned.

use super::{Motion, per_particle};
use burn::module::Module;
use burn::tensor::Tensor;
use driftless_world::pose::{Frame, compose};

/// Odometry rotated into the world: with b = a_y where the frame has y to the left, as robots have it, and b = -a_y
/// in DPF's reflected frame, x += a_x c - b s, y += a_x s + b c, θ += a_θ. Odometry in the world's frame is not rotated.
/// Nothing is learned.
#[derive(Module, Debug)]
pub struct GivenOdometry {
    #[module(skip)]
    frame: Frame,
}

impl GivenOdometry {
    /// Odometry that is written down in this frame.
    pub fn new(frame: Frame) -> Self {
        Self { frame }
    }
}

impl Default for GivenOdometry {
    /// In DPF's reflected frame.
    fn default() -> Self {
        Self::new(Frame::Reflected)
    }
}

impl Motion for GivenOdometry {
    fn displacement(&self, states: Tensor<3>, actions: Tensor<3>) -> Tensor<3> {
        let heading = states.slice_dim(2, 2..3) * self.frame.turning(); // [B, N, 1]
        let (sine, cosine) = (heading.clone().sin(), heading.cos());
        let part = |k: usize| actions.clone().slice_dim(2, k..k + 1); // [B, 1 or N, 1]
        let turn = part(2).expand(sine.dims());
        let [x, y] = compose([cosine, sine], [part(0), part(1) * self.frame.side()]);
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
