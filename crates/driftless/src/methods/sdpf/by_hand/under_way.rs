//! The released filter on a robot, through the kernels.

use crate::online::{Estimate, UnderWay};
use driftless_core::{Belief, Particles, Space};
use driftless_kernels::online::Online;
use driftless_kernels::scan::Motion;
use driftless_kernels::training::Networks;
use driftless_world::pose::Pose;

/// A track under way. Its first belief is the prior: the first image is not looked at, as in the released code.
pub(super) struct UnderWayByHand {
    online: Online,
    count: usize,
    began: bool,
    blank: Vec<f32>,
}

impl UnderWayByHand {
    pub(super) fn new(nets: Networks, first: &[[f32; 3]], motion: Motion, seed: u64) -> Self {
        let blank = vec![f32::NAN; nets.eyes.pixels()];
        let online = Online::new(nets.eyes, nets.poses, motion, first, seed);
        Self { online, count: first.len(), began: false, blank }
    }

    fn begin(&mut self) -> Estimate {
        let (poses, logs): (Vec<[f32; 3]>, Vec<f32>) =
            self.online.particles().map(|(pose, weight)| (pose, weight.ln())).unzip();
        self.began = true;
        Estimate::of(&Belief::weighted(Particles::from_states(Space::SE2, poses), &logs))
    }
}

impl UnderWay for UnderWayByHand {
    fn step(&mut self, image: Option<&[f32]>, action: Option<[f64; 3]>) -> Estimate {
        let (saw, moved) = (image.is_some(), action.is_some());
        if !self.began {
            return Estimate { saw, moved, ..self.begin() };
        }
        let action = action.unwrap_or_default().map(|x| x as f32);
        let found = self.online.step(image.unwrap_or(&self.blank), action);
        let [x, y, heading] = found.pose;
        Estimate {
            pose: Pose::new(x, y, heading),
            covariance: found.covariance,
            effective_sample_size: found.effective_sample_size,
            particles: self.count,
            lost: None,
            saw: saw && found.saw,
            moved: moved && found.moved,
        }
    }
}
