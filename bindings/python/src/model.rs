//! A model of a filter: a motion and a likelihood, compiled or the caller's, and one step of it.

use crate::arrays::{Form, vector, wrong};
use crate::callables::{OwnMotion, OwnSensor};
use crate::pieces::{LinearMotion, LinearSensor, Odometry, StochasticVolatility};
use driftless_core::models::{Measured, Volatility};
use driftless_core::motion::Still;
use driftless_core::{Filter, FilterState, Motion, Reading, Sensor, StepReport, Stream, Workspace};
use pyo3::prelude::*;

/// How states move.
pub enum Moves {
    Linear(Box<LinearMotion>),
    Odometry(Odometry),
    Own(Py<PyAny>),
}

/// What readings say of states.
pub enum Sees {
    Linear(Box<LinearSensor>),
    Volatility(StochasticVolatility),
    Own(Py<PyAny>),
}

/// Everything that a step changes.
pub struct Running {
    pub filter: Filter,
    pub state: FilterState,
    pub draws: Stream,
    pub workspace: Workspace,
    /// Steps done. The first moves nothing: particles are where the prior put them.
    pub steps: usize,
}

impl Running {
    /// One step of the library's filter.
    pub fn step(&mut self, motion: &mut dyn Motion, sensor: &mut dyn Sensor) -> StepReport {
        let Self { filter, state, draws, workspace, steps } = self;
        *steps += 1;
        if *steps == 1 {
            return filter.step(state, &mut Still, sensor, draws, workspace);
        }
        filter.step(state, motion, sensor, draws, workspace)
    }
}

impl Moves {
    pub fn of(any: &Bound<PyAny>, dimension: usize) -> PyResult<Self> {
        if let Ok(linear) = any.extract::<LinearMotion>() {
            let size = linear.motion.size();
            return match size == dimension {
                true => Ok(Self::Linear(Box::new(linear))),
                false => {
                    Err(wrong(format!("motion is for states of {size} numbers, initial has {dimension}")))
                }
            };
        }
        if let Ok(odometry) = any.extract::<Odometry>() {
            return match dimension == 3 {
                true => Ok(Self::Odometry(odometry)),
                false => {
                    Err(wrong(format!("odometry moves x, y and heading; initial has {dimension} numbers")))
                }
            };
        }
        if any.is_callable() {
            return Ok(Self::Own(any.clone().unbind()));
        }
        Err(wrong("motion must be a function (particles, action, noise) or a motion of this package"))
    }
}

impl Sees {
    pub fn of(any: &Bound<PyAny>, dimension: usize) -> PyResult<Self> {
        if let Ok(LinearSensor(linear)) = any.extract::<LinearSensor>() {
            let size = linear.states();
            return match size == dimension {
                true => Ok(Self::Linear(Box::new(LinearSensor(linear)))),
                false => {
                    Err(wrong(format!("likelihood is for states of {size} numbers, initial has {dimension}")))
                }
            };
        }
        if let Ok(volatility) = any.extract::<StochasticVolatility>() {
            return Ok(Self::Volatility(volatility));
        }
        if any.is_callable() {
            return Ok(Self::Own(any.clone().unbind()));
        }
        Err(wrong("likelihood must be a function (particles, observation) or a sensor of this package"))
    }

    /// Numbers of a reading of a compiled sensor; nothing where there is none.
    pub fn reading(&self, observation: &Bound<PyAny>) -> PyResult<Option<Vec<f64>>> {
        let wanted = match self {
            Self::Own(_) => return Ok(None),
            Self::Linear(linear) => linear.0.size(),
            Self::Volatility(_) => 1,
        };
        if observation.is_none() {
            return Ok(None);
        }
        let found = vector(observation.py(), observation, "observation")?;
        match found.len() == wanted {
            true => Ok(Some(found)),
            false => Err(wrong(format!("observation has {} numbers, {wanted} are wanted", found.len()))),
        }
    }
}

