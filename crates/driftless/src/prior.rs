//! Where particles start: μ(s_1), as samples and as a density (paper section on the initial state).

use crate::belief::{Belief, IMPOSSIBLE};
use crate::draws::Draws;
use crate::space::Space;
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// The distribution of the first state, with independent coordinates.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// Uniform over a box.
    Uniform {
        /// Least value of each coordinate.
        low: Vec<f64>,
        /// Greatest value of each coordinate.
        high: Vec<f64>,
    },
    /// Normal, the same for all sequences.
    Normal {
        /// Mean of each coordinate.
        mean: Vec<f64>,
        /// Standard deviation of each coordinate.
        std: Vec<f64>,
    },
    /// One for each sequence, B of them: robots that were told where they start, say.
    Each(Vec<Prior>),
}

impl Prior {
    /// Draws N particles of equal weight for each sequence.
    ///
    /// # Panics
    /// If there is one for each sequence, but not as many as sequences.
    pub fn sample(&self, draws: &Draws) -> Belief {
        Belief::uniform(self.states(draws.uniform_start.clone(), draws.normal_start.clone()))
    }

    /// States made of numbers that are uniform in [0, 1), or standard normal; all [B, N, S].
    fn states(&self, uniform: Tensor<3>, normal: Tensor<3>) -> Tensor<3> {
        let (base, shift, scale) = match self {
            Self::Uniform { low, high } => {
                let range: Vec<f64> = low.iter().zip(high).map(|(low, high)| high - low).collect();
                (uniform, low.clone(), range)
            }
            Self::Normal { mean, std } => (normal, mean.clone(), std.clone()),
            Self::Each(priors) => {
                assert_eq!(priors.len(), uniform.dims()[0], "as many priors as sequences");
                let own = |states: &Tensor<3>, k: usize| states.clone().slice_dim(0, k..k + 1);
                let one = |(k, prior): (usize, &Self)| prior.states(own(&uniform, k), own(&normal, k));
                return Tensor::cat(priors.iter().enumerate().map(one).collect(), 0);
            }
        };
        let (shift, scale) = (row(&shift, &base), row(&scale, &base));
        base * scale + shift
    }

    /// log μ(s), [B, N, S] → [B, N]; angles may be whole turns away. Outside of a box it is -1e30, the
    /// finite stand-in for -∞, which is also the least that a normal density can be.
    pub fn log_density(&self, states: &Tensor<3>, space: Space) -> Tensor<2> {
        match self {
            Self::Uniform { low, high } => {
                let volume: f64 = low.iter().zip(high).map(|(low, high)| (high - low).ln()).sum();
                let (low, high) = (row(low, states), row(high, states));
                let states = &space.near(states.clone(), (low.clone() + high.clone()) * 0.5);
                let outside = states.clone().lower(low).bool_or(states.clone().greater(high));
                let [batch, particles, _] = states.dims();
                let inside = states.zeros_like().mask_fill(outside, IMPOSSIBLE).min_dim(2);
                (inside - volume).reshape([batch, particles]).clamp_min(IMPOSSIBLE)
            }
            Self::Normal { mean, std } => {
                let normaliser: f64 = std.iter().map(|std| std.ln() + 0.5 * TAU.ln()).sum();
                let z = space.difference(states.clone(), row(mean, states)) / row(std, states);
                (z.square().sum_dim(2) * -0.5 - normaliser).clamp_min(IMPOSSIBLE).squeeze_dim(2)
            }
            Self::Each(priors) => {
                let own = |k: usize| states.clone().slice_dim(0, k..k + 1);
                let one = |(k, prior): (usize, &Self)| prior.log_density(&own(k), space);
                Tensor::cat(priors.iter().enumerate().map(one).collect(), 0)
            }
        }
    }
}

