//! How dense a belief over poses is at the truth, and whether its 90 % region holds the truth.

use driftless_world::evaluation::Particle;
use driftless_world::pose::{Pose, wrap};
use driftless_world::random::Random;
use std::f64::consts::TAU;

/// The belief of one step as a mixture of Gaussian kernels, one on each particle:
/// p(s) = Σ_i w_i Π_k N(s_k - s_ik; 0, h_k²), the heading wrapped, per unit of area and radian.
///
/// h_k = σ_k N_eff^(-1/7), Scott's rule for three coordinates with N_eff = 1 / Σ w² and the weighted
/// standard deviation σ_k (Scott 1992), but at least a given floor, and at most 1 rad for the heading,
/// so that the wrapped kernel keeps 99.8 % of its mass.
pub(super) struct Mixture<'a> {
    particles: &'a [Particle],
    log_weights: Vec<f64>,
    widths: [f64; 3],
}

/// Draws by which the region is found.
const DRAWS: usize = 50;
/// The share of the belief's mass in its region.
const REGION: f64 = 0.9;
/// The least log density said: that of a truth which no kernel reaches.
const LEAST: f64 = -1e3;
/// A difference of logarithms that is not added up.
const NOTHING: f64 = -50.0;
/// The widest kernel of a heading.
const WIDEST_HEADING: f64 = 1.0;

impl<'a> Mixture<'a> {
    /// Of weighted particles, their mean, and the least widths of kernels.
    pub(super) fn new(particles: &'a [Particle], mean: Pose, floor: [f64; 3]) -> Self {
        let effective = 1.0 / particles.iter().map(|particle| particle.weight.powi(2)).sum::<f64>();
        let centre = numbers(mean);
        let width = |k: usize| {
            let square = |one: &Particle| one.weight * apart(numbers(one.pose), centre)[k].powi(2);
            let spread = particles.iter().map(square).sum::<f64>().sqrt();
            (spread * effective.powf(-1.0 / 7.0)).max(floor[k])
        };
        let widths = [width(0), width(1), width(2).min(WIDEST_HEADING)];
        let log_weights = particles.iter().map(|particle| particle.weight.ln()).collect();
        Self { particles, log_weights, widths }
    }

    /// log p(s), at least -1000.
    pub(super) fn log_density(&self, pose: Pose) -> f64 {
        self.log_at(numbers(pose))
    }

    fn log_at(&self, place: [f64; 3]) -> f64 {
        let exponent = |(one, log_weight): (&Particle, &f64)| {
            let z = apart(place, numbers(one.pose));
            let squares: f64 = z.iter().zip(self.widths).map(|(z, width)| (z / width).powi(2)).sum();
            log_weight - 0.5 * squares
        };
        let exponents: Vec<f64> = self.particles.iter().zip(&self.log_weights).map(exponent).collect();
        let highest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // What is e⁵⁰ times less likely makes no difference in 64 bits.
        let terms = exponents
            .iter()
            .map(|exponent| exponent - highest)
            .filter(|term| term.is_nan() || *term > NOTHING);
        let sum: f64 = terms.map(f64::exp).sum();
        let normaliser: f64 = self.widths.iter().map(|width| width.ln() + 0.5 * TAU.ln()).sum();
        let log = highest + sum.ln() - normaliser;
        if log.is_nan() { LEAST } else { log.max(LEAST) }
    }

    /// Whether the truth lies in the region of highest density that holds 90 % of the mass (Hyndman
    /// 1996): less than 90 % of draws from the mixture are at a denser place.
    pub(super) fn covers(&self, truth: Pose, random: &mut Random) -> bool {
        let here = self.log_density(truth);
        let denser = (0..DRAWS).filter(|_| self.log_at(self.draw(random)) > here).count();
        (denser as f64) < REGION * DRAWS as f64
    }

