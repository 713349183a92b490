//! The density of odometry as amcl samples it.

use super::{Density, WrappedNormal};
use crate::angles::wrapped;
use crate::motion::turn_and_go::{Gone, Legs, ON_THE_SPOT};
use crate::motion::{Driven, Odometry};
use crate::particles::Particles;
use std::f64::consts::{PI, TAU};

/// Least standard deviation of a turn: amcl's noise may be none where the robot only turns, or only drives.
const LEAST_TURN: f64 = 0.01;

/// [`crate::motion::TurnAndGo`] with an action, as a density.
#[derive(Clone, Debug)]
pub enum GoneDensity {
    /// The action is missing.
    Unknown(super::DrivenDensity),
    /// The robot stands still, without any noise: a state is where it was.
    Still,
    /// It turns on the spot. amcl's noise leads along the heading alone, which has no density in the plane; a normal law of
    /// that size to all sides stands in.
    OnTheSpot {
        /// The turn.
        turn: f32,
        /// 1 / σ of the position, and the constant.
        scale: f32,
        /// log 1 / (σ² 2π).
        constant: f32,
        /// Of the heading.
        law: WrappedNormal,
    },
    /// It drives.
    Away {
        /// The legs without noise.
        legs: Legs,
        /// Of the first turn and the last.
        laws: [WrappedNormal; 2],
        /// 1 / σ of the distance, and log 1 / (σ √2π).
        along: [f32; 2],
    },
}

impl Gone<'_> {
    /// The density of this motion; `None` where an action is missing and nothing is known of what the robot may have done.
    pub fn density(&self) -> Option<GoneDensity> {
        let Some(legs) = self.legs() else {
            let unknown: Odometry = self.unknown();
            let driven: Driven = unknown.by(None);
            return driven.density().map(GoneDensity::Unknown);
        };
        let [first, along, last] = legs.deviations.map(f64::from);
        if legs.deviations == [0.0; 3] && legs.first == 0.0 && legs.distance == 0.0 && legs.second == 0.0 {
            return Some(GoneDensity::Still);
        }
        if legs.distance < ON_THE_SPOT {
            let place = along.hypot(f64::from(ON_THE_SPOT));
            return Some(GoneDensity::OnTheSpot {
                turn: wrapped(legs.first + legs.second),
                scale: place.recip() as f32,
                constant: -(place * place * TAU).ln() as f32,
                law: WrappedNormal::new(first.hypot(last).hypot(LEAST_TURN)),
            });
        }
        let along = along.max(f64::from(ON_THE_SPOT));
        let laws = [first, last].map(|turn| WrappedNormal::new(turn.max(LEAST_TURN)));
        let constant = -(along * TAU.sqrt()).ln();
        Some(GoneDensity::Away { legs, laws, along: [along.recip() as f32, constant as f32] })
    }
}

impl Density for GoneDensity {
    fn prepare(&mut self, from: &Particles, to: &Particles) {
        if let Self::Unknown(driven) = self {
            driven.prepare(from, to);
        }
    }

    fn release(&mut self) {
        if let Self::Unknown(driven) = self {
            driven.release();
        }
    }

    fn log_density(&mut self, from: &Particles, m: usize, to: &[f32], log: &mut [f32]) {
        let &[to_x, to_y, to_heading] = to else { panic!("odometry moves poses of three numbers") };
        let [x, y, headings] = from.columns() else { panic!("odometry moves poses of three numbers") };
        let poses = x.iter().zip(y).zip(headings).map(|((x, y), h)| [to_x - x, to_y - y, *h]);
        match self {
            Self::Unknown(driven) => driven.log_density(from, m, to, log),
            Self::Still => log.iter_mut().zip(poses).for_each(|(log, [dx, dy, heading])| {
                let is_same = dx == 0.0 && dy == 0.0 && wrapped(to_heading - heading) == 0.0;
                *log = if is_same { 0.0 } else { f32::NEG_INFINITY };
            }),
            Self::OnTheSpot { turn, scale, constant, law } => {
                log.iter_mut().zip(poses).for_each(|(log, [dx, dy, heading])| {
                    let squares = (*scale * dx).powi(2) + (*scale * dy).powi(2);
                    *log = *constant - 0.5 * squares + law.log(wrapped(to_heading - heading - *turn));
                });
            }
            Self::Away { legs, laws, along } => {
                log.iter_mut()
                    .zip(poses)
                    .for_each(|(log, pose)| *log = away(legs, laws, *along, pose, to_heading));
            }
        }
    }
}

/// In polar coordinates around the particle: p(r, φ, θ') / r, ahead along φ and backwards along the opposite.
fn away(
    legs: &Legs,
    laws: &[WrappedNormal; 2],
    [scale, constant]: [f32; 2],
    [dx, dy, heading]: [f32; 3],
    to: f32,
) -> f32 {
    let distance = dx.hypot(dy).max(1e-6);
    let angle = dy.atan2(dx);
    let by = |driven: f32, angle: f32| {
        let z = scale * (driven - legs.distance);
        let turns = laws[0].log(wrapped(angle - heading - legs.first));
        turns + laws[1].log(wrapped(to - angle - legs.second)) + constant - 0.5 * z * z
    };
    let [ahead, back] = [by(distance, angle), by(-distance, angle + PI as f32)];
    let (more, less) = if ahead > back { (ahead, back) } else { (back, ahead) };
    more + (less - more).exp().ln_1p() - distance.ln()
}
