//! Tracking whole episodes, with the truth beside what is believed.

use super::{AnchoredEm, actions, pose, sight};
use crate::error::{Error, Result};
use crate::learn::Tracking;
use crate::methods::cloud::Cloud;
use crate::methods::recorder::Recorder;
use driftless_world::evaluation::Track;
use driftless_world::labels::LabelBudget;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use sight::Sight;

impl AnchoredEm {
    /// One episode, followed from its images and actions alone.
    pub(super) fn track_one(
        &self,
        sight: &Sight,
        number: usize,
        episode: &Trajectory,
        how: Tracking,
    ) -> Result<Track> {
        let known: Vec<bool> = episode.states.iter().map(|state| state.is_some()).collect();
        if known.contains(&false) {
            let problem = driftless_world::Error::new("a step without a pose cannot be evaluated");
            return Err(Error::File(problem.in_record(format!("episode {number}"))));
        }
        let lesson = LabelBudget::new(1.0, 0)?.plan([known]).lesson(0, episode.clone())?;
        let images = sight::images(&lesson, &self.scales.pixels)?;
        let truth: Vec<Pose> = episode.states.iter().flatten().map(pose).collect();
        let mut random = Random::stream(how.seed, number as u64);
        let mut recorder = Recorder::new(truth, number as u64, how, &self.scales);
        let show = |_: usize, cloud: &Cloud, log_evidence: f64| {
            recorder.step(cloud.particles(), cloud.mean(), log_evidence);
        };
        let tracker = self.tracker(sight, how.particles, self.temper);
        tracker.follow(&sight.of(&images), &actions(&episode.actions), &mut random, show);
        Ok(recorder.track())
    }
}
