//! Gaussian noise around a displacement.

use super::{FARTHEST, MOST_SIGMAS, Motion, Wander};
use crate::model::Transition;
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// s_t = s_{t-1} + f(s_{t-1}, a_t) + σ ε: paper section on the dynamic model. Angles are wrapped
/// after the noise, and the density sees wrapped differences. A difference beyond 10⁶ σ counts as that,
/// without gradient.
#[derive(Module, Debug)]
pub struct GaussianMotion<F: Motion> {
    /// The displacement.
    pub motion: F,
    /// σ, one a coordinate.
    #[module(skip)]
    std: Vec<f64>,
    #[module(skip)]
    space: Space,
    #[module(skip)]
    wander: Option<Wander>,
}

impl<F: Motion> GaussianMotion<F> {
    /// Fixed noise around a displacement.
    ///
    /// # Panics
    /// If a standard deviation is not positive: the density would not exist.
    pub fn new(motion: F, std: Vec<f64>, space: Space) -> Self {
        assert!(std.iter().all(|&std| std > 0.0), "standard deviations must be positive: {std:?}");
        Self { motion, std, space, wander: None }
    }

    /// With a law of its own for steps whose action is missing.
    pub fn wandering(self, wander: Wander) -> Self {
        Self { wander: Some(wander), ..self }
    }

    /// Standard deviations of the noise.
    pub(crate) fn std(&self) -> &[f64] {
        &self.std
    }
}

impl<F: Motion> Transition for GaussianMotion<F> {
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        let scaled = noise * row(&self.std, &parents);
        let displacement = self.motion.displacement(parents.clone(), action.unsqueeze_dim::<3>(1));
        self.space.wrap(parents + displacement + scaled) // [B, N, S]
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2> {
        let displacement = self.motion.displacement(parents.clone(), action.unsqueeze_dim::<3>(1));
        log_normal(&self.space.difference(states, parents + displacement), &self.std)
    }

    fn wander(&self) -> Option<&Wander> {
        self.wander.as_ref()
    }
}

/// log N(residual; 0, σ²) of independent coordinates, [B, N, S] → [B, N].
pub(super) fn log_normal(residual: &Tensor<3>, std: &[f64]) -> Tensor<2> {
    let z = residual.clone().clamp(-FARTHEST, FARTHEST) / row(std, residual);
    let normaliser: f64 = std.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
    let z = z.clamp(-MOST_SIGMAS, MOST_SIGMAS); // [B, N, S]
    (z.square().sum_dim(2) * -0.5 - normaliser).squeeze_dim(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GivenOdometry;
    use crate::testing::{assert_close, f64s, numbers};
    use driftless_world::pose::{Frame, Pose, wrap};

    const STD: [f64; 3] = [20.0, 10.0, 0.5];

    fn odometry() -> GaussianMotion<GivenOdometry> {
        GaussianMotion::new(GivenOdometry::default(), STD.to_vec(), Space::SE2)
    }

    #[test]
    fn given_odometry_moves_as_poses_do() {
        let poses = [Pose::new(1.0, 2.0, 0.3), Pose::new(-5.0, 4.0, 3.0), Pose::new(0.0, 0.0, -3.1)];
        let action = [3.0, -2.0, 0.4];
        let states = poses.map(|pose| [pose.x, pose.y, pose.heading]);
        for frame in [Frame::Reflected, Frame::Robot, Frame::World] {
            let odometry = GaussianMotion::new(GivenOdometry::new(frame), STD.to_vec(), Space::SE2);
            let moved = odometry.sample(f64s([states]), f64s([action]), f64s([[[0.0; 3]; 3]]));
            let expected = poses.map(|pose| pose.moved(action, frame));
            let expected: Vec<f64> =
                expected.iter().flat_map(|pose| [pose.x, pose.y, pose.heading]).collect();
            assert_close(&numbers(&moved), &expected, 1e-12);
        }
    }

    /// log g against the formula, one coordinate at a time, for a heading that wraps.
    #[test]
    fn density_is_the_formula() {
        let parent = Pose::new(7.0, -3.0, 3.0);
        let (action, noise) = ([3.0, -2.0, 0.4], [0.7, -1.1, 1.3]);
        let parents = f64s::<3>([[[parent.x, parent.y, parent.heading]]]);
        let states = odometry().sample(parents.clone(), f64s([action]), f64s([[noise]]));
        let found = numbers(&states);
        let expected = parent.moved(action, Frame::Reflected);
        assert_close(&found[2..], &[wrap(expected.heading + 0.5 * 1.3)], 1e-12);
        let residuals = [found[0] - expected.x, found[1] - expected.y, wrap(found[2] - expected.heading)];
        let formula: f64 = residuals
            .iter()
            .zip(STD)
            .map(|(residual, std)| -0.5 * (residual / std).powi(2) - (std * TAU.sqrt()).ln())
            .sum();
        let density = odometry().log_density(parents, states, f64s([action]));
        assert_close(&numbers(&density), &[formula], 1e-12);
        let of_noise: f64 =
            noise.iter().zip(STD).map(|(z, std)| -0.5 * z * z - (std * TAU.sqrt()).ln()).sum();
        assert_close(&numbers(&density), &[of_noise], 1e-12);
    }

    #[test]
    #[should_panic(expected = "must be positive")]
    fn a_density_needs_noise() {
        GaussianMotion::new(GivenOdometry::default(), vec![1.0, 0.0, 1.0], Space::SE2);
    }

    /// 1e38 / 1e-3 is infinite in 32 bits; as 10⁶ σ it has a density, and no gradient.
    #[test]
    fn the_far_end_of_the_world_has_a_density() {
        let device = burn::tensor::Device::flex().autodiff();
        let motion = GaussianMotion::new(GivenOdometry::default(), vec![1e-3; 3], Space::SE2);
        let states = Tensor::<3>::from_data([[[1e38_f32, -1e38, 0.0]]], &device).require_grad();
        let log = motion.log_density(states.zeros_like(), states.clone(), Tensor::zeros([1, 3], &device));
        let found = numbers(&log)[0];
        assert!((found / -1e12 - 1.0).abs() < 1e-6, "{found}");
        assert_eq!(numbers(&states.grad(&log.backward()).unwrap()), [0.0; 3]);
    }
}
