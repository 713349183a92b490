//! A sensor that reads the state itself, with Gaussian noise: a position fix, a compass.

use super::Measurement;
use crate::dropout::Phase;
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;
use std::f64::consts::TAU;

/// l(o | s) = Π_k N(o_k; s_k, σ_k²), angles wrapped: a density over observations, so that evidence
/// means something.
///
/// Observations are [B, T, S]. A number that is not finite was not read, and says nothing: neither
/// about states nor to gradients.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use driftless::{Measurement, Phase, Space, model::GaussianReading};
///
/// let fix = GaussianReading::new(vec![0.5], Space::LINEAR);
/// let seen = fix.encode(&Tensor::from_data([[[2.0]]], &Device::flex()), Phase::Evaluation);
/// let log = fix.log_likelihood(&seen, 0, Tensor::from_data([[[2.0], [3.0]]], &Device::flex()));
/// let log = log.try_to_vec_as::<f64>().unwrap();
/// assert!((log[0] - log[1] - 2.0).abs() < 1e-6); // one metre is two sigmas
/// ```
#[derive(Module, Debug)]
pub struct GaussianReading {
    #[module(skip)]
    std: Vec<f64>,
    #[module(skip)]
    space: Space,
}

/// Beyond so many standard deviations a state is impossible; squares of 32 bits are finite up to here.
const MOST_SIGMAS: f64 = 1e15;

impl GaussianReading {
    /// With a standard deviation for each coordinate of the state.
    ///
    /// # Panics
    /// If one is not positive.
    pub fn new(std: Vec<f64>, space: Space) -> Self {
        assert!(std.iter().all(|&std| std > 0.0), "standard deviations must be positive: {std:?}");
        Self { std, space }
    }
}

impl Measurement for GaussianReading {
    type Observations = Tensor<3>;
    type Cues = Tensor<3>;

    fn encode(&self, observations: &Tensor<3>, _: Phase) -> Tensor<3> {
        observations.clone()
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let seen = cues.clone().slice_dim(1, t..t + 1); // [B, 1, S]
        let missing = seen.clone().is_finite().bool_not();
        let seen = seen.mask_fill(missing.clone(), 0.0);
        let spread = row(&self.std, &states);
        let z = self.space.difference(seen, states) / spread.clone(); // [B, N, S]
        let z = z.clamp(-MOST_SIGMAS, MOST_SIGMAS);
        let log = (z.square() + (spread.square() * TAU).log()) * -0.5;
        let missing = missing.expand(log.dims());
        log.mask_fill(missing, 0.0).sum_dim(2).squeeze_dim(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    #[test]
    fn the_formula_with_a_heading_that_wraps() {
        let fix = GaussianReading::new(vec![2.0, 0.5, 0.1], Space::SE2);
        let log = fix.log_likelihood(&f64s([[[1.0, 2.0, 3.1]]]), 0, f64s([[[3.0, 2.25, -3.1]]]));
        let z = [1.0, 0.5, (TAU - 6.2) / 0.1];
        let peak = -1.5 * TAU.ln() - (2.0 * 0.5 * 0.1_f64).ln();
        assert_close(&numbers(&log), &[peak - 0.5 * z.iter().map(|z| z * z).sum::<f64>()], 1e-12);
    }

    /// 1e38 / 1e-3 is infinite in 32 bits: the state is impossible, and its gradient still a number.
    #[test]
    fn states_beyond_all_numbers() {
        let device = burn::tensor::Device::flex().autodiff();
        let fix = GaussianReading::new(vec![1e-3, 1e-3], Space::LINEAR);
        let states = Tensor::<3>::from_data([[[0.0_f32, 0.0], [1e38, -1e38]]], &device).require_grad();
        let log = fix.log_likelihood(&Tensor::from_data([[[0.0_f32, 0.0]]], &device), 0, states.clone());
        let posterior = crate::LogWeights::uniform_like(&log).reweight(log);
        assert_eq!(numbers(&posterior.weights.exp()), [1.0, 0.0]);
        let loss = posterior.weights.exp().square().sum() + posterior.log_evidence.sum();
        let gradient = numbers(&states.grad(&loss.backward()).unwrap());
        assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
    }

    #[test]
    fn what_was_not_read_says_nothing() {
        let fix = GaussianReading::new(vec![1.0, 1.0], Space::LINEAR);
        let states = f64s::<3>([[[0.0, 0.0], [5.0, 1.0]]]).require_grad();
        let log =
            fix.log_likelihood(&f64s([[[f64::NAN, 0.0], [f64::INFINITY, f64::NAN]]]), 0, states.clone());
        let peak = -0.5 * TAU.ln();
        assert_close(&numbers(&log), &[peak, peak - 0.5], 1e-12);
        let gradient = numbers(&states.grad(&log.sum().backward()).unwrap());
        assert_close(&gradient, &[0.0, 0.0, 0.0, -1.0], 1e-12);
        let nothing = fix.log_likelihood(&f64s([[[f64::NAN, 0.0], [f64::INFINITY, f64::NAN]]]), 1, states);
        assert_eq!(numbers(&nothing), [0.0, 0.0]);
    }
}
