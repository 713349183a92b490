//! Odometry as amcl samples it: a turn, a straight line and another turn, each with noise of its own.

use super::{HeadingNoise, Motion, Noise, Odometry};
use crate::angles::{cos_sin, wrapped};
use crate::draws::Draws;
use crate::particles::Particles;
use crate::pose::{Frame, compose};
use std::f32::consts::PI;

/// A shorter motion has no direction of its own, as in amcl, where it is a centimetre: the robot turns on the spot.
pub(super) const ON_THE_SPOT: f32 = 0.01;

/// The odometry model of Thrun, Burgard & Fox, *Probabilistic Robotics*, table 5.6, with the squares of nav2's amcl:
/// a turn δ₁, a distance d and a turn δ₂ have the variances α₁ δ₁² + α₂ d², α₃ d² + α₄ (δ₁² + δ₂²) and α₁ δ₂² + α₂ d².
/// Actions are in the robot's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnAndGo {
    /// α₁ to α₄.
    pub alphas: [f32; 4],
    /// Standard deviations of position and heading where the action is missing.
    pub missing: [f32; 2],
}

impl TurnAndGo {
    /// Motion by this action; one that is missing or not finite tells only that time has passed.
    pub fn by(&self, action: Option<[f32; 3]>) -> Gone<'_> {
        Gone { odometry: self, action: action.filter(|action| action.iter().all(|x| x.is_finite())) }
    }
}

/// [`TurnAndGo`] with the action of a step.
#[derive(Clone, Copy, Debug)]
pub struct Gone<'a> {
    odometry: &'a TurnAndGo,
    action: Option<[f32; 3]>,
}

/// A motion as a turn, a straight line and another turn, with the standard deviations of all three.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Legs {
    pub(super) first: f32,
    pub(super) distance: f32,
    pub(super) second: f32,
    pub(super) deviations: [f32; 3],
}

impl Gone<'_> {
    /// What the action says, if it is there.
    pub(super) fn legs(&self) -> Option<Legs> {
        let (alphas, [forward, left, turn]) = (self.odometry.alphas, self.action?);
        let distance = forward.hypot(left);
        let first = if distance < ON_THE_SPOT { 0.0 } else { left.atan2(forward) };
        let second = wrapped(turn - first);
        // A robot that drives backwards has not turned about first.
        let size = |angle: f32| angle.abs().min(PI - angle.abs()).max(0.0);
        let deviation = |own: f32, other: f32| (own + other).sqrt();
        let squares = [size(first).powi(2), distance * distance, size(second).powi(2)];
        let deviations = [
            deviation(alphas[0] * squares[0], alphas[1] * squares[1]),
            deviation(alphas[2] * squares[1], alphas[3] * (squares[0] + squares[2])),
            deviation(alphas[0] * squares[2], alphas[1] * squares[1]),
        ];
        Some(Legs { first, distance, second, deviations })
    }

    /// What the robot may have done where the action is missing.
    pub(super) fn unknown(&self) -> Odometry {
        Odometry {
            frame: Frame::Robot,
            rest: [0.0; 2],
            share: [0.0; 2],
            scale: 0.0,
            heading_noise: HeadingNoise::After,
            missing: self.odometry.missing,
        }
    }
}

impl Motion for Gone<'_> {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let Some(Legs { first, distance, second, deviations }) = self.legs() else {
            return self.unknown().by(None).propagate(particles, draws, noise);
        };
        let noise = noise.draw(3, particles.len(), draws);
        let [x, y, headings] = particles.columns_mut() else {
            panic!("odometry moves poses of three numbers")
        };
        for i in 0..x.len() {
            let z = |k: usize| deviations[k] * noise[k][i];
            let heading = headings[i] + first + z(0);
            let [dx, dy] = compose(cos_sin(heading), [distance + z(1), 0.0]);
            (x[i], y[i]) = (x[i] + dx, y[i] + dy);
            headings[i] = wrapped(heading + second + z(2));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{Replay, Stream};
    use crate::pose::{Pose, wrap};
    use crate::{Belief, Space};

    const ODOMETRY: TurnAndGo = TurnAndGo { alphas: [0.1, 0.2, 0.3, 0.4], missing: [2.0, 0.5] };

    fn moved(action: [f32; 3], normals: [f32; 3]) -> [f64; 3] {
        let mut particles = Particles::from_states(Space::SE2, [[1.0_f32, 2.0, 3.0]]);
        let mut draws = Replay { normals: normals.to_vec().into(), ..Replay::default() };
        assert!(ODOMETRY.by(Some(action)).propagate(&mut particles, &mut draws, &mut Noise::default()));
        let state: Vec<f32> = particles.state(0).collect();
        [0, 1, 2].map(|k| f64::from(state[k]))
    }

    fn assert_near(found: [f64; 3], expected: Pose) {
        let apart = [found[0] - expected.x, found[1] - expected.y, wrap(found[2] - expected.heading)];
        // 32 bits, of numbers up to 5.
        assert!(apart.iter().all(|x| x.abs() < 4e-6), "{found:?} {expected:?}");
    }

    /// Without noise it is odometry, forwards, backwards, sideways and on the spot.
    #[test]
    fn without_noise() {
        for action in [[0.5, 0.1, 0.3], [-0.5, 0.0, 0.2], [0.0, 0.4, -0.1], [0.0, 0.0, 1.0]] {
            let expected = Pose::new(1.0, 2.0, 3.0).moved(action.map(f64::from), Frame::Robot);
            assert_near(moved(action, [0.0; 3]), expected);
        }
    }

    /// The same sums in 64 bits.
    #[test]
    fn noise_by_hand() {
        let (action, z) = ([0.8_f32, 0.6, 0.9], [0.7, -0.3, 1.1]);
        let (first, distance) = (0.6_f64.atan2(0.8), 1.0);
        let second = 0.9 - first;
        let turned = first + (0.1 * first * first + 0.2 * distance).sqrt() * f64::from(z[0]);
        let gone = distance + (0.3 + 0.4 * (first * first + second * second)).sqrt() * f64::from(z[1]);
        let last = second + (0.1 * second * second + 0.2 * distance).sqrt() * f64::from(z[2]);
        let heading = 3.0 + turned;
        let expected =
            Pose::new(1.0 + gone * heading.cos(), 2.0 + gone * heading.sin(), wrap(heading + last));
        assert_near(moved(action, z), expected);
    }

    #[test]
    fn what_is_missing_widens() {
        for action in [None, Some([f32::NAN, 0.0, 0.0])] {
            let mut belief = Belief::new(Particles::from_states(Space::SE2, vec![[0.0_f32; 3]; 20_000]));
            let (mut draws, mut noise) = (Stream::new(1, 1), Noise::default());
            assert!(!ODOMETRY.by(action).propagate(&mut belief.particles, &mut draws, &mut noise));
            // Five standard errors of a variance of 20,000 draws are 5 %.
            let covariance = belief.covariance();
            assert!((covariance[0] / 4.0 - 1.0).abs() < 0.05 && (covariance[8] / 0.25 - 1.0).abs() < 0.05);
        }
    }
}
