//! Tracking whole episodes, with the truth beside what is believed.

use super::{AnchoredEm, actions, pose, sight};
use crate::error::{Error, Result};
use crate::learn::Tracking;
use crate::methods::anchored::cloud::Cloud;
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
        let (mut estimate, mut sizes, mut densities, mut covered) = (vec![], vec![], vec![], vec![]);
        let show = |t: usize, cloud: &Cloud| {
            estimate.push(cloud.mean());
            sizes.push(cloud.effective_sample_size());
            densities.push(cloud.log_density(truth[t], self.kernel()));
            covered.push(cloud.covers(truth[t], self.kernel()));
        };
        let tracker = self.tracker(sight, how.particles, self.temper);
        tracker.follow(&sight.of(&images), &actions(&episode.actions), &mut random, show);
        Ok(Track {
            effective_sample_size: Some(sizes),
            log_density: Some(densities),
            covered: Some(covered),
            ..Track::new(truth, estimate)
        })
    }
}
