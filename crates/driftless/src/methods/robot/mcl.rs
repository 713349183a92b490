//! Monte-Carlo localisation as robots run it today: the yardstick of everything that learns more.
//!
//! Its map is given, or made at the labels; nothing is calibrated. Odometry errs by amcl's alphas, beams are independent,
//! particles are as many as there are: as soon as a robot is found, those of tracking.

use super::RobotEm;
use super::walks;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Experiment, Method, Normalisation, SensorSettings, Tracking, TrainingSet};
use crate::methods::anchored::Supervision;
use crate::online::{OnlineFilter, Start as OnlineStart};
use crate::parameters::Named;
use driftless_world::evaluation::{Surroundings, Track};
use driftless_world::trajectory::Trajectory;
use std::sync::OnceLock;

/// The method `mcl`.
pub struct Mcl {
    filter: RobotEm,
}

impl Mcl {
    /// Without a map.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation) -> Result<Self> {
        let mut filter = RobotEm::new(experiment, normalisation, Supervision::LabelsAlone)?;
        let textbook = |sensor: &SensorSettings| Some(sensor.kind.line().textbook?(sensor));
        filter.models = experiment.sensor.iter().filter_map(textbook).collect();
        filter.sees = false;
        if filter.models.is_empty() {
            return Err(Error::setting(
                "sensor",
                "mcl needs a scan, ranges or landmarks: it knows maps alone",
            ));
        }
        filter.textbook = Some(experiment.robot.alphas.map(|alpha| alpha as f32));
        filter.tuning.tempering = 1.0;
        Ok(Self { filter })
    }
}

impl Method for Mcl {
    fn train(&mut self, _: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        let walks = walks::load(lessons)?;
        self.filter.models.iter_mut().try_for_each(|model| model.prepare())?;
        if !self.filter.has_given_map && !walks.iter().any(walks::Walk::has_label) {
            return Err(Error::setting("label_fraction", "left no pose known, and no map is given"));
        }
        self.filter.models = self.filter.fitted(1, &walks).0;
        (self.filter.shared, self.filter.anywhere) = (OnceLock::new(), OnceLock::new());
        Ok(EpochReport { updates: 1, ..EpochReport::default() })
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        self.filter.track(episodes, how)
    }

    fn online_filter(&self, particles: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        self.filter.online_filter(particles, start)
    }

    fn surroundings(&self) -> Surroundings {
        self.filter.surroundings()
    }

    fn parameters(&self) -> Vec<Named> {
        self.filter.parameters()
    }

    fn memory(&self) -> Vec<Named> {
        Vec::new()
    }

    fn restore(&mut self, parameters: &[Named], _: Option<&[Named]>) -> Result<()> {
        self.filter.restore(parameters, None)
    }
}
