//! The filter of evaluation and deployment: a global start on the map of poses, odometry, recovery.

use super::sensor::{EncodedFrames, ImageSensor};
use driftless_core::motion::Odometry;
use driftless_core::{Filter, FilterState, Space, Stream, Workspace};
use std::ops::Deref;

/// A filter on its way through an episode.
pub struct Tracker {
    pub filter: Filter,
    pub odometry: Odometry,
    /// Whether the first particles are drawn by the first image, or evenly.
    pub looks_first: bool,
    pub draws: Stream,
    state: Option<FilterState>,
    workspace: Workspace,
}

impl Tracker {
    /// Nothing seen yet.
    pub fn new(filter: Filter, odometry: Odometry, looks_first: bool, draws: Stream) -> Self {
        let mut workspace = Workspace::new(Space::SE2);
        let most = filter.population.most;
        workspace.reserve(
            most + filter.recovery.map_or(0, |recovery| (recovery.most_injected * most as f64) as usize + 1),
        );
        Self { filter, odometry, looks_first, draws, state: None, workspace }
    }

    /// One step with the reading that `frames` stands at; the first action is not looked at, as there is nothing to be
    /// moved yet. Returns the log evidence, and whether there was an action to move by.
    pub fn step<S: Deref<Target = ImageSensor>>(
        &mut self,
        frames: &mut EncodedFrames<S>,
        action: Option<[f32; 3]>,
    ) -> (f64, bool) {
        let Self { filter, odometry, draws, state, workspace, .. } = self;
        if let Some(state) = state {
            let report = filter.step(state, &mut odometry.by(action), frames, draws, workspace);
            return (report.log_evidence, report.moved);
        }
        let started = filter.global_start(Space::SE2, frames, self.looks_first, draws);
        let (mut first, log_evidence) = started.expect("a map of poses can propose");
        // The first belief is the largest but for injected particles: memory for it will do for all others.
        let workspace = workspace.log_likelihoods.capacity();
        first.belief.particles.reserve(workspace);
        first.belief.weights.reserve(workspace);
        *state = Some(first);
        (log_evidence, action.is_some())
    }

    /// What is believed now.
    ///
    /// # Panics
    /// Before the first step.
    pub fn state(&self) -> &FilterState {
        self.state.as_ref().expect("a first step was made")
    }
}
