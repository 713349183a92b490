//! What can be typed: verbs, options, their help and their defaults.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Worlds and data for differentiable particle filters that learn from few labels.
#[derive(Parser, Debug)]
#[command(
    name = "driftless",
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 `inspect` found problems.

Start with: driftless demo"
)]
pub struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,

    /// Number of threads [default: one per core]; results do not depend on it
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Make a data set: a robot wanders through a maze or through houses
    Simulate(Simulate),
    /// Say what a data file holds, and what is wrong with it
    Inspect(Inspect),
    /// Draw an episode: its path on the map, and some of its frames
    Show(Show),
    /// Turn a data file into another layout
    Convert(Convert),
    /// Make a small Maze 1 data set, inspect it and draw it; needs nothing
    Demo(Demo),
}

/// Options of `simulate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless simulate maze1 --episodes 1000 --seed 1 --out nav01_train.npz
  driftless simulate my.maze --size 64x48 --policy plan --out mine.npz
  driftless simulate maze2 --format log --odometry-noise 0.1 --out noisy.npz
  driftless simulate house --episodes 200 --steps 25 --split train --out train.tfrecords")]
pub struct Simulate {
    /// maze1, maze2, maze3, house, or a file with the drawing of a maze
    pub world: String,

    /// Where to write the data
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Number of episodes
    #[arg(long, short = 'n', default_value_t = 100)]
    pub episodes: usize,

    /// Recorded steps of an episode [default: 100; houses: 25, or 100 for valid and test]
    #[arg(long, short = 't')]
    pub steps: Option<usize>,

    /// Names the data set: the same seed gives the same bytes
    #[arg(long, short, default_value_t = 0)]
    pub seed: u64,

    /// Size of the images, as 32 or 64x48 (width x height) [default: 32; houses: 56]
    #[arg(long)]
    pub size: Option<Size>,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,

    /// Layout of the file [default: dpf for mazes, pfnet for houses]
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// Compress the arrays of npz files (smaller, slower to read in random order)
    #[arg(long)]
    pub compress: bool,

    /// Who steers through a maze
    #[arg(long, value_enum, default_value_t = Steering::Wander)]
    pub policy: Steering,

    /// Multiply each odometry number by N(1, this²); for layouts that store odometry (log, pfnet)
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub odometry_noise: f64,

    /// Number of distinct houses [default: one for every 10 episodes]
    #[arg(long)]
    pub houses: Option<usize>,

    /// Which of three disjoint sets of houses
    #[arg(long, value_enum, default_value_t = HouseSplit::Train)]
    pub split: HouseSplit,
}

/// Width and height of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (width, height) = text.split_once('x').unwrap_or((text, text));
        let side = |text: &str| text.parse().ok().filter(|side| (1..=2048).contains(side));
        match (side(width), side(height)) {
            (Some(width), Some(height)) => Ok(Self { width, height }),
            _ => Err("write 32 or 64x48, with sides from 1 to 2048".into()),
        }
    }
}

/// Layouts that can be written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// DPF's npz: pose, vel, rgbd
    Dpf,
    /// The plain npz: observations, actions, poses, lengths
    Log,
    /// PF-net's tfrecords, with floor maps
    Pfnet,
    /// PyDPF's csv, for vector observations
    Csv,
}

/// Who steers.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// Random arcs, turning away from walls
    Wander,
    /// Shortest ways to random places
    Plan,
    /// Half of the episodes each
    Mix,
}

/// Disjoint sets of houses.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum HouseSplit {
    /// For training
    Train,
    /// For choosing
    Valid,
    /// For the final test
    Test,
}

/// How to understand a data file.
#[derive(Args, Debug, Clone)]
pub struct Reading {
    /// Recorded steps of an episode in a DPF file [default: what the file says, or 100]
    #[arg(long, value_name = "T")]
    pub steps_per_episode: Option<usize>,
}

/// Options of `inspect`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless inspect nav01_train.npz
  driftless inspect train.tfrecords --episodes 50
  driftless inspect mine.npz --json | python3 -m json.tool")]
pub struct Inspect {
    /// A data file (npz, tfrecords, csv or a folder of csv) or the drawing of a maze
    pub file: PathBuf,

    /// Look at the first N episodes only
    #[arg(long, short = 'n', value_name = "N")]
    pub episodes: Option<usize>,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,

    /// How to read the file
    #[command(flatten)]
    pub reading: Reading,
}

/// Options of `show`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless show nav01_train.npz --episode 3 --out walk.png
  driftless show old.npz --maze maze2 --frames 12 --out walk.png
  driftless show train.tfrecords --out house.png")]
pub struct Show {
    /// A data file, or the drawing of a maze
    pub file: PathBuf,

    /// Which episode, counted from 0
    #[arg(long, short = 'k', default_value_t = 0)]
    pub episode: usize,

    /// The picture to write (png)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// How many frames to show
    #[arg(long, default_value_t = 8)]
    pub frames: usize,

    /// The maze to draw the path on: maze1, maze2, maze3 or a drawing [default: found out from the file]
    #[arg(long)]
    pub maze: Option<String>,

    /// Replace the picture if it exists
    #[arg(long, short)]
    pub force: bool,

    /// How to read the file
    #[command(flatten)]
    pub reading: Reading,
}

/// Options of `convert`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless convert nav01_train.npz --to log --out nav01_plain.npz
  driftless convert mine.npz --to csv --out mine.csv

Converting a DPF file gives what DPF's loader gives: the first step of each episode only serves
the first action, headings are radians, images are RGB.")]
pub struct Convert {
    /// A data file
    pub file: PathBuf,

    /// Layout to write: log or csv
    #[arg(long, value_enum)]
    pub to: Format,

    /// Where to write
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Compress the arrays of npz files
    #[arg(long)]
    pub compress: bool,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,

    /// How to read the file
    #[command(flatten)]
    pub reading: Reading,
}

/// Options of `demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Folder for the data and the picture
    #[arg(long, short, default_value = "runs/demo", value_name = "DIR")]
    pub out: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!("32".parse(), Ok(Size { width: 32, height: 32 }));
        assert_eq!("64x48".parse(), Ok(Size { width: 64, height: 48 }));
        for wrong in ["", "0", "x", "3x", "9999", "-3", "64x48x3"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
