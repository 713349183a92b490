//! The squared error of the mean state, at labelled steps.

use super::Objective;
use crate::batch::{Batch, LabelMean, Labels};
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use crate::prior::row;
use crate::space::Space;
use burn::tensor::Tensor;

/// The mean over labelled steps of Σ_k ((s*_k - ŝ_k) / scale_k)², angles wrapped: paper's L(θ).
/// A term beyond 1e30 counts as 1e30, without gradient.
#[derive(Clone, Debug)]
pub struct SquaredError {
    /// What counts as one in each coordinate, for instance the mean size of a step. S numbers.
    pub scale: Vec<f64>,
    /// What the sum is divided by.
    pub over: LabelMean,
}

/// Squares of 32 bits overflow at 3e38, and a batch of them is added.
const MOST: f64 = 1e30;

impl SquaredError {
    /// The loss of any estimates [B, T, S], `[1]`.
    pub fn of(&self, estimates: Tensor<3>, labels: &Labels, space: Space) -> Tensor<1> {
        let scale = row(&self.scale, &estimates);
        labels.mean(self.over, |truth| {
            let errors = (space.difference(truth, estimates) / scale).square(); // [B, T, S]
            errors.clamp_max(MOST).sum_dim(2).squeeze_dim(2)
        })
    }
}

impl<M: Model> Objective<M> for SquaredError {
    fn name(&self) -> &'static str {
        "squared error"
    }

    fn loss(&self, _: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        self.of(rollout.estimates(), &batch.labels, rollout.space)
    }
}
