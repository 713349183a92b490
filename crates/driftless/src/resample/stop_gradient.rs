//! Resampling whose numbers are unchanged but whose gradient is right in expectation.

use super::{Resampled, Resampler, Scheme, draw_from};
use crate::belief::Belief;

/// Weights 1/M · w / ⊥w, where ⊥ stops the gradient (Ścibior & Wood 2021): the weights of plain
/// resampling, with the score of the drawn ancestors as their gradient. Unbiased, of high variance.
#[derive(Clone, Copy, Debug)]
pub struct StopGradient(pub Scheme);

impl Resampler for StopGradient {
    fn uniforms(&self, particles: usize, _: usize) -> usize {
        self.0.uniforms(particles)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        draw_from(&belief, belief.weights.log().detach(), self.0, count, uniforms)
    }
}
