//! Weighted particles. Log-weights are normalised by construction, and whoever normalises them is
//! told the evidence.

use crate::space::Space;
use burn::tensor::{Bool, Device, Int, Tensor};

/// Log-weights over N particles. **Invariant: their exponentials sum to 1 over N.** Shape [B, N].
#[derive(Clone, Debug)]
pub struct LogWeights(Tensor<2>);

/// What [`LogWeights::reweight`] found out.
#[derive(Clone, Debug)]
pub struct Reweighted {
    /// Posterior weights.
    pub weights: LogWeights,
    /// log Σ w l: how well the belief had predicted the observation. `[B]`
    pub log_evidence: Tensor<1>,
    /// Rows in which no particle could explain the observation, and the prior weights were kept
    /// (all likelihoods zero, or not a number). `[B]`, 1 where that happened.
    pub collapsed: Tensor<1, Int>,
}

/// The finite stand-in for log 0, and the evidence of a collapsed row: differences of it are not NaN, its exponential is
/// exactly 0, sums over time stay finite, and no other step's evidence falls below it.
pub(crate) const IMPOSSIBLE: f64 = driftless_core::IMPOSSIBLE;

impl LogWeights {
    /// All particles equal.
    pub fn uniform(batch: usize, particles: usize, device: &Device) -> Self {
        Self::uniform_like(&Tensor::zeros([batch, particles], device))
    }

    /// All particles equal, with the shape, precision and device of `like` [B, N].
    pub fn uniform_like(like: &Tensor<2>) -> Self {
        let particles = like.dims()[1];
        Self(like.full_like(-(particles as f64).ln()).detach())
    }

    /// Normalises unnormalised log-weights; rows without any finite weight become uniform.
    pub fn normalised(unnormalised: Tensor<2>) -> Self {
        Self::uniform_like(&unnormalised).reweight(unnormalised).weights
    }

    /// Bayes' rule: w_i ← w_i l_i / Σ_j w_j l_j.
    ///
    /// Never NaN: a likelihood of zero (log -∞) or NaN removes a particle; where all are removed
    /// the row keeps its weights and is reported as collapsed. Adding a constant to a row of
    /// `log_likelihood` only shifts its evidence.
    ///
    /// # Shapes
    /// `log_likelihood` [B, N].
    pub fn reweight(self, log_likelihood: Tensor<2>) -> Reweighted {
        let [batch, particles] = self.0.dims();
        let joint = self.0.clone() + log_likelihood; // [B, N]
        let impossible = impossible(&joint);
        let joint = joint.mask_fill(impossible.clone(), IMPOSSIBLE);
        let collapsed = impossible.all_dim(1); // [B, 1]
        let fallen_back = collapsed.clone().expand([batch, particles]);
        let joint = joint.mask_where(fallen_back, self.0);
        let evidence = log_sum_exp(joint.clone(), 1); // [B, 1]
        let weights = Self(joint - evidence.clone());
        let log_evidence = evidence.mask_fill(collapsed.clone(), IMPOSSIBLE);
        Reweighted {
            weights,
            log_evidence: log_evidence.squeeze_dim(1),
            collapsed: collapsed.int().squeeze_dim(1),
        }
    }

    /// The log-weights, [B, N].
    pub fn log(&self) -> Tensor<2> {
        self.0.clone()
    }

    /// The weights, [B, N].
    pub fn exp(&self) -> Tensor<2> {
        self.0.clone().exp()
    }

    /// 1 / Σ w², between 1 (one particle has all weight) and N (all equal). `[B]`
    pub fn effective_sample_size(&self) -> Tensor<1> {
        (-log_sum_exp(self.0.clone() * 2.0, 1)).exp().squeeze_dim(1)
    }

    /// The same numbers, seen as constants by the gradient.
    pub fn detach(self) -> Self {
        Self(self.0.detach())
    }

    /// For resamplers, whose outputs are normalised by their construction.
    pub(crate) fn from_normalised(log_weights: Tensor<2>) -> Self {
        Self(log_weights)
    }
}

/// Where a logarithm is no possible weight or likelihood.
///
/// +∞ is as unusable as NaN; -∞ becomes a weight that underflows to exactly zero. The limit is
/// below the stand-in, so that a particle once removed never comes back.
pub(crate) fn impossible(log: &Tensor<2>) -> Tensor<2, Bool> {
    let unusable = log.clone().is_nan().bool_or(log.clone().greater_elem(-IMPOSSIBLE));
    unusable.bool_or(log.clone().lower_elem(0.5 * IMPOSSIBLE))
}

/// log Σ exp over `dim`, which becomes 1; stable.
pub(crate) fn log_sum_exp<const D: usize>(values: Tensor<D>, dim: usize) -> Tensor<D> {
    let highest = values.clone().detach().max_dim(dim);
    (values - highest.clone()).exp().sum_dim(dim).log() + highest
}

