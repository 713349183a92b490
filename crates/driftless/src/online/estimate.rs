//! What is said of a belief.

use driftless_core::Belief;
use driftless_world::pose::Pose;

/// Where the robot is believed to be after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Mean position, and the direction of the mean heading.
    pub pose: Pose,
    /// Of x, y and the heading around that mean; NaN where a method does not know it.
    pub covariance: [[f64; 3]; 3],
    /// 1 / Σ w²; NaN without particles.
    pub effective_sample_size: f64,
    /// How many particles there are just now.
    pub particles: usize,
    /// The probability that the robot is anywhere else, if the filter knows it.
    pub lost: Option<f64>,
    /// Whether no particle could explain what was seen; weights were kept then, or replaced by injected particles.
    pub collapsed: bool,
    /// Whether anything was seen.
    pub saw: bool,
    /// Whether there was an action.
    pub moved: bool,
    /// The state, of a run whose states are of named coordinates; pose and covariance mean nothing then.
    pub state: Option<Box<StateEstimate>>,
}

/// What a state of named coordinates is believed to be.
#[derive(Clone, Debug, PartialEq)]
pub struct StateEstimate {
    /// Mean of each coordinate; of an angle its direction.
    pub mean: Vec<f64>,
    /// Around that mean, row after row; NaN where a method does not know it.
    pub covariance: Vec<f64>,
}

impl Estimate {
    pub(crate) fn of(belief: &Belief) -> Self {
        let mean = [0, 1, 2].map(|k| belief.mean_of(k));
        let mut covariance = [0.0; 9];
        belief.covariance_around(&mean, &mut covariance);
        Self {
            pose: Pose::new(mean[0], mean[1], mean[2]),
            covariance: [0, 3, 6].map(|row| std::array::from_fn(|k| covariance[row + k])),
            effective_sample_size: belief.weights.effective_sample_size(),
            particles: belief.particles.len(),
            lost: None,
            collapsed: false,
            saw: true,
            moved: true,
            state: None,
        }
    }

    pub(crate) fn of_state(belief: &Belief) -> Self {
        let (mean, covariance) = (belief.mean(), belief.covariance());
        Self {
            effective_sample_size: belief.weights.effective_sample_size(),
            particles: belief.particles.len(),
            saw: true,
            moved: true,
            state: Some(Box::new(StateEstimate { mean, covariance })),
            ..Self::unknown()
        }
    }

    /// Of a state without a belief.
    pub(crate) fn of_state_alone(mean: Vec<f64>) -> Self {
        let covariance = vec![f64::NAN; mean.len() * mean.len()];
        Self { state: Some(Box::new(StateEstimate { mean, covariance })), ..Self::unknown() }
    }

    /// Of which nothing is known.
    fn unknown() -> Self {
        Self {
            pose: Pose::new(f64::NAN, f64::NAN, f64::NAN),
            covariance: [[f64::NAN; 3]; 3],
            effective_sample_size: f64::NAN,
            particles: 0,
            lost: None,
            collapsed: false,
            saw: false,
            moved: false,
            state: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_core::{Particles, Space, Weights};

    #[test]
    fn by_hand() {
        let particles = Particles::from_states(Space::SE2, [[0.0_f32, 1.0, 3.1], [4.0, 3.0, -3.1]]);
        let weights = Weights::normalised(&[0.0, 3.0_f32.ln()]);
        let found = Estimate::of(&Belief { particles, weights });
        assert!((found.pose.x - 3.0).abs() < 1e-6 && (found.pose.y - 2.5).abs() < 1e-6);
        assert_eq!(found.particles, 2);
        // ¼ 3² + ¾ 1², ¼ 3 · 1.5 + ¾ 1 · ½, ¼ 1.5² + ¾ ½².
        let parts = [found.covariance[0][0], found.covariance[0][1], found.covariance[1][1]];
        assert!(parts.iter().zip([3.0, 1.5, 0.75]).all(|(found, exact)| (found - exact).abs() < 1e-5));
        // 2π - 6.2 = 0.083 apart across the half turn: about ¾ · ¼ of the square of that.
        assert!((found.covariance[2][2] - 0.1875 * 0.083_185_f64.powi(2)).abs() < 1e-5);
        assert_eq!(found.covariance[2][0], found.covariance[0][2]);
    }
}
