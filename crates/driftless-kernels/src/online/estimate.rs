//! What is said of weighted particles: mean, covariance, how many count.

use super::particles::Particle;
use crate::angles::wrapped;

/// Where the robot is believed to be after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean position, and the direction of the mean heading.
    pub pose: [f64; 3],
    /// Of positions and of headings around that direction.
    pub covariance: [[f64; 3]; 3],
    /// 1 / Σ w².
    pub effective_sample_size: f64,
    /// Whether the action was finite, and the robot was moved by it.
    pub moved: bool,
    /// Whether the image was finite, and particles were weighted by it.
    pub saw: bool,
}

/// Weighted sums over some particles, of positions and headings as seen from an origin, so that squares do not drown
/// what they are subtracted from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// Σ w, Σ w cos and Σ w sin.
    pub(super) compass: [f64; 3],
    square: f64,
    first: [f64; 3],
    second: [[f64; 3]; 3],
}

impl Sums {
    /// The first sums, of which the origin is made.
    pub(super) fn begin(particles: &[Particle], weights: &[f32]) -> Self {
        let mut sums = Self::default();
        for (particle, &weight) in particles.iter().zip(weights) {
            let weight = f64::from(weight);
            sums.compass[0] += weight;
            sums.compass[1] += weight * f64::from(particle[3]);
            sums.compass[2] += weight * f64::from(particle[4]);
        }
        sums
    }

    /// All others.
    pub(super) fn go_on(&mut self, origin: [f32; 3], particles: &[Particle], weights: &[f32]) {
        for (particle, &weight) in particles.iter().zip(weights) {
            let apart = [particle[0] - origin[0], particle[1] - origin[1], wrapped(particle[2] - origin[2])];
            let (apart, weight) = (apart.map(f64::from), f64::from(weight));
            self.square += weight * weight;
            for i in 0..3 {
                self.first[i] += weight * apart[i];
                (0..=i).for_each(|j| self.second[i][j] += weight * apart[i] * apart[j]);
            }
        }
    }

    /// Adds those of other particles.
    pub(super) fn add(&mut self, other: &Self) {
        self.square += other.square;
        for i in 0..3 {
            self.compass[i] += other.compass[i];
            self.first[i] += other.first[i];
            (0..=i).for_each(|j| self.second[i][j] += other.second[i][j]);
        }
    }

    /// The direction of Σ w (cos, sin).
    pub(super) fn heading(&self) -> f32 {
        self.compass[2].atan2(self.compass[1]) as f32
    }

    pub(super) fn estimate(&self, origin: [f32; 3], [moved, saw]: [bool; 2]) -> Estimate {
        let (whole, origin) = (self.compass[0], origin.map(f64::from));
        let mean = self.first.map(|sum| sum / whole);
        let mut covariance = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..=i {
                covariance[i][j] = self.second[i][j] / whole - mean[i] * mean[j];
                covariance[j][i] = covariance[i][j];
            }
            covariance[i][i] = covariance[i][i].max(0.0);
        }
        // Headings are seen from their own mean direction.
        if whole > 0.0 {
            covariance[2][2] = self.second[2][2] / whole;
        }
        Estimate {
            pose: [origin[0] + mean[0], origin[1] + mean[1], origin[2]],
            covariance,
            effective_sample_size: whole * whole / self.square,
            moved,
            saw,
        }
    }
}
