//! Particles proposed by the model among those that were moved.

use super::StepInfo;
use crate::belief::{Belief, LogWeights};
use crate::model::{Cues, Measurement, Model, Moment};
use burn::tensor::{Int, Tensor};

/// How many particles are proposed: γ^t N at step t (Jonschkowski et al. 2018).
///
/// At step 0 these are all of them. With γ = 0 particles are proposed only there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Injection {
    ratio: f64,
}

impl Injection {
    /// With ratio γ: 0.7 in DPF.
    ///
    /// # Panics
    /// If γ is not between 0 and 1.
    pub fn new(ratio: f64) -> Self {
        assert!((0.0..=1.0).contains(&ratio), "the ratio must lie between 0 and 1, not {ratio}");
        Self { ratio }
    }

    /// γ^t N, rounded half to even. After step 0 at least one particle is left to be moved.
    ///
    /// ```
    /// use driftless::filter::Injection;
    ///
    /// let counts = [0, 1, 2, 3, 14, 15].map(|t| Injection::new(0.7).count(t, 100));
    /// assert_eq!(counts, [100, 70, 49, 34, 1, 0]);
    /// ```
    pub fn count(&self, t: usize, particles: usize) -> usize {
        let exact = self.ratio.powf(t as f64) * particles as f64;
        let most = if t == 0 { particles } else { particles - 1 };
        (exact.round_ties_even() as usize).min(most)
    }
}

impl StepInfo {
    /// What each particle has from its ancestor, of `values` [B, N] at the step before; 0 for the
    /// proposed, which have none. [B, N]
    pub fn inherit(&self, values: Tensor<2>) -> Tensor<2> {
        let inherited = values.gather(1, self.ancestors.clone());
        self.with_proposed(inherited.clone(), inherited.zeros_like())
    }

    /// `moved` for the particles that were moved, `proposed` for the others; all [B, N].
    pub(crate) fn with_proposed(&self, moved: Tensor<2>, proposed: Tensor<2>) -> Tensor<2> {
        let particles = moved.dims()[1];
        let kept = particles - self.proposed;
        match self.proposed {
            0 => moved,
            _ if kept == 0 => proposed,
            _ => Tensor::cat(vec![moved.slice_dim(1, 0..kept), proposed.slice_dim(1, kept..particles)], 1),
        }
    }
}

/// Puts `injected particles` [B, K, S] behind the N - K particles of `belief` and of its record: the moved
/// share the mass (N - K) / N by their weights, each injected particle has 1 / N.
pub(super) fn join<M: Model>(
    model: &M,
    belief: Belief,
    info: StepInfo,
    injected: Tensor<3>,
    now: &Moment<'_, Cues<M>>,
) -> (Belief, StepInfo) {
    let [batch, count, _] = injected.dims();
    let kept = belief.dims()[1];
    let all = (kept + count) as f64;
    let log_likelihood = model.measurement().log_likelihood(now.cues, now.t, injected.clone()); // [B, K]
    let moved = belief.weights.log() + (kept as f64 / all).ln();
    let weights = Tensor::cat(vec![moved, log_likelihood.full_like(-all.ln()).detach()], 1);
    let places = Tensor::<1, Int>::arange(kept as i64..(kept + count) as i64, &injected.device())
        .unsqueeze_dim::<2>(0);
    let info = StepInfo {
        ancestors: Tensor::cat(vec![info.ancestors, places.expand([batch, count])], 1),
        parents: Tensor::cat(vec![info.parents, injected.clone()], 1),
        proposed: count,
        log_likelihood: Tensor::cat(vec![info.log_likelihood, log_likelihood], 1),
        ..info
    };
    let states = Tensor::cat(vec![belief.states, injected], 1);
    (Belief { states, weights: LogWeights::from_normalised(weights) }, info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_schedule() {
        let expected = [70, 49, 34, 24, 17, 12, 8, 6, 4, 3, 2, 1, 1, 1, 0];
        let found: Vec<usize> = (1..=15).map(|t| Injection::new(0.7).count(t, 100)).collect();
        assert_eq!(found, expected);
    }

    /// Ties go to the even number; somebody is always left to move, but not at the start.
    #[test]
    fn edges_of_the_schedule() {
        let half = Injection::new(0.5);
        assert_eq!([half.count(1, 5), half.count(1, 7), half.count(2, 2)], [2, 4, 0]);
        let counts =
            |ratio: f64, particles: usize| [0, 1, 9].map(|t| Injection::new(ratio).count(t, particles));
        assert_eq!(counts(0.0, 10), [10, 0, 0]);
        assert_eq!(counts(1.0, 10), [10, 9, 9]);
        assert_eq!(counts(0.7, 1), [1, 0, 0]);
    }
}
