//! What follows the branches: a layer, LSTM units, and the correction of a pose.

use crate::baseline::Lstm;
use crate::methods::house::objective::HEADING;
use crate::nets::{Activation, Dense};
use crate::parameters::Init;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;
use driftless_kernels::pfnet::DESCRIPTION;
use driftless_world::pose::compose;

/// Units of the first layer, and of the LSTM.
const SEEN: usize = 128;
pub(super) const UNITS: usize = 256;
/// How much smaller than others the last weights begin: the first corrections should be small.
const MODEST: f64 = 0.1;

/// The layers.
#[derive(Module, Debug)]
pub(super) struct Head {
    look: Dense,
    cell: Lstm,
    say: Dense,
}

/// What is carried from step to step: a pose in metres and radians, [B, 3], and the units' (h, c).
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) pose: Tensor<2>,
    pub(super) units: (Tensor<2>, Tensor<2>),
}

impl Head {
    pub(super) fn new(init: &mut Init) -> Self {
        let say = init.truncated_normal([UNITS, 3], MODEST / (UNITS as f64).sqrt());
        Self {
            look: Dense::new(DESCRIPTION, SEEN, init),
            cell: Lstm::new(SEEN + 3, UNITS, init),
            say: Dense { weight: say, bias: init.constant([3], 0.0) },
        }
    }

    /// A pose that has been moved already, [B, 3], corrected by what is seen there, [B, description]; the motion was
    /// [B, 3].
    pub(super) fn correct(&self, state: State, motion: Tensor<2>, seen: Tensor<2>) -> State {
        let looked = Activation::Relu.apply(self.look.forward(seen));
        let units = self.cell.step(Tensor::cat(vec![looked, motion], 1), state.units);
        let pose = moved(&state.pose, &self.say.forward(units.0.clone()));
        State { pose, units }
    }
}

/// Poses moved in their own frames: forward, left, turn.
pub(super) fn moved(pose: &Tensor<2>, motion: &Tensor<2>) -> Tensor<2> {
    let of = |tensor: &Tensor<2>, k: usize| tensor.clone().slice_dim(1, k..k + 1);
    let [x, y] = compose([of(pose, 2).cos(), of(pose, 2).sin()], [of(motion, 0), of(motion, 1)]);
    Tensor::cat(vec![of(pose, 0) + x, of(pose, 1) + y, of(pose, 2) + of(motion, 2)], 1)
}

/// Squared errors of poses, [B, 3] each, [B, 1].
pub(super) fn squared_error(pose: Tensor<2>, truth: Tensor<2>) -> Tensor<2> {
    let apart = Space::SE2.difference(pose, truth);
    let squares = apart.square();
    squares.clone().slice_dim(1, 0..2).sum_dim(1) + squares.slice_dim(1, 2..3) * HEADING
}
