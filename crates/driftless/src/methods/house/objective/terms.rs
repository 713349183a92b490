//! What counts how much in a block.

use crate::learn::HousePseudoLikelihood;

/// By what a belief is evaluated where the pose is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::methods::house) enum LabelLoss {
    /// The squared error of its mean.
    SquaredError,
    /// Its density.
    Density,
}

/// What counts how much.
#[derive(Clone, Copy, Debug)]
pub(in crate::methods::house) struct Terms {
    /// By what beliefs are evaluated.
    pub(in crate::methods::house) label_loss: LabelLoss,
    /// λ₁ over the number of poses that are known in a batch.
    pub(in crate::methods::house) known: f64,
    /// λ₂ over the number of blocks.
    pub(in crate::methods::house) pseudo: f64,
    /// Which of its readings Q has.
    pub(in crate::methods::house) switches: HousePseudoLikelihood,
    /// α; 0 is no resampling.
    pub(in crate::methods::house) softness: f64,
    /// The share of particles that must count lest they are resampled; 1 is at every step.
    pub(in crate::methods::house) threshold: f64,
    /// Whether a block goes on where another one ended, with the motion in between.
    pub(in crate::methods::house) goes_on: bool,
    /// Whether the block is the first of a sequence.
    pub(in crate::methods::house) is_first: bool,
    /// Which of its steps is the last of a sequence, if one is.
    pub(in crate::methods::house) last: Option<usize>,
}

impl Terms {
    /// Soft resampling comes before a pose is looked at, as in PF-net; hard resampling, which leaves nothing to learn
    /// from, comes after it, as in the paper's Algorithm 1.
    pub(in crate::methods::house) fn resamples_first(&self) -> bool {
        self.softness < 1.0
    }
}
