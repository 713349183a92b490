//! Options of `driftless train`, `evaluate` and `report`.

use super::Reading;
use crate::train::experiments;
use clap::Args;
use driftless::methods::METHODS;
use driftless::resample::RESAMPLERS;
use std::path::PathBuf;

fn train_help() -> String {
    let methods = METHODS.iter().map(|method| {
        let worlds: Vec<String> = method.worlds().map(|world| format!("{world}s")).collect();
        format!("  {:22}{}; {}\n", method.id, method.label, worlds.join(", "))
    });
    let resamplers = RESAMPLERS.iter().map(|one| format!("  {:22}{}\n", one.id, one.what));
    format!(
        "\
Examples:
  driftless train maze-driftless --train nav01_train.npz --run runs/ours
  driftless train maze-sdpf --train a.npz --valid b.npz --run runs/sdpf label_fraction=0.25 seed=2
  driftless train --train mylog.npz --run runs/mine
  driftless train --train monday.npz --train tuesday.npz --run runs/both
  driftless train --train arm.npz --run runs/arm 'state.coordinates=[\"shoulder\",\"elbow\"]' 'state.angles=[\"elbow\"]'
  driftless train --train mylog.npz --dry-run > mine.toml
  driftless train mine.toml --train mylog.npz --run runs/mine
  driftless train --resume runs/ours
  mpirun -n 4 driftless train maze-driftless --train nav01_train.npz --run runs/ours --threads 1

Under mpirun or srun, where the program was built with `--features mpi`, ranks share the work of
one training; weights, checkpoints and log are those of one process (docs/scale.md).

Built-in experiments: {}.
Methods:
{}Settings: method, label_fraction, trajectories, validation_episodes, particles, epochs,
batch_size, seed, odometry_noise, pixel_noise, crop, ablation, kernels; in houses house.KEY too,
with a log of one's own robot.KEY, state.KEY, motion.KEY and [[sensor]] (see `--dry-run`);
resampler.kind, resampler.below (a share of N) and what the kind has.
Resamplers:
{}Exit codes: 0 finished, 1 failed, 2 wrong usage, 4 diverged (the best weights are kept),
130 interrupted after an epoch (go on with --resume).",
        experiments().collect::<Vec<_>>().join(", "),
        methods.collect::<String>(),
        resamplers.collect::<String>()
    )
}

/// Options of `train`.
#[derive(Args, Debug)]
#[command(after_help = train_help())]
pub struct Train {
    /// A built-in experiment or a file in TOML [default: what a plain log looks like]
    pub experiment: Option<String>,

    /// Settings to replace, as label_fraction=0.25
    #[arg(value_name = "KEY=VALUE")]
    pub settings: Vec<String>,

    /// Recordings to learn from: a plain log, DPF's npz, in houses PF-net's tfrecords; may be given several times
    #[arg(long = "train", value_name = "FILE", required_unless_present = "resume")]
    pub recordings: Vec<PathBuf>,

    /// Recordings to choose the best weights with [default: those of --train that are not learned from]
    #[arg(long, value_name = "FILE")]
    pub valid: Option<PathBuf>,

    /// A new folder for the run
    #[arg(long, value_name = "DIR", required_unless_present_any = ["resume", "dry_run"])]
    pub run: Option<PathBuf>,

    /// Print the experiment that would be run, in TOML, and stop
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,

    /// Go on with the run in this folder, with its own settings and data; `epochs` may be changed in its config.toml
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["experiment", "settings", "recordings", "valid", "run", "steps_per_episode"]
    )]
    pub resume: Option<PathBuf>,

    /// How to read the files
    #[command(flatten)]
    pub reading: Reading,
}

/// Options of `evaluate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless evaluate runs/ours --data nav01_valid.npz
  driftless evaluate runs/ours --data nav01_valid.npz --particles 1000 --odometry-noise 0.2
  driftless evaluate runs/house --data unseen.tfrecords --particles 3000 house.start=house
  driftless evaluate runs/ours --data other.npz --maze my.maze --json | python3 -m json.tool

Writes evaluation.json, episodes.json and record.json into the run's folder, for `driftless report`.")]
pub struct Evaluate {
    /// The folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Settings of what robots live through, if not as in training: where they start, errors of odometry and depth
    #[arg(value_name = "KEY=VALUE")]
    pub settings: Vec<String>,

    /// Recordings to evaluate on, other than those learned from
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,

    /// Number of particles [default: as in training]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub particles: Option<u32>,

    /// Take the first N episodes only
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub episodes: Option<u32>,

    /// Names the noise and the filter's random numbers
    #[arg(long, short, default_value_t = 1)]
    pub seed: u64,

    /// Multiply each odometry number by N(1, this²) [default: as in training]
    #[arg(long, value_name = "SHARE")]
    pub odometry_noise: Option<f64>,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,

    /// How many episodes to keep with all particles, for the report's player
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=12))]
    pub play: u8,

    /// The maze to draw episodes on: a built-in one or a drawing [default: found out from the file]
    #[arg(long)]
    pub maze: Option<String>,

    /// A ROS map (yaml) to draw episodes on [default: the map that the run learned or was given]
    #[arg(long, value_name = "FILE", conflicts_with = "maze")]
    pub map: Option<PathBuf>,

    /// How to read the file
    #[command(flatten)]
    pub reading: Reading,
}

/// Options of `report`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless report runs/ours runs/sdpf --out report
  driftless report runs --out report --force --pairs sdpf:dpf,driftless:sdpf
  driftless report runs --records docs/results/records/house
  driftless report docs/results/records/house --out report
  driftless report --tables docs/results --check

A record is what `evaluate` keeps of a run on one test file, a few kilobytes in record.json.
Exit codes: 0 done, 1 failed, or tables are not what their records say (--check), 2 wrong usage.")]
pub struct Report {
    /// Folders of runs or of records, folders that hold folders of runs, or records
    #[arg(required_unless_present = "tables", value_name = "RUN")]
    pub runs: Vec<PathBuf>,

    /// Folder for the page, its figures and its tables
    #[arg(long, short, value_name = "DIR", required_unless_present_any = ["tables", "records"])]
    pub out: Option<PathBuf>,

    /// Methods to compare trajectory by trajectory, as A:B,C:D [default: each method that learns from all steps with
    /// its twin that learns from labels alone, and driftless with all others]
    #[arg(long, value_name = "PAIRS")]
    pub pairs: Option<String>,

    /// Keep the records of these runs in this folder, named by run and test file
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,

    /// Make the tables in all Markdown pages of this folder anew from the records that they name
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "out", "pairs", "records", "force"])]
    pub tables: Option<PathBuf>,

    /// Change nothing, and fail if a table is not what its records say
    #[arg(long, requires = "tables", conflicts_with = "runs")]
    pub check: bool,

    /// Write into a folder that holds something else
    #[arg(long, short)]
    pub force: bool,
}
