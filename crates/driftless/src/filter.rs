//! The particle filter: one step, used by training, evaluation and deployment alike.

mod injection;
pub(crate) mod moving;

pub use injection::Injection;

use crate::belief::Belief;
use crate::draws::{Draw, Draws};
use crate::dropout::Phase;
use crate::model::{Cues, Measurement, Model, Moment, Observations};
use crate::prior::Prior;
use crate::resample::{Resampled, Resampler, identity};
use crate::space::Space;
use burn::tensor::{Int, Tensor};
use moving::{Moved, moved};
use std::ops::Range;

/// A filter: everything but the model.
#[derive(Debug)]
pub struct Filter {
    /// Which coordinates are angles.
    pub space: Space,
    /// How particles are resampled.
    pub resampler: Box<dyn Resampler>,
    /// Whether the first observation weights the first particles. The paper's Algorithm 1 does not.
    pub weigh_first: bool,
    /// How many particles a model that can propose states adds at each step; none if `None`.
    pub injection: Option<Injection>,
}

/// A record of one step; the next step needs none of it.
#[derive(Clone, Debug)]
pub struct StepInfo {
    /// Which particle of the step before each one descends from, [B, N]. The proposed have none and
    /// point at their own place: [`StepInfo::inherit`] does not follow them.
    pub ancestors: Tensor<2, Int>,
    /// Where those stood, [B, N, S]; for the proposed, where they themselves stand.
    pub parents: Tensor<3>,
    /// How many of the particles, the last ones, were proposed instead of moved.
    pub proposed: usize,
    /// log l(o_t | s_t), [B, N].
    pub log_likelihood: Tensor<2>,
    /// log Σ w_{t-1} l_t, with the mass that resampling gave the weights, `[B]`. It is that of the
    /// moved particles alone: the proposed have not predicted anything. Where particles are
    /// proposed, a product over time is no unbiased estimate of p(o) any more.
    pub log_evidence: Tensor<1>,
    /// 1 where no particle could explain the observation and the weights were kept, `[B]`.
    pub collapsed: Tensor<1, Int>,
    /// 1 where the action was not finite and counted as zeros, or a particle that would have gone
    /// where nothing is finite stayed where it was, `[B]`.
    pub lost: Tensor<1, Int>,
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
        Self { space, resampler: Box::new(resampler), weigh_first: false, injection: None }
    }

    /// Weights the first particles by the first observation too.
    pub fn weighing_first(self) -> Self {
        Self { weigh_first: true, ..self }
    }

    /// Starts from proposed particles and adds some at each step, if the model can propose.
    pub fn injecting(self, injection: Injection) -> Self {
        Self { injection: Some(injection), ..self }
    }

    /// Encodes the observations, draws the first particles and filters: all a loss needs. With
    /// [`Filter::injection`] the first particles come from the model's proposer, if it has one, and
    /// not from the prior.
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
        let first = self.first(model, prior, &cues, draws);
        self.rollout(model, first, cues, actions, draws)
    }

    /// The first particles: proposed if the schedule wants it and the model can, or drawn from the prior.
    pub(crate) fn first<M: Model>(&self, model: &M, prior: &Prior, cues: &Cues<M>, draws: &Draws) -> Belief {
        let particles = draws.uniform_start.dims()[1];
        let proposed = |draw| self.injected(model, cues, (0, 0), particles, draw);
        draws.steps.first().and_then(proposed).map_or_else(|| prior.sample(draws), Belief::uniform)
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
            proposed: 0,
            log_likelihood,
            log_evidence: reweighted.log_evidence,
            lost: reweighted.collapsed.zeros_like(),
            collapsed: reweighted.collapsed,
        };
        (Belief { states: prior.states, weights: reweighted.weights }, info)
    }

    /// Resample, move, reweight: Algorithm 1, steps a to d. With [`Filter::injection`], fewer are
    /// resampled, and proposed particles take the place of the others. What is not finite, of actions
    /// and observations, is not used, and reported.
    pub fn step<M: Model>(
        &self,
        model: &M,
        belief: Belief,
        now: &Moment<'_, Cues<M>>,
        draw: &Draw,
    ) -> (Belief, StepInfo) {
        let particles = belief.dims()[1];
        let injected = self.injected(model, now.cues, (now.step, now.t), particles, draw);
        let kept = particles - injected.as_ref().map_or(0, |states| states.dims()[1]);
        let Resampled { belief, ancestors, log_mass } = self.resampler.resample(belief, kept, &draw.uniforms);
        let (parents, noise) = (belief.states, draw.noise.clone().slice_dim(1, 0..kept));
        let Moved { states, lost } = moved(model, parents.clone(), now.action.clone(), noise);
        let log_likelihood = model.measurement().log_likelihood(now.cues, now.t, states.clone()); // [B, N]
        let reweighted = belief.weights.reweight(log_likelihood.clone());
        let info = StepInfo {
            ancestors,
            parents,
            proposed: 0,
            log_likelihood,
            log_evidence: reweighted.log_evidence + log_mass,
            collapsed: reweighted.collapsed,
            lost,
        };
        let belief = Belief { states, weights: reweighted.weights };
        match injected {
            Some(injected) => injection::join(model, belief, info, injected, now),
            None => (belief, info),
        }
    }

    /// Proposed particles [B, count, S] for a step and the cues that belong to it, if the schedule wants some and the
    /// model can.
    fn injected<M: Model>(
        &self,
        model: &M,
        cues: &Cues<M>,
        (step, t): (usize, usize),
        particles: usize,
        draw: &Draw,
    ) -> Option<Tensor<3>> {
        let count = self.injection?.count(step, particles);
        if count == 0 { None } else { model.propose(cues, t, count, draw.seed) }
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
                self.step(model, belief, &Moment { step: t, t, action, cues: &cues }, &draws.steps[t]);
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
    /// them: Σ_t term(t)[line of i at t]. [B, N] The line of a proposed particle starts with it.
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
            sum = self.infos[t].inherit(sum) + term(t);
        }
        sum
    }
}
