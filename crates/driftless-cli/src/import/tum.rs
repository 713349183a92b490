//! `driftless import tum`: true poses for a log, from a trajectory in TUM's format.

use super::{Importing, listing};
use crate::output::{overwrite, print};
use crate::usage::misused;
use anyhow::Result;
use clap::Args;
use driftless_world::files::{Source, tum};
use std::path::PathBuf;

/// Options of `import tum`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import tum truth.txt --log drive.npz --out with_truth.npz

Lines are `time x y z qx qy qz qw`. The log needs `times`; its own poses are replaced.")]
pub struct Tum {
    /// The trajectory
    #[arg(value_name = "TRAJECTORY")]
    trajectory: PathBuf,

    /// The plain log that gets the poses
    #[arg(long, value_name = "FILE")]
    log: PathBuf,

    /// Seconds between two poses that may be bridged
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    max_gap: f64,

    /// Seconds added to the trajectory's times
    #[arg(long, value_name = "S", default_value_t = 0.0, allow_hyphen_values = true)]
    offset: f64,

    /// The log to write (npz)
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// Replace the file if it exists
    #[arg(long, short)]
    force: bool,
}

impl Importing for Tum {
    fn run(&self) -> Result<()> {
        if !(self.max_gap > 0.0 && self.offset.is_finite()) {
            misused!("--max-gap must be above 0, and --offset a number of seconds");
        }
        let track = tum::read(Source::open(&self.trajectory)?, self.offset);
        let track = track.map_err(|error| error.in_file(&self.trajectory))?;
        let joined = tum::join(&self.log, &track, self.max_gap, &self.out, overwrite(self.force))?;
        let share = 100.0 * joined.labelled as f64 / joined.steps as f64;
        let notes = listing::noted(&joined.notes);
        let (out, steps, labelled) = (self.out.display(), joined.steps, joined.labelled);
        print(&format!("{out}: {labelled} of {steps} steps labelled ({share:.1} %)\n{notes}"))
    }
}
