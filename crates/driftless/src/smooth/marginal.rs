//! Forward filtering, backward smoothing: every particle's weight given the whole sequence.

use super::{moments, origins};
use crate::belief::{Belief, LogWeights};
use crate::filter::Rollout;
use crate::filter::moving::action_at;
use crate::model::Model;
use crate::space::Space;
use burn::tensor::Tensor;

/// Pairs of particles whose densities are computed at once: bounds the memory, not the result.
const PAIRS: usize = 1 << 20;

/// p(s_t | o_1..T) for every t, by the particles of a rollout (Doucet, Godsill & Andrieu 2000):
/// w_{t|T}^i = Σ_j w_{t+1|T}^j · w_t^i g(s_{t+1}^j | s_t^i) / Σ_k w_t^k g(s_{t+1}^j | s_t^k).
///
/// Its cost is N² densities a step, but it needs no random numbers.
#[derive(Clone, Debug)]
pub struct Marginals {
    /// Which coordinates are angles.
    pub space: Space,
    /// The rollout's particles with their smoothed weights, T of them.
    pub beliefs: Vec<Belief>,
    /// The smoothed weight of those particles of step t + 1 that none of step t could have led to,
    /// and which therefore say nothing of step t. 0 in good health. [B, T]
    pub unexplained: Tensor<2>,
}

impl Marginals {
    /// Smooths a rollout of `model`.
    ///
    /// # Shapes
    /// actions [B, T, A].
    pub fn of<M: Model>(model: &M, rollout: &Rollout<M>, actions: &Tensor<3>) -> Self {
        let steps = rollout.beliefs.len();
        let last = rollout.beliefs[steps - 1].clone().detach();
        let nothing = last.weights.log().slice_dim(1, 0..1).zeros_like(); // [B, 1]
        let (mut beliefs, mut unexplained) = (vec![last], vec![nothing]);
        for t in (0..steps - 1).rev() {
            let filtered = rollout.beliefs[t].clone().detach();
            let later = &beliefs[beliefs.len() - 1];
            let (weights, missing) = step(model, &filtered, later, &action_at(actions, t + 1));
            beliefs.push(Belief { states: filtered.states, weights });
            unexplained.push(missing);
        }
        beliefs.reverse();
        unexplained.reverse();
        Self { space: rollout.space, beliefs, unexplained: Tensor::cat(unexplained, 1) }
    }

    /// The mean [B, T, S] and covariance [B, T, S, S] of every step: soft labels.
    pub fn moments(&self) -> (Tensor<3>, Tensor<4>) {
        moments(self.beliefs.iter().cloned(), self.space)
    }
}

/// Smoothed weights of `filtered` from those of the step after, and the weight left unexplained [B, 1].
fn step<M: Model>(
    model: &M,
    filtered: &Belief,
    later: &Belief,
    action: &Tensor<2>,
) -> (LogWeights, Tensor<2>) {
    let [batch, particles, _] = filtered.dims();
    let chunk = (PAIRS / (batch * particles)).max(1);
    let weights = later.weights.exp().unsqueeze_dim::<3>(1); // [B, 1, N]
    let mut sum = weights.zeros_like();
    let mut missing = weights.clone().slice_dim(2, 0..1).zeros_like(); // [B, 1, 1]
    for from in (0..particles).step_by(chunk) {
        let some = from..(from + chunk).min(particles);
        let states = later.states.clone().slice_dim(1, some.clone());
        let found = origins(model, filtered, states, action.clone());
        let origin = found.weights.exp().reshape([batch, some.len(), particles]);
        let weights = weights.clone().slice_dim(2, some.clone());
        let collapsed = found.collapsed.equal_elem(1).reshape([batch, 1, some.len()]);
        missing = missing + weights.zeros_like().mask_where(collapsed, weights.clone()).sum_dim(2);
        sum = sum + weights.matmul(origin);
    }
    (LogWeights::normalised(sum.log().squeeze_dim(1)), missing.squeeze_dim(1))
}
