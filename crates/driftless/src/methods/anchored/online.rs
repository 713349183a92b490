//! The filter of deployment on a robot: one image and one action at a time, in memory that is used again.

use super::AnchoredEm;
use super::sensor::{EncodedFrames, ImageSensor};
use super::tracker::Tracker;
use crate::online::{Estimate, OnlineFilter};
use driftless_core::Stream;
use std::sync::Arc;

/// A robot on its way.
pub(super) struct OnlineTracker {
    tracker: Tracker,
    frames: EncodedFrames<Arc<ImageSensor>>,
    began: bool,
    /// Not numbers, which is an image that says nothing.
    blank: Vec<f32>,
}

impl AnchoredEm {
    /// A filter that begins anywhere in the known box.
    pub(super) fn online_tracker(&self, particles: usize, seed: u64) -> OnlineTracker {
        let sensor = self.sensor();
        OnlineTracker {
            tracker: self.tracker(&sensor, particles, self.tempering, Stream::new(seed, 0)),
            frames: EncodedFrames::new(Arc::new(sensor)),
            began: false,
            blank: vec![f32::NAN; self.normalisation.pixels.shape().iter().product()],
        }
    }
}

impl OnlineFilter for OnlineTracker {
    fn step(&mut self, image: Option<&[f32]>, action: Option<[f64; 3]>) -> Estimate {
        self.frames.encode(image.unwrap_or(&self.blank));
        let (_, moved) = self.tracker.step(&mut self.frames, action.map(|action| action.map(|x| x as f32)));
        if !self.began {
            self.reserve();
        }
        let state = self.tracker.state();
        Estimate {
            lost: Some(state.kidnapped),
            saw: image.is_some(),
            moved: moved && action.is_some(),
            ..Estimate::of(&state.belief)
        }
    }
}

impl OnlineTracker {
    /// Scores and injects as many as will ever be, so that no later step needs memory.
    fn reserve(&mut self) {
        self.began = true;
        let most = self.tracker.filter.population.most;
        self.frames.reserve(most + most / 10 + 1);
    }
}
