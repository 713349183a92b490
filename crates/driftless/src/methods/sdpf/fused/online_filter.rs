//! The released filter on a robot, through the kernels.

use crate::batch::PixelScale;
use crate::online::{Estimate, Observation, OnlineFilter, saved};
use driftless_core::motion::Density;
use driftless_core::{Belief, Snapshot, Space, Stream};
use driftless_kernels::online::Online;
use driftless_kernels::scan::Motion;
use driftless_kernels::training::Networks;

/// A robot on its way. Its first belief is the prior: the first image is not looked at, as in the released code.
pub(super) struct FusedOnlineFilter {
    online: Online,
    began: bool,
    pixels: PixelScale,
    image: Vec<f32>,
    blank: Vec<f32>,
}

impl FusedOnlineFilter {
    /// `missing` are standard deviations of position and heading where odometry is missing.
    pub(super) fn new(
        nets: Networks,
        pixels: &PixelScale,
        first: &[[f32; 3]],
        motion: Motion,
        missing: [f32; 2],
        seed: u64,
    ) -> Self {
        let blank = vec![f32::NAN; nets.frame_encoder.pixels()];
        let online = Online::new((nets.frame_encoder, nets.poses), motion, missing, first, seed);
        Self { online, began: false, pixels: pixels.clone(), image: Vec::new(), blank }
    }
}

impl OnlineFilter for FusedOnlineFilter {
    fn step(&mut self, seen: Observation) -> Estimate {
        let (Self { pixels, image, .. }, action) = (&mut *self, seen.action);
        let mut saw = seen.image.is_some_and(|(images, t)| pixels.normalise_middle(images, t, image));
        let (mut moved, mut collapsed) = (action.is_some(), false);
        if self.began {
            let action = action.map(|action| action.map(|x| x as f32));
            let found = self.online.step(if saw { &self.image } else { &self.blank }, action);
            (saw, moved, collapsed) = (found.saw, found.moved, found.collapsed);
        }
        self.began = true;
        Estimate { collapsed, saw, moved, ..Estimate::of(self.online.belief()) }
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        let action = seen.action.map(|action| action.map(|x| x as f32));
        Some(Box::new(self.online.next_motion(action)?))
    }

    fn belief(&self) -> Option<&Belief> {
        Some(self.online.belief())
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        let (state, draws) = self.online.now();
        state.save(to);
        draws.save(to);
        self.began.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        let state = saved::state(Space::SE2, from)?;
        self.online.go_on(state, Stream::load(from)?);
        self.began = bool::load(from)?;
        Some(())
    }
}
