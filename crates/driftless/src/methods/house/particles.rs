//! Particles in a house: where they start, and how they move.

use crate::error::{Error, Result};
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use std::f64::consts::{PI, TAU};

/// A pose in map pixels and radians.
pub(in crate::methods) type State = [f64; 3];

/// So many particles, as far as is known where the robot is.
pub(in crate::methods) fn first(start: Start, maps: &HouseMaps, count: usize, random: &mut Random) -> Result<Vec<State>> {
    let inside: Vec<usize> = match start {
        Start::About { pose, spread } => {
            let mut around = |k: usize| f64::from(pose[k]) + f64::from(spread[k]) * random.normal();
            return Ok((0..count).map(|_| [around(0), around(1), around(2)]).collect());
        }
        Start::Room(room) => pixels(maps, |id| id == room),
        Start::House => pixels(maps, |id| id != 0),
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
        Start::About { .. } | Start::House => maps.room_id.iter().filter(|id| **id != 0).count(),
    };
    let pixels = if inside > 0 { inside } else { maps.room_id.len().max(1) };
    -(TAU * pixels as f64).ln()
}

/// Moves a particle by odometry in its own frame. PF-net's order: the heading's noise comes before the motion, that
/// of the position after it. Returns the log density of the noise, up to a constant.
pub(super) fn drive(state: &mut State, action: State, noise: State, random: &mut Random) -> f64 {
    let [x, y, heading] = [0; 3].map(|_| random.normal());
    let turned = Pose::new(state[0], state[1], state[2] + noise[2] * heading);
    let moved = turned.moved(action, Frame::Robot);
    *state = [moved.x + noise[0] * x, moved.y + noise[1] * y, moved.heading];
    let drawn = [(noise[0], x), (noise[1], y), (noise[2], heading)];
    // A noise of 0 is certain, and says nothing.
    drawn.iter().filter(|(std, _)| *std > 0.0).map(|(std, z)| -0.5 * z * z - std.ln() - 0.5 * TAU.ln()).sum()
}
