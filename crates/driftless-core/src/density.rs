//! How dense a belief is at a state, and whether its 90 % region holds it.

use crate::angles::wrapped;
use crate::belief::Belief;
use crate::cpu::{Cpu, Work};
use crate::draws::Draws;
use crate::exponential::log_sum_exp;
use std::f64::consts::TAU;

/// A belief as a mixture of Gaussian kernels, one on each particle, because beliefs have many modes:
/// p(s) = Σ_i w_i Π_k N(s_k - s_ik; 0, h_k²), angles wrapped.
#[derive(Debug)]
pub struct Mixture<'a> {
    belief: &'a Belief,
    widths: Vec<f64>,
    exponents: Vec<f32>,
}

/// Draws by which the region is found.
const DRAWS: usize = 50;
/// The share of the belief's mass in its region.
const REGION: f64 = 0.9;
/// The least log density said: that of a state which no kernel reaches.
pub const LEAST_LOG_DENSITY: f64 = -1e3;
/// The widest kernel of an angle: the wrapped kernel keeps 99.8 % of its mass.
const WIDEST_ANGLE: f64 = 1.0;

impl<'a> Mixture<'a> {
    /// h_k = σ_k N_eff^(-1 / (D + 4)), Scott's rule (1992) with N_eff = 1 / Σ w² and the weighted standard deviation, but
    /// at least a given floor, and at most 1 rad for angles.
    pub fn scott(belief: &'a Belief, floor: &[f64]) -> Self {
        let (space, covariance) = (belief.space(), belief.covariance());
        let size = space.dimension();
        let shrink = belief.weights.effective_sample_size().powf(-1.0 / (size as f64 + 4.0));
        let width = |k: usize| {
            let width = (covariance[k * size + k].sqrt() * shrink).max(floor[k]);
            if space.is_angle(k) { width.min(WIDEST_ANGLE) } else { width }
        };
        Self::new(belief, (0..size).map(width).collect())
    }

    /// Kernels with these standard deviations.
    pub fn new(belief: &'a Belief, widths: Vec<f64>) -> Self {
        Self { belief, widths, exponents: Vec::new() }
    }

    /// Standard deviations of the kernels.
    pub fn widths(&self) -> &[f64] {
        &self.widths
    }

    /// log p(s), at least [`LEAST_LOG_DENSITY`].
    pub fn log_density(&mut self, state: &[f64]) -> f64 {
        let Self { belief, widths, exponents } = self;
        exponents.clear();
        exponents.extend_from_slice(belief.weights.log());
        for (k, column) in belief.particles.columns().iter().enumerate() {
            let (at, scale) = (state[k] as f32, (1.0 / widths[k]) as f32);
            let is_angle = belief.space().is_angle(k);
            Cpu::best().run(Distances { column, at, scale, is_angle, exponents });
        }
        let normaliser: f64 = widths.iter().map(|width| width.ln() + 0.5 * TAU.ln()).sum();
        let log = log_sum_exp(Cpu::best(), exponents, 1.0) - normaliser;
        if log.is_nan() { LEAST_LOG_DENSITY } else { log.max(LEAST_LOG_DENSITY) }
    }

    /// Whether a state lies in the region of highest density that holds 90 % of the mass (Hyndman 1996): less than 90 %
    /// of draws from the mixture are at a denser place.
    pub fn covers(&mut self, state: &[f64], draws: &mut dyn Draws) -> bool {
        let here = self.log_density(state);
        let outside = (REGION * DRAWS as f64).ceil() as usize;
        let (mut denser, mut rarer) = (0, 0);
        for _ in 0..DRAWS {
            // As many numbers however soon it is decided: what is drawn later does not depend on it.
            let numbers = self.numbers(draws);
            if denser < outside && rarer <= DRAWS - outside {
                let is_denser = self.log_density(&self.drawn(numbers)) > here;
                (denser, rarer) = (denser + usize::from(is_denser), rarer + usize::from(!is_denser));
            }
        }
        denser < outside
    }

    /// What one draw needs: which particle, and how far from it.
    fn numbers(&self, draws: &mut dyn Draws) -> (f64, Vec<f32>) {
        let (which, mut apart) = (draws.uniform(), vec![0.0; self.widths.len()]);
        draws.normals(&mut apart);
        (which, apart)
    }

    fn drawn(&self, (which, apart): (f64, Vec<f32>)) -> Vec<f64> {
        let (mut left, weights) = (which, self.belief.weights.linear());
        let chosen = weights.iter().position(|&weight| {
            left -= f64::from(weight);
            left < 0.0
        });
        // Rounding may leave a little.
        let chosen = chosen.unwrap_or(weights.len() - 1);
        let state = self.belief.particles.state(chosen).zip(apart);
        state.zip(&self.widths).map(|((x, z), width)| f64::from(x) + width * f64::from(z)).collect()
    }
}

/// Subtracts ½ ((x - s) / h)² from each exponent.
struct Distances<'a> {
    column: &'a [f32],
    at: f32,
    scale: f32,
    is_angle: bool,
    exponents: &'a mut [f32],
}

