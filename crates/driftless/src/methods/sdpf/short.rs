//! The pseudo-likelihood for sequences of any length.

use crate::batch::Batch;
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use crate::objective::{Objective, PseudoLikelihood};
use burn::tensor::Tensor;

/// A [`PseudoLikelihood`] that takes a sequence shorter than a block as one block.
pub(super) struct ShortToo(pub PseudoLikelihood);

impl<M: Model> Objective<M> for ShortToo {
    fn name(&self) -> &'static str {
        Objective::<M>::name(&self.0)
    }

    fn loss(&self, model: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        let block = self.0.block.min(rollout.beliefs.len());
        PseudoLikelihood { block, ..self.0.clone() }.loss(model, rollout, batch)
    }
}
