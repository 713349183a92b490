//! The filter's own estimate of how likely the observations are.

use super::Objective;
use crate::batch::Batch;
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use burn::tensor::Tensor;

/// -log Ẑ, a bound on the log-likelihood in expectation. It means something only if l(o | s) is a
/// density over observations: otherwise its scale can grow without limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence;

impl<M: Model> Objective<M> for Evidence {
    fn name(&self) -> &'static str {
        "evidence"
    }

    fn loss(&self, _: &M, rollout: &Rollout<M>, _: &Batch<Observations<M>>) -> Tensor<1> {
        -rollout.log_evidence().mean()
    }
}
