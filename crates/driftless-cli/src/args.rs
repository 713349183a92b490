//! What can be typed: verbs, options, their help and their defaults.

mod bench;
mod learning;
mod queueing;
mod reproducing;
mod serve;
mod simulate;
mod smooth;
mod track;

pub use bench::{Bench, BenchWorld};
pub use learning::{Evaluate, Report, Train};
pub use queueing::{Engine, Queueing, Sweep};
pub use reproducing::{Demo, Paper, Reproduce};
pub use serve::Serve;
pub use simulate::{HouseSplit, Simulate, Steering};
pub use smooth::Smooth;
pub use track::{Following, Track};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use driftless_world::files::{FORMATS, Format, Holds, ReadOptions};
use driftless_world::maze::Layout;
use std::path::PathBuf;

/// Differentiable particle filters that learn from few labels: data, training, reports.
#[derive(Parser, Debug)]
#[command(
    name = "driftless",
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 `inspect` or `track --stream` found problems,
4 `train` diverged, 130 interrupted (a training can go on with `train --resume`).

Start with: driftless demo"
)]
pub struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,

    /// Number of threads [default: one per core]; results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
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
    /// Take over weights that others have trained
    Import(crate::import::Import),
    /// Train a method from few labels, in a folder that remembers everything
    Train(Train),
    /// Evaluate a trained method on other recordings
    Evaluate(Evaluate),
    /// Say where robots are: step by step from a log, or as it happens from standard input
    Track(Track),
    /// Say where robots of a log were, after the fact: the best path by all that was seen, before and after
    Smooth(Smooth),
    /// Follow robots over the network as they drive, for as long as it takes, with a page to watch them
    Serve(Serve),
    /// Compare runs on one web page
    Report(Report),
    /// Run a whole experiment of the paper: all methods, label shares, seeds and mazes
    Reproduce(Reproduce),
    /// Train an experiment with all combinations of some settings: here, on Slurm, or on HyperQueue
    Sweep(Sweep),
    /// Train three methods in Maze 1 from few labels and compare them, in minutes; needs nothing
    Demo(Demo),
    /// Measure how fast this machine trains and tracks
    Bench(Bench),
}

/// How to understand a data file.
#[derive(Args, Debug, Clone)]
pub struct Reading {
    /// Recorded steps of an episode in a DPF file [default: what the file says, or 100]
    #[arg(long, value_name = "T")]
    pub steps_per_episode: Option<usize>,
}

impl Reading {
    /// The same for the library.
    pub fn options(&self) -> ReadOptions {
        ReadOptions { steps_per_episode: self.steps_per_episode, ..ReadOptions::default() }
    }
}

/// Layouts by id, as an option has them.
fn layouts(which: fn(&Format) -> bool) -> impl TypedValueParser<Value = &'static Format> {
    let known = FORMATS.iter().filter(|format| format.create.is_some() && which(format));
    let values = known.map(|format| PossibleValue::new(format.id).help(format.what));
    PossibleValuesParser::new(values).map(|id| Format::named(&id).expect("one of the possible values"))
}

/// Names of the built-in mazes, for help.
fn mazes() -> String {
    Layout::BUILT_IN.join(", ")
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
  driftless show mylog.npz --map floor.yaml --out walk.png
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
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(0..=48))]
    pub frames: u8,

    #[arg(long, help = format!("The maze to draw the path on: {} or a drawing [default: found out from the file]", mazes()))]
    pub maze: Option<String>,

    /// A ROS map (yaml) to draw the path on
    #[arg(long, value_name = "FILE", conflicts_with = "maze")]
    pub map: Option<PathBuf>,

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
the first action, and headings are radians. A depth channel is kept, unless --rgb-only.")]
pub struct Convert {
    /// A data file
    pub file: PathBuf,

    /// Layout to write
    #[arg(long, value_parser = layouts(|format| format.holds == Holds::Logs))]
    pub to: &'static Format,

    /// Where to write
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Compress the arrays of npz files
    #[arg(long)]
    pub compress: bool,

    /// Leave out the depth channel of DPF files, as DPF's own loader does
    #[arg(long)]
    pub rgb_only: bool,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,

    /// How to read the file
    #[command(flatten)]
    pub reading: Reading,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
