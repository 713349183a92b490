//! The filters of robots online, which share the learned map.

use super::RobotEm;
use super::anywhere::Anywhere;
use super::bound::Bound;
use super::sensor::Model;
use super::tracks::{Follower, Following};
use super::walks::Measured;
use crate::error::Result;
use crate::online::{Estimate, Observation, OnlineFilter, Start as OnlineStart};
use driftless_core::motion::Density;
use driftless_core::{Belief, Reading, Snapshot, Stream};
use driftless_world::trajectory::Rows;
use std::sync::Arc;

type Models = Arc<[Box<dyn Model>]>;

/// What all robots share.
#[derive(Clone)]
pub(super) struct Shared {
    models: Models,
    anywhere: Arc<Anywhere>,
}

/// A robot on its way.
struct RobotFilter {
    follower: Follower<Models, Arc<Anywhere>>,
    anywhere: Arc<Anywhere>,
    began: bool,
    /// NaN: a reading that says nothing.
    blank: Vec<f32>,
    /// What the sensors score a step by.
    rows: Vec<Option<Rows>>,
}

impl RobotEm {
    /// A copy of what was learned, made once.
    fn shared(&self) -> Result<Shared> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared.clone());
        }
        let (mut models, parameters): (Vec<Box<dyn Model>>, _) =
            (self.models.iter().map(|model| model.fresh()).collect(), self.model_parameters());
        models.iter_mut().try_for_each(|model| model.restore(&parameters, None))?;
        let anywhere = Arc::clone(self.anywhere());
        Ok(self.shared.get_or_init(|| Shared { models: models.into(), anywhere }).clone())
    }

    pub(super) fn robot_filter(
        &self,
        particles: usize,
        start: &OnlineStart,
    ) -> Result<Box<dyn OnlineFilter>> {
        let Shared { models, anywhere } = self.shared()?;
        let following = Following { tuning: self.tuning, particles, start: start.place.told() };
        let draws = Stream::new(start.seed, start.episode);
        let follower = self.follower(Bound::new(models, Arc::clone(&anywhere)), &following, draws);
        Ok(Box::new(RobotFilter {
            follower,
            anywhere,
            began: false,
            blank: vec![f32::NAN; self.width],
            rows: Vec::new(),
        }))
    }
}

/// In 32 bits; NaN is missing.
fn action(seen: &Observation) -> [f32; 3] {
    seen.action.map_or([f32::NAN; 3], |action| action.map(|x| x as f32))
}

impl OnlineFilter for RobotFilter {
    fn step(&mut self, seen: Observation) -> Estimate {
        let action = action(&seen);
        let numbers = seen.readings.unwrap_or(&self.blank);
        let Self { follower, rows, .. } = self;
        follower.encode(Measured { numbers, image: seen.image }, rows);
        let report =
            follower.step(|number| rows[number].as_ref().map_or(numbers, |rows| rows.row(0)), action);
        self.began = true;
        let state = self.follower.state();
        Estimate {
            lost: self.follower.recovers().then_some(state.kidnapped),
            collapsed: report.collapsed,
            saw: report.reading == Reading::Present,
            moved: report.moved && seen.action.is_some(),
            ..Estimate::of(&state.belief)
        }
    }

    fn belief(&self) -> Option<&Belief> {
        self.began.then(|| self.follower.belief())
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        let motion = self.follower.next_motion(action(seen))?;
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
