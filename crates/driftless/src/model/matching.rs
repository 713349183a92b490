//! The paper's measurement model: how alike are the features of an observation and of a state.

use super::{Learnable, Measurement};
use burn::module::Module;
use burn::tensor::Tensor;

/// The easy door: features of an input.
pub trait Encoder<I>: Learnable {
    /// What the features look like: [B, T, E] for observations, [B, N, E] for states.
    fn encode(&self, input: I) -> Tensor<3>;
}

/// l = 1 / (ε + c) with the cosine distance c = 1 - cos(e, ê): paper section on the measurement
/// model. c is clamped at 0, because rounding can make a cosine exceed 1 and the logarithm NaN.
#[derive(Module, Debug)]
pub struct FeatureMatch<O: Learnable, H: Learnable> {
    /// Features of observations, h.
    pub observation: O,
    /// Features of states, ĥ.
    pub state: H,
    #[module(skip)]
    epsilon: f64,
}

impl<O: Learnable, H: Learnable> FeatureMatch<O, H> {
    /// ε = 1e-8, as in the authors' code: likelihoods are at most 1e8.
    pub fn new(observation: O, state: H) -> Self {
        Self { observation, state, epsilon: 1e-8 }
    }

    /// Another ε.
    ///
    /// # Panics
    /// If it is not positive: equal features would have infinite likelihood.
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        assert!(epsilon > 0.0, "epsilon must be positive, not {epsilon}");
        Self { epsilon, ..self }
    }
}

impl<O: Encoder<Tensor<5>>, H: Encoder<Tensor<3>>> Measurement for FeatureMatch<O, H> {
    /// Images, [B, T, C, H, W].
    type Observations = Tensor<5>;
    /// Features, [B, T, E].
    type Cues = Tensor<3>;

    fn encode(&self, observations: &Tensor<5>) -> Tensor<3> {
        self.observation.encode(observations.clone())
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let seen = cues.clone().slice_dim(1, t..t + 1); // [B, 1, E]
        log_match(self.state.encode(states), seen, self.epsilon)
    }
}

/// -log(ε + max(0, 1 - cos)), [B, N, E] and [B, 1 or N, E] → [B, N]. A dead feature (all zeros)
/// has cosine 0 with everything, and no gradient.
pub fn log_match(states: Tensor<3>, seen: Tensor<3>, epsilon: f64) -> Tensor<2> {
    let cosine = (unit(states) * unit(seen)).sum_dim(2).squeeze_dim::<2>(2); // [B, N]
    -((-cosine + 1.0).clamp_min(0.0) + epsilon).log()
}

/// x / √max(Σ x², 1e-12), over the last dimension.
fn unit(features: Tensor<3>) -> Tensor<3> {
    let length = features.clone().square().sum_dim(2).clamp_min(1e-12).sqrt();
    features / length
}
