//! Options of `driftless reproduce` and `driftless demo`.

use super::Queueing;
use clap::{Args, ValueEnum};
use driftless::learn::WorldKind;
use driftless::methods::methods_in;
use std::path::PathBuf;

/// Experiments of the paper.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paper {
    /// Global localisation in Mazes 1 to 3
    #[default]
    Maze,
    /// Tracking in houses never seen before
    House,
    /// Tracking and finding real robots by their own logs; needs --data
    Robots,
    /// Filters and resamplers against exact answers, on vector models; of the options only --quick and --out
    Filters,
    /// What unlabelled steps are good for: one filter and network in Maze 1, different objectives
    Helps,
}

impl Paper {
    /// Where its robots are.
    pub fn world(self) -> WorldKind {
        match self {
            Self::Maze | Self::Helps => WorldKind::Maze,
            Self::House => WorldKind::House,
            // Vectors, as robots' own logs have them.
            Self::Robots | Self::Filters => WorldKind::Robot,
        }
    }
}

fn reproduce_help() -> String {
    let methods = |world| methods_in(world).map(|method| method.id).collect::<Vec<_>>().join(", ");
    format!(
        "\
Examples:
  driftless reproduce maze --quick
  driftless reproduce maze --estimate
  driftless reproduce maze --mazes maze2 --methods driftless,sdpf-released --labels 0.1 --seeds 1
  driftless reproduce maze --data lab=nav01_train.npz,nav01_test.npz --out runs/lab
  driftless reproduce house --quick
  driftless reproduce robots --data my-logs --quick
  driftless reproduce filters --quick
  driftless reproduce helps --quick
  driftless reproduce maze --budget 2h
  driftless reproduce maze --on slurm --partition batch --time 4h

Methods in mazes: {}.
Methods in houses: {}.
Methods for robots' own logs: {}.
Interrupted, the same command goes on where it stopped; what is done is not done again.
Runs come seed by seed, so that what is cut short has all comparisons; `driftless sweep --status DIR` tells how far
it is, and --collect DIR makes the report meanwhile.",
        methods(WorldKind::Maze),
        methods(WorldKind::House),
        methods(WorldKind::Robot)
    )
}

/// Options of `reproduce`.
#[derive(Args, Debug)]
#[command(after_help = reproduce_help())]
pub struct Reproduce {
    /// Which experiment
    #[arg(value_enum)]
    pub experiment: Paper,

    /// Maze 1 only, three label shares, three seeds and few epochs: 45 minutes on two cores; houses: a tenth of the
    /// labels, one seed, an hour; robots: a tenth of the labels, one seed, ours and what needs no network; filters: few
    /// runs of few steps, a minute or two
    #[arg(long)]
    pub quick: bool,

    /// Folder for data, runs and the report [default: runs/reproduce-maze, -house, -robots, -helps or -filters,
    /// with -quick]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// These methods only
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub methods: Option<Vec<String>>,

    #[arg(help = format!("These mazes only: {}", super::mazes()), long, value_name = "MAZE,...", value_delimiter = ',', conflicts_with = "data")]
    pub mazes: Option<Vec<String>>,

    /// These shares of labels, for all methods
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',')]
    pub labels: Option<Vec<f64>>,

    /// How many seeds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: Option<u64>,

    /// Epochs of every run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub epochs: Option<u64>,

    /// Recordings instead of the mazes: learned from the first, evaluated on the second; for robots, also a folder of
    /// NAME_train.npz and NAME_test.npz
    #[arg(long, value_name = "NAME=TRAIN,TEST")]
    pub data: Vec<String>,

    /// Further settings of every run, as odometry_noise=0
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,

    /// Say how many runs there are and how long they take, and stop
    #[arg(long)]
    pub estimate: bool,

    /// How to run it
    #[command(flatten)]
    pub queue: Queueing,
}

/// Options of `demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless demo
  driftless demo --seeds 3
  driftless demo --out runs/my-demo")]
pub struct Demo {
    /// Folder for data, runs and the report; an interrupted demo goes on in it
    #[arg(long, short, default_value = "runs/demo", value_name = "DIR")]
    pub out: PathBuf,

    /// Seeds of labels, noise and networks: each takes as long as the first
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
}
