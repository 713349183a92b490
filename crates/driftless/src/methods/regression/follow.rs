//! Robots of which an image at a time says where they are: online, and in evaluation.

use super::{Regression, SAID};
use crate::error::Result;
use crate::learn::Normalisation;
use crate::methods::tracking::told;
use crate::online::{Estimate, Observation, OnlineFilter, saved, seen_at};
use driftless_kernels::Cpu;
use driftless_kernels::recurrent::{Estimator, EstimatorMemory, SequenceFrames};
use driftless_world::evaluation::Track;
use driftless_world::pose::Pose;
use driftless_world::trajectory::Trajectory;

/// A robot on its way.
pub(super) struct Robot {
    net: Estimator,
    normalisation: Normalisation,
    image: Vec<f32>,
    memory: EstimatorMemory,
    /// Where it was seen last; the middle of what is known before that.
    pose: Pose,
}

impl Regression {
    /// Before its first step.
    pub(super) fn robot(&self) -> Robot {
        let [x, y, _] = self.normalisation.state_mean;
        Robot {
            net: self.learner.net().clone(),
            normalisation: self.normalisation.clone(),
            image: Vec::new(),
            memory: EstimatorMemory::default(),
            pose: Pose::new(x, y, 0.0),
        }
    }

    /// Follows an episode as a robot online is followed.
    pub(super) fn follow(&self, number: usize, episode: &Trajectory) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        // Says what is wrong with images of another size.
        super::sensor::images(&lesson, &self.normalisation.pixels)?;
        let mut robot = self.robot();
        let estimate = (0..episode.len()).map(|t| robot.step(seen_at(&lesson, t)).pose).collect();
        Ok(Track::new(truth, estimate))
    }
}

impl Robot {
    /// The pose of an image, if it is one.
    fn look(&mut self, seen: &Observation) -> Option<Pose> {
        let (images, t) = seen.image?;
        let fits = self.normalisation.pixels.normalise_middle(images, t, &mut self.image);
        if !fits || !self.image.iter().all(|x| x.is_finite()) {
            return None;
        }
        let frames = SequenceFrames { images: &self.image, masks: None, beside: &[], sizes: [1, 1] };
        self.net.forward(Cpu::best(), &frames, &mut self.memory);
        pose(&self.normalisation, &self.memory.said()[..SAID])
    }
}

/// What was said, in the units of the world; nothing if it is not finite.
pub(super) fn pose(normalisation: &Normalisation, said: &[f32]) -> Option<Pose> {
    let Normalisation { state_mean: mean, state_std: std, .. } = normalisation;
    let place = |k: usize| mean[k] + std[k] * f64::from(said[k]);
    let heading = f64::from(said[3]).atan2(f64::from(said[2]));
    said.iter().all(|x| x.is_finite()).then(|| Pose::new(place(0), place(1), heading))
}

impl OnlineFilter for Robot {
    /// It has no belief, and does not know how sure it is.
    fn step(&mut self, seen: Observation) -> Estimate {
        let looked = self.look(&seen);
        self.pose = looked.unwrap_or(self.pose);
        Estimate {
            pose: self.pose,
            covariance: [[f64::NAN; 3]; 3],
            effective_sample_size: f64::NAN,
            particles: 0,
            lost: None,
            collapsed: false,
            saw: looked.is_some(),
            moved: false,
            state: None,
        }
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        saved::save_pose(self.pose, to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.pose = saved::pose(from)?;
        Some(())
    }
}
