//! `driftless import carmen`: laser scans and odometry of a CARMEN log.

use super::Importing;
use super::written::{Written, name};
use crate::usage::misused;
use anyhow::Result;
use clap::Args;
use driftless_world::files::Source;
use driftless_world::files::carmen::{self, CarmenOptions};
use std::path::PathBuf;

/// Options of `import carmen`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import carmen intel.clf.bz2 --poses intel-corrected.log.gz --out intel.npz

Logs may be plain, gzipped or packed by bzip2. Without --poses no step is labelled.
Where an odometer counts backward driving as forward, the logged speed gives the sign.")]
pub struct Carmen {
    /// The raw log, with FLASER or ROBOTLASER1 lines
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// The same drive with corrected poses, joined by identical ranges, or else by time
    #[arg(long, value_name = "LOG")]
    poses: Option<PathBuf>,

    /// At most so many beams of a scan, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 181)]
    beams: usize,

    /// A step whenever the robot has moved so many metres
    #[arg(long, value_name = "M", default_value_t = 0.18)]
    every_metres: f64,

    /// Or turned so many radians
    #[arg(long, value_name = "RAD", default_value_t = 0.2)]
    every_turn: f64,

    /// Readings above become missing (NaN); without it they stay as logged
    #[arg(long, value_name = "M")]
    max_range: Option<f32>,

    /// Seconds without a scan after which a new episode starts
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    max_pause: f64,

    #[command(flatten)]
    written: Written,
}

impl Importing for Carmen {
    fn run(&self) -> Result<()> {
        if !(self.every_metres >= 0.0 && self.every_turn >= 0.0) {
            misused!("--every-metres and --every-turn cannot be negative");
        }
        let out = self.written.out()?;
        let options = CarmenOptions {
            beams: self.beams,
            every_metres: self.every_metres,
            every_turn: self.every_turn,
            max_pause: self.max_pause,
            episode_steps: self.written.episode_steps,
            max_range: self.max_range,
        };
        let poses = self.poses.as_ref().map(Source::open).transpose()?;
        let recording = carmen::import(Source::open(&self.log)?, poses, &options);
        let mut recording = recording.map_err(|error| error.in_file(&self.log))?;
        let poses = self.poses.as_ref().map(|poses| format!("poses from {}", name(poses)));
        recording.taken.extend(poses);
        self.written.write(recording, &self.log, out)
    }
}
