//! A method put to use: the best weights of a run.

use super::folder::{best_of, config_of, scales_of};
use super::{Build, RunConfig, problem};
use crate::error::Result;
use crate::learn::{Method, Scales};
use std::path::Path;

/// The method of a run with its best weights. Reading takes no lock: files are whole at any moment, also
/// while the run goes on.
pub struct Trained {
    /// The run's settings.
    pub config: RunConfig,
    /// What counts as one.
    pub scales: Scales,
    /// With the best weights.
    pub method: Box<dyn Method>,
}

impl Trained {
    /// Reads a run's folder.
    pub fn open(folder: impl AsRef<Path>, build: Build) -> Result<Self> {
        let folder = folder.as_ref();
        let config = config_of(folder)?;
        let (Some(scales), Some(best)) = (scales_of(folder)?, best_of(folder)?) else {
            let what = "has no weights yet: no epoch was completed; go on with its run by --resume";
            return Err(problem(format!("{}: {what}", folder.display())));
        };
        let mut method = build(&config.experiment, &scales)?;
        method.restore(&best, None)?;
        Ok(Self { config, scales, method })
    }
}
