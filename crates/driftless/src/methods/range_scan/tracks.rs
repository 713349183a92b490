//! Tracking: the particle filter with a range scan for its sensor.

use super::sensor::{RangeSensor, Scans};
use super::walks::{Houses, Walk};
use super::{BETWEEN_PLACES, LEAST_NOISE, LEAST_NOISE_WIDE, MORE_WHILE_WIDE, ONE_PLACE, RangeScan};
use crate::error::Result;
use crate::learn::{Normalisation, Tracking};
use crate::methods::anchored::noise::{self, Noise};
use crate::methods::house::{PIXELS_PER_UNIT, first, in_pixels, told};
use crate::methods::recorder::Recorder;
use driftless_core::filter::{Population, Tempering};
use driftless_core::motion::{Odometry, Still};
use driftless_core::{Belief, Filter, FilterState, Motion, Particles, Space, Stream, Workspace};
use driftless_world::evaluation::Track;
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use driftless_world::trajectory::{Start, Trajectory};

/// Particles that follow an episode without labels.
const FOLLOWED: usize = 300;
/// Least standard deviations of its first pose: images say it once more along the path, and must not count twice.
const LEAST_SPREAD: [f64; 3] = [15.0, 15.0, 0.15];

/// What is found of an episode's first pose.
pub(super) struct FirstPose {
    pub(super) mean: [f32; 3],
    pub(super) spread: [f32; 3],
}

/// Centimetres in a pixel of the map.
pub(super) const UNITS_PER_PIXEL: f64 = 1.0 / PIXELS_PER_UNIT;

/// Particles of a belief in many places are far apart, and must move more to meet the pose between them.
fn motion_of(noise: Noise, normalisation: &Normalisation, spread: f64) -> Odometry {
    let least = if spread > ONE_PLACE { LEAST_NOISE_WIDE } else { LEAST_NOISE };
    noise::motion(noise, least, Frame::Robot, normalisation)
}

impl RangeScan {
    /// How the robot moves, and how exactly, for a belief of this standard deviation.
    fn odometry(&self, spread: f64) -> Odometry {
        motion_of(self.noise, &self.normalisation, spread)
    }

    /// Follows an episode from what the robot is told of its start; `show` is given the step, the belief and the log
    /// evidence of what was seen.
    pub(super) fn follow(
        &self,
        (walk, scans): (&Walk, &Scans),
        tempering: f64,
        particles: usize,
        mut draws: Stream,
        mut show: impl FnMut(usize, &Belief, f64),
    ) -> Result<()> {
        let (filter, state) = (self.filter(particles, tempering), Self::start(walk, particles, &mut draws)?);
        let sensor = RangeSensor { camera: &self.camera, walls: &walk.house.walls, scans, t: 0, every: 1 };
        self.steps(&filter, walk, (state, sensor), &mut draws, |t, state, _, log_evidence| {
            show(t, &state.belief, log_evidence);
        });
        Ok(())
    }

    fn filter(&self, particles: usize, tempering: f64) -> Filter {
        Filter {
            population: Population { least: particles, most: MORE_WHILE_WIDE * particles, found: ONE_PLACE },
            tempering: Tempering {
                near: tempering as f32,
                far: (BETWEEN_PLACES * tempering) as f32,
                one_place: ONE_PLACE,
            },
            ..self.filter.clone()
        }
    }

    /// All steps of an episode.
    fn steps(
        &self,
        filter: &Filter,
        walk: &Walk,
        (mut state, mut sensor): (FilterState, RangeSensor),
        draws: &mut Stream,
        mut show: impl FnMut(usize, &FilterState, &Workspace, f64),
    ) -> FilterState {
        let mut workspace = Workspace::new(Space::SE2);
        for (t, action) in walk.actions.iter().enumerate() {
            sensor.t = t;
            let odometry = self.odometry(state.belief.spread());
            let mut driven = odometry.by(Some(*action));
            let motion: &mut dyn Motion = if t > 0 { &mut driven } else { &mut Still };
            let report = filter.step(&mut state, motion, &mut sensor, draws, &mut workspace);
            show(t, &state, &workspace, report.log_evidence);
        }
        state
    }

