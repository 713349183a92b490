//! The filter on its way: the same step in evaluation, in calibration and on a robot online.

use super::walks::House;
use super::{BETWEEN_PLACES, LEAST_NOISE, LEAST_NOISE_WIDE, MORE_WHILE_WIDE, ONE_PLACE, RangeScan};
use crate::error::Result;
use crate::learn::Normalisation;
use crate::methods::anchored::noise::{self, Noise};
use crate::methods::house::{PIXELS_PER_UNIT, first, in_pixels};
use crate::online::saved;
use driftless_core::filter::{Population, Tempering};
use driftless_core::motion::density::DrivenDensity;
use driftless_core::motion::{Odometry, Still};
use driftless_core::{
    Belief, Draws, Filter, FilterState, Motion, Particles, Sensor, Snapshot, Space, StepReport, Stream,
    Workspace,
};
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use driftless_world::trajectory::Start;

/// Centimetres in a pixel of the map.
pub(super) const UNITS_PER_PIXEL: f64 = 1.0 / PIXELS_PER_UNIT;

/// A robot's belief, and what moves it.
pub(super) struct Follower {
    filter: Filter,
    /// Of a belief around one place, and of a wider one.
    odometry: [Odometry; 2],
    pub(super) state: FilterState,
    draws: Stream,
    pub(super) workspace: Workspace,
    pub(super) began: bool,
}

/// Particles of a belief in many places are far apart, and must move more to meet the pose between them.
fn motion_of(noise: Noise, normalisation: &Normalisation) -> [Odometry; 2] {
    [LEAST_NOISE, LEAST_NOISE_WIDE].map(|least| noise::motion(noise, least, Frame::Robot, normalisation))
}

impl RangeScan {
    /// A robot that starts there in a house.
    pub(super) fn follower(
        &self,
        house: &House,
        start: Start,
        (particles, tempering): (usize, f64),
        mut draws: Stream,
    ) -> Result<Follower> {
        let state = first_state(house, start, particles, &mut draws)?;
        Ok(Follower {
            filter: self.filter(particles, tempering),
            odometry: motion_of(self.noise, &self.normalisation),
            state,
            draws,
            workspace: Workspace::new(Space::SE2),
            began: false,
        })
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
}

impl Follower {
    /// Moves by an action, but for the first step, and looks.
    pub(super) fn step(&mut self, sensor: &mut dyn Sensor, action: Option<[f32; 3]>) -> StepReport {
        let odometry = *self.odometry();
        let mut driven = odometry.by(action);
        let motion: &mut dyn Motion = if self.began { &mut driven } else { &mut Still };
        self.began = true;
        self.filter.step(&mut self.state, motion, sensor, &mut self.draws, &mut self.workspace)
    }

    /// How probable it is to come from what is believed now to the poses of the next step, by this action.
    pub(super) fn next_motion(&self, action: Option<[f32; 3]>) -> Option<DrivenDensity> {
        self.odometry().by(action).density()
    }

    /// That of what is believed now.
    fn odometry(&self) -> &Odometry {
        &self.odometry[usize::from(self.state.belief.spread() > ONE_PLACE)]
    }

    /// Adds all that later steps depend on.
    pub(super) fn save(&self, to: &mut Vec<u8>) {
        self.state.save(to);
        self.draws.save(to);
        self.began.save(to);
    }

    /// Takes it back.
    pub(super) fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.state = saved::state(Space::SE2, from)?;
        self.draws = Stream::load(from)?;
        self.began = bool::load(from)?;
        Some(())
    }
}

/// Particles as far as is known where the robot is.
fn first_state(house: &House, start: Start, particles: usize, draws: &mut Stream) -> Result<FilterState> {
    let mut random = Random::new((draws.uniform() * (1_u64 << 53) as f64) as u64);
    let particles = match start {
        Start::About { .. } => particles,
        Start::State { .. } | Start::Room(_) | Start::House => MORE_WHILE_WIDE * particles,
    };
    let poses = first(in_pixels(start), &house.maps, particles, &mut random)?;
    let units = UNITS_PER_PIXEL as f32;
    let states = poses.iter().map(|pose| [pose[0] as f32 * units, pose[1] as f32 * units, pose[2] as f32]);
    Ok(FilterState::new(Belief::new(Particles::from_states(Space::SE2, states))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::PixelScale;
    use driftless_core::Reading;
    use driftless_core::sensor::Likelihood;
    use driftless_world::trajectory::{Images, Pixels};

    fn normalisation() -> Normalisation {
        let images = Images { height: 1, width: 2, channels: 1, pixels: Pixels::Bytes(vec![0, 9]) };
        Normalisation {
            pixels: PixelScale::measure([&images]).unwrap(),
            readings: crate::batch::ReadingScale::default(),
            state_mean: [0.0; 3],
            state_std: [1.0; 3],
            action_std: [1.0; 3],
            step_size: [10.0, 10.0, 0.5],
            low: [0.0; 3],
            high: [1.0; 3],
            coordinates: Vec::new(),
        }
    }

    /// A belief of two particles this far from their middle, which is their standard deviation, moves so far at rest.
    #[test]
    fn wide_beliefs_move_more() {
        for (spread, expected) in [(42.0, 1.5), (50.0, 1.5), (51.0, 2.0)] {
            let states: Vec<[f32; 3]> =
                (0..4000).map(|i| [if i % 2 == 0 { spread } else { -spread }, 0.0, 0.0]).collect();
            let mut follower = Follower {
                filter: Filter::bootstrap(4000),
                odometry: motion_of([0.0; 4], &normalisation()),
                state: FilterState::new(Belief::new(Particles::from_states(Space::SE2, &states))),
                draws: Stream::new(1, 0),
                workspace: Workspace::new(Space::SE2),
                began: true,
            };
            let mut blind = Likelihood(|_: &[f32]| 0.0);
            let report = follower.step(&mut blind, Some([0.0; 3]));
            assert_eq!(report.reading, Reading::Present);
            let squares: f32 = follower.state.belief.particles.column(1).iter().map(|y| y * y).sum();
            let moved = (squares / 4000.0).sqrt();
            // The standard deviation of 4000 draws is known within 1.1 %, three times that is allowed.
            assert!((moved / expected - 1.0).abs() < 0.034, "{spread}: {moved}");
        }
    }
}