impl Work for Distances<'_> {
    #[inline(always)]
    fn run(self) {
        let pairs = self.exponents.iter_mut().zip(self.column);
        if self.is_angle {
            for (exponent, x) in pairs {
                let z = self.scale * wrapped(x - self.at);
                *exponent -= 0.5 * z * z;
            }
        } else {
            for (exponent, x) in pairs {
                let z = self.scale * (x - self.at);
                *exponent -= 0.5 * z * z;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Stream;
    use crate::{Particles, Space};

    fn belief(states: &[[f32; 3]]) -> Belief {
        Belief::new(Particles::from_states(Space::SE2, states))
    }

    /// Two particles across the seam of the circle, by hand.
    #[test]
    fn golden_density() {
        let belief = belief(&[[1.0, 0.0, 3.1], [-1.0, 0.0, -3.1]]);
        let mut mixture = Mixture::scott(&belief, &[0.1, 0.2, 0.05]);
        let shrink = 2.0_f64.powf(-1.0 / 7.0);
        for (found, expected) in mixture.widths().iter().zip([shrink, 0.2, 0.05]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let kernel = |z: [f64; 3]| {
            let widths = [shrink, 0.2, 0.05];
            let parts = z.iter().zip(widths).map(|(z, h)| (-0.5 * (z / h).powi(2)).exp() / (h * TAU.sqrt()));
            parts.product::<f64>()
        };
        let expected = 0.5 * kernel([0.5, 0.1, 0.03]) + 0.5 * kernel([-1.5, 0.1, 0.03 + 6.2 - TAU]);
        // Differences of 32-bit angles, divided by the narrow kernel: 3e-7 / 0.05 · z of 1.
        assert!((mixture.log_density(&[0.5, -0.1, 3.13]) - expected.ln()).abs() < 2e-5);
        assert_eq!(mixture.log_density(&[1e9, 0.0, 0.0]), LEAST_LOG_DENSITY);
        assert_eq!(mixture.log_density(&[f64::NAN, 0.0, 0.0]), LEAST_LOG_DENSITY);
    }

    /// Truths drawn from a belief of many particles lie in its region nine times in ten; truths from a
    /// law three times as wide, with χ²_3 above 6.25 / 9, about a quarter of the time; truths far away never.
    #[test]
    fn ninety_per_cent_are_covered() {
        let mut stream = Stream::new(4, 0);
        let mut cloud = |count: usize, scale: f32| -> Vec<[f32; 3]> {
            let mut z = vec![0.0; 3 * count];
            stream.normals(&mut z);
            z.chunks_exact(3).map(|z| [5.0 * scale * z[0], 9.0 * scale * z[1], 0.2 * scale * z[2]]).collect()
        };
        let (states, truths, wide) = (cloud(1000, 1.0), cloud(1000, 1.0), cloud(1000, 3.0));
        let belief = belief(&states);
        let mut mixture = Mixture::scott(&belief, &[1e-3; 3]);
        let mut share = |truths: &[[f32; 3]]| {
            let mut draws = Stream::new(9, 0);
            let covered = truths.iter().filter(|truth| mixture.covers(&truth.map(f64::from), &mut draws));
            covered.count() as f64 / 1000.0
        };
        // Kernels of 1000^(-1/7) = 0.37 σ make the mixture 7 % too wide: χ²_3 of 0.9 is 6.25, and below
        // 6.25 · 1.14 = 7.12 lie 93.2 %; with 50 draws the region itself varies by 4 %, which turns
        // over for the outer 10 % only. Five standard errors of 1000 truths are 4.5 %.
        let covered = share(&truths);
        assert!((covered - 0.92).abs() < 0.045, "{covered}");
        let outside = share(&wide);
        // Below 7.12 / 9 of χ²_3 lie 14.8 %.
        assert!((outside - 0.148).abs() < 0.06, "{outside}");
        assert!(!mixture.covers(&[100.0, 0.0, 0.0], &mut Stream::new(1, 0)));
    }

    /// Against all draws, looked at one by one; and the numbers after them are the same.
    #[test]
    fn deciding_early_changes_nothing() {
        let mut stream = Stream::new(6, 0);
        let mut z = vec![0.0; 300];
        stream.normals(&mut z);
        let states: Vec<[f32; 3]> = z.chunks_exact(3).map(|z| [z[0], z[1], 0.3 * z[2]]).collect();
        let belief = belief(&states);
        let mut mixture = Mixture::scott(&belief, &[1e-3; 3]);
        let (mut early, mut late, mut inside) = (Stream::new(2, 0), Stream::new(2, 0), 0);
        for k in 0..200 {
            let state = [0.02 * f64::from(k), 0.0, 0.0];
            let here = mixture.log_density(&state);
            let denser = (0..DRAWS).filter(|_| {
                let drawn = mixture.drawn(mixture.numbers(&mut late));
                mixture.log_density(&drawn) > here
            });
            let covered = denser.count() < 45;
            assert_eq!(mixture.covers(&state, &mut early), covered, "{k}");
            inside += usize::from(covered);
        }
        assert!((20..180).contains(&inside), "{inside}: both answers are to be had");
        assert_eq!(early.uniform(), late.uniform());
    }
}
