//! How states move: the trait, and odometry in the plane.

pub mod density;
mod turn_and_go;

pub use density::Density;
pub use turn_and_go::{Gone, Legs, TurnAndGo};

use crate::angles::{cos_sin, wrapped};
use crate::cpu::{Cpu, Work};
use crate::draws::Draws;
use crate::particles::Particles;
use crate::pose::{Frame, compose};

/// The motion into one step: s_t ~ p(s_t | s_{t-1}, a_t), with the action bound to it.
pub trait Motion {
    /// Moves all particles, in `noise` as memory. Says whether what moves them (an action) was there.
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool;
}

/// Memory for standard normal numbers, a column for each coordinate.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    columns: Vec<Vec<f32>>,
}

impl Noise {
    /// So many columns of so many numbers, drawn one column after the other.
    pub fn draw(&mut self, columns: usize, count: usize, draws: &mut dyn Draws) -> &[Vec<f32>] {
        self.columns.resize_with(columns.max(self.columns.len()), Vec::new);
        for column in &mut self.columns[..columns] {
            column.resize(count, 0.0);
            draws.normals(column);
        }
        &self.columns[..columns]
    }

    /// The numbers as they were drawn last.
    pub fn columns(&self) -> &[Vec<f32>] {
        &self.columns
    }

    /// Memory for so many columns of so many numbers.
    pub(crate) fn reserve(&mut self, columns: usize, count: usize) {
        self.columns.resize_with(columns.max(self.columns.len()), Vec::new);
        self.columns.iter_mut().for_each(|column| column.reserve(count.saturating_sub(column.len())));
    }
}

/// Nothing moves: the first step, whose particles are where the prior put them.
#[derive(Clone, Copy, Debug)]
pub struct Still;

impl Motion for Still {
    fn propagate(&mut self, _: &mut Particles, _: &mut dyn Draws, _: &mut Noise) -> bool {
        true
    }
}

/// Where noise enters a motion in the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadingNoise {
    /// Before the motion, as PF-net has it: a robot that believes to look elsewhere also goes elsewhere.
    Before,
    /// After it, with that of the position.
    After,
}

/// Odometry in the plane whose noise may grow with the motion.
///
/// Variances of independent causes add: σ² = rest² + (share |a|)², with |a| the distance for x and y and the turn for
/// the heading. Each number of the action may be scaled by 1 + `scale` z besides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odometry {
    /// How actions are written.
    pub frame: Frame,
    /// Standard deviations at rest, of position (along either axis) and heading.
    pub rest: [f32; 2],
    /// Shares of the distance and of the turn that are noise.
    pub share: [f32; 2],
    /// The standard deviation of what each number of the action is multiplied by.
    pub scale: f32,
    /// Where the heading's noise enters.
    pub heading_noise: HeadingNoise,
    /// Standard deviations of position and heading where the action is missing: what the robot could have done.
    pub missing: [f32; 2],
}

impl Odometry {
    /// Motion by this action; one that is missing or not finite tells only that time has passed.
    pub fn by(&self, action: Option<[f32; 3]>) -> Driven<'_> {
        Driven { odometry: self, action: action.filter(|action| action.iter().all(|x| x.abs() < FARTHEST)) }
    }

    /// Standard deviations of position and heading.
    pub fn deviations(&self, action: Option<[f32; 3]>) -> [f32; 2] {
        let Some([forward, left, turn]) = action else {
            return [0, 1].map(|k| self.rest[k].hypot(self.missing[k]));
        };
        let size = [forward.hypot(left), turn.abs()];
        [0, 1].map(|k| self.rest[k].hypot(self.share[k] * size[k]))
    }
}

/// A motion beyond this is a damaged reading: squares of it must stay numbers of 32 bits.
const FARTHEST: f32 = 1e12;

/// [`Odometry`] with the action of a step.
#[derive(Clone, Copy, Debug)]
pub struct Driven<'a> {
    odometry: &'a Odometry,
    action: Option<[f32; 3]>,
}

impl Motion for Driven<'_> {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let (odometry, count) = (self.odometry, particles.len());
        let noise = noise.draw(if odometry.scale > 0.0 { 6 } else { 3 }, count, draws);
        let (scaled, action) = (odometry.scale, self.action.unwrap_or_default());
        let [position, heading] = odometry.deviations(self.action);
        let first = odometry.heading_noise == HeadingNoise::Before;
        let heading = if first { [heading, 0.0] } else { [0.0, heading] };
        let [side, turning] = [odometry.frame.side(), odometry.frame.turning()].map(|x| x as f32);
        let [x, y, headings] = particles.columns_mut() else {
            panic!("odometry moves poses of three numbers")
        };
        Cpu::best().run(Drive {
            columns: [x, y, headings],
            noise,
            action,
            position,
            heading,
            side,
            turning,
            scaled,
        });
        self.action.is_some()
    }
}

struct Drive<'a> {
    columns: [&'a mut [f32]; 3],
    noise: &'a [Vec<f32>],
    action: [f32; 3],
    position: f32,
    /// Before and after the motion.
    heading: [f32; 2],
    side: f32,
    turning: f32,
    scaled: f32,
}

