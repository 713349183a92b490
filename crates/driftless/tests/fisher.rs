//! The pseudo-likelihood's gradient against the exact one of the population objective (Fisher's identity).

mod common;

use burn::tensor::{DType, Device, Tensor, TensorData};
use common::{LinearMotion, NoisyReading, f64s, mean_and_error, numbers};
use driftless::objective::{BlockStart, PseudoLikelihood};
use driftless::resample::Scheme;
use driftless::{Batch, Belief, DrawSizes, Draws, Filter, Labels, Objective, Prior, Space, StateSpace};
use driftless_world::random::Random;
use std::f64::consts::TAU;

/// (a, q, r) of the process the observations come from.
const TRUTH: [f64; 3] = [0.8, 0.5, 0.3];
const STEPS: usize = 4;
const BLOCKS: usize = 100;

/// Blocks of observations of the stationary process, [B, T, 1].
fn observations(seed: u64) -> Tensor<3> {
    let [a, q, r] = TRUTH;
    let mut random = Random::stream(77, seed);
    let mut values = Vec::new();
    for _ in 0..BLOCKS {
        let mut state = (q / (1.0 - a * a)).sqrt() * random.normal();
        for _ in 0..STEPS {
            values.push(state + r.sqrt() * random.normal());
            state = a * state + q.sqrt() * random.normal();
        }
    }
    f64s(TensorData::new(values, [BLOCKS, STEPS, 1]))
}

/// ∇ Q̂ at θ' = `at`, averaged over one batch of blocks, by (a, q, r).
fn gradient(at: [f64; 3], objective: &PseudoLikelihood, seed: u64) -> Vec<f64> {
    let theta = f64s::<1>(at).require_grad();
    let part = |k: usize| theta.clone().slice_dim(0, k..k + 1);
    let transition = LinearMotion { theta: Tensor::cat(vec![part(0), f64s([0.0]), part(1)], 0) };
    let model = StateSpace { transition, measurement: NoisyReading { variance: part(2), shift: 0.0 } };
    let filter = Filter::new(Space::LINEAR, Scheme::Systematic).weighing_first();
    let sizes = DrawSizes { batch: BLOCKS, steps: STEPS, particles: 400, state: 1, noise: 1, uniforms: 1 };
    let draws = Draws::new(sizes, seed, &Device::flex().autodiff(), DType::F64);
    let stationary = part(1) / (-part(0).square() + 1.0);
    let prior: Belief =
        Prior::Normal { mean: vec![0.0], std: vec![numbers(&stationary)[0].sqrt()] }.sample(&draws);
    let (seen, actions) = (observations(seed), f64s::<3>([[[0.0]; STEPS]; BLOCKS]));
    let rollout = filter.rollout(&model, prior, seen.clone(), &actions, &draws);
    let hidden = Tensor::from_data([[false; STEPS]; BLOCKS], &Device::flex().autodiff());
    let batch = Batch { observations: seen, labels: Labels::new(actions.clone(), hidden), actions };
    // The objective's own start is flat; the stationary law, which depends on θ, is added here.
    let first = rollout.sum_along_paths(0..STEPS, |t| {
        let state = rollout.beliefs[t].states.clone().detach().squeeze_dim::<2>(2);
        let variance = stationary.clone().reshape([1, 1]);
        if t > 0 {
            state.zeros_like()
        } else {
            (state.square() / variance.clone() + (variance * TAU).log()) * -0.5
        }
    });
    let weights = rollout.beliefs[STEPS - 1].weights.exp().detach();
    let start = (weights * first).sum() / BLOCKS as f64;
    let value = start - objective.loss(&model, &rollout, &batch);
    numbers(&theta.grad(&value.backward()).unwrap())
}

/// Mean and standard error of each component.
fn gradients(at: [f64; 3], objective: &PseudoLikelihood) -> Vec<(f64, f64)> {
    let all: Vec<Vec<f64>> = (0..60).map(|seed| gradient(at, objective, seed)).collect();
    (0..3).map(|k| mean_and_error(&all.iter().map(|g| g[k]).collect::<Vec<_>>())).collect()
}

fn held() -> PseudoLikelihood {
    let any = Prior::Normal { mean: vec![0.0], std: vec![1.0] };
    PseudoLikelihood { start: BlockStart::Flat(0.0), ..PseudoLikelihood::paper(STEPS, any) }
}

fn agrees(found: &[(f64, f64)], exact: [f64; 3]) -> bool {
    found.iter().zip(exact).all(|((mean, error), exact)| (mean - exact).abs() < 4.0 * error)
}

/// With weights and positions held, one gradient step on Q is a step on the population objective.
#[test]
fn held_gradients_are_those_of_the_population_objective() {
    let found = gradients([0.5, 0.9, 0.6], &held());
    assert!(agrees(&found, [0.716_030_18, -0.210_710_23, -0.497_546_34]), "{found:?}");
    assert!(found.iter().all(|(_, error)| *error < 0.05), "{found:?} is no test");
}

/// At the truth the expected gradient vanishes; not so if the weights are differentiated.
#[test]
fn the_truth_is_stationary_only_if_held() {
    let found = gradients(TRUTH, &held());
    assert!(agrees(&found, [0.0; 3]), "{found:?}");
    let attached = gradients(TRUTH, &PseudoLikelihood { hold_weights: false, ..held() });
    assert!(!agrees(&attached, [0.0; 3]), "{attached:?}");
    let attached = gradients(TRUTH, &PseudoLikelihood { hold_positions: false, ..held() });
    assert!(!agrees(&attached, [0.0; 3]), "{attached:?}");
}
