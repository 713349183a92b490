//! Where particles start: μ(s_1), as samples and as a density (paper section on the initial state).

use crate::belief::{Belief, IMPOSSIBLE};
use crate::draws::Draws;
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// The distribution of the first state, with independent coordinates.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// Uniform over a box.
    Uniform {
        /// Least value of each coordinate.
        low: Vec<f64>,
        /// Greatest value of each coordinate.
        high: Vec<f64>,
    },
    /// Normal, the same for all sequences.
    Normal {
        /// Mean of each coordinate.
        mean: Vec<f64>,
        /// Standard deviation of each coordinate.
        std: Vec<f64>,
    },
}

impl Prior {
    /// Draws N particles of equal weight for each sequence.
    pub fn sample(&self, draws: &Draws) -> Belief {
        let (base, shift, scale) = match self {
            Self::Uniform { low, high } => {
                let range: Vec<f64> = low.iter().zip(high).map(|(low, high)| high - low).collect();
                (draws.uniform_start.clone(), low.clone(), range)
            }
            Self::Normal { mean, std } => (draws.normal_start.clone(), mean.clone(), std.clone()),
        };
        let (shift, scale) = (row(&shift, &base), row(&scale, &base));
        Belief::uniform(base * scale + shift)
    }

    /// log μ(s), [B, N, S] → [B, N]. Outside of a box it is -1e30, the finite stand-in for -∞.
    pub fn log_density(&self, states: &Tensor<3>) -> Tensor<2> {
        match self {
            Self::Uniform { low, high } => {
                let volume: f64 = low.iter().zip(high).map(|(low, high)| (high - low).ln()).sum();
                let (low, high) = (row(low, states), row(high, states));
                let outside = states.clone().lower(low).bool_or(states.clone().greater(high));
                let [batch, particles, _] = states.dims();
                let inside = states.zeros_like().mask_fill(outside, IMPOSSIBLE).min_dim(2);
                (inside - volume).reshape([batch, particles]).clamp_min(IMPOSSIBLE)
            }
            Self::Normal { mean, std } => {
                let normaliser: f64 = std.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
                let z = (states.clone() - row(mean, states)) / row(std, states);
                (z.square().sum_dim(2) * -0.5 - normaliser).squeeze_dim(2)
            }
        }
    }
}

/// S numbers as [1, 1, S], with the precision and device of `like`.
pub(crate) fn row(values: &[f64], like: &Tensor<3>) -> Tensor<3> {
    let data = burn::tensor::TensorData::new(values.to_vec(), [1, 1, values.len()]);
    Tensor::from_data(data, (&like.device(), like.dtype()))
}
