//! A method put to use: the best weights of a run.

use super::folder::{best_of, config_of, normalisation_of};
use super::{Build, RunConfig, problem};
use crate::error::Result;
use crate::learn::{Method, Normalisation, Recordings, Tracking};
use driftless_world::evaluation::Track;
use driftless_world::random::Random;
use std::ops::Range;
use std::path::Path;

/// Episodes in memory at once.
pub const HANDFUL: usize = 32;

/// The method of a run with its best weights. Reading takes no lock: files are whole at any moment, also
/// while the run goes on.
pub struct Trained {
    /// The run's settings.
    pub config: RunConfig,
    /// Normalisation statistics.
    pub normalisation: Normalisation,
    /// With the best weights.
    pub method: Box<dyn Method>,
}

impl Trained {
    /// Reads a run's folder.
    pub fn open(folder: impl AsRef<Path>, build: Build) -> Result<Self> {
        let folder = folder.as_ref();
        let config = config_of(folder)?;
        let (Some(normalisation), Some(best)) = (normalisation_of(folder)?, best_of(folder)?) else {
            let what = "has no weights yet: no epoch was completed; go on with its run by --resume";
            return Err(problem(format!("{}: {what}", folder.display())));
        };
        let mut method = build(&config.experiment, &normalisation)?;
        method.restore(&best, None)?;
        Ok(Self { config, normalisation, method })
    }

    /// Tracks some episodes as `driftless evaluate` does, which takes [`HANDFUL`] at a time from the first one on. The
    /// first of `range` and the seed name all random numbers: methods number episodes within what they are given.
    pub fn follow(&self, recordings: &Recordings, range: Range<usize>, how: Tracking) -> Result<Vec<Track>> {
        let seed = seed_of(how.seed, range.start);
        let episodes = range.map(|index| recordings.get(index)).collect::<Result<Vec<_>>>()?;
        self.method.track(&episodes, Tracking { seed, ..how })
    }

    /// The seed, and the number under it, that an evaluation under `seed` has for the episode `index`.
    pub fn numbers_of(seed: u64, index: usize) -> (u64, u64) {
        let first = index / HANDFUL * HANDFUL;
        (seed_of(seed, first), (index - first) as u64)
    }
}

fn seed_of(seed: u64, first: usize) -> u64 {
    Random::stream(seed ^ 0x6a75_6467_6521, first as u64).bits()
}
