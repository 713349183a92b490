//! The filters of states online, which share what was learned.

use super::CoordinateEm;
use super::motion::State;
use super::tracks::{Follower, Following};
use crate::error::{Error, Result};
use crate::methods::robot::anywhere::Anywhere;
use crate::methods::robot::bound::Bound;
use crate::methods::robot::sensor::Model;
use crate::methods::robot::walks::Measured;
use crate::online::{Estimate, Observation, OnlineFilter, Place, Start as OnlineStart};
use driftless_core::motion::Density;
use driftless_core::{Belief, Reading, Stream};
use driftless_world::trajectory::Rows;
use std::sync::Arc;

type Models = Arc<[Box<dyn Model<State>>]>;

/// What all of them share.
#[derive(Clone)]
pub(super) struct Shared {
    models: Models,
    anywhere: Arc<Anywhere>,
}

/// A state on its way.
struct StateFilter {
    follower: Follower<Models, Arc<Anywhere>>,
    anywhere: Arc<Anywhere>,
    began: bool,
    /// NaN: a reading that says nothing.
    blank: Vec<f32>,
    /// What the sensors score a step by.
    rows: Vec<Option<Rows>>,
}

/// Fails unless a start has so many coordinates, or none.
pub(super) fn check_place(place: Place, count: usize) -> Result<()> {
    let wrong = |problem: String| Err(Error::setting("start", problem));
    match place {
        Place::Anywhere | Place::Room(_) => Ok(()),
        Place::State { mean, spread } if mean.len() == count && spread.len() == count => Ok(()),
        Place::State { mean, .. } => wrong(format!("has {} coordinates, not {count}", mean.len())),
        Place::About { .. } => wrong("is a planar pose, but the run is of named coordinates".to_owned()),
    }
}

impl CoordinateEm {
    /// A copy of what was learned, made once.
    fn shared(&self) -> Result<Shared> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared.clone());
        }
        let parameters = self.model_parameters();
        let mut models: super::Models = self.models.iter().map(|model| model.fresh()).collect();
        models.iter_mut().try_for_each(|model| model.restore(&parameters, None))?;
        let anywhere = Arc::clone(self.anywhere());
        Ok(self.shared.get_or_init(|| Shared { models: models.into(), anywhere }).clone())
    }

    pub(super) fn state_filter(
        &self,
        particles: usize,
        start: &OnlineStart,
    ) -> Result<Box<dyn OnlineFilter>> {
        check_place(start.place, self.space.dimension())?;
        let Shared { models, anywhere } = self.shared()?;
        let following = Following { tuning: self.tuning, particles, start: start.place.told() };
        let draws = Stream::new(start.seed, start.episode);
        let follower = self.follower(Bound::new(models, Arc::clone(&anywhere)), &following, draws);
        let blank = vec![f32::NAN; self.width];
        Ok(Box::new(StateFilter { follower, anywhere, began: false, blank, rows: Vec::new() }))
    }
}

impl OnlineFilter for StateFilter {
    fn step(&mut self, seen: Observation) -> Estimate {
        let numbers = seen.readings.unwrap_or(&self.blank);
        let Self { follower, rows, .. } = self;
        follower.encode(Measured { numbers, image: seen.image }, rows);
        let reading = |number: usize| rows[number].as_ref().map_or(numbers, |rows| rows.row(0));
        let report = follower.step(reading, seen.change.unwrap_or(&[]));
        self.began = true;
        let state = self.follower.state();
        Estimate {
            lost: self.follower.recovers().then_some(state.kidnapped),
            collapsed: report.collapsed,
            saw: report.reading == Reading::Present,
            moved: report.moved && seen.change.is_some(),
            ..Estimate::of_state(&state.belief)
        }
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        let motion: Box<dyn Density> = Box::new(self.follower.next_motion(seen.change.unwrap_or(&[]))?);
        Some(match self.follower.elsewhere() {
            Some(probability) => self.anywhere.carried(motion, probability),
            None => motion,
        })
    }

    fn belief(&self) -> Option<&Belief> {
        self.began.then(|| self.follower.belief())
    }
}
