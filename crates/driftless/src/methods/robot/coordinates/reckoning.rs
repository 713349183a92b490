//! Changes alone, as the log has them; without any, the state stays what it was: what every filter has to beat.

use super::online::check_place;
use super::tracks::told;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Experiment, Method, Tracking, TrainingSet};
use crate::methods::recorder::picture;
use crate::online::{Estimate, Observation, OnlineFilter, Place, Start as OnlineStart};
use crate::parameters::Named;
use crate::space::Space;
use driftless_core::Snapshot;
use driftless_world::evaluation::{States, Track};
use driftless_world::trajectory::{Start, Trajectory};

/// A method without parameters: it must be told the first state.
pub struct CoordinateOdometry {
    space: driftless_core::Space,
}

impl CoordinateOdometry {
    /// In the space of an experiment.
    pub fn new(experiment: &Experiment) -> Self {
        Self { space: experiment.state.space() }
    }

    fn follow(&self, number: usize, episode: &Trajectory) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let Some(Start::State { mean, .. }) = lesson.start() else { return Err(must_be_told()) };
        let mut reckoning = Reckoning { space: self.space.into(), state: mean.to_vec(), began: false };
        let actions = (0..lesson.len()).map(|t| lesson.actions().row(t));
        let estimate: Vec<Vec<f64>> = actions.map(|action| reckoning.go(Some(action)).to_vec()).collect();
        let known = |state: &Option<Vec<f64>>| state.as_ref().map_or(Track::UNKNOWN, |state| picture(state));
        let poses =
            (truth.iter().map(known).collect(), estimate.iter().map(|state| picture(state)).collect());
        let states = States { truth, estimate, deviation: None };
        Ok(Track { states: Some(states), ..Track::new(poses.0, poses.1) })
    }
}

/// A state on its way.
struct Reckoning {
    space: Space,
    state: Vec<f64>,
    began: bool,
}

impl Reckoning {
    /// The first change is not looked at. Where one is missing, nothing better is known than that the state stays.
    fn go(&mut self, change: Option<&[f32]>) -> &[f64] {
        let began = std::mem::replace(&mut self.began, true);
        if let Some(change) = change.filter(|change| began && change.iter().all(|x| x.is_finite())) {
            self.state.iter_mut().zip(change).for_each(|(x, by)| *x += f64::from(*by));
            self.space.wrap_numbers(&mut self.state);
        }
        &self.state
    }
}

impl OnlineFilter for Reckoning {
    fn step(&mut self, seen: Observation) -> Estimate {
        let mean = self.go(seen.change).to_vec();
        Estimate { saw: false, moved: seen.change.is_some(), ..Estimate::of_state_alone(mean) }
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        self.state.save(to);
        self.began.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        let size = self.state.len();
        self.state = Vec::load(from).filter(|state: &Vec<f64>| state.len() == size && all_finite(state))?;
        self.began = bool::load(from)?;
        Some(())
    }
}

fn all_finite(state: &[f64]) -> bool {
    state.iter().all(|x| x.is_finite())
}

fn must_be_told() -> Error {
    Error::setting("robot.start", "must be tracking: changes alone cannot find a state")
}

impl Method for CoordinateOdometry {
    fn learns(&self) -> bool {
        false
    }

    fn train(&mut self, _: u64, _: &TrainingSet) -> Result<EpochReport> {
        Ok(EpochReport::default())
    }

    fn track(&self, episodes: &[Trajectory], _: Tracking) -> Result<Vec<Track>> {
        episodes.iter().enumerate().map(|(number, episode)| self.follow(number, episode)).collect()
    }

    fn online_filter(&self, _: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        check_place(start.place, self.space.dimension())?;
        let Place::State { mean, .. } = start.place else { return Err(must_be_told()) };
        Ok(Some(Box::new(Reckoning { space: self.space.into(), state: mean.to_vec(), began: false })))
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
