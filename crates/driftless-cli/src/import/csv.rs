//! `driftless import csv`: a table with names of its own.

use super::Importing;
use super::written::Written;
use anyhow::Result;
use clap::Args;
use driftless_world::files::Source;
use driftless_world::files::columns::{self, Assignment, ColumnOptions};
use std::path::PathBuf;

/// Options of `import csv`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import csv drive.csv --column time=t --column x=pose_x --column y=pose_y --column heading=yaw \\
    --column odom_x=ox --column odom_y=oy --column odom_heading=oth --column 'scan=range_*' \\
    --beams-from=-90 --beams-to=90 --out drive.npz

WHAT is one of time, episode; x, y, heading (the true pose); forward, left, turn (motion into the row), or odom_x,
odom_y, odom_heading (where odometry says the robot is); scan (distances of beams), reading (anything else).
Empty cells and nan are missing. Columns that are not named are left out.")]
pub struct Csv {
    /// The table, with a header
    #[arg(value_name = "FILE")]
    table: PathBuf,

    /// What a column is; a star in its name stands for anything, in the header's order
    #[arg(long = "column", short, value_name = "WHAT=COLUMN", required = true)]
    columns: Vec<Assignment>,

    /// Headings and turns are in degrees
    #[arg(long)]
    degrees: bool,

    /// Lengths are in millimetres
    #[arg(long)]
    millimetres: bool,

    /// Bearing of the scan's first beam in degrees, left of the heading
    #[arg(long, value_name = "DEG", allow_hyphen_values = true, requires = "beams_to")]
    beams_from: Option<f64>,

    /// Bearing of the scan's last beam
    #[arg(long, value_name = "DEG", allow_hyphen_values = true, requires = "beams_from")]
    beams_to: Option<f64>,

    /// Seconds without a row after which a new episode starts
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    max_pause: f64,

    #[command(flatten)]
    written: Written,
}

impl Importing for Csv {
    fn run(&self) -> Result<()> {
        let out = self.written.out()?;
        let beams = self.beams_from.zip(self.beams_to);
        let options = ColumnOptions {
            columns: self.columns.clone(),
            degrees: self.degrees,
            millimetres: self.millimetres,
            beams: beams.map(|(first, last)| (first.to_radians(), last.to_radians())),
            max_pause: self.max_pause,
            episode_steps: self.written.episode_steps,
        };
        let recording = columns::import(Source::open(&self.table)?, &options);
        self.written.write(recording.map_err(|error| error.in_file(&self.table))?, &self.table, out)
    }
}
