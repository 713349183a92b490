//! Backward simulation: whole paths from the joint posterior (Godsill, Doucet & West 2004).

use super::{moments, origins};
use crate::belief::Belief;
use crate::filter::Rollout;
use crate::filter::moving::action_at;
use crate::model::Model;
use crate::resample::{by_markers, gather_states};
use crate::space::Space;
use burn::tensor::{Int, Tensor, TensorData};

/// M paths for each sequence, drawn from p(s_1..T | o_1..T), all equally probable.
///
/// The last state is drawn by the filter's last weights, each earlier one by
/// w_t^i g(s_{t+1} | s_t^i, a_{t+1}). Unlike ancestral lines, paths do not share their beginnings.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Which coordinates are angles.
    pub space: Space,
    /// The states, [B, M, T, S].
    pub states: Tensor<4>,
    /// Which particle of the rollout each one is, [B, M, T].
    pub indices: Tensor<3, Int>,
    /// 1 where no particle could have led to the path's next state, and one was drawn by the filter's
    /// weights alone, [B, M, T].
    pub broken: Tensor<3, Int>,
}

impl Paths {
    /// Draws paths back through a rollout of `model`, one for each T uniform numbers in [0, 1).
    ///
    /// # Shapes
    /// actions [B, T, A]; uniforms: B·M·T numbers, sequence after sequence, path after path.
    ///
    /// # Panics
    /// If the numbers are not enough for a path, or too many for M and too few for M + 1.
    pub fn draw<M: Model>(model: &M, rollout: &Rollout<M>, actions: &Tensor<3>, uniforms: &[f64]) -> Self {
        let steps = rollout.beliefs.len();
        let batch = rollout.beliefs[0].dims()[0];
        let paths = uniforms.len() / (batch * steps);
        let fits = paths > 0 && uniforms.len() == batch * paths * steps;
        assert!(fits, "{} numbers for {batch} sequences of {steps} steps", uniforms.len());
        let markers = |t: usize| uniforms[t..].iter().step_by(steps).copied();
        let last = rollout.beliefs[steps - 1].clone().detach();
        let weights = last.weights.exp();
        let mut chosen = vec![pick(&weights, paths, markers(steps - 1))];
        let mut broken = vec![chosen[0].zeros_like()];
        let mut states = vec![gather_states(last.states, chosen[0].clone())];
        for t in (0..steps - 1).rev() {
            let belief = rollout.beliefs[t].clone().detach();
            let later = states[states.len() - 1].clone();
            let found = origins(model, &belief, later, action_at(actions, t + 1));
            let drawn = pick(&found.weights.exp(), 1, markers(t)).reshape([batch, paths]);
            states.push(gather_states(belief.states, drawn.clone()));
            chosen.push(drawn);
            broken.push(found.collapsed.reshape([batch, paths]));
        }
        chosen.reverse();
        broken.reverse();
        states.reverse();
        Self {
            space: rollout.space,
            states: Tensor::stack(states, 2),
            indices: Tensor::stack(chosen, 2),
            broken: Tensor::stack(broken, 2),
        }
    }

    /// The states of step t as a belief of M equal particles.
    pub fn belief(&self, t: usize) -> Belief {
        Belief::uniform(self.states.clone().slice_dim(2, t..t + 1).squeeze_dim(2))
    }

    /// The mean [B, T, S] and covariance [B, T, S, S] of every step; over M paths, not M - 1.
    pub fn moments(&self) -> (Tensor<3>, Tensor<4>) {
        moments((0..self.states.dims()[2]).map(|t| self.belief(t)), self.space)
    }
}

/// `count` particles for each row of weights [R, N] by as many markers, [R, count].
fn pick(weights: &Tensor<2>, count: usize, markers: impl Iterator<Item = f64>) -> Tensor<2, Int> {
    let [rows, particles] = weights.dims();
    let host = weights.try_to_vec_as::<f64>().expect("weights are numbers");
    let markers: Vec<f64> = markers.collect();
    let row = |(weights, markers): (&[f64], &[f64])| by_markers(weights, markers.iter().copied());
    let picked: Vec<i64> = host
        .chunks_exact(particles)
        .zip(markers.chunks_exact(count))
        .flat_map(row)
        .map(|index| index as i64)
        .collect();
    Tensor::from_data(TensorData::new(picked, [rows, count]), &weights.device())
}
