//! What every method in houses has to beat, without learning anything: odometry alone, and the localiser that robots
//! run today, on depth images.

use super::told;
use super::walk::{PIXELS_PER_UNIT, state};
use crate::classical::{ClassicalSettings, track};
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet};
use crate::methods::house::filter::{in_units, odometry, started};
use crate::methods::house::particles::{State, first};
use crate::methods::house::walk::in_pixels;
use crate::methods::recorder::Recorder;
use crate::parameters::Named;
use driftless_core::motion::Noise;
use driftless_core::{Motion, Stream};
use driftless_world::evaluation::Track;
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::{Observations, Rows, Start, Trajectory};
use rayon::prelude::*;
use std::sync::Arc;

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlearned {
    /// Particles that are moved by odometry and never weighed; without noise, so that the mean is as good as it gets.
    Odometry,
    /// Monte-Carlo localisation with a sensor model of range scans.
    Classical,
}

/// A method without parameters.
pub struct UnlearnedMethod {
    which: Unlearned,
    settings: ClassicalSettings,
    normalisation: Normalisation,
}

impl UnlearnedMethod {
    /// The filter's noise is that of the experiment.
    pub fn new(which: Unlearned, experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let house = &experiment.house;
        let settings = ClassicalSettings {
            position_noise: house.noise_metres,
            heading_noise: house.noise_degrees,
            resampler: experiment.resampler.clone(),
            ..house.classical.clone()
        };
        Self { which, settings, normalisation: normalisation.clone() }
    }

    fn follow(&self, number: usize, episode: &Trajectory, how: Tracking) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let missing = |what: &str| {
            Error::File(driftless_world::Error::new(what).in_record(format!("episode {number}")))
        };
        let maps = lesson.floor().ok_or_else(|| missing("has no floor plan"))?;
        let start =
            lesson.start().map(in_pixels).ok_or_else(|| missing("does not say where the robot starts"))?;
        let mut random = Random::stream(how.seed, number as u64);
        let start = match (self.which, start) {
            (Unlearned::Odometry, Start::About { pose, .. }) => vec![pose.map(f64::from)],
            _ => first(start, maps, how.particles, &mut random)?,
        };
        match self.which {
            Unlearned::Odometry => Ok(dead_reckoning(&lesson, truth, &start)),
            Unlearned::Classical => {
                let recorder = Recorder::new(truth, number as u64, how, &self.normalisation);
                self.localise(&lesson, maps, &start, recorder, Stream::new(how.seed, number as u64))
            }
        }
    }

    fn localise(
        &self,
        lesson: &Lesson,
        maps: &Arc<HouseMaps>,
        start: &[State],
        mut recorder: Recorder,
        mut draws: Stream,
    ) -> Result<Track> {
        let Observations::Images(images) = lesson.observations() else {
            return Err(Error::setting("method", "classical needs depth images"));
        };
        if images.channels != 1 {
            return Err(Error::setting(
                "house.images",
                "must be depth: classical localisation knows no colours",
            ));
        }
        let start: Vec<Pose> = start.iter().map(|pose| Pose::new(pose[0], pose[1], pose[2])).collect();
        let actions = (0..lesson.len()).flat_map(|t| state(lesson.actions().row(t))).map(|x| x as f32);
        let actions = Rows::new(3, actions.collect())?;
        track(maps, images, &actions, &start, &self.settings, &mut draws, |belief, log_evidence| {
            recorder.step(&in_units(belief), log_evidence);
        })?;
        Ok(recorder.track())
    }
}

/// The mean of what odometry makes of the first poses.
fn dead_reckoning(lesson: &Lesson, truth: Vec<Pose>, start: &[State]) -> Track {
    let mut belief = started(start).belief;
    let (odometry, mut noise, mut draws) = (odometry([0.0; 3]), Noise::default(), Stream::new(0, 0));
    let estimates = (0..lesson.len()).map(|t| {
        if t > 0 {
            let action = state(lesson.actions().row(t)).map(|x| x as f32);
            odometry.by(Some(action)).propagate(&mut belief.particles, &mut draws, &mut noise);
        }
        let [x, y, heading] = [0, 1, 2].map(|k| belief.mean_of(k));
        Pose::new(x / PIXELS_PER_UNIT, y / PIXELS_PER_UNIT, heading)
    });
    let estimates = estimates.collect();
    Track::new(truth, estimates)
}

impl Method for UnlearnedMethod {
    fn learns(&self) -> bool {
        false
    }

    fn train(&mut self, _: u64, _: &TrainingSet) -> Result<EpochReport> {
        Ok(EpochReport::default())
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let one = |(number, episode)| self.follow(number, episode, how);
        episodes.par_iter().enumerate().map(one).collect()
    }

    fn parameters(&self) -> Vec<Named> {
        Vec::new()
    }

    fn memory(&self) -> Vec<Named> {
        Vec::new()
    }

    fn restore(&mut self, _: &[Named], _: Option<&[Named]>) -> Result<()> {
        Ok(())
    }
}
