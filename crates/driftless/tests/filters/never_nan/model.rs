//! Models of poses whose encoders and likelihoods can be made extreme.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};
use driftless::model::{
    ActionSampler, ActionSamplerConfig, ActionTransformer, ActionTransformerConfig, Encoder, FeatureMatch,
    GaussianMotion, GivenOdometry, ParticleProposer, StateBox, StateEncoder, WithProposer,
};
use driftless::parameters::Init;
use driftless::{Measurement, Phase, Space, StateSpace, Transition};

/// What is extreme about a model.
#[derive(Clone, Debug)]
pub struct Extreme {
    /// Added to the log-likelihoods of odd steps.
    pub added: Option<f64>,
    /// Size of the encoders' weights.
    pub scale: f64,
    /// Whether features are the same for all inputs.
    pub constant: bool,
}

impl Default for Extreme {
    fn default() -> Self {
        Self { added: None, scale: 0.6, constant: false }
    }
}

/// x W + b, without any bound: large inputs have large features.
#[derive(Module, Debug)]
pub struct Linear {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Linear {
    fn new(inputs: usize, extreme: &Extreme, init: &mut Init) -> Self {
        let scale = if extreme.constant { 1e-30 } else { extreme.scale };
        let bias = init.constant([6], if extreme.constant { 1.0 } else { 0.0 });
        Self { weight: init.truncated_normal([inputs, 6], scale.max(1e-30)), bias }
    }

    fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        input.matmul(self.weight.val().unsqueeze::<3>()) + self.bias.val().unsqueeze::<3>()
    }
}

impl Encoder for Linear {
    type Input = Tensor<3>;

    fn encode(&self, input: Tensor<3>, phase: Phase) -> Tensor<3> {
        phase.dropout(self.forward(input), 0.7)
    }
}

impl StateEncoder for Linear {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        self.forward(states)
    }
}

/// Matched features, with something added in odd steps.
#[derive(Module, Debug)]
pub struct Forced {
    inner: FeatureMatch<Linear, Linear>,
    #[module(skip)]
    added: Option<f64>,
}

impl Measurement for Forced {
    type Observations = Tensor<3>;
    type Cues = Tensor<3>;

    fn encode(&self, observations: &Tensor<3>, phase: Phase) -> Tensor<3> {
        self.inner.encode(observations, phase)
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let log = self.inner.log_likelihood(cues, t, states);
        match self.added {
            Some(added) if t % 2 == 1 => log + added,
            _ => log,
        }
    }
}

/// A model with a proposer.
pub type TestModel<T> = WithProposer<StateSpace<T, Forced>, ParticleProposer>;

fn init(precision: DType) -> Init {
    Init::new(3, &Device::flex().autodiff(), precision)
}

fn model<T: Transition>(transition: T, extreme: &Extreme, precision: DType) -> TestModel<T> {
    let mut init = init(precision);
    let frame_encoder = Linear::new(4, extreme, &mut init);
    let place = Linear::new(3, extreme, &mut init);
    let measurement = Forced { inner: FeatureMatch::new(frame_encoder, place), added: extreme.added };
    let within = StateBox { low: [-1.0, -1.0], high: [1.0, 1.0] };
    let proposer = ParticleProposer::with_units(16, 6, within, &mut init);
    WithProposer { model: StateSpace { transition, measurement }, proposer }
}

/// Learned displacement.
pub fn transformed(extreme: &Extreme, precision: DType) -> TestModel<GaussianMotion<ActionTransformer>> {
    let config = ActionTransformerConfig {
        hidden: vec![8],
        space: Space::SE2,
        state_mean: vec![0.0; 3],
        state_std: vec![1.0; 3],
        action_std: vec![1.0; 3],
        step_size: vec![0.1; 3],
    };
    let motion = ActionTransformer::new(config, &mut init(precision));
    let motion = GaussianMotion::new(motion, vec![0.3, 0.3, 0.1], Space::SE2);
    model(motion, extreme, precision)
}

/// Given odometry of noisy actions.
pub fn sampled(extreme: &Extreme, precision: DType) -> TestModel<ActionSampler<GivenOdometry>> {
    let config = ActionSamplerConfig {
        hidden: vec![8],
        action_std: vec![1.0; 3],
        space: Space::SE2,
        floor: vec![0.1, 0.1, 0.05],
    };
    model(ActionSampler::new(GivenOdometry::default(), config, &mut init(precision)), extreme, precision)
}
