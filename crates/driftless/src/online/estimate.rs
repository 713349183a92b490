//! What is said of a belief.

use crate::methods::cloud::Cloud;
use driftless_world::pose::{Pose, wrap};

/// Where the robot is believed to be after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean position, and the direction of the mean heading.
    pub pose: Pose,
    /// Of x, y and the heading around that mean.
    pub covariance: [[f64; 3]; 3],
    /// 1 / Σ w².
    pub effective_sample_size: f64,
    /// How many particles there are just now.
    pub particles: usize,
    /// The probability that the robot is anywhere else, if the filter knows it.
    pub lost: Option<f64>,
    /// Whether there was an image.
    pub saw: bool,
    /// Whether there was an action.
    pub moved: bool,
}

impl Estimate {
    pub(crate) fn of(cloud: &Cloud) -> Self {
        let mean = cloud.mean();
        let mut covariance = [[0.0; 3]; 3];
        for (pose, weight) in cloud.poses.iter().zip(&cloud.weights) {
            let apart = [pose[0] - mean.x, pose[1] - mean.y, wrap(pose[2] - mean.heading)];
            for i in 0..3 {
                (0..3).for_each(|j| covariance[i][j] += weight * apart[i] * apart[j]);
            }
        }
        Self {
            pose: mean,
            covariance,
            effective_sample_size: cloud.effective_sample_size(),
            particles: cloud.poses.len(),
            lost: None,
            saw: true,
            moved: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let cloud = Cloud { poses: vec![[0.0, 1.0, 3.1], [4.0, 3.0, -3.1]], weights: vec![0.25, 0.75] };
        let found = Estimate::of(&cloud);
        assert_eq!((found.pose.x, found.pose.y, found.particles), (3.0, 2.5, 2));
        // ¼ 3² + ¾ 1², ¼ 3 · 1.5 + ¾ 1 · ½, ¼ 1.5² + ¾ ½².
        assert_eq!(
            [found.covariance[0][0], found.covariance[0][1], found.covariance[1][1]],
            [3.0, 1.5, 0.75]
        );
        // 2π - 6.2 = 0.083 apart across the half turn: about ¾ · ¼ of the square of that.
        assert!((found.covariance[2][2] - 0.1875 * 0.083_185_f64.powi(2)).abs() < 1e-5);
        assert_eq!(found.covariance[2][0], found.covariance[0][2]);
    }
}
