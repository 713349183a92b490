//! Weighted particles, and what they say: mean, covariance, spread.

use crate::angles::{cos_sin, wrapped};
use crate::cpu::{Cpu, Work};
use crate::{LANES, Particles, Space, Weights};

/// What is believed of a state: particles and as many weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// Where it may be.
    pub particles: Particles,
    /// How probable each is.
    pub weights: Weights,
}

impl Belief {
    /// Particles of equal weight.
    pub fn new(particles: Particles) -> Self {
        Self { weights: Weights::uniform(particles.len()), particles }
    }

    /// Particles whose log-weights are these, up to a constant.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn weighted(particles: Particles, log_weights: &[f32]) -> Self {
        assert_eq!(particles.len(), log_weights.len(), "a weight for each particle");
        Self { weights: Weights::normalised(log_weights), particles }
    }

    /// The space of its states.
    pub fn space(&self) -> Space {
        self.particles.space()
    }

    /// The weighted mean of coordinate k; for an angle the direction of Σ w (cos, sin).
    pub fn mean_of(&self, k: usize) -> f64 {
        let (column, weights) = (self.particles.column(k), self.weights.linear());
        let mut sums = [0.0; 2];
        if self.space().is_angle(k) {
            Cpu::best().run(Directions { angles: column, weights, sums: &mut sums });
            sums[1].atan2(sums[0])
        } else {
            // Seen from one of them, large coordinates do not round their differences away.
            let origin = column.first().copied().unwrap_or(0.0);
            Cpu::best().run(Moments { column, weights, origin, sums: &mut sums });
            f64::from(origin) + sums[0]
        }
    }

    /// The weighted mean state.
    pub fn mean(&self) -> Vec<f64> {
        (0..self.space().dimension()).map(|k| self.mean_of(k)).collect()
    }

    /// The weighted covariance around the mean, row after row; angles are apart by less than half a turn.
    pub fn covariance(&self) -> Vec<f64> {
        let size = self.space().dimension();
        let mut covariance = vec![0.0; size * size];
        self.covariance_around(&self.mean(), &mut covariance);
        covariance
    }

    /// The same around a given state, in place of what was there.
    pub fn covariance_around(&self, mean: &[f64], covariance: &mut [f64]) {
        let (space, weights) = (self.space(), self.weights.linear());
        let size = space.dimension();
        let around = |k: usize| Around {
            column: self.particles.column(k),
            mean: mean[k] as f32,
            is_angle: space.is_angle(k),
        };
        for row in 0..size {
            for column in 0..=row {
                let mut sum = 0.0;
                Cpu::best().run(Products { a: around(row), b: around(column), weights, sum: &mut sum });
                (covariance[row * size + column], covariance[column * size + row]) = (sum, sum);
            }
        }
    }

    /// The variance of coordinate k, which is no angle.
    fn variance_of(&self, k: usize) -> f64 {
        let (column, weights) = (self.particles.column(k), self.weights.linear());
        let origin = column.first().copied().unwrap_or(0.0);
        let mut sums = [0.0; 2];
        Cpu::best().run(Moments { column, weights, origin, sums: &mut sums });
        let [first, second] = sums;
        (second - first * first).max(0.0)
    }

    /// Root of the summed variances of all coordinates that are no angles.
    pub fn spread(&self) -> f64 {
        let space = self.space();
        let lengths = (0..space.dimension()).filter(|&k| !space.is_angle(k));
        lengths.map(|k| self.variance_of(k)).sum::<f64>().sqrt()
    }
}

/// One coordinate as seen from its mean.
#[derive(Clone, Copy)]
struct Around<'a> {
    column: &'a [f32],
    mean: f32,
    is_angle: bool,
}

impl Around<'_> {
    #[inline(always)]
    fn at(&self, i: usize) -> f32 {
        let apart = self.column[i] - self.mean;
        if self.is_angle { wrapped(apart) } else { apart }
    }
}

