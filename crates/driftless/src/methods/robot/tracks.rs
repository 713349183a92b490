//! Tracking: the particle filter with the robot's sensors on the learned map.

use super::sensor::{Anywhere, Bound, Encoded};
use super::walks::Walk;
use super::{RobotEm, Tuning};
use crate::error::Result;
use crate::learn::Tracking;
use crate::methods::anchored::noise;
use crate::methods::house::told;
use crate::methods::recorder::Recorder;
use driftless_core::filter::{Population, Recovery, Tempering};
use driftless_core::motion::{Odometry, Still};
use driftless_core::{Belief, Draws, Filter, FilterState, Motion, Particles, Space, Stream, Workspace};
use driftless_world::evaluation::Track;
use driftless_world::trajectory::{Start, Trajectory};

/// Least noise of the filter's motion, in mean steps and turns: particles that descend from one must part.
const LEAST_NOISE: [f64; 2] = [0.1, 0.1];
/// Tempering is multiplied by this where readings decide between places.
const BETWEEN_PLACES: f64 = 0.4;
/// A robot is found when its position is known within this share of what is lost.
const FOUND: f64 = 0.5;
/// Bayes' rule for a robot that was carried off, or was never where it is believed to be.
const RECOVERY: Recovery = Recovery { kidnap_probability: 1e-4, most_injected: 0.1 };

/// How an episode is followed.
pub(super) struct Following {
    /// From this step on.
    pub(super) first: usize,
    pub(super) tuning: Tuning,
    pub(super) particles: usize,
    pub(super) start: Start,
}

impl RobotEm {
    /// How the robot moves, and how exactly.
    fn odometry(&self, factor: f64) -> Odometry {
        let noise = self.noise.map(|noise| factor * noise);
        let odometry = noise::motion(noise, LEAST_NOISE, self.frame, &self.normalisation);
        Odometry { missing: self.missing, ..odometry }
    }

    fn filter(&self, how: &Following) -> Filter {
        let is_global = !matches!(how.start, Start::About { .. });
        let most = if is_global { self.settings.global_particles.max(how.particles) } else { how.particles };
        let found = FOUND * self.settings.lost;
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

    /// Follows an episode; `show` is given the step, the belief and the log evidence of what was seen.
    pub(super) fn follow(
        &self,
        walk: &Walk,
        mut sensor: Bound,
        how: &Following,
        draws: &mut Stream,
        mut show: impl FnMut(usize, &Belief, f64),
    ) {
        let (filter, odometry, mut workspace) =
            (self.filter(how), self.odometry(how.tuning.noise), Workspace::new(Space::SE2));
        sensor.t = how.first;
        let mut state = None;
        if let Start::About { pose, spread } = how.start {
            state = Some(FilterState::new(Belief::new(around(pose, spread, how.particles, draws))));
        } else if let Some((found, log_evidence)) = filter.global_start(Space::SE2, &mut sensor, true, draws)
        {
            show(how.first, &found.belief, log_evidence);
            state = Some(found);
        }
        let Some(mut state) = state else { return };
        let begun = how.first + usize::from(!matches!(how.start, Start::About { .. }));
        for t in begun..walk.actions.len() {
            sensor.t = t;
            let action = self.bias.corrected(walk.actions[t].map(f64::from)).map(|x| x as f32);
            let mut driven = odometry.by(Some(action));
            let motion: &mut dyn Motion = if t > how.first { &mut driven } else { &mut Still };
            let report = filter.step(&mut state, motion, &mut sensor, draws, &mut workspace);
            show(t, &state.belief, report.log_evidence);
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
        let following = Following { first: 0, tuning: self.tuning, particles: how.particles, start };
        let mut draws = Stream::new(how.seed, number as u64);
        let encoded = Encoded::new(&self.models, &walk);
        let sensor = Bound::new(&encoded, anywhere);
        self.follow(&walk, sensor, &following, &mut draws, |_, belief, log_evidence| {
            recorder.step(belief, log_evidence);
        });
        Ok(recorder.track())
    }
}

/// Particles of a normal distribution.
fn around(pose: [f32; 3], spread: [f32; 3], count: usize, draws: &mut Stream) -> Particles {
    let mut particles = Particles::from_states(Space::SE2, vec![pose; count]);
    let mut noise = vec![0.0; count];
    for (k, column) in particles.columns_mut().iter_mut().enumerate() {
        draws.normals(&mut noise);
        column.iter_mut().zip(&noise).for_each(|(x, z)| *x += spread[k] * z);
    }
    particles
}
