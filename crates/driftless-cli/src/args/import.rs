//! Options of `driftless import`.

pub mod recordings;

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Options of `import`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import pfnet-checkpoint rgb_model_trained.chk --out pfnet.safetensors
  driftless import carmen intel.clf.bz2 --poses intel-corrected.log.gz --out intel.npz
  driftless import mcap drive.mcap --list
  driftless import mcap drive.mcap --out drive.npz --test unseen.npz")]
pub struct Import {
    /// What to take over
    #[command(subcommand)]
    pub from: ImportFrom,
}

/// Where weights and recordings can come from.
#[derive(Subcommand, Debug)]
pub enum ImportFrom {
    /// PF-net's weights, from a checkpoint of TensorFlow
    PfnetCheckpoint(PfnetCheckpoint),
    /// A robot's laser scans and odometry, from a CARMEN log
    Carmen(recordings::Carmen),
    /// True poses for a log, from a trajectory in TUM's format
    Tum(recordings::Tum),
    /// A robot's drive, from an MCAP bag of ROS 1 or ROS 2
    Mcap(recordings::Mcap),
    /// A robot's drive, from a table with names of your own
    Csv(recordings::Csv),
}

/// Options of `import pfnet-checkpoint`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import pfnet-checkpoint rgb_model_trained.chk --out pfnet.safetensors
  driftless import pfnet-checkpoint log/final.chk.index --out mine.safetensors --force

PREFIX stands for two files: PREFIX.index and PREFIX.data-00000-of-00001. TensorFlow is not needed.
Prints the sum and the L2 norm of every tensor, to be compared with those of docs/pfnet-checkpoint.md.
Tensors that are not the network's, such as an optimiser's memory, are left out and counted.")]
pub struct PfnetCheckpoint {
    /// The checkpoint: its files' names up to .index or .data-…
    #[arg(value_name = "PREFIX")]
    pub prefix: PathBuf,

    /// The weights to write (safetensors)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,
}
