//! Weighted poses on plain numbers, and what they say of the truth.

use driftless_world::evaluation::Particle;
use driftless_world::pose::{Pose, wrap};
use std::f64::consts::TAU;

/// A belief: poses and weights that sum to 1.
#[derive(Clone, Debug)]
pub struct Cloud {
    pub poses: Vec<[f64; 3]>,
    pub weights: Vec<f64>,
}

impl Cloud {
    /// 1 / Σ w².
    pub fn effective_sample_size(&self) -> f64 {
        self.weights.iter().map(|w| w * w).sum::<f64>().recip()
    }

    /// The weighted mean; the heading's is circular.
    pub fn mean(&self) -> Pose {
        let sum = |term: &dyn Fn(&[f64; 3]) -> f64| -> f64 {
            self.poses.iter().zip(&self.weights).map(|(pose, weight)| weight * term(pose)).sum()
        };
        let heading = sum(&|p| p[2].sin()).atan2(sum(&|p| p[2].cos()));
        Pose::new(sum(&|p| p[0]), sum(&|p| p[1]), heading)
    }

    /// Root of the summed variances of x and y.
    pub fn spread(&self) -> f64 {
        let mean = self.mean();
        let square = |pose: &[f64; 3]| (pose[0] - mean.x).powi(2) + (pose[1] - mean.y).powi(2);
        self.poses.iter().zip(&self.weights).map(|(pose, weight)| weight * square(pose)).sum::<f64>().sqrt()
    }

    /// log Σ w N(truth; pose, kernel²): a mixture of Gaussian kernels, because beliefs have many modes.
    /// At least -1000.
    pub fn log_density(&self, truth: Pose, kernel: [f64; 3]) -> f64 {
        let constant: f64 = kernel.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
        let density = |(pose, weight): (&[f64; 3], &f64)| {
            let apart = [truth.x - pose[0], truth.y - pose[1], wrap(truth.heading - pose[2])];
            let square: f64 = (0..3).map(|k| (apart[k] / kernel[k]).powi(2)).sum();
            weight * (-0.5 * square).exp()
        };
        let sum: f64 = self.poses.iter().zip(&self.weights).map(density).sum();
        (sum.ln() - constant).max(-1000.0)
    }

    /// The same for reports.
    pub fn particles(&self) -> Vec<Particle> {
        let pairs = self.poses.iter().zip(&self.weights);
        pairs.map(|(p, &weight)| Particle { pose: Pose::new(p[0], p[1], p[2]), weight }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let cloud = Cloud { poses: vec![[0.0, 1.0, 3.1], [4.0, 1.0, -3.1]], weights: vec![0.25, 0.75] };
        assert_eq!(cloud.effective_sample_size(), 1.6);
        let mean = cloud.mean();
        assert_eq!((mean.x, mean.y), (3.0, 1.0));
        assert_eq!(cloud.spread(), 3.0_f64.sqrt()); // ¼ 3² + ¾ 1²
        assert!(wrap(mean.heading - (-3.1 - 0.02)).abs() < 0.01, "{mean:?}"); // towards the heavier
        // The first kernel counts alone: log 0.25 - log (2π)^1.5 - 3 log 0.1 - ½ (0.1 / 0.1)².
        let found = cloud.log_density(Pose::new(0.1, 1.0, 3.1), [0.1; 3]);
        let expected = 0.25_f64.ln() - 1.5 * TAU.ln() - 3.0 * 0.1_f64.ln() - 0.5;
        assert!((found - expected).abs() < 1e-10);
        assert_eq!(cloud.log_density(Pose::new(1e9, 0.0, 0.0), [0.1; 3]), -1000.0);
    }
}
