//! What a trained run wants of ROS, and the filter behind it.

use driftless::learn::{MotionKind, SensorSettings, StateKind, Trained, WorldKind};
use driftless::methods::build;
use driftless::online::{Estimate, Place, Start, Step, Tracker};
use driftless_core::Belief;
use driftless_core::pose::Frame;
use std::path::Path;

/// A filter that goes from step to step.
pub trait Follow {
    /// One step.
    fn step(&mut self, step: Step) -> driftless::Result<Estimate>;

    /// The particles behind the last estimate, if there are any.
    fn belief(&self) -> Option<&Belief>;
}

impl Follow for Tracker {
    fn step(&mut self, step: Step) -> driftless::Result<Estimate> {
        Self::step(self, step)
    }

    fn belief(&self) -> Option<&Belief> {
        Self::belief(self)
    }
}

/// Whatever begins filters.
pub trait Run {
    /// A filter of a robot that is there; `number` names its random numbers.
    fn begin(&self, place: Place, number: usize) -> driftless::Result<Box<dyn Follow>>;
}

/// A scanner's part of a step's readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Scanner {
    /// The first column.
    pub first: usize,
    /// In the robot's frame, one for each column.
    pub bearings: Vec<f64>,
}

/// What a run wants to be told at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Wants {
    /// How many numbers readings have.
    pub readings: usize,
    /// The scanner, if there is one.
    pub scanner: Option<Scanner>,
    /// Whether it looks at images.
    pub sees: bool,
    /// What actions mean.
    pub motion: MotionKind,
    /// How they are written.
    pub frame: Frame,
    /// Standard deviations of a start that nobody gave some.
    pub spread: [f64; 3],
    /// The longer side that images are shrunk to before the filter sees them, if they are.
    pub image_side: Option<usize>,
}

/// A run's folder, opened.
pub struct TrainedRun {
    trained: Trained,
    particles: Option<usize>,
    seed: u64,
}

impl TrainedRun {
    /// Reads a run and says what it wants, or in one sentence why it cannot be a node.
    pub fn open(folder: &Path, particles: Option<usize>, seed: u64) -> Result<(Self, Wants), String> {
        let trained = Trained::open(folder, &build).map_err(|error| error.to_string())?;
        let run = Self { trained, particles, seed };
        // Whether the method can is seen now, and not by a robot that waits.
        let place = Place::About { pose: [0.0; 3], spread: [0.1; 3] };
        let start = Start { particles, seed, episode: 0, place };
        let tracker = Tracker::new(&run.trained, start).map_err(|error| error.to_string())?;
        let wants = run.wants(tracker.readings())?;
        Ok((run, wants))
    }

    fn wants(&self, readings: usize) -> Result<Wants, String> {
        let experiment = &self.trained.config.experiment;
        let robot = &experiment.robot;
        let (motion, frame) = (experiment.motion.kind, experiment.frame());
        if experiment.world == WorldKind::Maze {
            let spread = self.trained.normalisation.step_size;
            let (scanner, sees, image_side) = (None, true, None);
            return Ok(Wants { readings, scanner, sees, motion, frame, spread, image_side });
        }
        if experiment.world == WorldKind::House || !experiment.state.is_planar() {
            return Err(
                "a node of ROS follows robots with logs of their own in the plane, and mazes".to_owned()
            );
        }
        if experiment.state.kind == StateKind::Position || frame == Frame::World {
            return Err("the run knows no heading, or its actions point along x and y: map -> odom needs a heading, and odometry of ROS turns with the robot".to_owned());
        }
        let scanner = experiment.sensor.iter().find(|sensor| sensor.kind.id() == "scan").map(Scanner::of);
        let sees = experiment.sensor.iter().any(|sensor| sensor.kind.sees());
        if scanner.is_none() && !sees {
            let kinds: Vec<&str> = experiment.sensor.iter().map(|sensor| sensor.kind.id()).collect();
            return Err(format!(
                "the run has no sensor that a topic could feed: scan or images are wanted, it has {}",
                kinds.join(", ")
            ));
        }
        let (place, turn) = (robot.start_distance, robot.start_degrees.to_radians());
        let (spread, image_side) = ([place, place, turn], Some(IMPORTED_SIDE));
        Ok(Wants { readings, scanner, sees, motion, frame, spread, image_side })
    }

    /// Sensors of the run that are not fed, in words.
    pub fn unfed(&self) -> Option<String> {
        let sensors = &self.trained.config.experiment.sensor;
        let first = sensors.iter().position(|sensor| sensor.kind.id() == "scan");
        let is_fed = |k: usize| Some(k) == first || sensors[k].kind.sees();
        let names: Vec<&str> =
            (0..sensors.len()).filter(|&k| !is_fed(k)).map(|k| sensors[k].name.as_str()).collect();
        (!names.is_empty())
            .then(|| format!("nothing feeds {}: what they would say is missing", names.join(", ")))
    }
}

/// What `driftless import` shrinks images to unless it is told otherwise.
const IMPORTED_SIDE: usize = 64;

impl Scanner {
    fn of(sensor: &SensorSettings) -> Self {
        let (count, first) = (sensor.width(), sensor.first_degrees.to_radians());
        let step = (sensor.last_degrees.to_radians() - first) / count.saturating_sub(1).max(1) as f64;
        let bearings = (0..count).map(|k| first + step * k as f64).collect();
        Self { first: sensor.columns[0], bearings }
    }
}

impl Run for TrainedRun {
    fn begin(&self, place: Place, number: usize) -> driftless::Result<Box<dyn Follow>> {
        let (seed, episode) = Trained::numbers_of(self.seed, number);
        let start = Start { particles: self.particles, seed, episode, place };
        Ok(Box::new(Tracker::new(&self.trained, start)?))
    }
}
