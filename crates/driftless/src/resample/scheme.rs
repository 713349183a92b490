//! The classical schemes: how uniform numbers become ancestors.
//!
//! All are unbiased: particle i has N w_i children in expectation. Their variance differs
//! (Douc, Cappé & Moulines 2005).

use super::{Resampled, Resampler, drawn};
use crate::belief::Belief;
use burn::tensor::{Int, Tensor, TensorData};

/// N independent draws: Var n_i = N w_i (1 - w_i).
#[derive(Clone, Copy, Debug, Default)]
pub struct Multinomial;

/// One uniform number u and the markers (j + u) / N: n_i is N w_i rounded down or up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Systematic;

impl Resampler for Multinomial {
    fn uniforms(&self, particles: usize) -> usize {
        particles
    }

    fn resample(&self, belief: Belief, uniforms: &[f64]) -> Resampled {
        by_markers(&belief, |row, particle, particles| uniforms[row * particles + particle])
    }
}

impl Resampler for Systematic {
    fn uniforms(&self, _particles: usize) -> usize {
        1
    }

    fn resample(&self, belief: Belief, uniforms: &[f64]) -> Resampled {
        by_markers(&belief, |row, particle, particles| (particle as f64 + uniforms[row]) / particles as f64)
    }
}

/// Ancestor of a marker m in [0, 1): the first particle whose cumulative weight exceeds m.
fn by_markers(belief: &Belief, marker: impl Fn(usize, usize, usize) -> f64) -> Resampled {
    let [batch, particles, _] = belief.dims();
    // The indices are constants; weights are read back to the host, which is free on the CPU.
    let weights = belief.weights.exp().try_to_vec_as::<f64>().expect("weights are numbers");
    let mut ancestors = Vec::with_capacity(batch * particles);
    for (row, weights) in weights.chunks_exact(particles).enumerate() {
        let mut sum = 0.0;
        let cumulative: Vec<f64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        for particle in 0..particles {
            // Scaled by the sum, the last cumulative weight is 1 whatever the rounding.
            let target = marker(row, particle, particles) * sum;
            let index = cumulative.partition_point(|&sum| sum <= target);
            ancestors.push(last_alive(weights, index) as i64);
        }
    }
    let data = TensorData::new(ancestors, [batch, particles]);
    drawn(belief, Tensor::<2, Int>::from_data(data, &belief.states.device()))
}

/// Rounding may push a marker beyond the end: the last particle with weight is meant.
fn last_alive(weights: &[f64], index: usize) -> usize {
    if index < weights.len() {
        return index;
    }
    weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
}
