//! What happens to the pseudo-likelihood when all features are made alike: the literal one is then
//! as large as it can be, the normalised one is not.

use crate::common::{LinearMotion, f64s, numbers};
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use driftless::model::{Encoder, FeatureMatch, StateEncoder};
use driftless::objective::{BlockStart, Likelihoods, PseudoLikelihood};
use driftless::resample::Scheme;
use driftless::{Batch, DrawSizes, Draws, Filter, Labels, Objective, Phase, Prior, Space, StateSpace};

const EPSILON: f64 = 1e-4;
const STEPS: usize = 6;
const PARTICLES: usize = 50;

/// A point on an arc, where a state of one number is an angle; told apart by `sharpness`, and all
/// one point if that is 0.
#[derive(Module, Debug)]
struct Arc {
    sharpness: f64,
}

impl Arc {
    fn features(&self, position: Tensor<3>) -> Tensor<3> {
        let angle = position * self.sharpness;
        Tensor::cat(vec![angle.clone().cos(), angle.sin()], 2)
    }
}

impl Encoder for Arc {
    type Input = Tensor<3>;

    fn encode(&self, seen: Tensor<3>, _: Phase) -> Tensor<3> {
        self.features(seen)
    }
}

impl StateEncoder for Arc {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        self.features(states)
    }
}

/// Q̂ without the law of motion: one block of log-likelihoods, of a robot that stands at 0.
fn value(sharpness: f64, likelihoods: Likelihoods) -> f64 {
    let arc = || Arc { sharpness };
    let transition = LinearMotion { theta: f64s([1.0, 0.0, 0.01]) };
    let model = StateSpace { transition, measurement: FeatureMatch::new(arc(), arc()).with_epsilon(EPSILON) };
    let filter = Filter::new(Space::LINEAR, Scheme::Systematic).weighing_first();
    let sizes = DrawSizes { batch: 1, steps: STEPS, particles: PARTICLES, state: 1, noise: 1, uniforms: 1 };
    let draws = Draws::new(sizes, 8, &Device::flex().autodiff(), DType::F64);
    let seen = f64s::<3>([[[0.0]; STEPS]]);
    let prior = Prior::Uniform { low: vec![-1.0], high: vec![1.0] };
    let rollout = filter.run(&model, &prior, &seen, &seen, &draws);
    let objective = PseudoLikelihood { likelihoods, ..PseudoLikelihood::paper(STEPS, prior) };
    assert_eq!(objective.start, BlockStart::Flat(-(2.0_f64.ln())));
    let moves = rollout.sum_along_paths(0..STEPS, |t| {
        let (parents, states) = (rollout.infos[t].parents.clone(), rollout.beliefs[t].states.clone());
        let log = driftless::Transition::log_density(&model.transition, parents, states, f64s([[0.0]]));
        if t == 0 { log.full_like(-(2.0_f64.ln())) } else { log }
    });
    let moves = numbers(&(rollout.beliefs[STEPS - 1].weights.exp() * moves).sum())[0];
    let hidden = Tensor::from_data([[false; STEPS]], &Device::flex().autodiff());
    let batch =
        Batch { observations: seen.clone(), labels: Labels::new(seen.clone(), hidden), actions: seen };
    -numbers(&objective.loss(&model, &rollout, &batch))[0] - moves
}

#[test]
fn parallel_features_are_the_best_literal_answer_and_not_the_best_normalised_one() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    let steps = STEPS as f64;
    // All alike: every likelihood is 1 / ε, the largest there is.
    close(value(0.0, Likelihoods::Literal), -EPSILON.ln() * steps);
    close(value(0.0, Likelihoods::Normalised), -(PARTICLES as f64).ln() * steps);
    for informative in [0.5, 1.0] {
        assert!(value(informative, Likelihoods::Literal) < value(0.0, Likelihoods::Literal) - 1.0);
        assert!(value(informative, Likelihoods::Normalised) > value(0.0, Likelihoods::Normalised) + 1.0);
    }
}
