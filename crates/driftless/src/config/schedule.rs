//! How the learning rate changes, by name.

use super::check;
use crate::error::Result;
use crate::optimise::Schedule;
use serde::{Deserialize, Serialize};

/// What a schedule counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Passes over the data.
    #[default]
    Epochs,
    /// Single updates.
    Updates,
}

/// A [`Schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ScheduleConfig {
    /// [`Schedule::Constant`].
    Constant {},
    /// [`Schedule::Step`].
    Step {
        /// In (0, 1]. Default: 0.5, as in PF-net.
        #[serde(default = "half")]
        factor: f64,
        /// At least 1.
        every: u64,
        /// Default: epochs.
        #[serde(default)]
        unit: Unit,
    },
    /// [`Schedule::Exponential`].
    Exponential {
        /// In (0, 1].
        factor: f64,
        /// At least 1.
        every: u64,
        /// Default: epochs.
        #[serde(default)]
        unit: Unit,
    },
    /// [`Schedule::Cosine`].
    Cosine {
        /// How long, at least 1.
        over: u64,
        /// In [0, 1]. Default: 0.
        #[serde(default)]
        least: f64,
        /// Default: epochs.
        #[serde(default)]
        unit: Unit,
    },
    /// [`Schedule::WarmUp`].
    WarmUp {
        /// How long, at least 1.
        over: u64,
        /// Default: epochs.
        #[serde(default)]
        unit: Unit,
        /// What follows. Default: constant.
        #[serde(default)]
        then: Box<ScheduleConfig>,
    },
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self::Constant {}
    }
}

fn half() -> f64 {
    0.5
}

impl ScheduleConfig {
    pub(super) fn build(&self, updates_per_epoch: u64) -> Result<Schedule> {
        let updates = |key: &str, count: u64, unit: Unit| -> Result<u64> {
            check(key, count, count > 0, "at least 1")?;
            Ok(if unit == Unit::Epochs { count.saturating_mul(updates_per_epoch.max(1)) } else { count })
        };
        let within =
            |factor: f64| check("factor", factor, factor > 0.0 && factor <= 1.0, "above 0 and at most 1");
        Ok(match self {
            Self::Constant {} => Schedule::Constant,
            Self::Step { factor, every, unit } => {
                within(*factor)?;
                Schedule::Step { factor: *factor, every: updates("every", *every, *unit)? }
            }
            Self::Exponential { factor, every, unit } => {
                within(*factor)?;
                Schedule::Exponential { factor: *factor, every: updates("every", *every, *unit)? }
            }
            Self::Cosine { over, least, unit } => {
                check("least", least, (0.0..=1.0).contains(least), "between 0 and 1")?;
                Schedule::Cosine { updates: updates("over", *over, *unit)?, least: *least }
            }
            Self::WarmUp { over, unit, then } => {
                let then = Box::new(then.build(updates_per_epoch).map_err(|error| error.under("then"))?);
                Schedule::WarmUp { updates: updates("over", *over, *unit)?, then }
            }
        })
    }
}
