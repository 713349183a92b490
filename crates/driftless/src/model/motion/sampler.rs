//! DPF's motion: a learned network makes noise of an action, and the noisy action moves the state.

use super::{FARTHEST, MOST_SIGMAS, Motion, Wander, per_particle};
use crate::model::Transition;
use crate::nets::{Activation, Mlp};
use crate::parameters::Init;
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::{Tensor, TensorData};
use std::f64::consts::TAU;

/// What an [`ActionSampler`] is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionSamplerConfig {
    /// Units of the generator's hidden layers: 32, 32 in DPF.
    pub hidden: Vec<usize>,
    /// Standard deviation of each number of an action. A numbers.
    pub action_std: Vec<f64>,
    /// Which coordinates of the state are angles.
    pub space: Space,
    /// Least standard deviation of each coordinate in the density, so that it exists where the
    /// generator is silent. Samples do not have it. S numbers.
    pub floor: Vec<f64>,
}

/// s' = s + f(s, a + δ), δ = MLP(a / std_a, z) - its mean over the particles, z ~ N(0, I_A)
/// (Jonschkowski et al. 2018). One particle alone has no noise.
///
/// # Density
/// The law of s' has no closed form: its density would need all z that lead to s'. `log_density` is
/// that of the Gaussian with the mean and covariance that s' has at its parent, plus floor² in each
/// coordinate. The moments are taken over the 2 A points z = ±√A e_k of the cubature rule of degree
/// three (Arasaratnam & Haykin 2009), centred as if there were infinitely many particles.
/// It is exact, but for the floor, where the generator is linear in z and the displacement in the
/// action; otherwise it is an approximation that knows one mode only.
#[derive(Module, Debug)]
pub struct ActionSampler<F: Motion> {
    /// The displacement.
    pub motion: F,
    generator: Mlp,
    #[module(skip)]
    config: ActionSamplerConfig,
    #[module(skip)]
    wander: Option<Wander>,
    #[module(skip)]
    units: Option<Vec<f64>>,
}

impl<F: Motion> ActionSampler<F> {
    /// With first weights of its own. Steps need A numbers of noise a particle.
    ///
    /// # Panics
    /// If a standard deviation or a floor is not positive.
    pub fn new(motion: F, config: ActionSamplerConfig, init: &mut Init) -> Self {
        let size = config.action_std.len();
        assert!(config.action_std.iter().chain(&config.floor).all(|&std| std > 0.0), "{config:?}");
        let widths: Vec<usize> = config.hidden.iter().copied().chain([size]).collect();
        let generator = Mlp::new(2 * size, &widths, Activation::Linear, init);
        Self { motion, generator, config, wander: None, units: None }
    }

    /// With a law of its own for steps whose action is missing.
    pub fn wandering(self, wander: Wander) -> Self {
        Self { wander: Some(wander), ..self }
    }

    /// With noise in these units, A numbers. Without them a unit of an action is one of the noise, as in the authors' code,
    /// whose mazes have steps of many units; first noise would be larger than steps of centimetres.
    pub fn in_units(self, units: Vec<f64>) -> Self {
        Self { units: Some(units), ..self }
    }

    /// a + δ for the given z [B, K, A] and action [B, A], δ with mean zero over K.
    fn noisy(&self, action: Tensor<2>, z: Tensor<3>) -> Tensor<3> {
        let actions = per_particle(action.unsqueeze_dim::<3>(1), &z); // [B, K, A]
        let scaled = actions.clone() / row(&self.config.action_std, &z);
        let mut noise = self.generator.forward(Tensor::cat(vec![scaled, z], 2)); // [B, K, A]
        if let Some(units) = &self.units {
            noise = noise.clone() * row(units, &noise);
        }
        actions + noise.clone() - noise.mean_dim(1)
    }

    /// ±√A e_k, [B, 2 A, A].
    fn cubature(&self, like: &Tensor<3>) -> Tensor<3> {
        let size = self.config.action_std.len();
        let mut points = vec![0.0; 2 * size * size];
        for k in 0..size {
            points[k * size + k] = (size as f64).sqrt();
            points[(size + k) * size + k] = -(size as f64).sqrt();
        }
        let data = TensorData::new(points, [1, 2 * size, size]);
        let points = Tensor::<3>::from_data(data, (&like.device(), like.dtype()));
        points.expand([like.dims()[0], 2 * size, size])
    }
}