    /// Where an episode began, by everything that was seen along it: the first states of the particles that are left in
    /// the end.
    pub(super) fn first_pose(&self, walk: &Walk, scans: &Scans, mut draws: Stream) -> Result<FirstPose> {
        let filter = self.filter(FOLLOWED, self.tempering);
        let state = Self::start(walk, FOLLOWED, &mut draws)?;
        let begun = state.belief.particles.clone();
        let sensor = RangeSensor { camera: &self.camera, walls: &walk.house.walls, scans, t: 0, every: 2 };
        let mut origins: Vec<u32> = (0..FOLLOWED as u32).collect();
        let ended = self.steps(&filter, walk, (state, sensor), &mut draws, |_, _, workspace, _| {
            origins = workspace.ancestors.iter().map(|&parent| origins[parent as usize]).collect();
        });
        let mut first = Particles::new(Space::SE2);
        first.gather(&begun, &origins);
        let belief = Belief { particles: first, weights: ended.belief.weights };
        let mean = [0, 1, 2].map(|k| belief.mean_of(k));
        let covariance = belief.covariance();
        let spread = [0, 1, 2].map(|k| covariance[4 * k].sqrt().max(LEAST_SPREAD[k]) as f32);
        Ok(FirstPose { mean: mean.map(|x| x as f32), spread })
    }

    /// Particles as far as is known where the robot is.
    fn start(walk: &Walk, particles: usize, draws: &mut Stream) -> Result<FilterState> {
        let mut random = Random::new((driftless_core::Draws::uniform(draws) * (1_u64 << 53) as f64) as u64);
        let particles = match walk.start {
            Start::About { .. } => particles,
            Start::Room(_) | Start::House => MORE_WHILE_WIDE * particles,
        };
        let poses = first(in_pixels(walk.start), &walk.house.maps, particles, &mut random)?;
        let units = UNITS_PER_PIXEL as f32;
        let states =
            poses.iter().map(|pose| [pose[0] as f32 * units, pose[1] as f32 * units, pose[2] as f32]);
        Ok(FilterState::new(Belief::new(Particles::from_states(Space::SE2, states))))
    }

    /// One episode, with the truth beside what is believed.
    pub(super) fn track_one(&self, number: usize, episode: &Trajectory, how: Tracking) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let walk = Walk::new(&lesson, &mut Houses::default())?;
        let scans = self.network.scans(&walk.images)?;
        let mut recorder = Recorder::new(truth, number as u64, how, &self.normalisation);
        let draws = Stream::new(how.seed, number as u64);
        self.follow((&walk, &scans), self.tempering, how.particles, draws, |_, belief, log_evidence| {
            recorder.step(belief, log_evidence);
        })?;
        Ok(recorder.track())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::PixelScale;
    use driftless_world::trajectory::{Images, Pixels};

    /// Around one place particles move by the least noise, and by more as soon as the belief is wider.
    #[test]
    fn wide_beliefs_move_more() {
        let images = Images { height: 1, width: 2, channels: 1, pixels: Pixels::Bytes(vec![0, 9]) };
        let normalisation = Normalisation {
            pixels: PixelScale::measure([&images]).unwrap(),
            readings: crate::batch::ReadingScale::default(),
            state_mean: [0.0; 3],
            state_std: [1.0; 3],
            action_std: [1.0; 3],
            step_size: [10.0, 10.0, 0.5],
            low: [0.0; 3],
            high: [1.0; 3],
        };
        let rest = |spread: f64| motion_of([0.0; 4], &normalisation, spread).rest;
        for (spread, expected) in [(42.0, [1.5, 0.05]), (50.0, [1.5, 0.05]), (51.0, [2.0, 0.18])] {
            let apart = [0, 1].map(|k| (rest(spread)[k] - expected[k]).abs());
            assert!(apart.iter().all(|x| *x < 1e-6), "{spread}: {:?}", rest(spread));
        }
    }
}