/// The reading of a compiled sensor.
pub enum Compiled {
    Missing,
    Linear(Measured),
    Volatility(Volatility),
}

impl Compiled {
    pub fn of(sees: &Sees, reading: Option<&[f64]>) -> Self {
        match (sees, reading) {
            (Sees::Linear(linear), Some(reading)) => Self::Linear(linear.0.of(reading)),
            (Sees::Volatility(StochasticVolatility { scale }), Some(&[reading])) => {
                Self::Volatility(Volatility { scale: *scale, reading })
            }
            _ => Self::Missing,
        }
    }
}

impl Sensor for Compiled {
    fn log_likelihoods(&mut self, particles: &driftless_core::Particles, log: &mut [f32]) -> Reading {
        match self {
            Self::Missing => Reading::Missing,
            Self::Linear(sensor) => sensor.log_likelihoods(particles, log),
            Self::Volatility(sensor) => sensor.log_likelihoods(particles, log),
        }
    }
}

impl Moves {
    /// Numbers of an action of a compiled motion; nothing where there is none.
    pub fn action(&self, action: &Bound<PyAny>) -> PyResult<Option<Vec<f64>>> {
        let wanted = match self {
            Self::Own(_) => return Ok(None),
            Self::Linear(linear) => linear.actions,
            Self::Odometry(_) => 3,
        };
        if action.is_none() {
            return Ok(None);
        }
        let found = vector(action.py(), action, "action")?;
        if found.len() != wanted {
            return Err(wrong(format!("action has {} numbers, {wanted} are wanted", found.len())));
        }
        let is_linear = matches!(self, Self::Linear(_));
        if is_linear && !found.iter().all(|x| x.is_finite()) {
            return Err(wrong("action has numbers that are not finite"));
        }
        Ok(Some(found))
    }

    /// A step by a compiled motion.
    pub fn step(
        &mut self,
        running: &mut Running,
        action: Option<&[f64]>,
        sensor: &mut dyn Sensor,
    ) -> StepReport {
        match self {
            Self::Linear(linear) => {
                let offset: Vec<f32> = linear.offset(action).collect();
                linear.motion.offset.copy_from_slice(&offset);
                let mut report = running.step(&mut linear.motion, sensor);
                report.moved = action.is_some() || linear.actions == 0;
                report
            }
            Self::Odometry(Odometry(odometry)) => {
                let action = action.map(|action| [0, 1, 2].map(|k| action[k] as f32));
                running.step(&mut odometry.by(action), sensor)
            }
            Self::Own(_) => unreachable!("functions are called with Python at hand"),
        }
    }
}

/// A step in which something is a Python function. Returns what was subtracted from all log-likelihoods, too.
pub fn own_step(
    (moves, sees): (&mut Moves, &Sees),
    running: &mut Running,
    (action, observation): (&Bound<PyAny>, &Bound<PyAny>),
    (noise, form): (usize, Form),
) -> PyResult<(StepReport, f64)> {
    let py = action.py();
    let numbers = moves.action(action)?;
    let sensed = |running: &mut Running, moves: &mut Moves, sensor: &mut dyn Sensor| match moves {
        Moves::Own(function) => {
            let function = function.bind(py);
            let mut motion = OwnMotion { function, action, noise, form, raised: None };
            let report = running.step(&mut motion, sensor);
            motion.raised.map_or(Ok(report), Err)
        }
        compiled => Ok(compiled.step(running, numbers.as_deref(), sensor)),
    };
    match sees {
        Sees::Own(function) => {
            let function = function.bind(py);
            let mut sensor = OwnSensor { function, observation, form, shift: 0.0, raised: None };
            let report = sensed(running, moves, &mut sensor)?;
            sensor.raised.map_or(Ok((report, sensor.shift)), Err)
        }
        compiled => {
            let reading = compiled.reading(observation)?;
            let mut sensor = Compiled::of(compiled, reading.as_deref());
            Ok((sensed(running, moves, &mut sensor)?, 0.0))
        }
    }
}
