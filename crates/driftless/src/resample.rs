//! Resampling: particles are drawn anew in proportion to their weights.
//!
//! A [`Resampler`] is an object chosen by configuration. Schemes draw ancestors
//! ([`Systematic`], [`Multinomial`]); wrappers decide when ([`WhenBelow`]) and what the gradient
//! sees ([`Truncate`]). Wrappers stack, so the filter has no branch for any of them.

mod adaptive;
mod scheme;
mod truncate;

pub use adaptive::WhenBelow;
pub use scheme::{Multinomial, Systematic};
pub use truncate::Truncate;

use crate::belief::{Belief, LogWeights};
use burn::tensor::{Int, Tensor};

/// Draws particles anew.
pub trait Resampler: Send + Sync + std::fmt::Debug {
    /// Uniform random numbers needed a sequence, for N particles.
    fn uniforms(&self, particles: usize) -> usize;

    /// Resamples each sequence with its own `uniforms(N)` numbers, given row after row.
    fn resample(&self, belief: Belief, uniforms: &[f64]) -> Resampled;
}

/// The new particles and where they come from.
#[derive(Clone, Debug)]
pub struct Resampled {
    /// Particles and their new weights.
    pub belief: Belief,
    /// Which particle each one was before, [B, N].
    pub ancestors: Tensor<2, Int>,
}

/// `states[b, ancestors[b, i], ·]`: [B, N, S] by [B, N].
pub(crate) fn gather_states(states: Tensor<3>, ancestors: Tensor<2, Int>) -> Tensor<3> {
    let [batch, particles, size] = states.dims();
    states.gather(1, ancestors.unsqueeze_dim::<3>(2).expand([batch, particles, size]))
}

/// Equal weights for drawn particles.
pub(crate) fn drawn(belief: &Belief, ancestors: Tensor<2, Int>) -> Resampled {
    let states = gather_states(belief.states.clone(), ancestors.clone());
    let weights = LogWeights::uniform_like(&belief.weights.log());
    Resampled { belief: Belief { states, weights }, ancestors }
}
