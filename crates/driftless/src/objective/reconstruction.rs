//! How well observations can be made again of their features: the autoencoder's loss.

use super::Objective;
use crate::batch::Batch;
use crate::filter::Rollout;
use crate::model::{Cues, Learnable, Measurement, Model, Observations, Screen};
use burn::module::Module;
use burn::tensor::Tensor;

/// Makes observations of their features.
pub trait Decoder: Learnable {
    /// What it makes: images [B, T, C, H, W], vectors [B, T, V], or anything else.
    type Output;

    /// Observations of features [B, T, E].
    fn decode(&self, features: Tensor<3>) -> Self::Output;
}

/// A model with a decoder beside it, so that the decoder is trained and kept with the model. It
/// filters as the model does.
#[derive(Module, Debug)]
pub struct Autoencoding<M: Model, D: Decoder> {
    /// What filters.
    pub model: M,
    /// What makes observations of features.
    pub decoder: D,
}

impl<M: Model, D: Decoder> Model for Autoencoding<M, D> {
    type Transition = M::Transition;
    type Measurement = M::Measurement;

    fn transition(&self) -> &M::Transition {
        self.model.transition()
    }

    fn measurement(&self) -> &M::Measurement {
        self.model.measurement()
    }

    fn propose(&self, cues: &Cues<Self>, t: usize, count: usize, seed: u64) -> Option<Tensor<3>> {
        self.model.propose(cues, t, count, seed)
    }
}

/// The mean of (o - decode(encode(o)))² over all numbers of all images; no labels are needed. In
/// training, the encoder runs again with dropout of its own, as in the authors' code.
///
/// Images that are not finite, or whose features are not, count as reproduced, without gradient.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reconstruction;

/// Names the dropout of this second run of the encoder, among all uses of a rollout's phase.
pub(crate) const SECOND_RUN: u64 = 0x7265_636f_6e73;

impl<M, D> Objective<Autoencoding<M, D>> for Reconstruction
where
    M: Model,
    M::Measurement: Measurement<Observations = Tensor<5>, Cues = Tensor<3>>,
    D: Decoder<Output = Tensor<5>>,
{
    fn name(&self) -> &'static str {
        "reconstruction"
    }

    fn loss(
        &self,
        model: &Autoencoding<M, D>,
        rollout: &Rollout<Autoencoding<M, D>>,
        batch: &Batch<Observations<Autoencoding<M, D>>>,
    ) -> Tensor<1> {
        let phase = rollout.phase.split(SECOND_RUN);
        let (features, unknown) = model.measurement().encode(&batch.observations, phase).screen(); // [B, T, E]
        let (images, lost) = batch.observations.clone().screen();
        let error = (model.decoder.decode(features) - images).square(); // [B, T, C, H, W]
        let lost = lost.bool_or(unknown).unsqueeze_dims::<5>(&[2, 3, 4]).expand(error.dims());
        // Of each image first: one sum of millions of numbers in 32 bits would lose a hundredth of them.
        error.mask_fill(lost, 0.0).flatten::<3>(2, 4).mean_dim(2).mean()
    }
}