impl<F: Motion> Transition for ActionSampler<F> {
    /// Of the noise, the first A numbers are used.
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        let z = noise.slice_dim(2, 0..action.dims()[1]); // [B, N, A]
        let actions = self.noisy(action, z);
        self.config.space.wrap(parents.clone() + self.motion.displacement(parents, actions))
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2> {
        let actions = self.noisy(action, self.cubature(&parents)); // [B, 2 A, A]
        let count = actions.dims()[1];
        let displaced = |k: usize| {
            self.motion.displacement(parents.clone(), actions.clone().slice_dim(1, k..k + 1)) // [B, N, S]
        };
        let points: Vec<Tensor<3>> = (0..count).map(displaced).collect();
        let sum = points.iter().cloned().reduce(|sum, point| sum + point).expect("actions have numbers");
        // A product, because Burn 0.22 differentiates a division by a number in 32 bits.
        let mean = sum * (1.0 / count as f64);
        let deviations = points.into_iter().map(|point| point - mean.clone()).collect();
        let residual = self.config.space.difference(states, parents + mean);
        gaussian(&residual.clamp(-FARTHEST, FARTHEST), &Tensor::stack::<4>(deviations, 2), &self.config.floor)
    }

    fn wander(&self) -> Option<&Wander> {
        self.wander.as_ref()
    }
}

