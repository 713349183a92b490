//! Normal laws around where particles are led.

use super::{Density, WrappedNormal};
use crate::angles::wrapped;
use crate::particles::Particles;
use std::f64::consts::TAU;

/// N(s'; reached, σ²), coordinate by coordinate, angles wrapped: states of named coordinates, and learned motions.
#[derive(Clone, Debug)]
pub struct NormalDensity {
    reached: Particles,
    scales: Vec<f32>,
    laws: Vec<WrappedNormal>,
    constant: f32,
}

impl NormalDensity {
    /// Around where particles are led, with a standard deviation above 0 for each coordinate.
    pub fn new(reached: Particles, deviations: &[f64]) -> Self {
        let space = reached.space();
        let lengths = deviations.iter().enumerate().filter(|(k, _)| !space.is_angle(*k));
        let constant = lengths.map(|(_, deviation)| -(deviation * TAU.sqrt()).ln()).sum::<f64>() as f32;
        let scales = deviations.iter().map(|deviation| deviation.recip() as f32).collect();
        let laws = deviations.iter().map(|deviation| WrappedNormal::new(*deviation)).collect();
        Self { reached, scales, laws, constant }
    }

    /// The logarithms of a state, one of each particle.
    pub fn logs(&self, to: &[f32], log: &mut [f32]) {
        log.fill(self.constant);
        for (k, column) in self.reached.columns().iter().enumerate() {
            let (is_angle, scale, law) = (self.reached.space().is_angle(k), self.scales[k], self.laws[k]);
            for (log, x) in log.iter_mut().zip(column) {
                let apart = to[k] - x;
                let z = scale * apart;
                *log += if is_angle { law.log(wrapped(apart)) } else { -0.5 * z * z };
            }
        }
    }
}

impl Density for NormalDensity {
    fn log_density(&mut self, _: &Particles, _: usize, to: &[f32], log: &mut [f32]) {
        self.logs(to, log);
    }
}
