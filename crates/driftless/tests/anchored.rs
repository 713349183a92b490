//! Filters that are told some states, smoothed, against Rauch–Tung–Striebel with the labels as readings.

mod common;
mod rts;
mod smoothed;

use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use common::{LinearGaussian, Problem, Runs, f64s, filter, mean_and_error, numbers};
use driftless::model::{GaussianMotion, GivenOdometry, Motion};
use driftless::resample::Scheme;
use driftless::smooth::chain::Matrix;
use driftless::smooth::{Anchored, Marginals, Paths};
use driftless::{DrawSizes, Draws, Filter, Labels, Measurement, Phase, Prior, Rollout, Space, StateSpace};
use driftless_world::pose::wrap;
use rts::Linear;
use smoothed::{RUNS, actions, agree, both, linear, uniforms};
use std::f64::consts::TAU;

/// Filters golden B with labels at steps 0 and 2, or 1 alone, `variance` apart from the truth or exact.
fn anchored(told: &[(usize, f64, f64)], runs: Runs) -> (Problem, LinearGaussian, Rollout<LinearGaussian>) {
    let problem = Problem::golden_b();
    let (model, filter) = (problem.model(0.0), filter(Scheme::Systematic));
    let mut states = [None; 3];
    for &(t, value, _) in told {
        states[t] = Some([value]);
    }
    let (draws, labels, _) = setting(&states, runs.count, runs.particles);
    let anchored = match told[0].2 {
        0.0 => Anchored::exact(&filter, &labels),
        variance => Anchored::with_covariance(&filter, &labels, &Matrix::diagonal(&[variance])),
    };
    let prior = Prior::Normal { mean: vec![0.0], std: vec![problem.first_variance.sqrt()] };
    let observations = f64s::<3>(TensorData::new(problem.observations.clone(), [1, 3, 1]));
    let observations = observations.expand([runs.count, 3, 1]);
    let rollout = anchored.run(&model, &prior, &observations, &actions(&problem, runs.count), &draws);
    (problem, model, rollout)
}

const TOLD: [&[(usize, f64, f64)]; 5] = [
    &[(1, -0.9, 0.0)],
    &[(0, 0.7, 0.0), (2, 0.4, 0.0)],
    &[(2, 0.8, 0.0)],
    &[(1, -0.9, 0.1)],
    &[(0, 0.7, 0.3), (2, 0.4, 0.3)],
];

#[test]
fn labels_are_readings_exact_or_not() {
    for told in TOLD {
        let (problem, model, rollout) = anchored(told, RUNS);
        agree(&format!("{told:?}"), &linear(&problem, told), &both(&problem, &model, &rollout, 200));
    }
}

/// E[Ẑ / Z] = 1, Z the density of observations and labels together.
#[test]
fn evidence_counts_the_labels() {
    for told in TOLD {
        let (problem, _, rollout) = anchored(told, Runs { count: 4000, particles: 20, seed: 6 });
        let exact = linear(&problem, told).log_evidence();
        let logs = numbers(&rollout.log_evidence());
        let ratios: Vec<f64> = logs.iter().map(|log| (log - exact).exp()).collect();
        let (mean, error) = mean_and_error(&ratios);
        assert!((mean - 1.0).abs() < 4.0 * error && error < 0.03, "{told:?}: {mean} ± {error}");
    }
}

/// s' = A s + N(0, diag(q)), as a displacement.
#[derive(Module, Debug)]
struct Turning {
    /// (A - I)ᵀ, [1, 2, 2].
    change: Tensor<3>,
}

impl Motion for Turning {
    fn displacement(&self, states: Tensor<3>, _: Tensor<3>) -> Tensor<3> {
        states.matmul(self.change.clone())
    }
}

/// Nothing is seen: the same likelihood everywhere.
#[derive(Module, Debug, Default)]
struct Blind {}

impl Measurement for Blind {
    type Observations = ();
    type Cues = ();

    fn encode(&self, (): &(), _: Phase) {}

    fn log_likelihood(&self, (): &(), _: usize, states: Tensor<3>) -> Tensor<2> {
        states.slice_dim(2, 0..1).squeeze_dim::<2>(2).zeros_like()
    }
}

/// Draws and labels of `count` equal runs: the labels known at some of the steps.
fn setting<const S: usize>(
    told: &[Option<[f64; S]>],
    count: usize,
    particles: usize,
) -> (Draws, Labels, Tensor<3>) {
    let (steps, device) = (told.len(), Device::flex().autodiff());
    let sizes = DrawSizes { batch: count, steps, particles, state: S, noise: S, uniforms: 1 };
    let draws = Draws::new(sizes, 4, &device, DType::F64);
    let states: Vec<f64> = told.iter().flat_map(|told| told.unwrap_or([f64::NAN; S])).collect();
    let states = f64s::<3>(TensorData::new(states, [1, steps, S])).expand([count, steps, S]);
    let known: Vec<bool> = told.iter().map(Option::is_some).collect();
    let known = Tensor::<2, Bool>::from_data(TensorData::new(known, [1, steps]), &device);
    let labels = Labels::new(states, known.expand([count, steps]));
    (draws, labels, f64s::<3>([[[0.0; 3]]]).expand([count, steps, 3]))
}