/// log N(residual; 0, mean of d dᵀ over deviations d + floor²), [B, N, S] and [B, N, K, S] → [B, N].
///
/// By Cholesky's factor L of the covariance: with L y = r it is -½ Σ y² - Σ log L_ii - S/2 log 2π.
fn gaussian(residual: &Tensor<3>, deviations: &Tensor<4>, floor: &[f64]) -> Tensor<2> {
    let [batch, particles, size] = residual.dims();
    let covariance = |i: usize, j: usize| {
        let part = |k: usize| deviations.clone().slice_dim(3, k..k + 1);
        let mean = (part(i) * part(j)).mean_dim(2).reshape([batch, particles]);
        if i == j { mean + floor[i] * floor[i] } else { mean }
    };
    let mut factor: Vec<Vec<Tensor<2>>> = Vec::with_capacity(size);
    let mut solved: Vec<Tensor<2>> = Vec::with_capacity(size);
    let mut log = residual.clone().slice_dim(2, 0..1).squeeze_dim::<2>(2).zeros_like();
    for (i, floor) in floor.iter().enumerate() {
        let mut row: Vec<Tensor<2>> = Vec::with_capacity(i + 1);
        for (j, above) in factor.iter().enumerate() {
            let known = (0..j).fold(covariance(i, j), |left, k| left - row[k].clone() * above[k].clone());
            row.push(known / above[j].clone());
        }
        let left = row.iter().fold(covariance(i, i), |left, entry| left - entry.clone().square());
        // What is left is at least floor² but for rounding.
        let pivot = left.clamp_min(floor * floor).sqrt();
        let right = residual.clone().slice_dim(2, i..i + 1).squeeze_dim::<2>(2);
        let right = row.iter().zip(&solved).fold(right, |right, (l, y)| right - l.clone() * y.clone());
        let y = (right / pivot.clone()).clamp(-MOST_SIGMAS, MOST_SIGMAS);
        log = log - y.clone().square() * 0.5 - pivot.clone().log() - 0.5 * TAU.ln();
        solved.push(y);
        row.push(pivot);
        factor.push(row);
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GivenOdometry;
    use crate::parameters::values;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    const FLOOR: [f64; 3] = [0.02, 0.03, 0.01];

    fn sampler(hidden: Vec<usize>) -> ActionSampler<GivenOdometry> {
        let action_std = vec![0.5, 0.25, 0.1];
        let config = ActionSamplerConfig { hidden, action_std, space: Space::SE2, floor: FLOOR.to_vec() };
        let mut init = Init::new(6, &Device::flex().autodiff(), DType::F64);
        ActionSampler::new(GivenOdometry::default(), config, &mut init)
    }

    /// The noise in the actions, where headings of 0 show them: x += a_x, y -= a_y, θ += a_θ.
    fn noise(particles: usize) -> Vec<[f64; 3]> {
        let z: Vec<f64> = (0..3 * particles).map(|k| (k as f64 * 1.7).sin()).collect();
        let z = f64s::<3>(TensorData::new(z, [1, particles, 3]));
        let action = [0.3, -0.2, 0.1];
        let moved = sampler(vec![32, 32]).sample(z.zeros_like(), f64s([action]), z);
        let noise = |s: &[f64]| [s[0] - action[0], -s[1] - action[1], s[2] - action[2]];
        numbers(&moved).chunks_exact(3).map(noise).collect()
    }

    #[test]
    fn noise_has_no_mean() {
        let many = noise(50);
        for k in 0..3 {
            let sum: f64 = many.iter().map(|noise| noise[k]).sum();
            // Fifty numbers of size one, each rounded at 1e-16.
            assert!(sum.abs() < 1e-13, "{sum}");
            assert!(many.iter().any(|noise| noise[k].abs() > 0.05), "there is noise");
        }
        assert_close(&noise(1)[0], &[0.0; 3], 1e-16);
    }

    /// A generator without hidden layers is linear in z, so s' is Gaussian with the covariance
    /// R W Wᵀ Rᵀ at its parent's heading: here with the inverse and determinant of a 3 x 3 matrix.
    #[test]
    fn density_is_exact_for_a_linear_generator() {
        let sampler = sampler(vec![]);
        let weight = &values(&sampler)[0].values;
        let (pose, action, state) = ([1.0, 2.0, 3.0_f64], [0.3, -0.2, 0.1], [0.5, 2.3, -3.0_f64]);
        let (s, c) = pose[2].sin_cos();
        let turn = [[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, 1.0]];
        // Rows 3 to 5 of the weights belong to z: δ_i = Σ_k z_k W[3 + k][i].
        let column = |k: usize| -> [f64; 3] {
            std::array::from_fn(|i| (0..3).map(|j| turn[i][j] * weight[(3 + k) * 3 + j]).sum())
        };
        let columns = [column(0), column(1), column(2)];
        let m: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let floor = if i == j { FLOOR[i] * FLOOR[i] } else { 0.0 };
                columns.iter().map(|column| column[i] * column[j]).sum::<f64>() + floor
            })
        });
        let minor = |i: usize, j: usize| {
            let at = |a: usize, b: usize| m[(i + a) % 3][(j + b) % 3];
            at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
        };
        let determinant: f64 = (0..3).map(|j| m[0][j] * minor(0, j)).sum();
        let moved: [f64; 3] =
            std::array::from_fn(|i| pose[i] + (0..3).map(|j| turn[i][j] * action[j]).sum::<f64>());
        let r = [state[0] - moved[0], state[1] - moved[1], state[2] - moved[2] + TAU];
        let squared: f64 =
            (0..9).map(|k| r[k / 3] * minor(k / 3, k % 3) * r[k % 3]).sum::<f64>() / determinant;
        let expected = -0.5 * (squared + determinant.ln() + 3.0 * TAU.ln());
        let found = sampler.log_density(f64s([[pose]]), f64s([[state]]), f64s([action]));
        assert_close(&numbers(&found), &[expected], 1e-9 * expected.abs());
    }

    /// 1e38 / 0.01 is infinite in 32 bits; it counts as 10⁶ σ, and gradients are numbers.
    #[test]
    fn the_far_end_of_the_world_has_a_density() {
        let device = Device::flex().autodiff();
        let floor = vec![0.01; 3];
        let config =
            ActionSamplerConfig { hidden: vec![], action_std: vec![1.0; 3], space: Space::SE2, floor };
        let mut init = Init::new(6, &device, DType::F32);
        let sampler = ActionSampler::new(GivenOdometry::default(), config, &mut init);
        let weights: Vec<_> = values(&sampler)
            .into_iter()
            .map(|w| crate::parameters::Named { values: vec![0.0; w.values.len()], ..w })
            .collect();
        let sampler = crate::parameters::with_values(sampler, &weights);
        let states = Tensor::<3>::from_data([[[1e38_f32, -1e38, 0.0]]], &device).require_grad();
        let log = sampler.log_density(states.zeros_like(), states.clone(), Tensor::zeros([1, 3], &device));
        assert!((numbers(&log)[0] / -1e12 - 1.0).abs() < 1e-6, "{log}");
        let gradients = log.backward();
        let learned = crate::parameters::gradients(&sampler, &gradients);
        assert!(learned.iter().flat_map(|g| &g.values).all(|g| g.is_finite()), "{learned:?}");
        assert!(numbers(&states.grad(&gradients).unwrap()).iter().all(|g| g.is_finite()));
    }

    /// A silent generator leaves the floor.
    #[test]
    fn density_of_silence_is_the_floor() {
        let sampler = sampler(vec![]);
        let mut weights = values(&sampler);
        weights[0].values.fill(0.0);
        let sampler = crate::parameters::with_values(sampler, &weights);
        let parents = f64s::<3>([[[1.0, 2.0, 0.0]]]);
        let found = sampler.log_density(parents, f64s([[[1.04, 2.0, 0.01]]]), f64s([[0.0; 3]]));
        let peak: f64 = FLOOR.iter().map(|std| -(std * TAU.sqrt()).ln()).sum();
        assert_close(&numbers(&found), &[peak - 2.0 - 0.5], 1e-9);
    }
}
