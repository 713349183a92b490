//! The filters of states online.

use super::CoordinateEm;
use crate::error::{Error, Result};
use crate::methods::robot::follower::Following;
use crate::methods::robot::online::Shared;
use crate::online::{OnlineFilter, Place, Start as OnlineStart};
use driftless_core::Stream;

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
    pub(super) fn state_filter(
        &self,
        particles: usize,
        start: &OnlineStart,
    ) -> Result<Box<dyn OnlineFilter>> {
        check_place(start.place, self.space.dimension())?;
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