    fn draw(&self, random: &mut Random) -> [f64; 3] {
        let mut left = random.unit();
        let chosen = self.particles.iter().find(|particle| {
            left -= particle.weight;
            left < 0.0
        });
        // Rounding may leave a little.
        let state = numbers(chosen.or(self.particles.last()).expect("a belief has particles").pose);
        [0, 1, 2].map(|k| state[k] + self.widths[k] * random.normal())
    }
}

fn numbers(pose: Pose) -> [f64; 3] {
    [pose.x, pose.y, pose.heading]
}

/// a - b, the heading wrapped.
fn apart(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], wrap(a[2] - b[2])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    /// Of equal weight.
    fn particles(states: &[f64]) -> Vec<Particle> {
        let weight = 3.0 / states.len() as f64;
        states.chunks_exact(3).map(|s| Particle { pose: Pose::new(s[0], s[1], s[2]), weight }).collect()
    }

    /// Two particles across the seam of the circle, by hand.
    #[test]
    fn golden_density() {
        let mean = Pose::new(0.0, 0.0, -std::f64::consts::PI);
        let belief = particles(&[1.0, 0.0, 3.1, -1.0, 0.0, -3.1]);
        let mixture = Mixture::new(&belief, mean, [0.1, 0.2, 0.05]);
        let shrink = 2.0_f64.powf(-1.0 / 7.0);
        assert_close(&mixture.widths, &[shrink, 0.2, 0.05], 1e-15);
        let kernel = |z: [f64; 3]| {
            let widths = [shrink, 0.2, 0.05];
            let parts = z.iter().zip(widths).map(|(z, h)| (-0.5 * (z / h).powi(2)).exp() / (h * TAU.sqrt()));
            parts.product::<f64>()
        };
        let expected = 0.5 * kernel([0.5, 0.1, 0.03]) + 0.5 * kernel([-1.5, 0.1, 0.03 + 6.2 - TAU]);
        assert_close(&[mixture.log_density(Pose::new(0.5, -0.1, 3.13))], &[(expected).ln()], 1e-9);
        assert_eq!(mixture.log_density(Pose::new(1e9, 0.0, 0.0)), LEAST);
        assert_eq!(mixture.log_density(Pose::new(f64::NAN, 0.0, 0.0)), LEAST);
    }

    /// Truths drawn from a belief of many particles lie in its region nine times in ten; truths from a
    /// law three times as wide, with χ²_3 above 6.25 / 9, about a quarter of the time; truths far away never.
    #[test]
    fn ninety_per_cent_are_covered() {
        let mut random = Random::new(4);
        let mut cloud = |count: usize, scale: f64| -> Vec<f64> {
            (0..count).flat_map(|_| [5.0, 9.0, 0.2].map(|std| std * scale * random.normal())).collect()
        };
        let (states, truths, wide) = (cloud(1000, 1.0), cloud(1000, 1.0), cloud(1000, 3.0));
        let belief = particles(&states);
        let mixture = Mixture::new(&belief, Pose::default(), [1e-3; 3]);
        let share = |truths: &[f64]| {
            let mut random = Random::new(9);
            let poses = truths.chunks_exact(3).map(|s| Pose::new(s[0], s[1], s[2]));
            poses.filter(|&pose| mixture.covers(pose, &mut random)).count() as f64 / 1000.0
        };
        // Kernels of 1000^(-1/7) = 0.37 σ make the mixture 7 % too wide: χ²_3 of 0.9 is 6.25, and below
        // 6.25 · 1.14 = 7.12 lie 93.2 %; with 50 draws the region itself varies by 4 %, which turns
        // over for the outer 10 % only. Five standard errors of 1000 truths are 4.5 %.
        let covered = share(&truths);
        assert!((covered - 0.92).abs() < 0.045, "{covered}");
        let outside = share(&wide);
        // Below 7.12 / 9 of χ²_3 lie 14.8 %.
        assert!((outside - 0.148).abs() < 0.06, "{outside}");
        assert!(!mixture.covers(Pose::new(100.0, 0.0, 0.0), &mut Random::new(1)));
    }
}
