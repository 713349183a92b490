//! Gaussian noise around a displacement, of fixed or learned size.

use super::{FARTHEST, MOST_SIGMAS, Motion};
use crate::model::Transition;
use crate::parameters::Init;
use crate::prior::row;
use crate::space::Space;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// s_t = s_{t-1} + f(s_{t-1}, a_t) + σ ε: paper section on the dynamic model. Angles are wrapped
/// after the noise, and the density sees wrapped differences. A difference beyond 10⁶ σ counts as that,
/// without gradient.
#[derive(Module, Debug)]
pub struct GaussianMotion<F: Motion> {
    /// The displacement.
    pub motion: F,
    /// ρ in σ = σ_0 exp(ρ), one a coordinate, if the noise is learned.
    pub log_ratio: Option<Param<Tensor<1>>>,
    /// σ_0, one a coordinate.
    #[module(skip)]
    std: Vec<f64>,
    #[module(skip)]
    space: Space,
}

/// ρ counts within ± this, so that no σ can become 0 or infinite; beyond it has no gradient.
const MOST_LOG_RATIO: f64 = 20.0;

impl<F: Motion> GaussianMotion<F> {
    /// Fixed noise around a displacement.
    ///
    /// # Panics
    /// If a standard deviation is not positive: the density would not exist.
    pub fn new(motion: F, std: Vec<f64>, space: Space) -> Self {
        assert!(std.iter().all(|&std| std > 0.0), "standard deviations must be positive: {std:?}");
        Self { motion, log_ratio: None, std, space }
    }

    /// Lets the standard deviations be learned, from those given: σ = σ_0 exp(ρ), ρ = 0 at first,
    /// counted within ±20.
    pub fn learning_noise(self, init: &Init) -> Self {
        let log_ratio = Some(init.constant([self.std.len()], 0.0));
        Self { log_ratio, ..self }
    }

    /// Standard deviations of the noise, as they are now.
    pub fn std(&self) -> Vec<f64> {
        let Some(ratios) = self.log_ratios() else { return self.std.clone() };
        let ratios = ratios.exp().try_to_vec_as::<f64>().expect("ratios are numbers");
        self.std.iter().zip(ratios).map(|(std, ratio)| std * ratio).collect()
    }

    /// ρ within its limits, [1, 1, S].
    fn log_ratios(&self) -> Option<Tensor<3>> {
        let within = |ratio: &Param<Tensor<1>>| ratio.val().clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO);
        self.log_ratio.as_ref().map(|ratio| within(ratio).reshape([1, 1, -1]))
    }

    /// σ, [1, 1, S].
    fn scale(&self, like: &Tensor<3>) -> Tensor<3> {
        let first = row(&self.std, like);
        match self.log_ratios() {
            Some(ratios) => first * ratios.exp(),
            None => first,
        }
    }
}

impl<F: Motion> Transition for GaussianMotion<F> {
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        let scaled = noise * self.scale(&parents);
        let displacement = self.motion.displacement(parents.clone(), action.unsqueeze_dim::<3>(1));
        self.space.wrap(parents + displacement + scaled) // [B, N, S]
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2> {
        let displacement = self.motion.displacement(parents.clone(), action.unsqueeze_dim::<3>(1));
        let residual = self.space.difference(states, parents.clone() + displacement);
        let z = residual.clamp(-FARTHEST, FARTHEST) / self.scale(&parents);
        let normaliser: f64 = self.std.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
        let z = z.clamp(-MOST_SIGMAS, MOST_SIGMAS); // [B, N, S]
        let log = z.square().sum_dim(2) * -0.5 - normaliser; // [B, N, 1]
        match self.log_ratios() {
            Some(ratios) => (log - ratios.sum_dim(2)).squeeze_dim(2),
            None => log.squeeze_dim(2),
        }
    }
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
        let moved = odometry().sample(f64s([states]), f64s([action]), f64s([[[0.0; 3]; 3]]));
        let expected = poses.map(|pose| pose.moved(action, Frame::Reflected));
        let expected: Vec<f64> = expected.iter().flat_map(|pose| [pose.x, pose.y, pose.heading]).collect();
        assert_close(&numbers(&moved), &expected, 1e-12);
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

    /// With log σ learned: -1 a particle through its own samples, -1 + ε² / σ² if they are held.
    #[test]
    fn the_score_of_the_noise() {
        let init = Init::new(1, &burn::tensor::Device::flex().autodiff(), burn::tensor::DType::F64);
        let mut motion = odometry().learning_noise(&init);
        motion.log_ratio = Some(init.values([3], vec![0.3, -0.2, 0.1]));
        assert_close(
            &motion.std(),
            &[20.0 * 0.3_f64.exp(), 10.0 * (-0.2_f64).exp(), 0.5 * 0.1_f64.exp()],
            1e-12,
        );
        let parents = f64s::<3>([[[7.0, -3.0, 3.0], [1.0, 2.0, -1.0]]]);
        let (action, noise) = (f64s::<2>([[3.0, -2.0, 0.4]]), [[0.7, -1.1, 1.3], [0.2, 0.4, -0.9]]);
        let samples = motion.sample(parents.clone(), action.clone(), f64s([noise]));
        let score = |samples: Tensor<3>| {
            let density = motion.log_density(parents.clone(), samples, action.clone()).sum();
            numbers(&motion.log_ratio.as_ref().unwrap().val().grad(&density.backward()).unwrap())
        };
        assert_close(&score(samples.clone()), &[-2.0; 3], 1e-12);
        let held = [0, 1, 2].map(|k| -2.0 + noise[0][k] * noise[0][k] + noise[1][k] * noise[1][k]);
        assert_close(&score(samples.detach()), &held, 1e-12);
    }

    /// 1e38 / 1e-3 is infinite in 32 bits; as 10⁶ σ it has a density, and no gradient.
    #[test]
    fn the_far_end_of_the_world_has_a_density() {
        let device = burn::tensor::Device::flex().autodiff();
        let init = Init::new(1, &device, burn::tensor::DType::F32);
        let motion = GaussianMotion::new(GivenOdometry::default(), vec![1e-3; 3], Space::SE2);
        let motion = motion.learning_noise(&init);
        let states = Tensor::<3>::from_data([[[1e38_f32, -1e38, 0.0]]], &device).require_grad();
        let log = motion.log_density(states.zeros_like(), states.clone(), Tensor::zeros([1, 3], &device));
        let found = numbers(&log)[0];
        assert!((found / -1e12 - 1.0).abs() < 1e-6, "{found}");
        let gradients = log.backward();
        let ratio = numbers(&motion.log_ratio.as_ref().unwrap().val().grad(&gradients).unwrap());
        assert_eq!(
            [numbers(&states.grad(&gradients).unwrap()), ratio].concat(),
            [0.0, 0.0, 0.0, -1.0, -1.0, -1.0]
        );
    }

    /// Beyond its limits ρ stands still, so that neither noise nor density can become infinite.
    #[test]
    fn learned_noise_stays_finite() {
        let init = Init::new(1, &burn::tensor::Device::flex().autodiff(), burn::tensor::DType::F32);
        let mut motion = odometry().learning_noise(&init);
        motion.log_ratio = Some(init.values([3], vec![900.0, -900.0, 0.0]));
        assert_close(&[motion.std()[0] / 20.0 / 20.0_f64.exp()], &[1.0], 1e-6);
        assert_close(&[motion.std()[1] / 10.0 / (-20.0_f64).exp()], &[1.0], 1e-6);
    }
}
