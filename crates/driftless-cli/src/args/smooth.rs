//! Options of `driftless smooth`.

use super::Following;
use clap::Args;
use std::path::PathBuf;

/// Options of `smooth`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless smooth runs/mine --data unseen.npz --out path.csv
  driftless smooth runs/mine --data unseen.npz --out path.tum --start global
  driftless smooth runs/mine --data unseen.npz --out path.jsonl --paths 1000 --paths-out drawn.jsonl
  driftless smooth runs/mine --data mylog.npz --out path.csv --with-poses
  driftless smooth runs/house --data unseen.tfrecords --out path.mcap --episodes 1

A step's line is what `track` writes, but by the readings of the whole log: mean and covariance over drawn paths.
A path of --paths-out is a line: {\"episode\": 0, \"path\": 0, \"first\": 0, \"states\": [[x, y, heading], ...]}.
Methods without particles (lstm, regression, odometry) have nothing to look back on.")]
pub struct Smooth {
    /// The folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Recordings whose robots are followed to the end; true poses are not needed
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,

    /// Where to write the path: .tum, .csv, .jsonl or .mcap; of named coordinates .csv or .jsonl
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// How many paths are drawn of each episode; more take longer in proportion
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub paths: u32,

    /// Also write the drawn paths, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub paths_out: Option<PathBuf>,

    /// Weigh all particles by all later ones instead of drawing paths: no error of drawing, as many densities as pairs
    #[arg(long, conflicts_with_all = ["paths", "paths_out"])]
    pub all_particles: bool,

    /// Also take the poses that the log knows for true: the best path by everything, as training takes it (driftless and
    /// driftless-supervised)
    #[arg(long, conflicts_with = "all_particles")]
    pub with_poses: bool,

    /// Which robots, and how
    #[command(flatten)]
    pub following: Following,
}
