//! Tracking: the particle filter with the robot's sensors on the learned map.

use super::RobotEm;
use super::anywhere::Anywhere;
use super::bound::Bound;
use super::follower::{Drive, Follower, Following};
use super::motion::Bias;
use super::sensor::{Encoded, Model};
use super::walks::Walk;
use crate::error::Result;
use crate::learn::Tracking;
use crate::methods::anchored::noise;
use crate::methods::house::told;
use crate::methods::prior::around;
use crate::methods::recorder::Recorder;
use crate::online::{Estimate, Observation};
use driftless_core::filter::{Population, Recovery, Tempering};
use driftless_core::motion::{Density, Odometry, TurnAndGo};
use driftless_core::{Belief, Filter, FilterState, Motion, Space, Stream};
use driftless_world::evaluation::Track;
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Start, Trajectory};
use std::ops::Deref;

/// Least noise of the filter's motion, in mean steps and turns: particles that descend from one must part.
const LEAST_NOISE: [f64; 2] = [0.1, 0.1];
/// Tempering is multiplied by this where readings decide between places.
const BETWEEN_PLACES: f64 = 0.4;
/// A robot is found when its position is known within this share of what is lost.
const FOUND: f64 = 0.5;
/// Bayes' rule for a robot that was carried off, or was never where it is believed to be.
pub(super) const RECOVERY: Recovery = Recovery { kidnap_probability: 1e-4, most_injected: 0.1 };

/// How a robot in the plane moves: by odometry that is calibrated, or as amcl has it.
pub(super) struct Planar {
    odometry: Odometry,
    /// Takes its place where there are amcl's alphas.
    textbook: Option<TurnAndGo>,
    bias: Bias,
}

impl Planar {
    fn corrected(&self, action: [f32; 3]) -> [f32; 3] {
        self.bias.corrected(action.map(f64::from)).map(|x| x as f32)
    }
}

impl Drive for Planar {
    type State = [f32; 3];
    type Action<'a> = [f32; 3];

    fn space(&self) -> Space {
        Space::SE2
    }

    fn with_motion<T>(&self, action: [f32; 3], go: impl FnOnce(&mut dyn Motion) -> T) -> T {
        let action = Some(self.corrected(action));
        match &self.textbook {
            Some(odometry) => go(&mut odometry.by(action)),
            None => go(&mut self.odometry.by(action)),
        }
    }

    fn density(&self, action: [f32; 3], _: &Belief) -> Option<Box<dyn Density>> {
        let action = Some(self.corrected(action));
        Some(match &self.textbook {
            Some(odometry) => Box::new(odometry.by(action).density()?),
            None => Box::new(self.odometry.by(action).density()?),
        })
    }

    fn said(seen: &Observation) -> ([f32; 3], bool) {
        (seen.action.map_or([f32::NAN; 3], |action| action.map(|x| x as f32)), seen.action.is_some())
    }

    fn estimate(belief: &Belief) -> Estimate {
        Estimate::of(belief)
    }
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
    ) -> Follower<Planar, M, A>
    where
        M: Deref<Target = [Box<dyn Model>]>,
        A: Deref<Target = Anywhere>,
    {
        let state = match how.start {
            Start::About { pose, spread } => {
                let first = around(pose, spread, how.particles, &mut draws);
                Some(FilterState::new(Belief::new(first)))
            }
            Start::State { .. } | Start::Room(_) | Start::House => None,
        };
        let drive = Planar {
            odometry: self.odometry(how.tuning.noise),
            textbook: self.turn_and_go(),
            bias: self.bias,
        };
        Follower::new(self.filter(how), drive, sensor, draws, state)
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
