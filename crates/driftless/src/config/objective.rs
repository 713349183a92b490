//! What is to be made small, by name.

use super::names::{GenealogyName, LabelMeanName, LikelihoodsName, Preset, StartName};
use super::{check, positive};
use crate::batch::LabelMean;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::objective::{BlockStart, Evidence, KernelDensity, Objective, PseudoLikelihood, SquaredError};
use crate::prior::Prior;
use serde::{Deserialize, Serialize};

/// One part of a [`crate::objective::WeightedSum`]; each has a finite weight, by default 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ObjectiveConfig {
    /// [`SquaredError`].
    SquaredError {
        /// λ.
        #[serde(default = "one")]
        weight: f64,
        /// What counts as one in each coordinate, positive. Default: the setting's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<Vec<f64>>,
        /// Default: known.
        #[serde(default)]
        over: LabelMeanName,
    },
    /// [`KernelDensity`].
    KernelDensity {
        /// λ.
        #[serde(default = "one")]
        weight: f64,
        /// What counts as one in each coordinate, positive. Default: the setting's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<Vec<f64>>,
        /// σ, positive. Default: 0.2, as in the authors' code.
        #[serde(default = "bandwidth")]
        bandwidth: f64,
        /// Default: known.
        #[serde(default)]
        over: LabelMeanName,
    },
    /// [`PseudoLikelihood`].
    PseudoLikelihood(PseudoLikelihoodConfig),
    /// [`Evidence`].
    Evidence {
        /// λ.
        #[serde(default = "one")]
        weight: f64,
    },
}

/// A [`PseudoLikelihood`]: a preset, and what of it is to be otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PseudoLikelihoodConfig {
    /// λ.
    #[serde(default = "one")]
    pub weight: f64,
    /// L, at least 1.
    pub block: usize,
    /// Default: paper.
    #[serde(default)]
    pub preset: Preset,
    /// The law of a block's first state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartName>,
    /// The constant of `flat` and `carried`. Default: that of the setting's uniform prior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_density: Option<f64>,
    /// What stands for l(o | s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihoods: Option<LikelihoodsName>,
    /// Whose paths count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genealogy: Option<GenealogyName>,
    /// Whether l(o_1 | s_1) enters the first block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_likelihood: Option<bool>,
    /// Whether positions are constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_positions: Option<bool>,
    /// Whether weights are constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_weights: Option<bool>,
}

/// What the data and the model say, and a text need not repeat.
#[derive(Clone, Copy, Debug)]
pub struct ObjectiveSetting<'a> {
    /// Where particles start.
    pub prior: &'a Prior,
    /// What counts as one in each coordinate, for instance the mean size of a step. S numbers.
    pub scale: &'a [f64],
    /// The share of labelled steps in the data, in (0, 1].
    pub label_share: f64,
}

fn one() -> f64 {
    1.0
}

fn bandwidth() -> f64 {
    0.2
}

impl ObjectiveConfig {
    /// The objective and its weight; numbers out of range are an error.
    pub fn build<M: Model>(&self, setting: ObjectiveSetting<'_>) -> Result<(f64, Box<dyn Objective<M>>)> {
        let (weight, objective): (f64, Box<dyn Objective<M>>) = match self {
            Self::SquaredError { weight, scale, over } => {
                let (scale, over) = (setting.scale(scale.as_deref())?, setting.over(*over)?);
                (*weight, Box::new(SquaredError { scale, over }))
            }
            Self::KernelDensity { weight, scale, bandwidth, over } => {
                positive("bandwidth", *bandwidth)?;
                let (scale, over) = (setting.scale(scale.as_deref())?, setting.over(*over)?);
                (*weight, Box::new(KernelDensity { scale, bandwidth: *bandwidth, over }))
            }
            Self::PseudoLikelihood(config) => (config.weight, Box::new(config.build(setting.prior)?)),
            Self::Evidence { weight } => (*weight, Box::new(Evidence)),
        };
        check("weight", weight, weight.is_finite(), "finite")?;
        Ok((weight, objective))
    }
}

impl ObjectiveSetting<'_> {
    fn scale(&self, own: Option<&[f64]>) -> Result<Vec<f64>> {
        let scale = own.unwrap_or(self.scale);
        scale.iter().try_for_each(|&size| positive("scale", size))?;
        let wanted = self.scale.len();
        check("scale", scale.len(), scale.len() == wanted, &format!("{wanted} numbers"))?;
        Ok(scale.to_vec())
    }

    fn over(&self, name: LabelMeanName) -> Result<LabelMean> {
        let share = self.label_share;
        match name {
            LabelMeanName::Known => Ok(LabelMean::Known),
            LabelMeanName::Share if share > 0.0 && share <= 1.0 => Ok(LabelMean::Share(share)),
            LabelMeanName::Share => Err(Error::setting(
                "over",
                format!("`share` divides by the share of labels, which is {share}; use `known`"),
            )),
        }
    }
}

impl PseudoLikelihoodConfig {
    /// The objective for particles that start as `prior` says; numbers out of range are an error.
    pub fn build(&self, prior: &Prior) -> Result<PseudoLikelihood> {
        check("block", self.block, self.block > 0, "at least 1")?;
        let mut result = match self.preset {
            Preset::Paper => PseudoLikelihood::paper(self.block, prior.clone()),
            // Where its constant is unknown, the start below says so.
            Preset::ReleasedCode => PseudoLikelihood::released(self.block, 0.0),
        };
        result.start = self.block_start(prior)?;
        if let Some(likelihoods) = self.likelihoods {
            result.likelihoods = likelihoods.into();
        }
        if let Some(genealogy) = self.genealogy {
            result.genealogy = genealogy.into();
        }
        result.first_likelihood = self.first_likelihood.unwrap_or(result.first_likelihood);
        result.hold_positions = self.hold_positions.unwrap_or(result.hold_positions);
        result.hold_weights = self.hold_weights.unwrap_or(result.hold_weights);
        Ok(result)
    }

    fn block_start(&self, prior: &Prior) -> Result<BlockStart> {
        if let Some(log) = self.log_density {
            check("log-density", log, log.is_finite(), "finite")?;
        }
        // A uniform prior is taken as flat, whose constant serves the others too.
        let of_prior = PseudoLikelihood::paper(self.block, prior.clone()).start;
        let flat = if let BlockStart::Flat(log) = of_prior { Some(log) } else { None };
        if let (Some(log), None) = (flat, self.log_density) {
            check(
                "log-density",
                log,
                log.is_finite(),
                "finite: the prior's box needs room in every coordinate",
            )?;
        }
        let constant = self.log_density.or(flat).ok_or_else(|| {
            Error::setting("log-density", "must be given, because the prior is not uniform over a box")
        });
        Ok(match (self.start, self.preset) {
            (Some(StartName::Prior), _) => BlockStart::Prior(prior.clone()),
            (Some(StartName::Flat), _) => BlockStart::Flat(constant?),
            (Some(StartName::Carried), _) | (None, Preset::ReleasedCode) => BlockStart::Carried(constant?),
            (None, Preset::Paper) if self.log_density.is_some() => BlockStart::Flat(constant?),
            (None, Preset::Paper) => of_prior,
        })
    }
}

#[cfg(test)]
mod tests;
