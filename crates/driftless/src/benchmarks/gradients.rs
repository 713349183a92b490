//! Bias and spread of the gradient that comes through each resampler, against that of Kalman's likelihood.

use super::exact::Exact;
use super::models::{Autoregression, Read, Runs, numbers, readings, tensor};
use super::{Contender, Figure, Table};
use crate::model::StateSpace;
use burn::tensor::Device;
use driftless_world::random::Random;
use driftless_world::simulate::LinearGaussian;

/// a, q and r (Andersson & Zhao 2025).
const TRUTH: [f64; 3] = [0.5, 1.0, 0.5];
const PARTICLES: usize = 32;
/// Runs whose graphs are in memory at once.
const AT_ONCE: usize = 20;

/// Runs and steps.
fn sizes(quick: bool) -> [usize; 2] {
    if quick { [20, 10] } else { [500, 20] }
}

pub(super) fn table(quick: bool) -> Table {
    let [runs, steps] = sizes(quick);
    let walk = walk(steps);
    let exact = exact(&walk);
    let each = |contender: &Contender| {
        let found = gradients(contender, &walk, runs, PARTICLES);
        let part = |k: usize| found.iter().map(|gradient| gradient[k] - exact[k]).collect::<Vec<_>>();
        (0..3).flat_map(|k| [Figure::mean(&part(k)), Figure::deviation(&part(k))]).collect()
    };
    let columns = ["resampler", "a: bias", "deviation", "q: bias", "deviation", "r: bias", "deviation"];
    Table {
        id: "gradients".to_owned(),
        about: format!(
            "Gradient of log Ẑ by a, q and r of s' = 0.5 s + N(0, 1), o = s + N(0, 0.5), on one walk of {steps} steps, with \
             {PARTICLES} particles resampled in every step; mean over {runs} runs minus the exact gradient ({:.3}, {:.3}, \
             {:.3}), and the standard deviation of a run.",
            exact[0], exact[1], exact[2]
        ),
        columns: columns.map(ToOwned::to_owned).to_vec(),
        rows: Contender::rows(each),
    }
}

type Walk = Vec<[Vec<f64>; 2]>;

fn model([a, q, r]: [f64; 3]) -> LinearGaussian {
    LinearGaussian { matrix: vec![a], states: 1, readings: 1, motion: q, noise: r }
}

fn walk(steps: usize) -> Walk {
    model(TRUTH).walk(steps, &mut Random::stream(51, 0))
}

/// By central differences, good to 1e-9.
fn exact(walk: &Walk) -> [f64; 3] {
    let at = |k: usize, h: f64| {
        let mut theta = TRUTH;
        theta[k] += h;
        Exact::of(&model(theta), walk.iter().map(|[_, read]| read)).log_evidence()
    };
    [0, 1, 2].map(|k| (at(k, 1e-5) - at(k, -1e-5)) / 2e-5)
}

/// ∇ log Ẑ of each run.
fn gradients(contender: &Contender, walk: &Walk, runs: usize, particles: usize) -> Vec<[f64; 3]> {
    let device = Device::flex().autodiff();
    let mut all = Vec::with_capacity(runs);
    while all.len() < runs {
        let count = AT_ONCE.min(runs - all.len());
        let readings = readings(&vec![walk.clone(); count], &device);
        let filter = Runs { readings, particles, seed: 52 + all.len() as u64 };
        let theta = tensor::<2>(TRUTH.repeat(count), [count, 3], &device).require_grad();
        let part = |k: usize| theta.clone().slice_dim(1, k..k + 1);
        let model = StateSpace {
            transition: Autoregression { a: part(0), std: part(1).sqrt() },
            measurement: Read { std: part(2).sqrt() },
        };
        let one = tensor(vec![1.0; count], [count, 1], &device);
        let sum = filter.log_evidence(&model, contender.build(None), one).sum();
        let gradient = theta.grad(&sum.backward()).expect("the evidence depends on it");
        all.extend(numbers(&gradient).chunks_exact(3).map(|row| [row[0], row[1], row[2]]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before anything is resampled all resamplers have the same gradient, which is exact but for N: with two steps and
    /// stop-gradient resampling the mean of many runs is that of Kalman's likelihood, up to a bias of order 1 / N.
    #[test]
    fn means_are_near_the_exact_gradient() {
        let walk = walk(2);
        let contenders = Contender::all();
        let named = |name: &str| contenders.iter().find(|one| one.name == name).expect("it is registered");
        let found = gradients(named("stop-gradient"), &walk, 60, 400);
        let exact = exact(&walk);
        for k in 0..3 {
            let off = Figure::mean(&found.iter().map(|gradient| gradient[k] - exact[k]).collect::<Vec<_>>());
            let error = off.error.unwrap();
            // The bias is of order 1 / 400 of a gradient of order 1.
            assert!(off.value.abs() < 4.0 * error + 0.01 && error < 0.1, "{k}: {off:?} {exact:?}");
        }
    }
}
