//! States of named coordinates, such as joints of an arm, levels of tanks, or an angle and its speed.
//!
//! The expectation maximisation of planar robots in a space of up to eight coordinates, some of them angles: a random walk or
//! changes that the log tells make Gaussian bridges between labels; particles on them, weighted by what the sensors say,
//! give paths; from the paths is learned which readings to expect of a state. Maps need the plane, so sensors are vectors
//! and images alone.

mod basis;
mod calibration;
mod expected;
mod field;
mod fitting;
mod motion;
mod online;
mod reckoning;
mod store;
mod sums;
#[cfg(test)]
mod testing;
mod tracks;

pub use reckoning::CoordinateOdometry;

use super::anywhere::Anywhere;
use super::fitting::{check_images, held_out};
use super::network::World;
use super::online::Shared;
use super::sensor::Model;
use super::walks::{Walk, load_with};
use super::{FIRST_TEMPERING, Tuning};
use crate::error::{Error, Result};
use crate::learn::{
    EpochReport, Experiment, Method, MotionKind, Normalisation, SensorSettings, Tracking, TrainingSet,
};
use crate::methods::anchored::Supervision;
use crate::methods::known_paths::{labelled, sizes};
use crate::online::{OnlineFilter, Smoothing, Start as OnlineStart};
use crate::parameters::Named;
use crate::resample::ResamplerSettings;
use driftless_core::{Filter, Particles, Space};
use driftless_world::evaluation::Track;
use driftless_world::trajectory::Trajectory;
pub(super) use expected::Expected;
use motion::Moving;
pub(super) use motion::State;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

type Models = Vec<Box<dyn Model<State>>>;

/// The methods `driftless` and `driftless-supervised` for states of named coordinates.
pub struct CoordinateEm {
    supervision: Supervision,
    models: Models,
    /// Whether one of them looks at images.
    sees: bool,
    normalisation: Normalisation,
    space: Space,
    seed: u64,
    has_actions: bool,
    moving: Moving,
    tuning: Tuning,
    /// M states at each step of each episode, as drawn last; empty where nothing is known.
    paths: Vec<Vec<Vec<State>>>,
    effective_sample_size: f64,
    /// States that were seen in training: where to look for one that is told nothing.
    visited: Vec<State>,
    filter: Filter,
    /// Which episodes networks are kept from.
    held_out: Vec<bool>,
    /// Made when missing.
    walks: Option<Vec<Walk<State>>>,
    /// Numbers of an observation that sensors look at, at least.
    width: usize,
    /// What robots online share; made when missing.
    shared: OnceLock<Shared<State>>,
    anywhere: OnceLock<Arc<Anywhere>>,
}

impl CoordinateEm {
    /// Not trained yet.
    pub fn new(
        experiment: &Experiment,
        normalisation: &Normalisation,
        supervision: Supervision,
    ) -> Result<Self> {
        if experiment.sensor.is_empty() {
            return Err(Error::setting(
                "sensor",
                "is missing: at least one [[sensor]] must measure something",
            ));
        }
        if experiment.label_fraction <= 0.0 {
            let problem = "must be above 0: what readings mean is learned from some known states";
            return Err(Error::setting("label_fraction", problem));
        }
        if normalisation.coordinates.len() != experiment.state.coordinates.len() {
            return Err(Error::setting(
                "state.coordinates",
                "are others than the run's normalisation was made for",
            ));
        }
        let world = World { normalisation, seed: experiment.seed, epochs: experiment.epochs };
        // Settings are checked: all kinds are of coordinates.
        let model = |sensor: &SensorSettings| Some(sensor.kind.line().build_state?(sensor, &world));
        let has_actions = experiment.motion.kind != MotionKind::None;
        Ok(Self {
            supervision,
            models: experiment.sensor.iter().filter_map(model).collect(),
            sees: experiment.sensor.iter().any(|sensor| sensor.kind.sees()),
            normalisation: normalisation.clone(),
            space: normalisation.space(),
            seed: experiment.seed,
            has_actions,
            moving: Moving::new(normalisation, has_actions),
            tuning: Tuning { tempering: FIRST_TEMPERING, noise: 1.0 },
            paths: Vec::new(),
            effective_sample_size: 0.0,
            visited: Vec::new(),
            filter: ResamplerSettings::apply(experiment.resampler.as_ref(), Filter::bootstrap(1))?,
            held_out: Vec::new(),
            walks: None,
            width: experiment.sensor.iter().map(|sensor| sensor.columns[1]).max().unwrap_or(0),
            shared: OnceLock::new(),
            anywhere: OnceLock::new(),
        })
    }

    fn forget_shared(&mut self) {
        (self.shared, self.anywhere) = (OnceLock::new(), OnceLock::new());
    }

    /// Fails if images are not as large as those that are learned from.
    fn check_images(&self, walk: &Walk<State>) -> driftless_world::Result<()> {
        if self.sees { check_images(walk, self.normalisation.pixels.shape()) } else { Ok(()) }
    }
}

impl Method for CoordinateEm {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.forget_shared();
        let walks = match self.walks.take() {
            Some(walks) => walks,
            None => load_with(lessons, |lesson| Walk::with(lesson, <[f32]>::to_vec))?,
        };
        for (number, walk) in walks.iter().enumerate() {
            self.check_images(walk).map_err(|error| error.in_record(format!("episode {number}")))?;
        }
        if epoch == 1 {
            if !walks.iter().any(Walk::has_label) {
                let problem = "left no state known: what readings mean is learned from some";
                return Err(Error::setting("label_fraction", problem));
            }
            self.moving.fit(&walks);
        }
        self.held_out = held_out(&walks);
        if self.supervision == Supervision::BetweenLabels && (epoch > 1 || self.has_network()) {
            self.draw(epoch, &walks);
            if epoch > 1 {
                self.moving.learn_law(&self.paths);
            }
        }
        let reports = self.learn_readings(epoch, &walks);
        let surprise = self.calibrate(epoch, &walks);
        self.visit(epoch, &walks);
        let report = self.report(&reports, surprise, &walks);
        self.walks = Some(walks);
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let one = |(number, episode)| self.track_one(number, episode, how);
        episodes.par_iter().enumerate().map(one).collect()
    }

    fn online_filter(&self, particles: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(self.state_filter(particles, start)?))
    }

    fn known_paths(
        &self,
        episode: &Trajectory,
        particles: usize,
        how: Smoothing,
    ) -> Result<Option<Vec<Particles>>> {
        let Some(lesson) = labelled(episode)? else { return Ok(None) };
        let (walk, (sizes, mut draws)) = (Walk::with(&lesson, <[f32]>::to_vec), sizes(particles, how));
        self.check_images(&walk)?;
        Ok(self.paths_along(&walk, true, sizes, &mut draws).map(|(states, _)| states))
    }

    fn parameters(&self) -> Vec<Named> {
        self.stored_parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.stored_memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.forget_shared();
        self.take_back(parameters, memory)
    }
}
