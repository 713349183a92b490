//! The filter of deployment on a robot: one image and one action at a time, in memory that is used again.

use super::AnchoredEm;
use super::sensor::{EncodedFrames, ImageSensor};
use super::tracker::Tracker;
use crate::batch::PixelScale;
use crate::methods::prior::around;
use crate::online::{Estimate, Observation, OnlineFilter, Place, Start};
use driftless_core::motion::Density;
use driftless_core::{Belief, Snapshot, Stream};
use std::sync::Arc;

/// A robot on its way.
pub(super) struct OnlineTracker {
    tracker: Tracker,
    frames: EncodedFrames<Arc<ImageSensor>>,
    /// How dense poses are that may be anywhere.
    log_anywhere: f64,
    began: bool,
    pixels: PixelScale,
    image: Vec<f32>,
    /// Not numbers, which is an image that says nothing.
    blank: Vec<f32>,
}

impl AnchoredEm {
    /// A filter that begins anywhere in the known box, or about a pose.
    pub(super) fn online_tracker(&self, particles: usize, start: &Start) -> OnlineTracker {
        let sensor = self.shared.get_or_init(|| Arc::new(self.sensor()));
        let draws = Stream::new(start.seed, start.episode);
        let mut tracker = self.tracker(sensor, particles, self.tempering, draws);
        if let Place::About { pose, spread } = start.place {
            let [pose, spread] = [pose, spread].map(|numbers| numbers.map(|x| x as f32));
            let belief = Belief::new(around(pose, spread, particles, &mut tracker.draws));
            tracker.begin(belief);
        }
        OnlineTracker {
            tracker,
            frames: EncodedFrames::new(Arc::clone(sensor)),
            log_anywhere: sensor.log_anywhere(),
            began: false,
            pixels: self.normalisation.pixels.clone(),
            image: Vec::new(),
            blank: vec![f32::NAN; self.normalisation.pixels.shape().iter().product()],
        }
    }
}

impl OnlineFilter for OnlineTracker {
    fn step(&mut self, seen: Observation) -> Estimate {
        let (Self { pixels, image, .. }, action) = (&mut *self, seen.action);
        let saw = seen.image.is_some_and(|(images, t)| pixels.normalise_middle(images, t, image));
        self.frames.encode(if saw { &self.image } else { &self.blank });
        let report = self.tracker.step(&mut self.frames, action.map(|action| action.map(|x| x as f32)));
        if !self.began {
            self.reserve();
        }
        let state = self.tracker.state();
        Estimate {
            lost: Some(state.kidnapped),
            collapsed: report.collapsed,
            saw,
            moved: report.moved && action.is_some(),
            ..Estimate::of(&state.belief)
        }
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        let action = seen.action.map(|action| action.map(|x| x as f32));
        self.tracker.next_motion(action, self.log_anywhere)
    }

    fn belief(&self) -> Option<&Belief> {
        self.began.then(|| &self.tracker.state().belief)
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        self.began.save(to);
        self.tracker.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        let began = bool::load(from)?;
        self.tracker.restore(from)?;
        if began {
            self.reserve();
        }
        (began == self.tracker.has_begun()).then_some(())
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
