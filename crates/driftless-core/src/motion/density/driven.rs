//! The density of odometry in the plane.

use super::{Density, WrappedNormal};
use crate::angles::{cos_sin, wrapped};
use crate::cpu::{Cpu, Work};
use crate::motion::{Driven, HeadingNoise};
use crate::particles::Particles;
use crate::pose::compose;
use std::f64::consts::TAU;

/// [`crate::motion::Odometry`] with an action, as a density: where particles are led, and how far from there a state may be.
#[derive(Clone, Debug)]
pub struct DrivenDensity {
    /// Ahead, to the left and the turn.
    goal: [f32; 3],
    turning: f32,
    /// Whether the heading's noise comes first: what the robot looked like then is known from where it looks in the end.
    before: bool,
    /// 1 / σ ahead and to the left, and the constant of both.
    scales: [f32; 2],
    constant: f32,
    heading: WrappedNormal,
    /// Where the particles are led to, but for the heading's noise.
    reached: [Vec<f32>; 3],
}

impl Driven<'_> {
    /// The density of this motion. `None` where there is none that can be written down: without noise of the position, or with the heading's
    /// noise first and actions that are scaled.
    pub fn density(&self) -> Option<DrivenDensity> {
        let (odometry, action) = (self.odometry, self.action.unwrap_or_default().map(f64::from));
        let deviations = odometry.deviations(self.action).map(f64::from);
        let before = odometry.heading_noise == HeadingNoise::Before;
        let scaled = f64::from(odometry.scale);
        // What multiplies each number of an action adds to its variance.
        let deviation = |own: f64, number: f64| own.hypot(scaled * number);
        let [ahead, aside] = [0, 1].map(|k| deviation(deviations[0], action[k]));
        let heading = deviation(deviations[1], action[2]);
        // A heading may be known for ever, as that of a robot of which positions alone matter.
        let is_proper = ahead > 0.0 && aside > 0.0 && [ahead, aside, heading].iter().all(|x| x.is_finite());
        if !is_proper || (before && scaled > 0.0) {
            return None;
        }
        Some(DrivenDensity {
            goal: [action[0], odometry.frame.side() * action[1], action[2]].map(|x| x as f32),
            turning: odometry.frame.turning() as f32,
            before,
            scales: [ahead.recip() as f32, aside.recip() as f32],
            constant: -(ahead * aside * TAU).ln() as f32,
            heading: WrappedNormal::new(heading),
            reached: Default::default(),
        })
    }
}

impl Density for DrivenDensity {
    fn prepare(&mut self, from: &Particles, _: &Particles) {
        let [x, y, headings] = from.columns() else { panic!("odometry moves poses of three numbers") };
        let (turning, [ahead, left, turn]) = (if self.before { 0.0 } else { self.turning }, self.goal);
        let reached = &mut self.reached;
        reached.iter_mut().for_each(Vec::clear);
        for ((x, y), heading) in x.iter().zip(y).zip(headings) {
            // With the noise first, the step is subtracted from where it ends.
            let step = if self.before { [0.0; 2] } else { [ahead, left] };
            let [dx, dy] = compose(cos_sin(turning * heading), step);
            reached[0].push(x + dx);
            reached[1].push(y + dy);
            reached[2].push(heading + turn);
        }
    }

    fn log_density(&mut self, from: &Particles, _: usize, to: &[f32], log: &mut [f32]) {
        let &[mut x, mut y, heading] = to else { panic!("odometry moves poses of three numbers") };
        if self.before {
            let turned = cos_sin(self.turning * (heading - self.goal[2]));
            let [dx, dy] = compose(turned, [self.goal[0], self.goal[1]]);
            (x, y) = (x - dx, y - dy);
        }
        let Self { reached, scales, constant, heading: law, turning, .. } = self;
        let (reached, turns) = ([0, 1, 2].map(|k| &reached[k][..]), from.column(2));
        // The same both ways: no direction matters.
        let turning = if scales[0] == scales[1] { 0.0 } else { *turning };
        let (scales, constant) = (*scales, *constant);
        Cpu::best().run(Residuals {
            to: [x, y, heading],
            reached,
            turns,
            turning,
            scales,
            constant,
            law: *law,
            log,
        });
    }

    fn release(&mut self) {
        self.reached = Default::default();
    }
}

struct Residuals<'a> {
    to: [f32; 3],
    reached: [&'a [f32]; 3],
    /// Headings of the particles.
    turns: &'a [f32],
    turning: f32,
    scales: [f32; 2],
    constant: f32,
    law: WrappedNormal,
    log: &'a mut [f32],
}

impl Work for Residuals<'_> {
    #[inline(always)]
    fn run(self) {
        let count = self.log.len();
        let [x, y, headings] = self.reached.map(|column| &column[..count]);
        let ([to_x, to_y, to_heading], [ahead, aside]) = (self.to, self.scales);
        for (i, log) in self.log.iter_mut().enumerate() {
            let mut apart = [to_x - x[i], to_y - y[i]];
            if self.turning != 0.0 {
                let [cosine, sine] = cos_sin(self.turning * self.turns[i]);
                apart = compose([cosine, -sine], apart);
            }
            let [u, v] = [ahead * apart[0], aside * apart[1]];
            *log = self.constant - 0.5 * (u * u + v * v) + self.law.log(wrapped(to_heading - headings[i]));
        }
    }
}
