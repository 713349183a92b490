//! The filter on its way, one step at a time: in evaluation, in calibration and online; of poses and of named coordinates.

use super::Tuning;
use super::anywhere::Anywhere;
use super::bound::Bound;
use super::sensor::Model;
use super::walks::Measured;
use crate::online::{Estimate, Observation, saved};
use driftless_core::motion::{Density, Still};
use driftless_core::{Belief, Filter, FilterState, Motion, Snapshot, Space, StepReport, Stream, Workspace};
use driftless_world::trajectory::{Rows, Start};
use std::ops::Deref;

/// How an episode is followed.
pub(super) struct Following {
    pub(super) tuning: Tuning,
    pub(super) particles: usize,
    pub(super) start: Start,
}

/// How states move by what a log says of a step.
pub(super) trait Drive: Send {
    /// How sensors have a state.
    type State;
    /// What a log says of the motion into a step; NaN is missing.
    type Action<'a>: Copy;

    /// Which coordinates there are.
    fn space(&self) -> Space;

    /// Hands the motion by an action over.
    fn with_motion<T>(&self, action: Self::Action<'_>, go: impl FnOnce(&mut dyn Motion) -> T) -> T;

    /// How probable it is to come from what is believed to the states of the next step; `None` if that cannot be written down.
    fn density(&self, action: Self::Action<'_>, belief: &Belief) -> Option<Box<dyn Density>>;

    /// What an observation says of the motion, and whether it says anything.
    fn said<'a>(seen: &Observation<'a>) -> (Self::Action<'a>, bool);

    /// A belief as it is shown.
    fn estimate(belief: &Belief) -> Estimate;
}

/// A filter, and what it works with.
pub(super) struct Follower<D, M, A> {
    pub(super) filter: Filter,
    pub(super) drive: D,
    pub(super) sensor: Bound<M, A>,
    pub(super) draws: Stream,
    /// Nothing before the first step, if nothing is told of the start.
    pub(super) state: Option<FilterState>,
    began: bool,
    workspace: Workspace,
}

impl<D, M, A> Follower<D, M, A>
where
    D: Drive,
    M: Deref<Target = [Box<dyn Model<D::State>>]>,
    A: Deref<Target = Anywhere>,
{
    /// Before its first step.
    pub(super) fn new(
        filter: Filter,
        drive: D,
        sensor: Bound<M, A>,
        draws: Stream,
        state: Option<FilterState>,
    ) -> Self {
        let workspace = Workspace::new(drive.space());
        Self { filter, drive, sensor, draws, state, began: false, workspace }
    }

    /// One step: what each sensor, by its number, scores by, and the motion into it. NaN is missing. The first motion is
    /// not looked at: there is nothing to be moved yet.
    pub(super) fn step<'r>(
        &mut self,
        reading: impl Fn(usize) -> &'r [f32],
        action: D::Action<'_>,
    ) -> StepReport {
        let is_first = !std::mem::replace(&mut self.began, true);
        self.sensor.bind(reading, is_first);
        let Self { filter, drive, sensor, draws, state, workspace, .. } = self;
        let Some(state) = state else {
            let started = filter.global_start(drive.space(), sensor, true, draws);
            let (found, log_evidence) = started.expect("states all over the space can be proposed");
            let reading = sensor.look_up();
            self.state = Some(self.with_memory(found));
            return StepReport::of(log_evidence, reading);
        };
        let mut go = |motion: &mut dyn Motion| filter.step(state, motion, sensor, draws, workspace);
        if is_first { go(&mut Still) } else { drive.with_motion(action, go) }
    }

    /// What the sensors score one step by, in place of what was there.
    pub(super) fn encode(&self, seen: Measured, rows: &mut Vec<Option<Rows>>) {
        self.sensor.encode(seen, rows);
    }

    /// What is believed, and the probability that the robot is anywhere else.
    ///
    /// # Panics
    /// Before the first step.
    pub(super) fn state(&self) -> &FilterState {
        self.state.as_ref().expect("a first step was made")
    }

    /// What is believed now.
    pub(super) fn belief(&self) -> &Belief {
        &self.state().belief
    }

    /// How probable it is to come from what is believed now to the states of the next step, by this action.
    pub(super) fn next_motion(&self, action: D::Action<'_>) -> Option<Box<dyn Density>> {
        self.drive.density(action, self.belief())
    }

    /// The probability that it is anywhere else at the next step, before it is seen, if that is looked for.
    pub(super) fn elsewhere(&self) -> Option<f64> {
        Some(self.filter.recovery?.unseen(self.state().kidnapped))
    }

    /// Memory for the largest belief there can be, with injected particles: later steps need no more.
    fn with_memory(&mut self, mut first: FilterState) -> FilterState {
        let (most, recovery) = (self.filter.population.most, self.filter.recovery);
        let count = most + recovery.map_or(0, |recovery| (recovery.most_injected * most as f64) as usize + 1);
        self.workspace.reserve(count);
        first.belief.particles.reserve(count);
        first.belief.weights.reserve(count);
        first
    }

    /// Adds all that later steps depend on.
    pub(super) fn save(&self, to: &mut Vec<u8>) {
        self.draws.save(to);
        self.state.save(to);
        self.began.save(to);
    }

    /// Takes it back.
    pub(super) fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.draws = Stream::load(from)?;
        saved::begun(self.drive.space(), from, &mut self.state)?;
        self.state = self.state.take().map(|state| self.with_memory(state));
        self.began = bool::load(from)?;
        (self.state.is_some() || !self.began).then_some(())
    }

    /// Whether a step was made.
    pub(super) fn has_begun(&self) -> bool {
        self.began
    }

    /// Whether a robot that was carried off is looked for.
    pub(super) fn recovers(&self) -> bool {
        self.filter.recovery.is_some()
    }
}
