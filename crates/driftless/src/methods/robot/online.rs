//! Filters online, which share what was learned: of robots in the plane and of states of named coordinates.

use super::RobotEm;
use super::anywhere::Anywhere;
use super::bound::Bound;
use super::follower::{Drive, Follower, Following};
use super::sensor::Model;
use super::walks::Measured;
use crate::error::Result;
use crate::online::{Estimate, Observation, OnlineFilter, Start as OnlineStart};
use crate::parameters::Named;
use driftless_core::motion::Density;
use driftless_core::{Belief, Reading, Snapshot, Stream};
use driftless_world::trajectory::Rows;
use std::sync::Arc;

type Models<S> = Arc<[Box<dyn Model<S>>]>;

/// What all robots share.
pub(super) struct Shared<S = [f32; 3]> {
    models: Models<S>,
    anywhere: Arc<Anywhere>,
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self { models: Arc::clone(&self.models), anywhere: Arc::clone(&self.anywhere) }
    }
}

impl<S> Shared<S> {
    /// A copy of what was learned.
    pub(super) fn new(
        models: &[Box<dyn Model<S>>],
        parameters: &[Named],
        anywhere: &Arc<Anywhere>,
    ) -> Result<Self> {
        let mut models: Vec<Box<dyn Model<S>>> = models.iter().map(|model| model.fresh()).collect();
        models.iter_mut().try_for_each(|model| model.restore(parameters, None))?;
        Ok(Self { models: models.into(), anywhere: Arc::clone(anywhere) })
    }

    /// A filter at its beginning, made by `follower` of sensors that share this; readings have so many numbers.
    pub(super) fn filter<D>(
        self,
        width: usize,
        follower: impl FnOnce(Bound<Models<S>, Arc<Anywhere>>) -> Follower<D, Models<S>, Arc<Anywhere>>,
    ) -> Box<dyn OnlineFilter>
    where
        D: Drive<State = S> + 'static,
        S: 'static,
    {
        let Self { models, anywhere } = self;
        Box::new(Followed {
            follower: follower(Bound::new(models, Arc::clone(&anywhere))),
            anywhere,
            began: false,
            blank: vec![f32::NAN; width],
            rows: Vec::new(),
        })
    }
}

/// A robot on its way.
struct Followed<D: Drive> {
    follower: Follower<D, Models<D::State>, Arc<Anywhere>>,
    anywhere: Arc<Anywhere>,
    began: bool,
    /// NaN: a reading that says nothing.
    blank: Vec<f32>,
    /// What the sensors score a step by.
    rows: Vec<Option<Rows>>,
}

impl RobotEm {
    pub(super) fn robot_filter(
        &self,
        particles: usize,
        start: &OnlineStart,
    ) -> Result<Box<dyn OnlineFilter>> {
        let shared = if let Some(shared) = self.shared.get() {
            shared.clone()
        } else {
            let made = Shared::new(&self.models, &self.model_parameters(), self.anywhere())?;
            self.shared.get_or_init(|| made).clone()
        };
        let following = Following { tuning: self.tuning, particles, start: start.place.told() };
        let draws = Stream::new(start.seed, start.episode);
        Ok(shared.filter(self.width, |sensor| self.follower(sensor, &following, draws)))
    }
}

impl<D: Drive> OnlineFilter for Followed<D> {
    fn step(&mut self, seen: Observation) -> Estimate {
        let (action, is_told) = D::said(&seen);
        let numbers = seen.readings.unwrap_or(&self.blank);
        let Self { follower, rows, .. } = self;
        follower.encode(Measured { numbers, image: seen.image }, rows);
        let reading = |number: usize| rows[number].as_ref().map_or(numbers, |rows| rows.row(0));
        let report = follower.step(reading, action);
        self.began = true;
        let state = self.follower.state();
        Estimate {
            lost: self.follower.recovers().then_some(state.kidnapped),
            collapsed: report.collapsed,
            saw: report.reading == Reading::Present,
            moved: report.moved && is_told,
            ..D::estimate(&state.belief)
        }
    }

    fn belief(&self) -> Option<&Belief> {
        self.began.then(|| self.follower.belief())
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        let motion = self.follower.next_motion(D::said(seen).0)?;
        Some(match self.follower.elsewhere() {
            Some(probability) => self.anywhere.carried(motion, probability),
            None => motion,
        })
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        self.began.save(to);
        self.follower.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.began = bool::load(from)?;
        self.follower.restore(from)?;
        (self.began == self.follower.has_begun()).then_some(())
    }
}
