//! Smoothing: what is known of every state once the whole sequence, labels included, has been seen.
//!
//! - [`Paths`]: whole paths drawn from the joint posterior, by backward simulation.
//! - [`Marginals`]: the particles of every step, weighted by what came after as well.
//! - [`Anchored`]: a filter that is told some true states; both of the above apply to its rollouts.
//! - [`chain`]: without particles, for Gaussian motion between labels: exact, fast, on plain numbers.
//!
//! Results are constants to the gradient: they are what expectations are taken over (an E-step).
//! Rollouts of filters that resample by moving particles (optimal transport) are smoothed as the
//! approximations they are.

mod anchored;
mod backward;
pub mod chain;
mod marginal;

pub use anchored::Anchored;
pub use backward::Paths;
pub use marginal::Marginals;

use crate::belief::{Belief, LogWeights, Reweighted};
use crate::model::{Model, Transition};
use crate::space::Space;
use burn::tensor::Tensor;

/// The weighted covariance of wrapped differences from the mean, Σ w (s - m)(s - m)ᵀ. [B, S, S]
pub fn covariance(belief: &Belief, space: Space) -> Tensor<3> {
    let mean = belief.mean(space).unsqueeze_dim::<3>(1); // [B, 1, S]
    let apart = space.difference(belief.states.clone(), mean); // [B, N, S]
    let weighted = apart.clone() * belief.weights.exp().unsqueeze_dim::<3>(2);
    weighted.swap_dims(1, 2).matmul(apart)
}

/// For each of K states s' of step t + 1, the weights of the particles it may have come from:
/// w_i g(s' | s_i, a_{t+1}) / Σ_j w_j g(s' | s_j, a_{t+1}). A state that no particle can lead to is
/// reported as collapsed and leaves the filter's weights as they are.
///
/// # Shapes
/// later [B, K, S], action [B, A]; weights [B·K, N].
fn origins<M: Model>(model: &M, belief: &Belief, later: Tensor<3>, action: Tensor<2>) -> Reweighted {
    let [batch, particles, size] = belief.dims();
    let count = later.dims()[1];
    let pairs = [batch, count, particles, size];
    let parents = belief.states.clone().unsqueeze_dim::<4>(1).expand(pairs);
    let children = later.unsqueeze_dim::<4>(2).expand(pairs);
    let flat = [batch, count * particles, size];
    let density = model.transition().log_density(parents.reshape(flat), children.reshape(flat), action);
    let weights = belief.weights.log().unsqueeze_dim::<3>(1).expand([batch, count, particles]);
    LogWeights::from_normalised(weights.reshape([batch * count, particles]).detach())
        .reweight(density.detach().reshape([batch * count, particles]))
}

/// The means and covariances of T beliefs, [B, T, S] and [B, T, S, S].
fn moments(beliefs: impl Iterator<Item = Belief>, space: Space) -> (Tensor<3>, Tensor<4>) {
    let both = beliefs.map(|belief| (belief.mean(space), covariance(&belief, space)));
    let (means, covariances): (Vec<_>, Vec<_>) = both.unzip();
    (Tensor::stack(means, 1), Tensor::stack(covariances, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use std::f64::consts::PI;

    /// By hand: x = 1, 4 with weights ⅓, ⅔ has variance 2; headings just beside ±π are close.
    #[test]
    fn covariance_wraps() {
        let states = f64s::<3>([[[1.0, 0.0, PI - 0.1], [4.0, 0.0, -PI + 0.1]]]);
        let weights = LogWeights::normalised(f64s([[1.0_f64.ln(), 2.0_f64.ln()]]));
        let found = numbers(&covariance(&Belief { states, weights }, Space::SE2));
        // The heading's circular mean m is off the middle by atan(tan(0.1) / 3).
        let tilt = (0.1_f64.tan() / 3.0).atan();
        let (near, far) = (0.1 - tilt, 0.1 + tilt);
        let variance = far * far / 3.0 + near * near * 2.0 / 3.0;
        let both = 2.0 * far / 3.0 + 2.0 * near / 3.0;
        let expected = [2.0, 0.0, both, 0.0, 0.0, 0.0, both, 0.0, variance];
        assert_close(&found, &expected, 1e-12);
    }
}
