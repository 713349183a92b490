//! No gradient crosses a resampling: each step's loss reaches only that step's parameters.

use super::{Resampled, Resampler};
use crate::belief::Belief;

/// Stops the gradient at the drawn particles and their weights (Jonschkowski et al. 2018).
#[derive(Debug)]
pub struct Truncate(pub Box<dyn Resampler>);

impl Resampler for Truncate {
    fn uniforms(&self, particles: usize) -> usize {
        self.0.uniforms(particles)
    }

    fn resample(&self, belief: Belief, uniforms: &[f64]) -> Resampled {
        let Resampled { belief, ancestors } = self.0.resample(belief, uniforms);
        Resampled { belief: belief.detach(), ancestors }
    }
}
