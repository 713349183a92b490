//! The choices of objectives, as they are called in texts.

use crate::objective::{Genealogy, Likelihoods};
use serde::{Deserialize, Serialize};

/// [`crate::LabelMean`] by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelMeanName {
    /// The number of labels in the batch.
    #[default]
    Known,
    /// B T times the share of labels in the data.
    Share,
}

/// Where the settings of a [`crate::objective::PseudoLikelihood`] start from; also whole choices of
/// resampler and objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// [`crate::objective::PseudoLikelihood::paper`].
    #[default]
    Paper,
    /// [`crate::objective::PseudoLikelihood::released`].
    ReleasedCode,
}

/// [`crate::objective::BlockStart`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartName {
    /// The setting's prior.
    Prior,
    /// A constant.
    Flat,
    /// A constant, then the transition from the block before.
    Carried,
}

/// [`Likelihoods`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LikelihoodsName {
    /// l itself.
    Literal,
    /// Its share among the particles.
    Normalised,
    /// The weights, but l at the last step.
    Released,
}

/// [`Genealogy`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GenealogyName {
    /// Paths alive at the end of the block.
    BlockEnd,
    /// Paths alive at the end of the sequence.
    Final,
}

impl From<LikelihoodsName> for Likelihoods {
    fn from(name: LikelihoodsName) -> Self {
        match name {
            LikelihoodsName::Literal => Self::Literal,
            LikelihoodsName::Normalised => Self::Normalised,
            LikelihoodsName::Released => Self::Released,
        }
    }
}

impl From<GenealogyName> for Genealogy {
    fn from(name: GenealogyName) -> Self {
        match name {
            GenealogyName::BlockEnd => Self::BlockEnd,
            GenealogyName::Final => Self::Final,
        }
    }
}
