//! Only when needed: resampling while the effective sample size is high throws information away.

use super::{Resampled, Resampler, identity, no_mass};
use crate::belief::{Belief, LogWeights};

/// Resamples only the sequences whose effective sample size is below a fraction of N; the others
/// keep particles and weights (Algorithm 1, steps a and b, with N_thres = fraction · N). A number of
/// particles other than N cannot be kept: then all are resampled.
#[derive(Debug)]
pub struct WhenBelow {
    /// Between 0 (never) and 1 (unless all weights are equal).
    pub fraction: f64,
    /// How.
    pub inner: Box<dyn Resampler>,
}

impl Resampler for WhenBelow {
    fn uniforms(&self, particles: usize, size: usize) -> usize {
        self.inner.uniforms(particles, size)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let [batch, particles, size] = belief.dims();
        if count != particles {
            return self.inner.resample(belief, count, uniforms);
        }
        let needed = belief.weights.effective_sample_size().lower_elem(self.fraction * particles as f64); // [B]
        let how_many = needed.clone().int().sum().try_to_vec_as::<i64>().expect("a count is a number")[0];
        if how_many == 0 {
            let (ancestors, log_mass) = (identity(&belief), no_mass(&belief));
            return Resampled { belief, ancestors, log_mass };
        }
        let resampled = self.inner.resample(belief.clone(), count, uniforms);
        let rows = needed.clone().unsqueeze_dim::<2>(1).expand([batch, particles]);
        let ancestors = identity(&belief).mask_where(rows.clone(), resampled.ancestors);
        let log_mass = no_mass(&belief).mask_where(needed.clone(), resampled.log_mass);
        let states_rows = needed.unsqueeze_dims::<3>(&[1, 2]).expand([batch, particles, size]);
        let states = belief.states.mask_where(states_rows, resampled.belief.states);
        let weights = belief.weights.log().mask_where(rows, resampled.belief.weights.log());
        Resampled {
            belief: Belief { states, weights: LogWeights::from_normalised(weights) },
            ancestors,
            log_mass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scheme, gather_states};
    use super::*;
    use burn::tensor::{Device, Tensor};

    #[test]
    fn only_degenerate_sequences_are_resampled() {
        let device = Device::flex();
        let states = Tensor::<3>::from_data([[[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]]], &device);
        let log = Tensor::<2>::from_data(
            [[0.34_f32.ln(), 0.33_f32.ln(), 0.33_f32.ln()], [-9.0, 0.0, -9.0]],
            &device,
        );
        let belief = Belief { states, weights: LogWeights::normalised(log) };
        let before = belief.weights.log().try_to_vec_as::<f32>().unwrap();
        let half = WhenBelow { fraction: 0.5, inner: Box::new(Scheme::Systematic) };
        let result = half.resample(belief, 3, &[0.5, 0.5]);
        assert_eq!(result.ancestors.try_to_vec_as::<i32>().unwrap(), [0, 1, 2, 1, 1, 1]);
        let after = result.belief.weights.log().try_to_vec_as::<f32>().unwrap();
        assert_eq!(after[..3], before[..3]);
        assert!(after[3..].iter().all(|log| (log + 3.0_f32.ln()).abs() < 1e-6));
        let states =
            gather_states(Tensor::from_data([[[5.0], [6.0]]], &device), Tensor::from_data([[1, 1]], &device));
        assert_eq!(states.try_to_vec_as::<f32>().unwrap(), [6.0, 6.0]);
    }

    /// Fails if it is asked for anything.
    #[derive(Debug)]
    struct Untouchable;

    impl Resampler for Untouchable {
        fn uniforms(&self, _: usize, _: usize) -> usize {
            1
        }

        fn resample(&self, _: Belief, count: usize, _: &[f64]) -> Resampled {
            panic!("asked for {count}")
        }
    }

    #[test]
    fn nothing_is_done_where_nothing_is_needed() {
        let belief = Belief::uniform(Tensor::zeros([2, 3, 1], &Device::flex()));
        let half = WhenBelow { fraction: 0.5, inner: Box::new(Untouchable) };
        let kept = half.resample(belief, 3, &[0.5, 0.5]);
        assert_eq!(kept.ancestors.try_to_vec_as::<i32>().unwrap(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(kept.log_mass.try_to_vec_as::<f32>().unwrap(), [0.0; 2]);
    }

    #[test]
    fn another_number_is_always_drawn() {
        let belief = Belief::uniform(Tensor::zeros([2, 3, 1], &Device::flex()));
        let never = WhenBelow { fraction: 0.0, inner: Box::new(Scheme::Systematic) };
        assert_eq!(never.resample(belief, 2, &[0.5, 0.5]).belief.dims(), [2, 2, 1]);
    }
}
