//! The filter of deployment on a robot: one image and one action at a time, in memory that is used again.

use super::AnchoredEm;
use super::sight::{Seen, Sight};
use super::tracker::{Tracker, View, Walk};
use crate::online::{Estimate, UnderWay};
use driftless_world::random::Random;
use std::sync::Arc;

/// A track under way.
pub(super) struct Track {
    /// Its map is that of the sight.
    tracker: Tracker<'static>,
    seen: Seen<Arc<Sight>>,
    walk: Walk,
    random: Random,
    began: bool,
    /// Not numbers, which is an image that says nothing.
    blank: Vec<f32>,
}

impl AnchoredEm {
    /// A track that begins anywhere in the known box.
    pub(super) fn go(&self, particles: usize, seed: u64) -> Track {
        let sight = Sight::new(&self.matcher, &self.scales, self.bounds());
        let tracker = Tracker { map: &[], ..self.tracker(&sight, particles, self.temper) };
        Track {
            tracker,
            seen: Seen::nothing(Arc::new(sight)),
            walk: Walk::default(),
            random: Random::stream(seed, 0),
            began: false,
            blank: vec![f32::NAN; self.scales.pixels.shape().iter().product()],
        }
    }
}

impl UnderWay for Track {
    fn step(&mut self, image: Option<&[f32]>, action: Option<[f64; 3]>) -> Estimate {
        self.seen.look(image.unwrap_or(&self.blank));
        let tracker = Tracker { map: self.seen.map(), ..self.tracker };
        if self.began {
            let action = action.unwrap_or_default();
            tracker.step((&self.seen, 0), &action, &mut self.random, &mut self.walk);
        } else {
            tracker.begin(&self.seen, &mut self.random, &mut self.walk);
            // The first belief is the largest: memory for its scores will do for all others.
            self.seen.scores(0, &self.walk.cloud.poses, &mut Vec::new());
            self.began = true;
        }
        let mut estimate = Estimate::of(&self.walk.cloud);
        (estimate.saw, estimate.moved, estimate.lost) =
            (image.is_some(), action.is_some(), Some(self.walk.lost));
        estimate
    }
}
