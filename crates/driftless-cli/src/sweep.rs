//! `driftless sweep`: an experiment with all combinations of some settings, as a queue of runs.

mod grid;

use crate::args::Sweep;
use crate::output::{duration, print};
use crate::queue::{self, Fingerprints, Planned, Test};
use crate::reproduce::cost;
use crate::train::wanted_experiment;
use crate::usage::misused;
use anyhow::Result;
use driftless::learn::{Experiment, WorldKind};
use grid::{Axis, Point};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Names the noise of evaluations, so that all runs see the same.
const TEST_SEED: u64 = 1;

/// Plans and runs a sweep, or does what else is asked for with one.
pub fn run(wanted: &Sweep, threads: Option<u16>) -> Result<ExitCode> {
    if let (Some(out), Some(line)) = (&wanted.work, wanted.line) {
        return queue::work_line(out, line, wanted.tied);
    }
    if let Some(out) = &wanted.status {
        queue::tell(out)?;
    } else if let Some(out) = &wanted.collect {
        queue::collect(out)?;
    } else if let Some(out) = &wanted.resume {
        queue::resume(out, &wanted.queue, threads)?;
    } else {
        begin(wanted, threads)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn begin(wanted: &Sweep, threads: Option<u16>) -> Result<()> {
    let (Some(out), Some(train)) = (&wanted.out, wanted.recordings.first()) else {
        misused!("--train and --out are needed, or one of --status, --resume and --collect");
    };
    let axes = wanted.grid.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>>>()?;
    let mut runs = Vec::new();
    let mut fingerprints = Fingerprints::default();
    for point in grid::points(&axes)? {
        let settings = [&wanted.settings[..], &point.settings()].concat();
        // What is chosen for a log is said once.
        let experiment = wanted_experiment(wanted.experiment.as_deref(), &settings, train, runs.is_empty())?;
        runs.push(planned(wanted, &point, experiment, &mut fingerprints)?);
    }
    // The first seed of everything comes before the second of anything: what is cut short has all comparisons.
    runs.sort_by_key(|run| run.experiment.seed);
    let names: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    if names.len() < runs.len() {
        misused!("--grid: has a value twice, or values that differ only in what a folder's name cannot hold");
    }
    if wanted.queue.on != crate::args::Engine::Lines {
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let (count, out) = (runs.len(), out.display());
        print(&format!(
            "{count} runs in {out}: about {} on two cores if none is done yet\n",
            duration(seconds)
        ))?;
    }
    queue::run(out, &runs, &wanted.queue, threads)
}

fn planned(
    wanted: &Sweep,
    point: &Point,
    experiment: Experiment,
    fingerprints: &mut Fingerprints,
) -> Result<Planned> {
    let mut file = |path: &PathBuf| fingerprints.of(path);
    let train = wanted.recordings.iter().map(&mut file).collect::<Result<Vec<_>>>()?;
    let valid = wanted.valid.as_ref().map(&mut file).transpose()?;
    let own_seed = experiment.world == WorldKind::Robot;
    let test = wanted.test.as_ref().map(&mut file).transpose()?.map(|data| Test {
        data,
        world: None,
        particles: None,
        seed: if own_seed { experiment.seed } else { TEST_SEED },
        play: usize::from(experiment.seed == 1),
    });
    let given = fingerprints.given(&experiment)?;
    let name = wanted.experiment.as_deref().filter(|name| !name.contains('=')).unwrap_or("run");
    let name = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Planned {
        id: point.name().unwrap_or(name),
        seconds: cost(&experiment, test.is_some()),
        experiment,
        train,
        valid,
        steps: wanted.reading.steps_per_episode,
        given,
        test,
        weights_of: None,
        driftless: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
