//! The particle filter: one step, used by training, evaluation and deployment alike.

use crate::belief::Belief;
use crate::draws::{Draw, Draws};
use crate::dropout::Phase;
use crate::model::{Cues, Measurement, Model, Moment, Observations, Transition};
use crate::prior::Prior;
use crate::resample::{Resampled, Resampler, identity};
use crate::space::Space;
use burn::tensor::{Int, Tensor};
use std::ops::Range;

/// A filter: everything but the model.
#[derive(Debug)]
pub struct Filter {
    /// Which coordinates are angles.
    pub space: Space,
    /// How particles are drawn anew.
    pub resampler: Box<dyn Resampler>,
    /// Whether the first observation weights the first particles. The paper's Algorithm 1 does not.
    pub weigh_first: bool,
}

/// A record of one step; the next step needs none of it.
#[derive(Clone, Debug)]
pub struct StepInfo {
    /// Which particle of the step before each one descends from, [B, N].
    pub ancestors: Tensor<2, Int>,
    /// Where those stood, [B, N, S].
    pub parents: Tensor<3>,
    /// log l(o_t | s_t), [B, N].
    pub log_likelihood: Tensor<2>,
    /// log Σ w_{t-1} l_t, with the mass that resampling gave the weights, `[B]`.
    pub log_evidence: Tensor<1>,
    /// 1 where no particle could explain the observation and the weights were kept, `[B]`.
    pub collapsed: Tensor<1, Int>,
}

/// All beliefs of a sequence, for losses.
pub struct Rollout<M: Model> {
    /// Which coordinates are angles.
    pub space: Space,
    /// The encoded observations.
    pub cues: Cues<M>,
    /// Belief after each step, T of them.
    pub beliefs: Vec<Belief>,
    /// What happened in each step, T of them; step 0 has itself as parents.
    pub infos: Vec<StepInfo>,
    /// What the networks were run for.
    pub phase: Phase,
}

impl Filter {
    /// A filter as in the paper's Algorithm 1: the first observation does not weight.
    pub fn new(space: Space, resampler: impl Resampler + 'static) -> Self {
        Self { space, resampler: Box::new(resampler), weigh_first: false }
    }

    /// Weights the first particles by the first observation too.
    pub fn weighing_first(self) -> Self {
        Self { weigh_first: true, ..self }
    }

    /// Encodes the observations, draws the first particles and filters: all a loss needs.
    ///
    /// # Shapes
    /// As [`Filter::rollout`].
    pub fn run<M: Model>(
        &self,
        model: &M,
        prior: &Prior,
        observations: &Observations<M>,
        actions: &Tensor<3>,
        draws: &Draws,
    ) -> Rollout<M> {
        let cues = model.measurement().encode(observations, draws.phase);
        self.rollout(model, prior.sample(draws), cues, actions, draws)
    }

    /// The first belief and its record: weighted by the first observation, or not.
    pub fn start<M: Model>(&self, model: &M, prior: Belief, cues: &Cues<M>) -> (Belief, StepInfo) {
        let log_likelihood = model.measurement().log_likelihood(cues, 0, prior.states.clone()); // [B, N]
        let weight = if self.weigh_first { log_likelihood.clone() } else { log_likelihood.zeros_like() };
        let ancestors = identity(&prior);
        let reweighted = prior.weights.reweight(weight);
        let info = StepInfo {
            ancestors,
            parents: prior.states.clone(),
            log_likelihood,
            log_evidence: reweighted.log_evidence,
            collapsed: reweighted.collapsed,
        };
        (Belief { states: prior.states, weights: reweighted.weights }, info)
    }

    /// Resample, move, reweight: Algorithm 1, steps a to d.
    pub fn step<M: Model>(
        &self,
        model: &M,
        belief: Belief,
        now: &Moment<'_, Cues<M>>,
        draw: &Draw,
    ) -> (Belief, StepInfo) {
        let Resampled { belief, ancestors, log_mass } = self.resampler.resample(belief, &draw.uniforms);
        let parents = belief.states;
        let states = model.transition().sample(parents.clone(), now.action.clone(), draw.noise.clone());
        let log_likelihood = model.measurement().log_likelihood(now.cues, now.t, states.clone()); // [B, N]
        let reweighted = belief.weights.reweight(log_likelihood.clone());
        let info = StepInfo {
            ancestors,
            parents,
            log_likelihood,
            log_evidence: reweighted.log_evidence + log_mass,
            collapsed: reweighted.collapsed,
        };
        (Belief { states, weights: reweighted.weights }, info)
    }

    /// Filters whole sequences from `prior`, keeping every belief.
    ///
    /// # Shapes
    /// actions [B, T, A]; action t leads into step t, so action 0 is unused. T draws.
    ///
    /// # Panics
    /// If there are fewer draws than steps.
    pub fn rollout<M: Model>(
        &self,
        model: &M,
        prior: Belief,
        cues: Cues<M>,
        actions: &Tensor<3>,
        draws: &Draws,
    ) -> Rollout<M> {
        let steps = actions.dims()[1];
        assert!(draws.steps.len() >= steps, "{} draws for {steps} steps", draws.steps.len());
        let (belief, info) = self.start(model, prior, &cues);
        let (mut beliefs, mut infos) = (vec![belief], vec![info]);
        for t in 1..steps {
            let action = actions.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1); // [B, A]
            let belief = beliefs[t - 1].clone();
            let (belief, info) =
                self.step(model, belief, &Moment { t, action, cues: &cues }, &draws.steps[t]);
            beliefs.push(belief);
            infos.push(info);
        }
        Rollout { space: self.space, cues, beliefs, infos, phase: draws.phase }
    }
}

impl<M: Model> Rollout<M> {
    /// The mean state at each step, [B, T, S].
    pub fn estimates(&self) -> Tensor<3> {
        Tensor::stack(self.beliefs.iter().map(|belief| belief.mean(self.space)).collect::<Vec<_>>(), 1)
    }

    /// log Ẑ = Σ_t log Σ_i w_{t-1} l_t, whose exponential is an unbiased estimate of p(o_{1:T}). `[B]`
    pub fn log_evidence(&self) -> Tensor<1> {
        Tensor::stack::<2>(self.infos.iter().map(|info| info.log_evidence.clone()).collect::<Vec<_>>(), 1)
            .sum_dim(1)
            .squeeze_dim(1)
    }

    /// Sums `term(t)` [B, N] over `steps` along the ancestral line of each particle of the last of
    /// them: Σ_t term(t)[line of i at t]. [B, N]
    ///
    /// # Panics
    /// If `steps` is empty.
    pub fn sum_along_paths(
        &self,
        steps: Range<usize>,
        mut term: impl FnMut(usize) -> Tensor<2>,
    ) -> Tensor<2> {
        let mut sum = term(steps.start);
        for t in steps.start + 1..steps.end {
            sum = sum.gather(1, self.infos[t].ancestors.clone()) + term(t);
        }
        sum
    }
}
