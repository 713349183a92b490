//! `driftless bench default`: the default method as users have it, in a small and in a large maze.

use super::{Spread, peak_memory, seconds};
use crate::output::{aligned, print};
use anyhow::{Context, Result};
use driftless::learn::{Detail, Experiment, Method, Normalisation, Tracking, TrainingSet};
use driftless::methods::build;
use driftless::online::{Observation, Start};
use driftless_kernels::Cpu;
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::{Observations, Trajectory};
use serde::Serialize;
use std::ops::Range;

/// Trajectories to train from, and steps of each.
const SIZES: [usize; 2] = [100, 100];
/// Side of what networks see of an image, in pixels.
const SIDE: usize = 24;
/// Episodes that are followed.
const FOLLOWED: usize = 4;
/// Epochs that are timed: two E-steps and a calibration, as often as in a whole training of sixty.
const TIMED: Range<u64> = 11..21;

/// Everything that was measured.
#[derive(Serialize)]
struct Measured {
    cpu: String,
    threads: usize,
    mazes: Vec<Maze>,
    peak_memory_mib: Option<f64>,
}

/// What a maze came to.
#[derive(Serialize)]
struct Maze {
    name: &'static str,
    /// Means over the epochs that are timed, one for each round.
    seconds_an_epoch: Spread,
    /// One core, as `evaluate` does it, densities included; milliseconds.
    evaluation_step_ms: f64,
    /// On a robot, microseconds: the first step, steps until it is found, and steps with the least particles.
    global_start: Times,
    searching: Times,
    tracking: Times,
}

#[derive(Serialize)]
struct Times {
    steps: usize,
    p50: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl Times {
    fn of(mut microseconds: Vec<f64>) -> Self {
        microseconds.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = microseconds.len().checked_sub(1)?;
            Some(microseconds[(last as f64 * share) as usize])
        };
        Self { steps: microseconds.len(), p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

/// Measures and prints.
pub fn run(rounds: usize, json: bool) -> Result<()> {
    let mazes =
        ["maze1", "maze3"].map(|name| maze(name, rounds)).into_iter().collect::<Result<Vec<Maze>>>()?;
    let measured = Measured {
        cpu: format!("{:?}", Cpu::best()),
        threads: rayon::current_num_threads(),
        mazes,
        peak_memory_mib: peak_memory(),
    };
    print(&if json { serde_json::to_string_pretty(&measured)? + "\n" } else { table(&measured) })
}

fn maze(name: &'static str, rounds: usize) -> Result<Maze> {
    let [count, steps] = SIZES;
    let world = MazeWorld::new(Layout::built_in(name).context("a built-in maze")?, SIDE, SIDE);
    let episode = |number: usize| -> Result<Trajectory> {
        let mut random = Random::stream(1, number as u64);
        Ok(world.episode(1, number, steps).into_trajectory(0.1, &mut random)?)
    };
    let episodes = (0..count).map(episode).collect::<Result<Vec<_>>>()?;
    let followed = (count..count + FOLLOWED).map(episode).collect::<Result<Vec<_>>>()?;
    let experiment = Experiment { epochs: 60, crop: SIDE, ..Experiment::default() };
    let budget = LabelBudget::new(experiment.label_fraction, experiment.seed)?;
    let lessons = TrainingSet::new(Box::new(episodes), 0..count, budget)?;
    let statistics = Normalisation::measure(&lessons)?;
    let (mut method, first) = trained(&experiment, &statistics, &lessons)?;
    let mut times = vec![first];
    for _ in 1..rounds {
        times.push(trained(&experiment, &statistics, &lessons)?.1);
    }
    let [global_start, searching, tracking] = online(method.as_ref(), &followed, &experiment)?;
    Ok(Maze {
        name,
        seconds_an_epoch: Spread::of(times),
        evaluation_step_ms: evaluation(method.as_mut(), &followed, &experiment)?,
        global_start,
        searching,
        tracking,
    })
}

/// A method trained for some epochs, and seconds of one of those that are timed.
fn trained(
    experiment: &Experiment,
    statistics: &Normalisation,
    lessons: &TrainingSet,
) -> Result<(Box<dyn Method>, f64)> {
    let mut method = build(experiment, statistics)?;
    let mut train =
        |mut epochs: Range<u64>| epochs.try_for_each(|epoch| method.train(epoch, lessons).map(|_| ()));
    // The first epoch also learns the noise of the odometry.
    train(1..TIMED.start)?;
    let mut result = Ok(());
    let timed = seconds(|| result = train(TIMED));
    result?;
    Ok((method, timed / (TIMED.end - TIMED.start) as f64))
}

/// Milliseconds of one core for a step.
fn evaluation(method: &mut dyn Method, followed: &[Trajectory], experiment: &Experiment) -> Result<f64> {
    let tracking = Tracking { particles: experiment.particles, seed: 1, detail: Detail::Densities };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut result = Ok(Vec::new());
    // The exclusive reference goes to the one thread there is.
    let track = move || {
        let method = method;
        method.track(followed, tracking)
    };
    let time = seconds(|| result = pool.install(track));
    result?;
    Ok(1e3 * time / (followed.len() * SIZES[1]) as f64)
}

fn online(method: &dyn Method, followed: &[Trajectory], experiment: &Experiment) -> Result<[Times; 3]> {
    let mut times: [Vec<f64>; 3] = Default::default();
    for (number, episode) in followed.iter().enumerate() {
        let start = Start { seed: number as u64, ..Start::default() };
        let mut filter = method.online_filter(experiment.particles, &start)?.context("it can track")?;
        let Observations::Images(images) = &episode.observations else { continue };
        for t in 0..episode.len() {
            let action = std::array::from_fn(|k| f64::from(episode.actions.row(t)[k]));
            let mut particles = 0;
            let seen =
                Observation { image: Some((images, t)), action: Some(action), ..Observation::default() };
            let time = 1e6 * seconds(|| particles = filter.step(seen).particles);
            let kind = if t == 0 { 0 } else { 1 + usize::from(particles <= experiment.particles) };
            times[kind].push(time);
        }
    }
    Ok(times.map(Times::of))
}

fn table(of: &Measured) -> String {
    let row = |name: String, text: String| vec![name, text];
    let mut rows = vec![row("machine".into(), format!("{}, {} threads", of.cpu, of.threads))];
    for maze in &of.mazes {
        let epoch = &maze.seconds_an_epoch;
        rows.push(row(maze.name.into(), String::new()));
        rows.push(row(
            "  training epoch".into(),
            format!("{:.2} s at best, {:.2} s in the middle", epoch.min, epoch.median),
        ));
        rows.push(row("  evaluation step".into(), format!("{:.2} ms of one core", maze.evaluation_step_ms)));
        let kinds = [
            ("global start", &maze.global_start),
            ("searching", &maze.searching),
            ("tracking", &maze.tracking),
        ];
        for (name, times) in kinds {
            let text = match times {
                Times { steps, p50: Some(p50), p99: Some(p99), max: Some(max) } => {
                    format!("{p50:.0} us in the middle, {p99:.0} at 99 %, {max:.0} at most, of {steps}")
                }
                _ => "no such step".to_owned(),
            };
            rows.push(row(format!("  online, {name}"), text));
        }
    }
    let memory = of.peak_memory_mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib:.0} MiB"));
    rows.push(row("memory of the process".into(), memory));
    aligned(&rows)
}
