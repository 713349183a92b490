//! Where robots start: what was typed, and what a run and a log know.

use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::learn::{RobotStart, StateKind, Trained, WorldKind};
use driftless::online::Place;
use driftless_world::Trajectory;
use driftless_world::trajectory::{Coordinates, Start};

/// What was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// As the run was trained, as far as the log tells.
    AsTrained,
    /// The first known pose of an episode.
    Log,
    /// Here.
    Place(Place),
}

/// Understands `--start`.
pub fn parse(text: Option<&str>, trained: &Trained) -> Result<Wanted> {
    let text = match text.map(str::trim) {
        None => return Ok(Wanted::AsTrained),
        Some("log") => return Ok(Wanted::Log),
        Some("global") => return Ok(Wanted::Place(Place::Anywhere)),
        Some(text) => text,
    };
    let numbers: Option<Vec<f64>> =
        text.split(',').map(|part| part.trim().parse().ok().filter(|x: &f64| x.is_finite())).collect();
    if !trained.config.experiment.state.is_planar() {
        return state(text, numbers.as_deref(), trained);
    }
    let usual = usual_spread(trained);
    let (pose, spread) = match numbers.as_deref() {
        Some(&[x, y, heading]) => ([x, y, heading], usual),
        Some(&[x, y, heading, place]) => ([x, y, heading], [place, place, usual[2]]),
        Some(&[x, y, heading, place, turn]) => ([x, y, heading], [place, place, turn]),
        _ => misused!(
            "--start {text}: must be log, global, or x,y,heading with standard deviations of position and heading \
             behind them if wanted"
        ),
    };
    if spread.iter().any(|x| *x < 0.0) {
        misused!("--start {text}: standard deviations must be 0 or more");
    }
    Ok(Wanted::Place(Place::About { pose, spread }))
}

/// A state of named coordinates, with standard deviations behind it if wanted.
fn state(text: &str, numbers: Option<&[f64]>, trained: &Trained) -> Result<Wanted> {
    let experiment = &trained.config.experiment;
    let (names, usual) = (&experiment.state.coordinates, experiment.start_spread());
    let count = names.len();
    let both = match numbers {
        Some(mean) if mean.len() == count => (mean, &usual[..]),
        Some(both) if both.len() == 2 * count => both.split_at(count),
        _ => misused!(
            "--start {text}: must be log, global, or {} numbers: {}; with as many standard deviations behind them if wanted",
            count,
            names.join(",")
        ),
    };
    if both.1.iter().any(|x| *x < 0.0) {
        misused!("--start {text}: standard deviations must be 0 or more");
    }
    Ok(Wanted::Place(state_place(both.0, both.1)?))
}

fn state_place(mean: &[f64], spread: &[f64]) -> Result<Place> {
    let both = Coordinates::new(mean).zip(Coordinates::new(spread));
    let (mean, spread) = both.context("a state has too many coordinates")?;
    Ok(Place::State { mean, spread })
}

/// A state that a line of a stream tells, with the run's own standard deviations if it tells none.
pub fn told_state(mean: &[f64], spread: Option<&[f64]>, trained: &Trained) -> Result<Place> {
    let usual = trained.config.experiment.start_spread();
    let spread = spread.unwrap_or(&usual);
    if mean.len() != usual.len() || spread.len() != usual.len() {
        let names = trained.config.experiment.state.coordinates.join(", ");
        anyhow::bail!("pose: {} numbers are wanted, of it and of spread: {names}", usual.len());
    }
    state_place(mean, spread)
}

/// Standard deviations of a start, if nobody says them: the run's own; in mazes a step.
pub fn usual_spread(trained: &Trained) -> [f64; 3] {
    let experiment = &trained.config.experiment;
    match experiment.world {
        WorldKind::Maze => return trained.normalisation.step_size,
        WorldKind::House => {
            let place = 100.0 * experiment.house.start_metres;
            return [place, place, experiment.house.start_degrees.to_radians()];
        }
        WorldKind::Robot => {}
    }
    let (place, turn) = (experiment.robot.start_distance, experiment.robot.start_degrees.to_radians());
    [place, place, if experiment.state.kind == StateKind::Pose { turn } else { 0.0 }]
}

/// Where the robot of an episode starts, and at which step it is known.
pub fn of_episode(
    wanted: Wanted,
    number: usize,
    episode: &Trajectory,
    trained: &Trained,
) -> Result<(Place, usize)> {
    let known = || (0..episode.len()).find_map(|t| Some((t, episode.states.get(t)?)));
    let is_planar = trained.config.experiment.state.is_planar();
    let about = |state: &[f32]| {
        let wide: Vec<f64> = state.iter().map(|&x| f64::from(x)).collect();
        if !is_planar {
            return state_place(&wide, &trained.config.experiment.start_spread());
        }
        Ok(Place::About { pose: std::array::from_fn(|k| wide[k]), spread: usual_spread(trained) })
    };
    let experiment = &trained.config.experiment;
    let is_tracking = experiment.world == WorldKind::Robot && experiment.robot.start == RobotStart::Tracking;
    Ok(match wanted {
        Wanted::Place(place) => (place, 0),
        Wanted::Log => match known() {
            Some((t, state)) => (about(state)?, t),
            None => anyhow::bail!("episode {number}: no pose is known; say where robots start by --start"),
        },
        // What a house's robot is told belongs to its recording, and is that of an evaluation.
        Wanted::AsTrained if episode.floor.is_some() => (told(episode), 0),
        Wanted::AsTrained => match known().filter(|(t, _)| is_tracking && *t == 0) {
            Some((_, state)) => (about(state)?, 0),
            None => (Place::Anywhere, 0),
        },
    })
}

/// What the robot of a recording is told.
fn told(episode: &Trajectory) -> Place {
    match episode.start {
        Some(Start::About { pose, spread }) => {
            Place::About { pose: pose.map(f64::from), spread: spread.map(f64::from) }
        }
        Some(Start::State { mean, spread }) => Place::State { mean, spread },
        Some(Start::Room(room)) => Place::Room(room),
        Some(Start::House) | None => Place::Anywhere,
    }
}
