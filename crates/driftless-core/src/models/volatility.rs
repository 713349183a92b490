//! Stochastic volatility: a return whose standard deviation is what is looked for.

use crate::particles::Particles;
use crate::sensor::{Reading, Sensor};

/// y = β exp(x / 2) N(0, 1), with x the first coordinate: the logarithm of the variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volatility {
    /// β.
    pub scale: f64,
    /// y; missing where it is not finite.
    pub reading: f64,
}

impl Sensor for Volatility {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        if !self.reading.is_finite() {
            return Reading::Missing;
        }
        let peak = (-self.scale.ln() - 0.5 * std::f64::consts::TAU.ln()) as f32;
        let square = (0.5 * (self.reading / self.scale).powi(2)) as f32;
        for (log, x) in log.iter_mut().zip(particles.column(0)) {
            // Where the variance is nothing, a return of exactly nothing is as good as can be, and no 0 ∞.
            *log = peak - 0.5 * x - square * (-x).exp().min(f32::MAX);
        }
        Reading::Present
    }
}