/// States of two numbers, labels with correlated noise at two of four steps, nothing else seen.
#[test]
fn planar_labels_are_correlated_readings() {
    let motion = Turning { change: f64s([[[-0.1, -0.3], [0.4, -0.2]]]) };
    let transition = GaussianMotion::new(motion, vec![0.5, 0.3], Space::LINEAR);
    let model = StateSpace { transition, measurement: Blind::default() };
    let (count, noise) = (60, [[0.3, 0.15], [0.15, 0.2]]);
    let told = [None, Some([0.8, -0.6]), None, Some([-0.2, 0.5])];
    let (draws, labels, actions) = setting(&told, count, 200);
    let filter = filter(Scheme::Systematic);
    let covariance = Matrix::from_fn(2, |i, j| noise[i][j]);
    let anchored = Anchored::with_covariance(&filter, &labels, &covariance);
    let prior = Prior::Normal { mean: vec![0.3, -0.1], std: vec![0.9, 0.7] };
    let rollout = anchored.run(&model, &prior, &(), &actions, &draws);
    let exact = Linear {
        first: ([0.3, -0.1], [[0.81, 0.0], [0.0, 0.49]]),
        motion: [[0.9, 0.4], [-0.3, 0.8]],
        drive: vec![[0.0; 2]; 4],
        noise: [[0.25, 0.0], [0.0, 0.09]],
        readings: told.iter().map(|told| told.iter().map(|&told| (told, noise)).collect()).collect(),
    };
    let paths = Paths::draw(&model, &rollout, &actions, &uniforms(count * 200 * 4, 5));
    for (means, covariances) in [Marginals::of(&model, &rollout, &actions).moments(), paths.moments()] {
        let (means, covariances) = (numbers(&means), numbers(&covariances));
        for (t, exact) in exact.smooth().iter().enumerate() {
            let check = |values: Vec<f64>, exact: f64| {
                let (mean, error) = mean_and_error(&values);
                assert!((mean - exact).abs() < 4.0 * error + 3e-3, "{t}: {mean} ± {error}, not {exact}");
                assert!(error < 0.015, "{error} is no test");
            };
            for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                check(means.iter().skip(2 * t + i).step_by(8).copied().collect(), exact.mean[i]);
                let column = covariances.iter().skip(4 * t + 2 * i + j).step_by(16);
                check(column.copied().collect(), exact.covariance[i][j]);
            }
        }
    }
}

/// Particles beyond ±π are near a label before it: weights by a plain loop over wrapped differences.
#[test]
fn headings_of_labels_wrap() {
    let transition = GaussianMotion::new(GivenOdometry::default(), vec![0.1; 3], Space::SE2);
    let model = StateSpace { transition, measurement: Blind::default() };
    let (draws, labels, actions) = setting(&[Some([0.1, 0.2, -3.1])], 1, 30);
    let filter = Filter { space: Space::SE2, ..filter(Scheme::Systematic) };
    let std = [0.5, 0.4, 0.2];
    let covariance = Matrix::diagonal(&std.map(|std| std * std));
    let prior = Prior::Normal { mean: vec![0.0, 0.0, 3.1], std: vec![0.5, 0.5, 0.3] };
    let anchored = Anchored::with_covariance(&filter, &labels, &covariance);
    let rollout = anchored.run(&model, &prior, &(), &actions, &draws);
    let density = |state: &[f64]| {
        let apart = [state[0] - 0.1, state[1] - 0.2, wrap(state[2] + 3.1)];
        let one = |(apart, std): (f64, f64)| (-0.5 * (apart / std).powi(2)).exp() / (std * TAU.sqrt());
        apart.into_iter().zip(std).map(one).product::<f64>()
    };
    let states = numbers(&rollout.beliefs[0].states);
    let densities: Vec<f64> = states.chunks_exact(3).map(density).collect();
    let sum: f64 = densities.iter().sum();
    for (weight, density) in numbers(&rollout.beliefs[0].weights.exp()).into_iter().zip(densities) {
        assert!((weight - density / sum).abs() < 1e-12);
    }
    assert!((numbers(&rollout.log_evidence())[0] - (sum / 30.0).ln()).abs() < 1e-12);
    assert!(sum / 30.0 > 0.1, "{sum}");
}
