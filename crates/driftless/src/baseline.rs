//! Networks that estimate states without a filter: what the papers compare with.
//!
//! [`RecurrentBaseline`] reads observations and actions step by step through two [`Cell`]s, which
//! are LSTMs, GRUs, or without memory. LSTMs learn by [`RecurrentBaseline::loss_by_kernels`] where images are
//! seen, and by [`RecurrentBaseline::loss_by_hand`] elsewhere: faster ways to the same gradient.

pub mod gru;
pub mod lstm;
pub mod recurrent;
mod unrolled;

pub use gru::Gru;
pub use lstm::Lstm;
pub use recurrent::{BaselinePlan, BaselineScales, KernelRoom, LossByHand, RecurrentBaseline};

use crate::nets::{Activation, Dense};
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;

/// Which kind of cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Long short-term memory.
    Lstm,
    /// Gated recurrent units.
    Gru,
    /// A layer with ReLU: every step is seen alone.
    FeedForward,
}

/// What carries memory from step to step, or does not.
#[derive(Module, Debug)]
pub enum Cell {
    /// Long short-term memory.
    Lstm(Lstm),
    /// Gated recurrent units.
    Gru(Gru),
    /// A layer with ReLU.
    FeedForward(Dense),
}

impl Cell {
    /// A cell of `units` outputs, with its first weights.
    pub fn new(kind: CellKind, inputs: usize, units: usize, init: &mut Init) -> Self {
        match kind {
            CellKind::Lstm => Self::Lstm(Lstm::new(inputs, units, init)),
            CellKind::Gru => Self::Gru(Gru::new(inputs, units, init)),
            CellKind::FeedForward => Self::FeedForward(Dense::new(inputs, units, init)),
        }
    }

    /// All steps of a sequence, from a zero state: T times [B, inputs] → T times [B, units].
    ///
    /// Steps are kept apart, because cutting them out of one tensor would cost a gradient of the
    /// size of the sequence at every step.
    pub fn forward(&self, steps: Vec<Tensor<2>>) -> Vec<Tensor<2>> {
        match self {
            Self::Lstm(lstm) => lstm.forward(steps),
            Self::Gru(gru) => gru.forward(steps),
            Self::FeedForward(dense) => {
                steps.into_iter().map(|step| Activation::Relu.apply(dense.forward(step))).collect()
            }
        }
    }
}

/// Zeros [B, units], with the batch, precision and device of a step.
fn zero_state(step: &Tensor<2>, units: usize) -> Tensor<2> {
    Tensor::zeros([step.dims()[0], units], (&step.device(), step.dtype()))
}
