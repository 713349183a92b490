//! Options of `bench`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Experiments that are measured.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchWorld {
    /// The published filter's training step, which PyTorch and JAX programs also do, and its online steps
    Maze,
    /// The default method's training epoch, evaluation and online steps, in a small and a large maze
    Default,
    /// The default method on a robot in a house; PF-net's training step, and its filter in use
    House,
}

/// Options of `bench`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless bench
  driftless bench default
  driftless bench house
  driftless bench --json | python3 -m json.tool
  driftless bench --peer-data peer_data    (made by benches/side_by_side/inputs.py)

Measure on an idle machine: all times are wall-clock times.")]
pub struct Bench {
    /// Whose experiment
    #[arg(value_enum, default_value_t = BenchWorld::Maze)]
    pub world: BenchWorld,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,

    /// Also compute loss and gradients on these fixed inputs, which PyTorch and JAX programs share
    #[arg(long, value_name = "DIR")]
    pub peer_data: Option<PathBuf>,

    /// How many training steps to time
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,

    /// How many online steps to time one by one
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub single_steps: u32,
}
