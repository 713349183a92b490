//! How probable motions are: log p(s' | s, a), which looking back asks of every pair of states.

mod carried;
mod driven;
mod gone;
mod normal;
#[cfg(test)]
mod tests;

pub use carried::{Carried, log_evenly};
pub use driven::DrivenDensity;
pub use gone::GoneDensity;
pub use normal::NormalDensity;

use crate::particles::Particles;
use std::f64::consts::TAU;

/// A motion with its action bound to it, as a density of later states.
pub trait Density: Send {
    /// What is asked from here on is of these particles, and of these later states.
    fn prepare(&mut self, _from: &Particles, _to: &Particles) {}

    /// Writes log p(`to` | s) of each particle s, with all constants; `to` is state m of those prepared for.
    fn log_density(&mut self, from: &Particles, m: usize, to: &[f32], log: &mut [f32]);

    /// Gives back what was prepared: there is a law for each step, and one at a time is asked.
    fn release(&mut self) {}
}

/// A normal distribution around a turn, wrapped: log Σ_k N(x + 2πk; 0, σ²) for x from -π to π.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrappedNormal {
    /// 1 / σ, and log 1 / (σ √2π).
    scale: f32,
    constant: f32,
    /// Turns to either side that are summed; -1 without any deviation.
    turns: i8,
}

/// Below this standard deviation, the nearest turn is all there is: at half a turn the next one would double what is 10^-9
/// of the peak.
const NARROW: f64 = 0.5;
/// Above this, all angles are alike within 2 exp(-σ² / 2) = 10^-5.
const FLAT: f64 = 5.0;
/// Angles nearer than this are the same but for rounding.
const SAME: f32 = 1e-5;
/// So many turns to either side reach beyond 4 σ of the widest.
const TURNS: i8 = 3;

impl WrappedNormal {
    /// With this standard deviation. Of 0, the angle is known: the law is 1 there but for rounding, and 0 elsewhere.
    pub fn new(deviation: f64) -> Self {
        if deviation == 0.0 {
            return Self { scale: 0.0, constant: 0.0, turns: -1 };
        }
        if deviation > FLAT {
            return Self { scale: 0.0, constant: -TAU.ln() as f32, turns: 0 };
        }
        let constant = -(deviation * TAU.sqrt()).ln();
        let turns = if deviation < NARROW { 0 } else { TURNS };
        Self { scale: deviation.recip() as f32, constant: constant as f32, turns }
    }

    /// The logarithm at an angle that is wrapped.
    #[inline(always)]
    pub fn log(&self, x: f32) -> f32 {
        if self.turns < 0 {
            return if x.abs() < SAME { 0.0 } else { f32::NEG_INFINITY };
        }
        let z = self.scale * x;
        let nearest = self.constant - 0.5 * z * z;
        if self.turns == 0 {
            return nearest;
        }
        let period = self.scale * TAU as f32;
        let others = (1..=i16::from(self.turns)).map(|k| {
            let k = f32::from(k) * period;
            // (z ± k)² - z² = k² ± 2 z k.
            (-0.5 * k * k - z * k).exp() + (-0.5 * k * k + z * k).exp()
        });
        nearest + (1.0 + others.sum::<f32>()).ln()
    }
}

impl<D: Density + ?Sized> Density for Box<D> {
    fn prepare(&mut self, from: &Particles, to: &Particles) {
        (**self).prepare(from, to);
    }

    fn log_density(&mut self, from: &Particles, m: usize, to: &[f32], log: &mut [f32]) {
        (**self).log_density(from, m, to, log);
    }

    fn release(&mut self) {
        (**self).release();
    }
}
