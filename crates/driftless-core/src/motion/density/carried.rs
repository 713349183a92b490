//! Robots that may be carried off, as a density.

use super::Density;
use crate::particles::Particles;
use std::f64::consts::TAU;

/// A motion of robots that may be carried off: (1 - κ) p(s' | s, a) + κ q(s'), with q the density of where they are put.
///
/// The filter keeps the probability k that the robot is anywhere else (see [`crate::filter::Recovery`]); in a step it becomes
/// κ = k + (1 - k) κ₁, with κ₁ that of being carried off just now. Both begin anew by q, so that the law of a step from what is
/// believed is this one. Injected particles are states of q; where a state is one of those, it came from anywhere, and the
/// particles before it are as probable as the filter had them.
pub struct Carried<D, Q> {
    /// How a robot moves that is left alone.
    pub motion: D,
    /// κ.
    pub probability: f64,
    /// log q.
    pub log_elsewhere: Q,
}

impl<D: Density, Q: FnMut(&[f32]) -> f64 + Send> Density for Carried<D, Q> {
    fn prepare(&mut self, from: &Particles, to: &Particles) {
        self.motion.prepare(from, to);
    }

    fn log_density(&mut self, from: &Particles, m: usize, to: &[f32], log: &mut [f32]) {
        self.motion.log_density(from, m, to, log);
        let anywhere = (self.probability.ln() + (self.log_elsewhere)(to)) as f32;
        let stays = (-self.probability).ln_1p() as f32;
        for log in log {
            let own = stays + *log;
            let (more, less) = if own > anywhere { (own, anywhere) } else { (anywhere, own) };
            // Of two impossible ones neither is left.
            *log = if more == f32::NEG_INFINITY { more } else { more + (less - more).exp().ln_1p() };
        }
    }

    fn release(&mut self) {
        self.motion.release();
    }
}

/// log q of poses spread evenly over a box of [low, high] corners, with any heading.
pub fn log_evenly([low, high]: [[f64; 2]; 2]) -> f64 {
    -((high[0] - low[0]) * (high[1] - low[1]) * TAU).ln()
}
