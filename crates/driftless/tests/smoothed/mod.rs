//! What tests of particle smoothing share: exact answers, and averages over runs compared with them.
#![allow(dead_code)] // each test uses a part of it

use crate::common::{LinearGaussian, Problem, Runs, f64s, mean_and_error, numbers};
use crate::rts::Linear;
use burn::tensor::{Tensor, TensorData};
use driftless::Rollout;
use driftless::smooth::{Marginals, Paths};
use driftless_world::random::Random;

/// A problem as the oracle wants it, with further readings (step, value, variance).
pub fn linear(problem: &Problem, further: &[(usize, f64, f64)]) -> Linear<1> {
    let [a, b, q] = problem.motion;
    let reading = |seen: &f64| vec![([*seen], [[problem.reading]])];
    let mut readings: Vec<_> = problem.observations.iter().map(reading).collect();
    for &(t, value, variance) in further {
        readings[t].push(([value], [[variance]]));
    }
    Linear {
        first: ([0.0], [[problem.first_variance]]),
        motion: [[a]],
        drive: problem.actions.iter().map(|action| [b * action]).collect(),
        noise: [[q]],
        readings,
    }
}

pub fn actions(problem: &Problem, batch: usize) -> Tensor<3> {
    let steps = problem.actions.len();
    f64s::<3>(TensorData::new(problem.actions.clone(), [1, steps, 1])).expand([batch, steps, 1])
}

pub fn uniforms(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.unit()).collect()
}

/// Means and variances of every run and step, by paths and by marginals: [B, T] each.
pub fn both(
    problem: &Problem,
    model: &LinearGaussian,
    rollout: &Rollout<LinearGaussian>,
    paths: usize,
) -> [(Vec<f64>, Vec<f64>); 2] {
    let (batch, steps) = (rollout.beliefs[0].dims()[0], rollout.beliefs.len());
    let actions = actions(problem, batch);
    let marginals = Marginals::of(model, rollout, &actions);
    assert!(numbers(&marginals.unexplained).iter().all(|&missing| missing == 0.0));
    let paths = Paths::draw(model, rollout, &actions, &uniforms(batch * paths * steps, 5));
    assert_eq!(paths.broken.clone().sum().try_to_vec_as::<i64>().unwrap(), [0]);
    [paths.moments(), marginals.moments()].map(|(mean, covariance)| (numbers(&mean), numbers(&covariance)))
}

/// Averages over runs within 4 standard errors, and these small enough to mean something. Besides, all
/// is biased by the order of a variance (0.2) over the number of particles and of paths (200).
pub fn agree(name: &str, exact: &Linear<1>, found: &[(Vec<f64>, Vec<f64>); 2]) {
    for (t, exact) in exact.smooth().iter().enumerate() {
        for (means, variances) in found {
            let steps = exact_steps(means, variances);
            let column = |values: &[f64]| values[t..].iter().step_by(steps).copied().collect::<Vec<_>>();
            let (mean, error) = mean_and_error(&column(means));
            assert!(
                (mean - exact.mean[0]).abs() < 4.0 * error + 1e-3,
                "{name} {t}: {mean}±{error} {exact:?}"
            );
            assert!(error < 0.01, "{error} is no test");
            let (variance, error) = mean_and_error(&column(variances));
            let variance_found = exact.covariance[0][0];
            assert!(
                (variance - variance_found).abs() < 4.0 * error + 2e-3,
                "{name} {t}: {variance}±{error} {exact:?}"
            );
            assert!(error < 0.01, "{error} is no test");
        }
    }
}

pub fn exact_steps(means: &[f64], variances: &[f64]) -> usize {
    assert_eq!(means.len(), variances.len());
    means.len() / RUNS.count
}

pub const RUNS: Runs = Runs { count: 60, particles: 200, seed: 3 };
