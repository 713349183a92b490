//! What the parts learn from before the filter is run: each a loss of labelled steps alone.

use crate::batch::Batch;
use crate::belief::Belief;
use crate::draws::Draws;
use crate::filter::moving::moved;
use crate::model::{Measurement, Model, Observations};
use crate::objective::KernelDensity;
use crate::space::Space;
use burn::tensor::{Tensor, TensorData};

/// Numbers in a pose.
const POSE: usize = 3;
/// Where a wrong pose has a likelihood of 1 but for rounding, 1 - l counts as this.
const LEAST_DOUBT: f64 = 1e-7;

/// The mean of -log density at the true pose of step 1, of particles that were moved there from the true
/// pose of step 0. It reaches the motion only.
///
/// # Shapes
/// Two steps, both labelled; noise [B, N, ·].
pub(super) fn motion<M: Model>(
    model: &M,
    pairs: &Batch<Observations<M>>,
    noise: Tensor<3>,
    kernel: &KernelDensity,
) -> Tensor<1> {
    let [batch, _, action] = pairs.actions.dims();
    let start = noise.zeros_like().slice_dim(2, 0..1).expand([batch, noise.dims()[1], POSE]);
    let action = pairs.actions.clone().slice_dim(1, 1..2).reshape([batch, action]);
    let belief = Belief::uniform(moved(model, pairs.labels.pin(0, start), action, noise).states);
    pairs.labels.at(1, |truth| kernel.step(&belief, truth, Space::SE2)).mean()
}

/// [`contrast`] of the likelihoods of every image in every pose. It reaches encoder and likelihood.
///
/// # Shapes
/// One step, labelled.
pub(super) fn measurement<M: Model>(model: &M, steps: &Batch<Observations<M>>, draws: &Draws) -> Tensor<1> {
    let cues = model.measurement().encode(&steps.observations, draws.phase);
    contrast(steps.labels.at(0, |truth| {
        let [batch, state] = truth.dims();
        let poses = truth.unsqueeze_dim::<3>(0).expand([batch, batch, state]); // all poses for each image
        model.measurement().log_likelihood(&cues, 0, poses)
    }))
}

/// -mean_i log l_ii - mean_{i≠j} log(1 - l_ij), for log l [B, B] of image i in pose j.
fn contrast(log_likelihood: Tensor<2>) -> Tensor<1> {
    let [batch, _] = log_likelihood.dims();
    let own = (0..batch * batch).map(|k| if k % (batch + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let own = TensorData::new::<f64, _>(own, [batch, batch]);
    let own = Tensor::<2>::from_data(own, (&log_likelihood.device(), log_likelihood.dtype()));
    let doubt = (-log_likelihood.clone().exp() + 1.0).clamp_min(LEAST_DOUBT).log();
    let (right, wrong) = ((log_likelihood * own.clone()).sum(), (doubt * (-own + 1.0)).sum());
    // One image alone has no wrong pose.
    let wrong_poses = (batch * (batch - 1)).max(1) as f64;
    -(right * (1.0 / batch as f64)) - wrong * (1.0 / wrong_poses)
}

/// The mean of -log density at the true pose, of proposed particles. The encoder is not reached.
///
/// # Shapes
/// One step, labelled.
pub(super) fn proposer<M: Model>(
    model: &M,
    steps: &Batch<Observations<M>>,
    draws: &Draws,
    kernel: &KernelDensity,
) -> Tensor<1>
where
    M::Measurement: Measurement<Cues = Tensor<3>>,
{
    let cues = model.measurement().encode(&steps.observations, draws.phase).detach();
    let particles = draws.uniform_start.dims()[1];
    let proposed = model.propose(&cues, 0, particles, draws.steps[0].seed);
    let belief = Belief::uniform(proposed.expect("this model has a proposer"));
    steps.labels.at(0, |truth| kernel.step(&belief, truth, Space::SE2)).mean()
}

#[cfg(test)]
mod tests;
