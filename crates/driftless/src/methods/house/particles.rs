//! Particles in a house: where they start, and how they move.

use crate::error::{Error, Result};
use driftless_core::motion::{Noise, Odometry};
use driftless_core::{Draws, Motion, Particles};
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::pose::wrap;
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use std::f64::consts::{PI, TAU};

/// A pose in map pixels and radians.
pub(in crate::methods) type State = [f64; 3];

/// So many particles, as far as is known where the robot is.
pub(in crate::methods) fn first(
    start: Start,
    maps: &HouseMaps,
    count: usize,
    random: &mut Random,
) -> Result<Vec<State>> {
    let inside: Vec<usize> = match start {
        Start::About { pose, spread } => {
            let mut around = |k: usize| f64::from(pose[k]) + f64::from(spread[k]) * random.normal();
            return Ok((0..count).map(|_| [around(0), around(1), around(2)]).collect());
        }
        Start::Room(room) => pixels(maps, |id| id == room),
        Start::State { .. } | Start::House => pixels(maps, |id| id != 0),
    };
    if inside.is_empty() {
        let problem = match start {
            Start::Room(room) => format!("has no pixel of room {room}, in which the robot should start"),
            _ => "has no pixel of a room, in which the robot could start".to_owned(),
        };
        return Err(Error::File(driftless_world::Error::new(problem).in_field("map_roomid")));
    }
    let mut anywhere = || {
        let pixel = inside[random.below(inside.len())];
        let (x, y) = ((pixel / maps.height) as f64, (pixel % maps.height) as f64);
        [x + random.unit() - 0.5, y + random.unit() - 0.5, TAU * random.unit() - PI]
    };
    Ok((0..count).map(|_| anywhere()).collect())
}

fn pixels(maps: &HouseMaps, wanted: impl Fn(u16) -> bool) -> Vec<usize> {
    (0..maps.room_id.len()).filter(|&pixel| wanted(maps.room_id[pixel])).collect()
}

/// log μ of a state by what is known of where the robot is; a uniform law is taken as flat, because noise carries
/// particles out of rooms.
pub(super) fn log_prior(start: Start, flat: f64, state: State) -> f64 {
    let Start::About { pose, spread } = start else { return flat };
    let apart = [0, 1, 2].map(|k| state[k] - f64::from(pose[k]));
    let apart = [apart[0], apart[1], wrap(apart[2])];
    let terms = apart.iter().zip(spread.map(f64::from)).filter(|(_, std)| *std > 0.0);
    terms.map(|(x, std)| -0.5 * (x / std).powi(2) - std.ln() - 0.5 * TAU.ln()).sum()
}

/// The log density of poses that are equally likely in a room, or in all of them; on the whole map if it has none.
pub(super) fn log_uniform(start: Start, maps: &HouseMaps) -> f64 {
    let inside = match start {
        Start::Room(room) => maps.room_id.iter().filter(|id| **id == room).count(),
        Start::About { .. } | Start::State { .. } | Start::House => {
            maps.room_id.iter().filter(|id| **id != 0).count()
        }
    };
    let pixels = if inside > 0 { inside } else { maps.room_id.len().max(1) };
    -(TAU * pixels as f64).ln()
}

/// Odometry that notes how likely the noise was that it drew; no motion at all into a first step.
pub(super) struct Noted<'a> {
    odometry: &'a Odometry,
    action: Option<State>,
    /// The log density of each particle's noise; 0 where there was none.
    pub(super) law: Vec<f64>,
}

impl<'a> Noted<'a> {
    pub(super) fn new(odometry: &'a Odometry, action: Option<State>) -> Self {
        Self { odometry, action, law: Vec::new() }
    }
}

impl Motion for Noted<'_> {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        self.law.resize(particles.len(), 0.0);
        let Some(action) = self.action.map(|action| action.map(|x| x as f32)) else { return true };
        let told = self.odometry.by(Some(action)).propagate(particles, draws, noise);
        let [position, heading] = self.odometry.deviations(told.then_some(action)).map(f64::from);
        for (column, std) in noise.columns().iter().zip([position, position, heading]) {
            // A noise of 0 is certain, and says nothing.
            if std > 0.0 {
                let peak = -std.ln() - 0.5 * TAU.ln();
                self.law
                    .iter_mut()
                    .zip(column)
                    .for_each(|(law, &z)| *law += peak - 0.5 * f64::from(z).powi(2));
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::odometry;
    use super::*;
    use driftless_core::{Replay, Space};

    /// Two particles; the noise of headings is certain.
    #[test]
    fn the_density_of_noise() {
        let (odometry, normals) = (odometry([2.0, 2.0, 0.0]), [0.5_f32, 1.0, -1.0, 0.0, 3.0, 3.0]);
        let mut particles = Particles::from_states(Space::SE2, [[0.0_f32; 3]; 2]);
        let mut draws = Replay { normals: normals.to_vec().into(), ..Replay::default() };
        let mut motion = Noted::new(&odometry, Some([10.0, 0.0, 0.1]));
        assert!(motion.propagate(&mut particles, &mut draws, &mut Noise::default()));
        assert_eq!((particles.column(0), particles.column(1)), (&[11.0, 12.0][..], &[-2.0, 0.0][..]));
        let peak = -2.0 * 2.0_f64.ln() - TAU.ln();
        assert!(
            (motion.law[0] - (peak - 0.625)).abs() < 1e-12 && (motion.law[1] - (peak - 0.5)).abs() < 1e-12
        );
        let mut first = Noted::new(&odometry, None);
        first.propagate(&mut particles, &mut draws, &mut Noise::default());
        assert_eq!((first.law, particles.column(0)), (vec![0.0; 2], &[11.0, 12.0][..]));
    }
}
