//! What a robot may have done in a step whose action is missing.

use super::gaussian::log_normal;
use crate::prior::row;
use crate::space::Space;
use burn::tensor::Tensor;

/// Nobody knows how the state moved: it is about where it was, a normal law of independent coordinates. Missing is not
/// standing still.
#[derive(Clone, Debug, PartialEq)]
pub struct Wander {
    std: Vec<f64>,
    space: Space,
}

impl Wander {
    /// As far as these standard deviations, one a coordinate.
    ///
    /// # Panics
    /// If one is not positive: the density would not exist.
    pub fn new(std: Vec<f64>, space: Space) -> Self {
        assert!(std.iter().all(|&std| std > 0.0), "standard deviations must be positive: {std:?}");
        Self { std, space }
    }

    /// Standard deviations in each coordinate.
    pub(crate) fn std(&self) -> &[f64] {
        &self.std
    }

    /// Moves particles; of the noise, the first S numbers are used.
    ///
    /// # Shapes
    /// parents [B, N, S], noise [B, N, ·] standard normal; result [B, N, S].
    pub fn sample(&self, parents: Tensor<3>, noise: Tensor<3>) -> Tensor<3> {
        let noise = noise.slice_dim(2, 0..self.std.len());
        let scaled = noise * row(&self.std, &parents);
        self.space.wrap(parents + scaled)
    }

    /// log density of states given their parents, [B, N].
    pub fn log_density(&self, parents: Tensor<3>, states: Tensor<3>) -> Tensor<2> {
        log_normal(&self.space.difference(states, parents), &self.std)
    }
}
