//! How states move: a displacement, given or learned, and the noise around it.

mod gaussian;
mod odometry;
mod sampler;
mod transformer;
mod wander;

pub use gaussian::GaussianMotion;
pub use odometry::{GivenOdometry, Shift};
pub use sampler::{ActionSampler, ActionSamplerConfig};
pub use transformer::{ActionTransformer, ActionTransformerConfig};
pub use wander::Wander;

use super::Learnable;
use burn::tensor::Tensor;

/// The easy door: where a state goes without noise, f(s, a).
pub trait Motion: Learnable {
    /// The displacement, in the world's frame. Actions are either the same for all particles of a
    /// sequence or one each, because some noise acts on actions; arithmetic broadcasts over both,
    /// and [`per_particle`] makes the latter of the former.
    ///
    /// # Shapes
    /// states [B, N, S], actions [B, 1 or N, A]; result [B, N, S].
    fn displacement(&self, states: Tensor<3>, actions: Tensor<3>) -> Tensor<3>;
}

/// How many standard deviations a density looks away, at most. Farther off, rounding of 32 bits is all
/// there is to see, and gradients would overflow.
pub(crate) const MOST_SIGMAS: f64 = 1e6;

/// How far a density looks away, at most: quotients of it by small normalisation, and by their squares, are finite
/// in 32 bits.
pub(crate) const FARTHEST: f64 = 1e20;

/// Actions [B, 1 or N, A] as [B, N, A], for N as in `states` [B, N, S].
pub fn per_particle(actions: Tensor<3>, states: &Tensor<3>) -> Tensor<3> {
    let ([batch, particles, _], size) = (states.dims(), actions.dims()[2]);
    actions.expand([batch, particles, size])
}