/// Σ w (a - ā) (b - b̄), in 64 bits.
struct Products<'a> {
    a: Around<'a>,
    b: Around<'a>,
    weights: &'a [f32],
    sum: &'a mut f64,
}

impl Work for Products<'_> {
    #[inline(always)]
    fn run(self) {
        let mut sums = [0.0_f64; LANES];
        for (row, weights) in self.weights.chunks(LANES).enumerate() {
            for (k, (sum, weight)) in sums.iter_mut().zip(weights).enumerate() {
                let i = row * LANES + k;
                *sum += f64::from(*weight) * f64::from(self.a.at(i) * self.b.at(i));
            }
        }
        *self.sum = sums.iter().sum();
    }
}

/// Σ w (x - origin) and Σ w (x - origin)², in 64 bits.
struct Moments<'a> {
    column: &'a [f32],
    weights: &'a [f32],
    origin: f32,
    sums: &'a mut [f64; 2],
}

impl Work for Moments<'_> {
    #[inline(always)]
    fn run(self) {
        let (mut first, mut second) = ([0.0_f64; LANES], [0.0_f64; LANES]);
        for (column, weights) in self.column.chunks(LANES).zip(self.weights.chunks(LANES)) {
            for k in 0..column.len() {
                let (x, w) = (f64::from(column[k] - self.origin), f64::from(weights[k]));
                first[k] += w * x;
                second[k] += w * x * x;
            }
        }
        *self.sums = [first.iter().sum(), second.iter().sum()];
    }
}

/// Σ w cos and Σ w sin.
struct Directions<'a> {
    angles: &'a [f32],
    weights: &'a [f32],
    sums: &'a mut [f64; 2],
}

impl Work for Directions<'_> {
    #[inline(always)]
    fn run(self) {
        let (mut cosines, mut sines) = ([0.0_f64; LANES], [0.0_f64; LANES]);
        for (angles, weights) in self.angles.chunks(LANES).zip(self.weights.chunks(LANES)) {
            for k in 0..angles.len() {
                let [cosine, sine] = cos_sin(angles[k]);
                cosines[k] += f64::from(weights[k] * cosine);
                sines[k] += f64::from(weights[k] * sine);
            }
        }
        *self.sums = [cosines.iter().sum(), sines.iter().sum()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::PI;

    fn belief(states: &[[f32; 3]], weights: &[f32]) -> Belief {
        let logs: Vec<f32> = weights.iter().map(|w| w.ln()).collect();
        Belief { particles: Particles::from_states(Space::SE2, states), weights: Weights::normalised(&logs) }
    }

    /// Golden number of the circular mean: θ = (3, -3, 3.1), w = (0.5, 0.3, 0.2); the plain mean would be 1.22.
    #[test]
    fn means_by_hand() {
        let found = belief(&[[1.0, 0.0, 3.0], [2.0, 0.0, -3.0], [3.0, 1.0, 3.1]], &[0.5, 0.3, 0.2]).mean();
        for (found, expected) in found.iter().zip([1.7, 0.2, 3.104_767_848_860_746_4]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    /// ¼ 3² + ¾ 1² along x; far from the origin as well, where squares of coordinates would drown it.
    #[test]
    fn spread_and_covariance_by_hand() {
        for far in [0.0, 30_000.0] {
            let belief = belief(&[[far, 1.0, PI - 0.1], [far + 4.0, 1.0, 0.1 - PI]], &[0.25, 0.75]);
            assert!((belief.spread() - 3.0_f64.sqrt()).abs() < 1e-6);
            let covariance = belief.covariance();
            assert!((covariance[0] - 3.0).abs() < 1e-5 && covariance[4] == 0.0);
            // Headings ±0.1 around half a turn, mean 0.05 beyond it: covariance with x ¼·(-3)·(-0.15) + ¾·1·0.05.
            assert!((covariance[2] - 0.15).abs() < 1e-3, "{covariance:?}");
            assert_eq!(covariance[2], covariance[6]);
        }
    }
}
