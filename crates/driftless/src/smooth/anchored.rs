//! A filter that is told some true states.

use super::chain::Matrix;
use crate::batch::Labels;
use crate::belief::{Belief, Reweighted};
use crate::draws::{Draw, Draws};
use crate::filter::moving::{Moved, moved};
use crate::filter::{Filter, Rollout, StepInfo};
use crate::model::{Cues, Measurement, Model, Moment, Observations, Transition};
use crate::prior::Prior;
use crate::resample::Resampled;
use burn::tensor::{Tensor, TensorData};
use std::f64::consts::TAU;

/// Filters observations and labels together, as in one model that emits both:
/// p(s_1..t | o_1..t, labels up to t). Smoothing its rollouts conditions on all of them.
///
/// Steps without label are those of the [`Filter`] inside. Its resampler, and whether it weighs by the
/// first observation, stay as they are; a label of the first step always counts. Nothing is proposed,
/// whatever its injection says: smoothing needs parents.
#[derive(Debug)]
pub struct Anchored<'a> {
    filter: &'a Filter,
    labels: &'a Labels,
    /// What whitens a difference from a label, (L⁻¹)ᵀ row after row, and log N(0); None if exact.
    normal: Option<(Vec<f64>, f64)>,
}

impl<'a> Anchored<'a> {
    /// Labels are the truth: at a labelled step all particles stand at the label, with weights
    /// w_{t-1}^i g(label | s_{t-1}^i, a_t), whose sum is part of the evidence. At the first step the
    /// density is the prior's.
    ///
    /// A label that no particle can reach is believed all the same: particles stand there, keep
    /// their weights, and the step is reported as collapsed.
    pub fn exact(filter: &'a Filter, labels: &'a Labels) -> Self {
        Self { filter, labels, normal: None }
    }

    /// Labels are readings of the truth: log N(label; s, Σ), angles wrapped, is added to the
    /// log-weights. A label of which nothing is likely collapses as an observation does.
    ///
    /// # Panics
    /// If Σ is not positive definite.
    pub fn with_covariance(filter: &'a Filter, labels: &'a Labels, covariance: &Matrix) -> Self {
        let factor = covariance.cholesky(0.0).expect("a label's covariance must be positive definite");
        let size = covariance.size();
        let unit = |k: usize| (0..size).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
        // Row k of (L⁻¹)ᵀ is column k of L⁻¹.
        let whiten = (0..size).flat_map(|k| factor.whiten(&unit(k))).collect();
        let peak = -factor.half_log_determinant() - 0.5 * size as f64 * TAU.ln();
        Self { filter, labels, normal: Some((whiten, peak)) }
    }

    /// Encodes the observations, draws the first particles and filters, as [`Filter::run`] does.
    ///
    /// # Shapes
    /// As [`Filter::rollout`].
    ///
    /// # Panics
    /// If there are fewer draws than steps.
    pub fn run<M: Model>(
        &self,
        model: &M,
        prior: &Prior,
        observations: &Observations<M>,
        actions: &Tensor<3>,
        draws: &Draws,
    ) -> Rollout<M> {
        let steps = actions.dims()[1];
        assert!(draws.steps.len() >= steps, "{} draws for {steps} steps", draws.steps.len());
        let cues = model.measurement().encode(observations, draws.phase);
        let (belief, info) = self.start(model, prior, &cues, draws);
        let (mut beliefs, mut infos) = (vec![belief], vec![info]);
        for t in 1..steps {
            let action = actions.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1); // [B, A]
            let moment = Moment { t, action, cues: &cues };
            let (belief, info) = self.step(model, beliefs[t - 1].clone(), &moment, &draws.steps[t]);
            beliefs.push(belief);
            infos.push(info);
        }
        Rollout { space: self.filter.space, cues, beliefs, infos, phase: draws.phase }
    }

    fn start<M: Model>(&self, model: &M, prior: &Prior, cues: &Cues<M>, draws: &Draws) -> (Belief, StepInfo) {
        let Belief { states, weights } = prior.sample(draws);
        let (states, log_label) =
            self.told(0, states, |states| prior.log_density(&states, self.filter.space));
        let told = weights.reweight(log_label);
        let seen = Belief { states, weights: told.weights.clone() };
        let (belief, info) = self.filter.start(model, seen, cues);
        (belief, with_label(info, told))
    }

    fn step<M: Model>(
        &self,
        model: &M,
        belief: Belief,
        now: &Moment<'_, Cues<M>>,
        draw: &Draw,
    ) -> (Belief, StepInfo) {
        let particles = belief.dims()[1];
        let resampled = self.filter.resampler.resample(belief, particles, &draw.uniforms);
        let Resampled { belief: Belief { states: parents, weights }, ancestors, log_mass } = resampled;
        let Moved { states, action, lost } =
            moved(model, parents.clone(), now.action.clone(), draw.noise.clone());
        let density = |states| model.transition().log_density(parents.clone(), states, action);
        let (states, log_label) = self.told(now.t, states, density);
        let told = weights.reweight(log_label);
        let log_likelihood = model.measurement().log_likelihood(now.cues, now.t, states.clone());
        // One after the other: an observation that nothing explains does not take the label's word away.
        let seen = told.weights.clone().reweight(log_likelihood.clone());
        let info = StepInfo {
            ancestors,
            parents,
            proposed: 0,
            log_likelihood,
            log_evidence: seen.log_evidence + log_mass,
            collapsed: seen.collapsed,
            lost,
        };
        (Belief { states, weights: seen.weights }, with_label(info, told))
    }

    /// Where the particles stand once the label of step t is known, and what it adds to their
    /// log-weights: [B, N, S] and [B, N]. `density` is that of standing at a state.
    fn told(
        &self,
        t: usize,
        states: Tensor<3>,
        density: impl FnOnce(Tensor<3>) -> Tensor<2>,
    ) -> (Tensor<3>, Tensor<2>) {
        match &self.normal {
            None => {
                let pinned = self.labels.pin(t, states);
                (pinned.clone(), self.labels.at(t, |_| density(pinned)))
            }
            Some((whiten, peak)) => {
                let size = states.dims()[2];
                let data = TensorData::new(whiten.clone(), [1, size, size]);
                let whiten = Tensor::<3>::from_data(data, (&states.device(), states.dtype()));
                let log = |label: Tensor<2>| {
                    let apart = self.filter.space.difference(label.unsqueeze_dim(1), states.clone());
                    (apart.matmul(whiten).square().sum_dim(2) * -0.5 + *peak).squeeze_dim(2)
                };
                let log_label = self.labels.at(t, log);
                (states, log_label)
            }
        }
    }
}

/// The record of a step whose weights were first changed by a label.
fn with_label(info: StepInfo, told: Reweighted) -> StepInfo {
    StepInfo {
        log_evidence: info.log_evidence + told.log_evidence,
        collapsed: (info.collapsed + told.collapsed).clamp_max(1),
        ..info
    }
}