/// S numbers as [1, 1, S], with the precision and device of `like`.
pub(crate) fn row(values: &[f64], like: &Tensor<3>) -> Tensor<3> {
    let data = burn::tensor::TensorData::new(values.to_vec(), [1, 1, values.len()]);
    Tensor::from_data(data, (&like.device(), like.dtype()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::DrawSizes;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    fn draws() -> Draws {
        let sizes = DrawSizes { batch: 2, steps: 0, particles: 20_000, state: 2, noise: 0, uniforms: 0 };
        Draws::new(sizes, 5, &Device::flex(), DType::F64)
    }

    /// Mean and variance of coordinate k over all particles.
    fn moments(belief: &Belief, k: usize) -> (f64, f64) {
        let values = numbers(&belief.states.clone().slice_dim(2, k..k + 1));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    #[test]
    fn a_box_is_filled_evenly_and_empty_outside() {
        let prior = Prior::Uniform { low: vec![-1.0, 10.0], high: vec![1.0, 14.0] };
        let inside = -8.0_f64.ln();
        let density = numbers(
            &prior.log_density(&f64s([[[0.0, 11.0], [-1.0, 14.0], [0.0, 9.9], [1.1, 11.0]]]), Space::LINEAR),
        );
        assert_close(&density[..2], &[inside; 2], 1e-12);
        assert_eq!(density[2..], [-1e30; 2]);
        let belief = prior.sample(&draws());
        for (k, mean, range) in [(0, 0.0, 2.0), (1, 12.0, 4.0_f64)] {
            let (found, variance) = moments(&belief, k);
            // Five standard errors of 40 000 draws; Var of the squared deviation is range⁴ / 180.
            assert!((found - mean).abs() < 5.0 * range / 12.0_f64.sqrt() / 200.0, "{found}");
            assert!((variance - range * range / 12.0).abs() < 5.0 * range.powi(2) / 180.0_f64.sqrt() / 200.0);
        }
        assert_close(&numbers(&belief.weights.exp())[..2], &[1.0 / 20_000.0; 2], 1e-15);
    }

    /// A heading of -3 is 0.28 from one of 3, and within a box around π; a length is not.
    #[test]
    fn headings_wrap() {
        let space = Space::new(&[1]);
        let apart = std::f64::consts::TAU - 6.0;
        let normal = Prior::Normal { mean: vec![3.0, 3.0], std: vec![1.0, 0.5] };
        let peak = -TAU.ln() - 0.5_f64.ln();
        let found = numbers(&normal.log_density(&f64s([[[3.0, -3.0], [-3.0, 3.0]]]), space));
        assert_close(&found, &[peak - 0.5 * (apart / 0.5).powi(2), peak - 18.0], 1e-12);
        let boxed = Prior::Uniform { low: vec![2.0; 2], high: vec![4.0; 2] };
        let found = numbers(&boxed.log_density(&f64s([[[4.0, -3.0], [-3.0, 3.0], [2.0, -1.0]]]), space));
        assert_close(&found, &[-4.0_f64.ln(), -1e30, -1e30], 1e-12);
    }

    /// A prior for each sequence is each of them alone.
    #[test]
    fn each_has_its_own() {
        let first = Prior::Uniform { low: vec![-1.0, 10.0], high: vec![1.0, 14.0] };
        let second = Prior::Normal { mean: vec![1.0, -2.0], std: vec![0.5, 3.0] };
        let both = Prior::Each(vec![first.clone(), second.clone()]);
        let [found, expected] = [&both, &first].map(|prior| numbers(&prior.sample(&draws()).states));
        assert_eq!(found[..40_000], expected[..40_000]);
        assert_eq!(found[40_000..], numbers(&second.sample(&draws()).states)[40_000..]);
        let states = f64s::<3>([[[0.0, 11.0]], [[1.5, 4.0]]]);
        let alone = [first, second].map(|prior| numbers(&prior.log_density(&states, Space::LINEAR)));
        assert_eq!(numbers(&both.log_density(&states, Space::LINEAR)), [alone[0][0], alone[1][1]]);
    }

    #[test]
    fn normal_density_and_moments() {
        let prior = Prior::Normal { mean: vec![1.0, -2.0], std: vec![0.5, 3.0] };
        let density = numbers(&prior.log_density(&f64s([[[1.0, -2.0], [1.5, 4.0]]]), Space::LINEAR));
        // log N(0) of both coordinates: -log 2π - log 0.5 - log 3; then one and two sigmas away.
        let peak = -1.837_877_066_409_345_5 - 1.5_f64.ln();
        assert_close(&density, &[peak, peak - 0.5 - 2.0], 1e-12);
        let belief = prior.sample(&draws());
        for (k, mean, std) in [(0, 1.0, 0.5), (1, -2.0, 3.0_f64)] {
            let (found, variance) = moments(&belief, k);
            assert!((found - mean).abs() < 5.0 * std / 200.0, "{found}");
            assert!((variance - std * std).abs() < 5.0 * std * std * 2.0_f64.sqrt() / 200.0, "{variance}");
        }
    }
}
