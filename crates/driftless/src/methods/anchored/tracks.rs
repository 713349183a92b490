//! Tracking whole episodes, with the truth beside what is believed.

use super::sensor::{self, ImageSensor};
use super::{AnchoredEm, action, pose};
use crate::error::{Error, Result};
use crate::learn::Tracking;
use crate::methods::recorder::Recorder;
use driftless_core::Stream;
use driftless_world::evaluation::Track;
use driftless_world::labels::LabelBudget;
use driftless_world::pose::Pose;
use driftless_world::trajectory::Trajectory;

impl AnchoredEm {
    /// One episode, followed from its images and actions alone.
    pub(super) fn track_one(
        &self,
        sensor: &ImageSensor,
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
        let mut frames = sensor.encode(&sensor::images(&lesson, &self.normalisation.pixels)?);
        let truth = episode.states.iter().flatten().map(pose);
        let truth = truth.map(|[x, y, heading]| Pose::new(x, y, heading)).collect();
        let mut recorder = Recorder::new(truth, number as u64, how, &self.normalisation);
        let draws = Stream::new(how.seed, number as u64);
        let mut tracker = self.tracker(sensor, how.particles, self.tempering, draws);
        for t in 0..episode.len() {
            let report = tracker.step(frames.at(t), Some(action(&episode.actions, t)));
            recorder.step(&tracker.state().belief, report.log_evidence);
        }
        Ok(recorder.track())
    }
}
