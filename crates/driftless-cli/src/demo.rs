//! `driftless demo`: from nothing to a comparison of methods that learned from one label in ten.

use crate::args::{Demo, Queueing};
use crate::output::print;
use crate::queue;
use crate::reproduce::{Scope, World, planned};
use anyhow::Result;

/// Few enough for minutes.
const TEST_EPISODES: usize = 50;

/// Maze 1: our filter with and without the steps between labels, pose regression as the baseline that has learned what
/// it can in that time, and the report on them.
pub fn run(wanted: &Demo, threads: Option<u16>) -> Result<()> {
    print(
        "Maze 1, 100 trajectories to learn from, one pose in ten known. Three methods learn to say where a \
         robot is that\nstarts anywhere: Driftless from all images, its supervised twin and a network without a filter \
         from those with a pose.\n",
    )?;
    let scope = Scope {
        quick: true,
        methods: Some(["driftless", "driftless-supervised", "regression"].map(str::to_owned).to_vec()),
        labels: Some(vec![0.1]),
        seeds: Some(wanted.seeds),
        ..Scope::default()
    };
    let world = World::simulated("maze1", &wanted.out.join("data"), TEST_EPISODES)?;
    let runs = planned(&scope.cells(&["maze1".to_owned()])?, &[world])?;
    queue::run(&wanted.out, &runs, &Queueing::default(), threads)?;
    print(
        "\nEpochs are few here, and seeds (`--seeds`). Next: `driftless reproduce maze --quick` (seeds and label \
         shares, 45 minutes),\nor your own recordings: `driftless train --help`.\n",
    )
}
