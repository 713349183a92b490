//! Tracking: the particle filter with the robot's sensors on the learned map.

use super::anywhere::Anywhere;
use super::bound::Bound;
use super::motion::Bias;
use super::sensor::{Encoded, Model};
use super::walks::{Measured, Walk};
use super::{RobotEm, Tuning};
use crate::error::Result;
use crate::learn::Tracking;
use crate::methods::anchored::noise;
use crate::methods::house::told;
use crate::methods::prior::around;
use crate::methods::recorder::Recorder;
use crate::online::saved;
use driftless_core::filter::{Population, Recovery, Tempering};
use driftless_core::motion::{Density, Odometry, Still, TurnAndGo};
use driftless_core::{Belief, Filter, FilterState, Motion, Snapshot, Space, StepReport, Stream, Workspace};
use driftless_world::evaluation::Track;
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Rows, Start, Trajectory};
use std::ops::Deref;

/// Least noise of the filter's motion, in mean steps and turns: particles that descend from one must part.
const LEAST_NOISE: [f64; 2] = [0.1, 0.1];
/// Tempering is multiplied by this where readings decide between places.
const BETWEEN_PLACES: f64 = 0.4;
/// A robot is found when its position is known within this share of what is lost.
const FOUND: f64 = 0.5;
/// Bayes' rule for a robot that was carried off, or was never where it is believed to be.
pub(super) const RECOVERY: Recovery = Recovery { kidnap_probability: 1e-4, most_injected: 0.1 };

/// How an episode is followed.
pub(super) struct Following {
    pub(super) tuning: Tuning,
    pub(super) particles: usize,
    pub(super) start: Start,
}

impl RobotEm {
    /// How the robot moves, and how exactly.
    fn odometry(&self, factor: f64) -> Odometry {
        let noise = self.noise.map(|noise| factor * noise);
        let odometry = noise::motion(noise, LEAST_NOISE, self.frame, &self.normalisation);
        Odometry { missing: self.missing(), ..odometry }
    }

    /// The same as amcl has it, which knows the robot's frame alone.
    fn turn_and_go(&self) -> Option<TurnAndGo> {
        let alphas = self.textbook.filter(|_| self.frame == Frame::Robot);
        alphas.map(|alphas| TurnAndGo { alphas, missing: self.missing() })
    }

    fn filter(&self, how: &Following) -> Filter {
        let is_global = !matches!(how.start, Start::About { .. });
        let most = if is_global { self.settings.global_particles.max(how.particles) } else { how.particles };
        let found = FOUND * self.settings.lost;
        if self.textbook.is_some() {
            // Likelihoods as they are, and no recovery, which amcl has switched off.
            let population = Population { least: how.particles, most, found };
            return Filter { population, tempering: Tempering::NONE, recovery: None, ..self.filter.clone() };
        }
        Filter {
            population: Population { least: how.particles, most, found },
            tempering: Tempering {
                near: how.tuning.tempering as f32,
                far: (BETWEEN_PLACES * how.tuning.tempering) as f32,
                one_place: found,
            },
            recovery: is_global.then_some(RECOVERY),
            ..self.filter.clone()
        }
    }

    /// A filter at its beginning, with random numbers of its own.
    pub(super) fn follower<M, A>(
        &self,
        sensor: Bound<M, A>,
        how: &Following,
        mut draws: Stream,
    ) -> Follower<M, A> {
        let state = match how.start {
            Start::About { pose, spread } => {
                let first = around(pose, spread, how.particles, &mut draws);
                Some(FilterState::new(Belief::new(first)))
            }
            Start::State { .. } | Start::Room(_) | Start::House => None,
        };
        Follower {
            filter: self.filter(how),
            odometry: self.odometry(how.tuning.noise),
            textbook: self.turn_and_go(),
            bias: self.bias,
            sensor,
            draws,
            state,
            began: false,
            workspace: Workspace::new(Space::SE2),
        }
    }

    /// One episode, with the truth beside what is believed.
    pub(super) fn track_one(
        &self,
        anywhere: &Anywhere,
        number: usize,
        episode: &Trajectory,
        how: Tracking,
    ) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let walk = Walk::new(&lesson);
        self.check_images(&walk).map_err(|error| error.in_record(format!("episode {number}")))?;
        let mut recorder = Recorder::new(truth, number as u64, how, &self.normalisation);
        let start = walk.start.unwrap_or(Start::House);
        let following = Following { tuning: self.tuning, particles: how.particles, start };
        let draws = Stream::new(how.seed, number as u64);
        let encoded = Encoded::new(&self.models, &walk);
        let mut follower = self.follower(Bound::new(&self.models[..], anywhere), &following, draws);
        for (t, action) in walk.actions.iter().enumerate() {
            let report = follower.step(|number| encoded.row(number, t), *action);
            recorder.step(follower.belief(), report.log_evidence);
        }
        Ok(recorder.track())
    }
}

/// The filter on its way, one step at a time: in evaluation, in calibration and on a robot.
pub(super) struct Follower<M, A> {
    filter: Filter,
    odometry: Odometry,
    /// Takes its place where there are amcl's alphas.
    textbook: Option<TurnAndGo>,
    bias: Bias,
    sensor: Bound<M, A>,
    draws: Stream,
    state: Option<FilterState>,
    began: bool,
    workspace: Workspace,
}

impl<M, A> Follower<M, A>
where
    M: Deref<Target = [Box<dyn Model>]>,
    A: Deref<Target = Anywhere>,
{
    /// One step: what each sensor, by its number, scores by, and the motion into it, as odometry says it. NaN is missing.
    /// The first action is not looked at: there is nothing to be moved yet.
    pub(super) fn step<'r>(&mut self, reading: impl Fn(usize) -> &'r [f32], action: [f32; 3]) -> StepReport {
        let is_first = !std::mem::replace(&mut self.began, true);
        self.sensor.bind(reading, is_first);
        let Self { filter, odometry, textbook, sensor, draws, state, workspace, .. } = self;
        let Some(state) = state else {
            let started = filter.global_start(Space::SE2, sensor, true, draws);
            let (found, log_evidence) = started.expect("poses all over the space can be proposed");
            let reading = sensor.look_up();
            self.state = Some(self.with_memory(found));
            return StepReport::of(log_evidence, reading);
        };
        let action = self.bias.corrected(action.map(f64::from)).map(|x| x as f32);
        let mut driven = odometry.by(Some(action));
        let mut gone = textbook.as_ref().map(|odometry| odometry.by(Some(action)));
        let motion: &mut dyn Motion = match &mut gone {
            _ if is_first => &mut Still,
            Some(gone) => gone,
            None => &mut driven,
        };
        filter.step(state, motion, sensor, draws, workspace)
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

    /// How probable it is to come from what is believed now to the poses of the next step, by this action.
    pub(super) fn next_motion(&self, action: [f32; 3]) -> Option<Box<dyn Density>> {
        let action = Some(self.bias.corrected(action.map(f64::from)).map(|x| x as f32));
        Some(match &self.textbook {
            Some(odometry) => Box::new(odometry.by(action).density()?),
            None => Box::new(self.odometry.by(action).density()?),
        })
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
        saved::begun(from, &mut self.state)?;
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

    /// The probability that it is anywhere else at the next step, before it is seen, if that is looked for.
    pub(super) fn elsewhere(&self) -> Option<f64> {
        Some(self.filter.recovery?.unseen(self.state().kidnapped))
    }
}
