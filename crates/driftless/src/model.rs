//! State-space models: how a state moves, and how likely an observation is in it.
//!
//! Two doors lead here. The easy one: give a displacement ([`Motion`]) and an encoder
//! ([`Encoder`]), and [`GaussianMotion`] and [`FeatureMatch`] make densities of them. The full
//! one: implement [`Transition`] and [`Measurement`] yourself.

pub mod likelihood_network;
pub mod matching;
pub mod motion;
pub mod proposer;
mod reading;
mod sharp_match;
mod where_seen;

pub use likelihood_network::{LikelihoodNetwork, LikelihoodWidths};
pub use matching::{Encoder, FeatureMatch, Screen, StateEncoder};
pub use motion::{ActionSampler, ActionSamplerConfig, ActionTransformer, ActionTransformerConfig};
pub use motion::{GaussianMotion, GivenOdometry, Motion, Shift, Wander, per_particle};
pub use proposer::{ParticleProposer, Proposer, StateBox, WithProposer};
pub use reading::GaussianReading;
pub(crate) use sharp_match::MOST_LOG_SHARPNESS;
pub use sharp_match::SharpMatch;
pub use where_seen::WhereSeen;

use crate::dropout::Phase;
use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

/// Anything with parameters. Burn's `Module` plus what a generic module needs to derive it.
pub trait Learnable: Module + ModuleDisplay {}
impl<T: Module + ModuleDisplay> Learnable for T {}

/// s_t ~ g(· | s_{t-1}, a_t): paper eq. 2.
pub trait Transition: Learnable {
    /// Moves particles; all randomness is in `noise`.
    ///
    /// # Shapes
    /// parents [B, N, S], action [B, A], noise [B, N, ·] standard normal; result [B, N, S].
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3>;

    /// log g(states | parents, action), [B, N].
    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2>;

    /// How states move where the action is missing; `None` takes it as zeros.
    fn wander(&self) -> Option<&Wander> {
        None
    }
}

/// l(o_t | s_t): paper eq. 3.
pub trait Measurement: Learnable {
    /// What a batch carries, [B, T, ...].
    type Observations;
    /// What is computed of the observations once a sequence, before any particle is looked at.
    type Cues;

    /// Encodes all observations of a batch; in training, with the phase's dropout.
    fn encode(&self, observations: &Self::Observations, phase: Phase) -> Self::Cues;

    /// log l(o_t | states), [B, N, S] → [B, N].
    fn log_likelihood(&self, cues: &Self::Cues, t: usize, states: Tensor<3>) -> Tensor<2>;
}

/// What is known at time t, besides the belief.
#[derive(Debug)]
pub struct Moment<'a, C> {
    /// The time step, counted from the start.
    pub step: usize,
    /// Which of the encoded observations belongs to it: the same, unless only the present one is there.
    pub t: usize,
    /// The action that leads into it, [B, A].
    pub action: Tensor<2>,
    /// The encoded observations.
    pub cues: &'a C,
}

/// A transition and a measurement: the one type parameter everything downstream carries.
pub trait Model: Learnable {
    /// How states move.
    type Transition: Transition;
    /// How observations arise.
    type Measurement: Measurement;

    /// How states move.
    fn transition(&self) -> &Self::Transition;
    /// How observations arise.
    fn measurement(&self) -> &Self::Measurement;

    /// `count` states drawn from what is seen at time t alone, [B, count, S]; `seed` names the
    /// random numbers. `None` if the model cannot: see [`WithProposer`].
    fn propose(&self, _cues: &Cues<Self>, _t: usize, _count: usize, _seed: u64) -> Option<Tensor<3>> {
        None
    }
}

/// What a batch of a model carries.
pub type Observations<M> = <<M as Model>::Measurement as Measurement>::Observations;
/// What a model makes of it before filtering.
pub type Cues<M> = <<M as Model>::Measurement as Measurement>::Cues;

/// A model of two parts, particles proposed by the transition (the bootstrap filter).
#[derive(Module, Debug)]
pub struct StateSpace<T: Transition, L: Measurement> {
    /// How states move.
    pub transition: T,
    /// How observations arise.
    pub measurement: L,
}

impl<T: Transition, L: Measurement> Model for StateSpace<T, L> {
    type Transition = T;
    type Measurement = L;

    fn transition(&self) -> &T {
        &self.transition
    }

    fn measurement(&self) -> &L {
        &self.measurement
    }
}
