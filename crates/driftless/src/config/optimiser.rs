//! Optimiser and clipping, by name.

use super::schedule::ScheduleConfig;
use super::{check, positive};
use crate::error::Result;
use crate::optimise::{Adam, Clip, Optimiser, RmsProp, Rule};
use serde::{Deserialize, Serialize};

/// An [`Optimiser`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct OptimiserConfig {
    /// Learning rate, positive. Default: 3e-4, as in the paper's mazes.
    pub rate: f64,
    /// Default: Adam.
    pub rule: RuleConfig,
    /// Default: constant.
    pub schedule: ScheduleConfig,
    /// Default: none.
    pub clip: ClipConfig,
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        let rule = RuleConfig::Adam { beta1: beta1(), beta2: beta2(), epsilon: adam_epsilon() };
        Self { rate: 3e-4, rule, schedule: ScheduleConfig::default(), clip: ClipConfig::None {} }
    }
}

/// A [`Rule`], with the numbers of TensorFlow 1 where none are given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum RuleConfig {
    /// [`Adam`].
    Adam {
        /// β₁, in [0, 1). Default: 0.9.
        #[serde(default = "beta1")]
        beta1: f64,
        /// β₂, in [0, 1). Default: 0.999.
        #[serde(default = "beta2")]
        beta2: f64,
        /// ε̂, positive. Default: 1e-8.
        #[serde(default = "adam_epsilon")]
        epsilon: f64,
    },
    /// [`RmsProp`].
    RmsProp {
        /// ρ, in [0, 1). Default: 0.9.
        #[serde(default = "decay")]
        decay: f64,
        /// μ, in [0, 1). Default: 0.
        #[serde(default)]
        momentum: f64,
        /// ε, positive. Default: 1e-10.
        #[serde(default = "rms_epsilon")]
        epsilon: f64,
        /// Mean square before the first update, not negative. Default: 1.
        #[serde(default = "ms_start")]
        start: f64,
    },
}

/// A [`Clip`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClipConfig {
    /// [`Clip::None`].
    None {},
    /// [`Clip::Norm`].
    Norm {
        /// Positive.
        limit: f64,
    },
    /// [`Clip::Value`].
    Value {
        /// Positive.
        limit: f64,
    },
}

fn beta1() -> f64 {
    Adam::default().beta1
}

fn beta2() -> f64 {
    Adam::default().beta2
}

fn adam_epsilon() -> f64 {
    Adam::default().epsilon
}

fn decay() -> f64 {
    RmsProp::default().decay
}

fn rms_epsilon() -> f64 {
    RmsProp::default().epsilon
}

fn ms_start() -> f64 {
    RmsProp::default().start
}

/// Fails unless in [0, 1).
fn share(key: &str, value: f64) -> Result<()> {
    check(key, value, (0.0..1.0).contains(&value), "at least 0 and below 1")
}

impl OptimiserConfig {
    /// The optimiser; epochs become updates. Numbers out of range are an error.
    pub fn build(&self, updates_per_epoch: u64) -> Result<Optimiser> {
        positive("rate", self.rate)?;
        let rule = self.rule.build().map_err(|error| error.under("rule"))?;
        let schedule = self.schedule.build(updates_per_epoch).map_err(|error| error.under("schedule"))?;
        let clip = self.clip.build().map_err(|error| error.under("clip"))?;
        Ok(Optimiser::new(rule, self.rate).with_schedule(schedule).with_clip(clip))
    }
}

impl RuleConfig {
    fn build(self) -> Result<Rule> {
        Ok(match self {
            Self::Adam { beta1, beta2, epsilon } => {
                share("beta1", beta1)?;
                share("beta2", beta2)?;
                positive("epsilon", epsilon)?;
                Rule::Adam(Adam { beta1, beta2, epsilon })
            }
            Self::RmsProp { decay, momentum, epsilon, start } => {
                share("decay", decay)?;
                share("momentum", momentum)?;
                positive("epsilon", epsilon)?;
                check("start", start, start.is_finite() && start >= 0.0, "finite and not negative")?;
                Rule::RmsProp(RmsProp { decay, momentum, epsilon, start })
            }
        })
    }
}

impl ClipConfig {
    fn build(self) -> Result<Clip> {
        Ok(match self {
            Self::None {} => Clip::None,
            Self::Norm { limit } => positive("limit", limit).map(|()| Clip::Norm(limit))?,
            Self::Value { limit } => positive("limit", limit).map(|()| Clip::Value(limit))?,
        })
    }
}

#[cfg(test)]
mod tests;
