//! What is learned from: losses over rollouts, and weighted sums of them.
//!
//! [`SquaredError`] and [`KernelDensity`] need labels; [`PseudoLikelihood`], [`Evidence`] and
//! [`Reconstruction`] do not.

mod evidence;
mod kernel_density;
mod pseudo_likelihood;
mod reconstruction;
mod squared_error;

pub use evidence::Evidence;
pub use kernel_density::KernelDensity;
pub(crate) use kernel_density::LEAST_DENSITY;
pub use pseudo_likelihood::{BlockStart, Genealogy, Likelihoods, PseudoLikelihood};
pub(crate) use reconstruction::SECOND_RUN;
pub use reconstruction::{Autoencoding, Decoder, Reconstruction};
pub use squared_error::SquaredError;

use crate::batch::Batch;
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use burn::tensor::Tensor;

/// A loss: a number to minimise.
pub trait Objective<M: Model>: Send + Sync {
    /// What reports call it.
    fn name(&self) -> &'static str;

    /// The loss of a rollout, `[1]`, averaged over the batch.
    fn loss(&self, model: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1>;
}

/// λ_1 L_1 + λ_2 L_2 + …: paper eq. for the whole objective, with Q entering as the loss -Q.
pub struct WeightedSum<M: Model>(pub Vec<(f64, Box<dyn Objective<M>>)>);

impl<M: Model> WeightedSum<M> {
    /// Each part by name, before its weight.
    pub fn parts(
        &self,
        model: &M,
        rollout: &Rollout<M>,
        batch: &Batch<Observations<M>>,
    ) -> Vec<(&'static str, Tensor<1>)> {
        self.0.iter().map(|(_, part)| (part.name(), part.loss(model, rollout, batch))).collect()
    }
}

impl<M: Model> Objective<M> for WeightedSum<M> {
    fn name(&self) -> &'static str {
        "weighted sum"
    }

    /// # Panics
    /// If there are no parts.
    fn loss(&self, model: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        let weighted = self.0.iter().map(|(weight, part)| part.loss(model, rollout, batch) * *weight);
        weighted.reduce(|sum, part| sum + part).expect("an objective has at least one part")
    }
}
