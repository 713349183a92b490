//! Options of `driftless track`.

use super::Reading;
use clap::{Args, ValueEnum};
use driftless_world::files::estimates::EstimateFormat;
use std::path::PathBuf;

/// What estimates are written as.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackFormat {
    /// timestamp x y z qx qy qz qw; a file for each of several episodes
    Tum,
    /// A table with a header
    Csv,
    /// An object a line
    Jsonl,
    /// ROS 2 messages: /pose with its covariance, and /particle_cloud
    Mcap,
}

impl From<TrackFormat> for EstimateFormat {
    fn from(format: TrackFormat) -> Self {
        match format {
            TrackFormat::Tum => Self::Tum,
            TrackFormat::Csv => Self::Csv,
            TrackFormat::Jsonl => Self::JsonLines,
            TrackFormat::Mcap => Self::Mcap,
        }
    }
}

/// Options of `track`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless track runs/mine --data unseen.npz --out estimates.csv
  driftless track runs/mine --data unseen.npz --out path.tum --start global
  driftless track runs/mine --data unseen.npz --out estimates.mcap --from 2 --episodes 1
  driftless track runs/house --data unseen.tfrecords --out estimates.csv
  driftless track runs/mine --stream --start 1.5,2.0,0.3 < readings.jsonl > estimates.jsonl

A line of a stream is an object; whatever it leaves out, or is null, is missing and says nothing:
  {\"time\": 12.5, \"odometry\": [0.2, 0, 0.1], \"scan\": [1.5, null, 2.25]}
scan or observation: a step's numbers; image: a PNG in base64, or {\"size\": [H, W, C], \"data\": base64};
pose: [x, y, heading] starts anew there (spread: standard deviations), pose: \"global\" anywhere;
robot: a name, each with an estimate of its own. Of named coordinates, odometry, pose and spread have a
number for each. docs/own-robot.md says more.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some lines of the stream were broken, and skipped.")]
pub struct Track {
    /// The folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Recordings to follow; true poses are not needed
    #[arg(long, value_name = "FILE", required_unless_present = "stream")]
    pub data: Option<PathBuf>,

    /// Where to write estimates: .tum, .csv, .jsonl or .mcap; of named coordinates .csv or .jsonl
    #[arg(long, short, value_name = "FILE", required_unless_present = "stream")]
    pub out: Option<PathBuf>,

    /// Read JSON lines from standard input, and write an estimate to standard output for each
    #[arg(long, conflicts_with_all = ["data", "out", "format", "episodes", "cloud", "force", "steps_per_episode"])]
    pub stream: bool,

    /// Of a stream in a house: a recording there (tfrecords), whose floor plan is used; that of episode K with --from K
    #[arg(long, value_name = "FILE", requires = "stream")]
    pub floor: Option<PathBuf>,

    /// Particles of a cloud in MCAP files, at most; 0 for no clouds
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub cloud: u32,

    /// Which robots, and how
    #[command(flatten)]
    pub following: Following,
}

/// Which robots of a log are followed, from where, and how what is found is written.
#[derive(Args, Debug)]
pub struct Following {
    /// What to write, if the name does not tell
    #[arg(long, value_enum)]
    pub format: Option<TrackFormat>,

    /// Where robots start: `log` (the first known pose of each episode), `global` (anywhere), or x,y,heading in radians,
    /// and if wanted standard deviations of position and heading; of named coordinates a number for each [default: log where the run was trained for tracking
    /// and the pose is known, else global; in houses what an evaluation tells robots]
    #[arg(long, value_name = "START", allow_hyphen_values = true)]
    pub start: Option<String>,

    /// Number of particles [default: as in training]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub particles: Option<u32>,

    /// Names the filter's random numbers
    #[arg(long, short, default_value_t = 1)]
    pub seed: u64,

    /// The first episode to follow, counted from 0
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub from: usize,

    /// Follow N episodes only
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub episodes: Option<u32>,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,

    /// How to read the file
    #[command(flatten)]
    pub reading: Reading,
}