/// What is known of a state: N weighted particles for each of B sequences.
#[derive(Clone, Debug)]
pub struct Belief {
    /// Particles, [B, N, S].
    pub states: Tensor<3>,
    /// Their weights, [B, N].
    pub weights: LogWeights,
}

impl Belief {
    /// Particles of equal weight.
    pub fn uniform(states: Tensor<3>) -> Self {
        let weights = LogWeights::uniform_like(&states.clone().slice_dim(2, 0..1).squeeze_dim(2));
        Self { states, weights }
    }

    /// The mean state, [B, S].
    pub fn mean(&self, space: Space) -> Tensor<2> {
        space.mean(self.weights.exp(), &self.states)
    }

    /// Number of sequences, particles and numbers in a state.
    pub fn dims(&self) -> [usize; 3] {
        self.states.dims()
    }

    /// The same numbers, seen as constants by the gradient.
    pub fn detach(self) -> Self {
        Self { states: self.states.detach(), weights: self.weights.detach() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    fn weights(values: [f64; 3]) -> LogWeights {
        LogWeights::normalised(f64s([values.map(f64::ln)]))
    }

    #[test]
    fn effective_sample_size_counts_the_particles_that_matter() {
        for (values, expected) in [([1.0, 1.0, 0.0], 2.0), ([0.0, 5.0, 0.0], 1.0), ([2.0, 2.0, 2.0], 3.0)] {
            assert_close(&numbers(&weights(values).effective_sample_size()), &[expected], 1e-12);
        }
        assert_close(&numbers(&weights([0.0, 0.0, 0.0]).effective_sample_size()), &[3.0], 1e-12);
    }

    /// w = (.2, .3, .5), l = (1, 4, 2): Σ w l = 2.4, posterior (.2, 1.2, 1) / 2.4.
    #[test]
    fn one_step_of_bayes_by_hand() {
        let likelihood = [[1.0_f64, 4.0, 2.0].map(f64::ln)];
        let result = weights([0.2, 0.3, 0.5]).reweight(f64s(likelihood));
        assert_close(&numbers(&result.weights.exp()), &[1.0 / 12.0, 0.5, 5.0 / 12.0], 1e-12);
        assert_close(&numbers(&result.log_evidence), &[2.4_f64.ln()], 1e-12);
        assert_eq!(result.collapsed.try_to_vec_as::<i32>().unwrap(), [0]);
    }

    #[test]
    fn a_constant_only_shifts_the_evidence() {
        let likelihood = f64s::<2>([[-1.0, 0.5, 2.0]]);
        let plain = weights([0.2, 0.3, 0.5]).reweight(likelihood.clone());
        let shifted = weights([0.2, 0.3, 0.5]).reweight(likelihood - 700.0);
        assert_close(&numbers(&shifted.weights.exp()), &numbers(&plain.weights.exp()), 1e-12);
        assert_close(&numbers(&shifted.log_evidence), &[numbers(&plain.log_evidence)[0] - 700.0], 1e-10);
    }

    /// Rows in which nothing is usable keep their weights; other rows lose the unusable particles.
    #[test]
    fn unusable_likelihoods_never_spread() {
        let (never, nan, ever) = (f64::NEG_INFINITY, f64::NAN, f64::INFINITY);
        let likelihood =
            f64s::<2>([[never, never], [nan, nan], [ever, ever], [nan, never], [never, 0.5], [0.5, ever]])
                .require_grad();
        let prior = f64s::<2>([[0.25_f64.ln(), 0.75_f64.ln()]; 6]).require_grad();
        let result = LogWeights::normalised(prior.clone()).reweight(likelihood.clone());
        let expected = [0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.0, 1.0, 1.0, 0.0];
        assert_close(&numbers(&result.weights.exp()), &expected, 1e-12);
        assert_eq!(result.collapsed.try_to_vec_as::<i32>().unwrap(), [1, 1, 1, 1, 0, 0]);
        let evidence = numbers(&result.log_evidence);
        assert_eq!(evidence[..4], [IMPOSSIBLE; 4]);
        assert_close(&evidence[4..], &[0.75_f64.ln() + 0.5, 0.25_f64.ln() + 0.5], 1e-12);
        let loss = (result.weights.exp().square().sum() + result.log_evidence.sum()).backward();
        for input in [likelihood, prior] {
            assert!(numbers(&input.grad(&loss).unwrap()).iter().all(|g| g.is_finite()));
        }
    }

    /// A removed particle stays removed, whatever is seen afterwards.
    #[test]
    fn the_dead_stay_dead() {
        let never = f64::NEG_INFINITY;
        let first = weights([1.0, 1.0, 1.0]).reweight(f64s([[never, 0.0, 0.0]])).weights;
        let result = first.reweight(f64s([[50.0, never, never]]));
        assert_eq!(result.collapsed.try_to_vec_as::<i32>().unwrap(), [1]);
        assert_close(&numbers(&result.weights.exp()), &[0.0, 0.5, 0.5], 1e-12);
    }
}