impl Work for Drive<'_> {
    #[inline(always)]
    fn run(self) {
        let [x, y, headings] = self.columns;
        let count = x.len();
        let (y, headings) = (&mut y[..count], &mut headings[..count]);
        let z = |k: usize| &self.noise[k][..count];
        let (zx, zy, zh) = (z(0), z(1), z(2));
        let [forward, left, turn] = self.action;
        if self.scaled > 0.0 {
            let scales = [z(3), z(4), z(5)];
            for i in 0..count {
                let by = |k: usize| 1.0 + self.scaled * scales[k][i];
                let turned = headings[i] + self.heading[0] * zh[i];
                let [dx, dy] =
                    compose(cos_sin(self.turning * turned), [forward * by(0), self.side * left * by(1)]);
                x[i] += dx + self.position * zx[i];
                y[i] += dy + self.position * zy[i];
                headings[i] = wrapped(turned + turn * by(2) + self.heading[1] * zh[i]);
            }
            return;
        }
        for i in 0..count {
            let turned = headings[i] + self.heading[0] * zh[i];
            let [dx, dy] = compose(cos_sin(self.turning * turned), [forward, self.side * left]);
            x[i] += dx + self.position * zx[i];
            y[i] += dy + self.position * zy[i];
            headings[i] = wrapped(turned + turn + self.heading[1] * zh[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{Replay, Stream};
    use crate::pose::Pose;
    use crate::{Belief, Space};

    const ODOMETRY: Odometry = Odometry {
        frame: Frame::Reflected,
        rest: [1.0, 0.02],
        share: [0.1, 0.2],
        scale: 0.0,
        heading_noise: HeadingNoise::After,
        missing: [50.0, 0.5],
    };

    fn moved(odometry: &Odometry, action: Option<[f32; 3]>, normals: &[f32]) -> (Vec<f32>, bool) {
        let mut particles = Particles::from_states(Space::SE2, [[10.0_f32, 20.0, 3.0]]);
        let mut draws = Replay { normals: normals.to_vec().into(), ..Replay::default() };
        let told = odometry.by(action).propagate(&mut particles, &mut draws, &mut Noise::default());
        (particles.state(0).collect(), told)
    }

    /// Against the same in 64 bits: all frames, both places of the heading's noise, scaled actions.
    #[test]
    fn motion_by_hand() {
        let (action, z) = ([30.0_f32, -4.0, 0.5], [0.7_f32, -0.3, 1.1, 0.2, -0.5, 0.9]);
        for frame in [Frame::Reflected, Frame::Robot, Frame::World] {
            for (order, scale) in
                [(HeadingNoise::Before, 0.0), (HeadingNoise::After, 0.0), (HeadingNoise::Before, 0.1)]
            {
                let odometry = Odometry { frame, scale, heading_noise: order, ..ODOMETRY };
                let size = 30.0_f64.hypot(4.0);
                let place = (1.0 + (0.1 * size).powi(2)).sqrt();
                let turn = (0.02_f64.powi(2) + 0.1_f64.powi(2)).sqrt() * f64::from(z[2]);
                let (first, last) = if order == HeadingNoise::Before { (turn, 0.0) } else { (0.0, turn) };
                let by = |k: usize| f64::from(action[k]) * (1.0 + f64::from(scale) * f64::from(z[3 + k]));
                let expected = Pose::new(10.0, 20.0, 3.0 + first).moved([by(0), by(1), by(2)], frame);
                let expected = [expected.x + place * f64::from(z[0]), expected.y + place * f64::from(z[1])];
                let heading = crate::pose::wrap(3.0 + first + by(2) + last);
                let (found, told) = moved(&odometry, Some(action), &z[..if scale > 0.0 { 6 } else { 3 }]);
                assert!(told && (f64::from(found[0]) - expected[0]).abs() < 1e-4, "{found:?} {expected:?}");
                assert!((f64::from(found[1]) - expected[1]).abs() < 1e-4, "{found:?} {expected:?}");
                assert!((f64::from(found[2]) - heading).abs() < 1e-5, "{found:?} {heading}");
            }
        }
    }

    /// Without an action the robot may have done what it usually does: the covariance grows by it, and does not stay
    /// that of a robot at rest.
    #[test]
    fn a_missing_action_tells_nothing() {
        for action in [None, Some([f32::NAN, 0.0, 0.0]), Some([0.0, f32::INFINITY, 0.0])] {
            let mut belief =
                Belief::new(Particles::from_states(Space::SE2, vec![[0.0_f32, 0.0, 0.3]; 20_000]));
            let told = ODOMETRY.by(action).propagate(
                &mut belief.particles,
                &mut Stream::new(1, 1),
                &mut Noise::default(),
            );
            assert!(!told);
            let covariance = belief.covariance();
            // Five standard errors of a variance of 20,000 draws: 5 √(2 / 20,000) = 5 %.
            for (k, variance) in [(0, 2501.0), (4, 2501.0), (8, 0.2504)] {
                assert!((covariance[k] / variance - 1.0).abs() < 0.05, "{covariance:?}");
            }
        }
    }
}
