//! How dense the particles are where the truth is.

use super::Objective;
use crate::batch::{Batch, LabelMean};
use crate::belief::Belief;
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use crate::prior::row;
use crate::space::Space;
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// -log(1e-16 + Σ_i w_i N(d_i; 0, σ²)) at labelled steps, with d_i the scaled distance of particle
/// i from the truth (Jonschkowski et al. 2018). Sees the whole belief, not only its mean; where no
/// particle is near it is 16 log 10 and has no gradient.
///
/// As published, N is normalised as in one dimension, which is a constant.
#[derive(Clone, Debug)]
pub struct KernelDensity {
    /// Normalisation statistics in each coordinate, for instance the mean size of a step. S numbers.
    pub scale: Vec<f64>,
    /// σ, in units of the scale: 0.2 in the authors' code.
    pub bandwidth: f64,
    /// What the sum is divided by.
    pub over: LabelMean,
}

impl KernelDensity {
    /// One step: truth [B, S], result [B, 1].
    pub(crate) fn step(&self, belief: &Belief, truth: Tensor<2>, space: Space) -> Tensor<2> {
        let difference = space.difference(truth.unsqueeze_dim::<3>(1), belief.states.clone()); // [B, N, S]
        let squared = (difference / row(&self.scale, &belief.states)).square().sum_dim(2).squeeze_dim::<2>(2);
        -mixture(belief.weights.exp(), squared, self.bandwidth).log()
    }
}

/// What is added to densities, so that they have a logarithm.
pub(crate) const LEAST_DENSITY: f64 = 1e-16;

/// 1e-16 + Σ w N(d; 0, σ²), [B, N] → [B, 1].
fn mixture(weights: Tensor<2>, squared_distances: Tensor<2>, bandwidth: f64) -> Tensor<2> {
    // A product, because Burn 0.22 differentiates a division by a number in 32 bits.
    let peak = 1.0 / (TAU.sqrt() * bandwidth);
    let kernel = (squared_distances * (-0.5 / (bandwidth * bandwidth))).exp() * peak;
    (weights * kernel).sum_dim(1) + LEAST_DENSITY
}

impl<M: Model> Objective<M> for KernelDensity {
    fn name(&self) -> &'static str {
        "kernel density"
    }

    fn loss(&self, _: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        batch.labels.mean(self.over, |truth| {
            let at = |t: usize| truth.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1); // [B, S]
            let steps = rollout.beliefs.iter().enumerate();
            Tensor::cat(steps.map(|(t, belief)| self.step(belief, at(t), rollout.space)).collect(), 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    #[test]
    fn golden_density_and_floor() {
        let weights = f64s::<2>([[0.2, 0.3, 0.5]]);
        let near = -mixture(weights.clone(), f64s([[0.0, 0.04, 1.0]]), 0.2).log();
        assert_close(&numbers(&near), &[0.271_937_230_267_466_7], 1e-13);
        let far = f64s::<2>([[100.0, 200.0, 300.0]]).require_grad();
        let nothing = -mixture(weights, far.clone(), 0.2).log();
        assert_close(&numbers(&nothing), &[36.841_361_487_904_734], 1e-12);
        assert_eq!(numbers(&far.grad(&nothing.backward()).unwrap()), [0.0; 3]);
    }
}
