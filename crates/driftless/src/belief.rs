//! Weighted particles. Log-weights are normalised by construction, and whoever normalises them is
//! told the evidence.

use crate::space::Space;
use burn::tensor::{Device, Int, Tensor};

/// Log-weights over N particles. **Invariant: their exponentials sum to 1 over N.** Shape [B, N].
#[derive(Clone, Debug)]
pub struct LogWeights(Tensor<2>);

/// What [`LogWeights::reweight`] found out.
#[derive(Clone, Debug)]
pub struct Reweighted {
    /// Posterior weights.
    pub weights: LogWeights,
    /// log Σ w l: how well the belief had predicted the observation. [B]
    pub log_evidence: Tensor<1>,
    /// Rows in which no particle could explain the observation, and the prior weights were kept
    /// (all likelihoods zero, or not a number). [B], 1 where that happened.
    pub collapsed: Tensor<1, Int>,
}

/// Evidence reported for a collapsed row: the logarithm of the smallest positive number of 32 bits,
/// roughly. Finite, so that a sum over time stays usable.
pub const COLLAPSED_LOG_EVIDENCE: f64 = -100.0;

/// The finite stand-in for log 0: differences of it are not NaN, and its exponential is exactly 0.
pub(crate) const IMPOSSIBLE: f64 = -1e30;

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
        // +∞ is as unusable as NaN; -∞ becomes a weight that underflows to exactly zero. The limit is
        // below the stand-in, so that a particle once removed never comes back.
        let unusable = joint.clone().is_nan().bool_or(joint.clone().greater_elem(-IMPOSSIBLE));
        let impossible = unusable.bool_or(joint.clone().lower_elem(0.5 * IMPOSSIBLE));
        let joint = joint.mask_fill(impossible.clone(), IMPOSSIBLE);
        let collapsed = impossible.all_dim(1); // [B, 1]
        let fallen_back = collapsed.clone().expand([batch, particles]);
        let joint = joint.mask_where(fallen_back, self.0);
        let evidence = log_sum_exp(joint.clone()); // [B, 1]
        let weights = Self(joint - evidence.clone());
        let log_evidence = evidence.mask_fill(collapsed.clone(), COLLAPSED_LOG_EVIDENCE);
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

    /// 1 / Σ w², between 1 (one particle has all weight) and N (all equal). [B]
    pub fn effective_sample_size(&self) -> Tensor<1> {
        (-log_sum_exp(self.0.clone() * 2.0)).exp().squeeze_dim(1)
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

/// log Σ_N exp, stable; [B, N] → [B, 1].
pub(crate) fn log_sum_exp(values: Tensor<2>) -> Tensor<2> {
    let highest = values.clone().detach().max_dim(1);
    (values - highest.clone()).exp().sum_dim(1).log() + highest
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
