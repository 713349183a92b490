//! The filter of evaluation and deployment: a global start on the map of poses, odometry, recovery.

use super::sensor::{EncodedFrames, ImageSensor};
use super::views::Views;
use crate::online::saved;
use driftless_core::motion::density::Carried;
use driftless_core::motion::{Density, Odometry, Still};
use driftless_core::sensor::Discounted;
use driftless_core::{
    Belief, Filter, FilterState, Motion, Reading, Snapshot, Space, StepReport, Stream, Workspace,
};
use std::ops::Deref;

/// A filter on its way through an episode.
pub struct Tracker {
    pub filter: Filter,
    pub odometry: Odometry,
    /// Whether the first particles are drawn by the first image, or evenly.
    pub looks_first: bool,
    pub draws: Stream,
    state: Option<FilterState>,
    /// Whether the robot may have moved since the state was made.
    began: bool,
    views: Views,
    workspace: Workspace,
}

impl Tracker {
    /// Nothing seen yet.
    pub fn new(filter: Filter, odometry: Odometry, looks_first: bool, views: Views, draws: Stream) -> Self {
        let mut workspace = Workspace::new(Space::SE2);
        let most = filter.population.most;
        workspace.reserve(
            most + filter.recovery.map_or(0, |recovery| (recovery.most_injected * most as f64) as usize + 1),
        );
        Self { filter, odometry, looks_first, draws, state: None, began: false, views, workspace }
    }

    /// Begins with a belief instead of anywhere.
    pub fn begin(&mut self, belief: Belief) {
        self.state = Some(self.with_memory(FilterState::new(belief)));
    }

    /// The first belief is the largest but for injected particles: memory for it will do for all others.
    fn with_memory(&self, mut first: FilterState) -> FilterState {
        let count = self.workspace.log_likelihoods.capacity();
        first.belief.particles.reserve(count);
        first.belief.weights.reserve(count);
        first
    }

    /// One step with the reading that `frames` stands at; the first action is not looked at, as there is nothing to be
    /// moved yet.
    pub fn step<S: Deref<Target = ImageSensor>>(
        &mut self,
        frames: &mut EncodedFrames<S>,
        action: Option<[f32; 3]>,
    ) -> StepReport {
        let Self { filter, odometry, draws, state, views, workspace, .. } = self;
        if let Some(state) = state {
            let mut driven = odometry.by(action);
            let motion: &mut dyn Motion = if self.began { &mut driven } else { &mut Still };
            let mut frames = Discounted { sensor: frames, share: views.share(action) };
            self.began = true;
            let report = filter.step(state, motion, &mut frames, draws, workspace);
            if report.reading == Reading::Present {
                views.look();
            }
            return report;
        }
        let started = filter.global_start(Space::SE2, frames, self.looks_first, draws);
        let (first, log_evidence) = started.expect("a map of poses can propose");
        (self.state, self.began) = (Some(self.with_memory(first)), true);
        if frames.sees() {
            self.views.look();
        }
        StepReport { moved: action.is_some(), ..StepReport::of(log_evidence, Reading::Present) }
    }

    /// How probable it is to come from what is believed now to the poses of the next step, by this action; a robot that is
    /// carried off comes to be somewhere in the world.
    pub fn next_motion(&self, action: Option<[f32; 3]>, log_elsewhere: f64) -> Option<Box<dyn Density>> {
        let motion = self.odometry.by(action).density()?;
        let Some(recovery) = self.filter.recovery else { return Some(Box::new(motion)) };
        let probability = recovery.unseen(self.state().kidnapped);
        Some(Box::new(Carried { motion, probability, log_elsewhere: move |_: &[f32]| log_elsewhere }))
    }

    /// Adds all that later steps depend on.
    pub fn save(&self, to: &mut Vec<u8>) {
        self.draws.save(to);
        self.state.save(to);
        self.began.save(to);
        self.views.moved().save(to);
    }

    /// Takes it back.
    pub fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.draws = Stream::load(from)?;
        saved::begun(Space::SE2, from, &mut self.state)?;
        self.state = self.state.take().map(|state| self.with_memory(state));
        self.began = bool::load(from)?;
        self.views.go_on(Option::load(from)?);
        (self.state.is_some() || !self.began).then_some(())
    }

    /// Whether a step was made.
    pub fn has_begun(&self) -> bool {
        self.began
    }

    /// What is believed now.
    ///
    /// # Panics
    /// Before the first step.
    pub fn state(&self) -> &FilterState {
        self.state.as_ref().expect("a first step was made")
    }
}
