//! Gradients that must be right on average: of the evidence, against Kalman's.

use crate::common::{LinearMotion, NoisyReading, Problem, f64s, mean_and_error, numbers};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::resample::{Resampler, Scheme, Soft, StopGradient};
use driftless::{Belief, DrawSizes, Draws, Filter, Space, StateSpace};

/// ∇ log Z of golden problem A by (a, q, r), by dense linear algebra.
const EXACT: [f64; 3] = [-4.236_933_532_7, -3.271_253_225_5, -1.261_509_780_8];

/// ∇ of the mean of Ẑ / Z over `batch` runs, by (a, q, r).
fn gradient(filter: &Filter, batch: usize, particles: usize, seed: u64) -> Vec<f64> {
    let problem = Problem::golden_a();
    let uniforms = filter.resampler.uniforms(particles, 1);
    let sizes = DrawSizes { batch, steps: 5, particles, state: 1, noise: 1, uniforms };
    let draws = Draws::new(sizes, seed, &Device::flex().autodiff(), DType::F64);
    let theta = f64s::<1>([0.9, 0.2, 0.5]).require_grad();
    let part = |k: usize| theta.clone().slice_dim(0, k..k + 1);
    let transition = LinearMotion { theta: Tensor::cat(vec![part(0), f64s([0.0]), part(1)], 0) };
    let model = StateSpace { transition, measurement: NoisyReading { variance: part(2), shift: 0.0 } };
    // The first state follows the stationary law, which depends on the parameters too.
    let spread = (part(1) / (-part(0).square() + 1.0)).sqrt().reshape([1, 1, 1]);
    let prior = Belief::uniform(draws.normal_start.clone() * spread);
    let repeat = |values: Vec<f64>| f64s::<3>(TensorData::new(values, [1, 5, 1])).expand([batch, 5, 1]);
    let rollout =
        filter.rollout(&model, prior, repeat(problem.observations.clone()), &repeat(vec![0.0; 5]), &draws);
    let ratio = (rollout.log_evidence() - problem.log_evidence()).exp().mean();
    numbers(&theta.grad(&ratio.backward()).unwrap())
}

/// Mean and standard error of each component over 60 batches of runs, with 4800 particles each.
fn gradients(resampler: impl Resampler + 'static, particles: usize) -> Vec<(f64, f64)> {
    let filter = Filter::new(Space::LINEAR, resampler).weighing_first();
    let all: Vec<Vec<f64>> =
        (0..60).map(|seed| gradient(&filter, 4800 / particles, particles, seed)).collect();
    (0..3).map(|k| mean_and_error(&all.iter().map(|g| g[k]).collect::<Vec<_>>())).collect()
}

fn agrees(found: &[(f64, f64)]) -> bool {
    found.iter().zip(EXACT).all(|((mean, error), exact)| (mean - exact).abs() < 4.0 * error)
}

/// E[∇Ẑ] = ∇Z if the gradient knows of the drawing, and not if it does not.
#[test]
fn gradients_of_the_evidence_are_unbiased() {
    for scheme in [Scheme::Multinomial, Scheme::Systematic] {
        let found = gradients(StopGradient(scheme), 12);
        assert!(agrees(&found), "{scheme:?}: {found:?}");
        assert!(found.iter().all(|(_, error)| *error < 0.3), "{found:?} is no test");
        let found = gradients(Soft::new(0.7, scheme).with_exact_gradient(), 12);
        assert!(agrees(&found), "soft {scheme:?}: {found:?}");
        let found = gradients(scheme, 12);
        assert!(!agrees(&found), "{scheme:?} without: {found:?}");
    }
}

/// With two particles, half of the score is in the mass that the new weights had before they were
/// normalised: without it the gradient would be far off.
#[test]
fn the_mass_of_new_weights_has_a_gradient() {
    let found = gradients(StopGradient(Scheme::Multinomial), 2);
    assert!(agrees(&found), "{found:?}");
    assert!(found.iter().all(|(_, error)| *error < 0.3), "{found:?} is no test");
}
