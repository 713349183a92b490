//! The pseudo-likelihood for sequences of any length.

use crate::batch::Batch;
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use crate::objective::{Objective, PseudoLikelihood};
use burn::tensor::Tensor;

/// A [`PseudoLikelihood`] that takes a sequence shorter than a block as one block.
pub(super) struct ShortToo(pub PseudoLikelihood);

/// Steps of a block in a sequence of so many.
pub(super) fn fitting(block: usize, steps: usize) -> usize {
    block.min(steps).max(1)
}

impl<M: Model> Objective<M> for ShortToo {
    fn name(&self) -> &'static str {
        Objective::<M>::name(&self.0)
    }

    fn loss(&self, model: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        let block = fitting(self.0.block, rollout.beliefs.len());
        PseudoLikelihood { block, ..self.0.clone() }.loss(model, rollout, batch)
    }
}
