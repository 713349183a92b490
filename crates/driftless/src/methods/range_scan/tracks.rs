//! Tracking: the particle filter with a range scan for its sensor, along whole episodes.

use super::follower::Follower;
use super::sensor::{RangeSensor, Scans};
use super::walks::{Houses, Walk};
use super::{RangeScan, shown};
use crate::error::Result;
use crate::learn::{Detail, Tracking};
use crate::methods::house::told;
use crate::methods::recorder::Recorder;
use driftless_core::{Belief, Particles, Space, Stream};
use driftless_world::evaluation::Track;
use driftless_world::trajectory::Trajectory;

/// Particles that follow an episode without labels.
const FOLLOWED: usize = 300;
/// Least standard deviations of its first pose: images say it once more along the path, and must not count twice.
const LEAST_SPREAD: [f64; 3] = [15.0, 15.0, 0.15];

/// What is found of an episode's first pose.
pub(super) struct FirstPose {
    pub(super) mean: [f32; 3],
    pub(super) spread: [f32; 3],
}

impl RangeScan {
    /// Follows an episode from what the robot is told of its start; `show` is given the step, the belief and the log
    /// evidence of what was seen.
    pub(super) fn follow(
        &self,
        (walk, scans): (&Walk, &Scans),
        tempering: f64,
        particles: usize,
        draws: Stream,
        mut show: impl FnMut(usize, &Belief, f64),
    ) -> Result<()> {
        let follower = self.follower(&walk.house, walk.start, (particles, tempering), draws)?;
        self.steps((walk, scans), 1, follower, |t, follower, log_evidence| {
            show(t, &follower.state.belief, log_evidence);
        });
        Ok(())
    }

    /// All steps of an episode, by every `every`-th column.
    fn steps(
        &self,
        (walk, scans): (&Walk, &Scans),
        every: usize,
        mut follower: Follower,
        mut show: impl FnMut(usize, &Follower, f64),
    ) -> Follower {
        let mut sensor = RangeSensor { camera: &self.camera, walls: &walk.house.walls, scans, t: 0, every };
        for (t, action) in walk.actions.iter().enumerate() {
            sensor.t = t;
            let report = follower.step(&mut sensor, Some(*action));
            show(t, &follower, report.log_evidence);
        }
        follower
    }

    /// Where an episode began, by everything that was seen along it: the first states of the particles that are left in
    /// the end.
    pub(super) fn first_pose(&self, walk: &Walk, scans: &Scans, draws: Stream) -> Result<FirstPose> {
        let follower = self.follower(&walk.house, walk.start, (FOLLOWED, self.tempering), draws)?;
        let begun = follower.state.belief.particles.clone();
        // More of them where the robot is told no more than its room.
        let mut origins: Vec<u32> = (0..begun.len() as u32).collect();
        let ended = self.steps((walk, scans), 2, follower, |_, follower, _| {
            let ancestors = &follower.workspace.ancestors;
            origins = ancestors.iter().map(|&parent| origins[parent as usize]).collect();
        });
        let mut first = Particles::new(Space::SE2);
        first.gather(&begun, &origins);
        let belief = Belief { particles: first, weights: ended.state.belief.weights };
        let mean = [0, 1, 2].map(|k| belief.mean_of(k));
        let covariance = belief.covariance();
        let spread = [0, 1, 2].map(|k| covariance[4 * k].sqrt().max(LEAST_SPREAD[k]) as f32);
        Ok(FirstPose { mean: mean.map(|x| x as f32), spread })
    }

    /// One episode, with the truth beside what is believed.
    pub(super) fn track_one(&self, number: usize, episode: &Trajectory, how: Tracking) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let walk = Walk::new(&lesson, &mut Houses::default())?;
        let scans = self.learner.net().scans(&walk.images)?;
        let mut recorder = Recorder::new(truth, number as u64, how, &self.normalisation);
        let draws = Stream::new(how.seed, number as u64);
        self.follow((&walk, &scans), self.tempering, how.particles, draws, |_, belief, log_evidence| {
            recorder.step(belief, log_evidence);
        })?;
        let mut track = recorder.track();
        if how.detail >= Detail::Clouds {
            track.scans = Some(shown::scans_of(&self.camera, &walk.house.walls, &scans, &track));
        }
        Ok(track)
    }
}
