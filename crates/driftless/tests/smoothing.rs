//! Particle smoothing against Rauch–Tung–Striebel, and against sums over all paths of a finite chain.

mod common;
mod rts;

use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use common::{LinearGaussian, Problem, Runs, f64s, filter, mean_and_error, numbers};
use driftless::model::{GaussianMotion, GivenOdometry, Motion};
use driftless::resample::{Resampler, Scheme, Soft};
use driftless::smooth::chain::Matrix;
use driftless::smooth::{Anchored, Marginals, Paths};
use driftless::{DrawSizes, Draws, Filter, Labels, Measurement, Phase, Prior, Rollout, Space, StateSpace};
use driftless_world::pose::wrap;
use driftless_world::random::Random;
use rts::Linear;
use std::f64::consts::TAU;

/// A problem as the oracle wants it, with further readings (step, value, variance).
fn linear(problem: &Problem, further: &[(usize, f64, f64)]) -> Linear<1> {
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

fn actions(problem: &Problem, batch: usize) -> Tensor<3> {
    let steps = problem.actions.len();
    f64s::<3>(TensorData::new(problem.actions.clone(), [1, steps, 1])).expand([batch, steps, 1])
}

fn uniforms(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.unit()).collect()
}

/// Means and variances of every run and step, by paths and by marginals: [B, T] each.
fn both(
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
fn agree(name: &str, exact: &Linear<1>, found: &[(Vec<f64>, Vec<f64>); 2]) {
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

fn exact_steps(means: &[f64], variances: &[f64]) -> usize {
    assert_eq!(means.len(), variances.len());
    means.len() / RUNS.count
}

const RUNS: Runs = Runs { count: 60, particles: 200, seed: 3 };

#[test]
fn smoothed_moments_are_exact() {
    for problem in [Problem::golden_a(), Problem::golden_b()] {
        let resamplers: [Box<dyn Resampler>; 2] =
            [Box::new(Scheme::Systematic), Box::new(Soft::new(0.5, Scheme::Multinomial))];
        for resampler in resamplers {
            let name = format!("{resampler:?}");
            let model = problem.model(0.0);
            let rollout = problem.run(&model, &filter(resampler), RUNS);
            agree(&name, &linear(&problem, &[]), &both(&problem, &model, &rollout, 200));
        }
    }
}

#[test]
fn errors_halve_with_four_times_the_particles() {
    let problem = Problem::golden_a();
    let exact = linear(&problem, &[]).smooth()[0].mean[0];
    let model = problem.model(0.0);
    let error = |particles| {
        let runs = Runs { count: 1000, particles, seed: 2 };
        let rollout = problem.run(&model, &filter(Scheme::Multinomial), runs);
        let (means, _) = Marginals::of(&model, &rollout, &actions(&problem, 1000)).moments();
        let first = numbers(&means).into_iter().step_by(5);
        (first.map(|mean| (mean - exact).powi(2)).sum::<f64>() / 1000.0).sqrt()
    };
    // Each root mean square of 1000 is off by 1 / √2000, their ratio by 0.06: four of these, and 0.1
    // because 40 are few.
    let ratio = error(40) / error(160);
    assert!((ratio - 2.0).abs() < 0.35, "{ratio}");
}

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

/// Of 40 steps with 50 particles, all ancestral lines end in very few first states; paths do not.
#[test]
fn paths_do_not_share_their_beginnings() {
    let mut problem = Problem::golden_a();
    problem.observations = (0..40).map(|t| (f64::from(t) * 0.7).sin()).collect();
    problem.actions = vec![0.0; 40];
    let model = problem.model(0.0);
    let rollout =
        problem.run(&model, &filter(Scheme::Multinomial), Runs { count: 1, particles: 50, seed: 1 });
    let ancestors = |t: usize| rollout.infos[t].ancestors.try_to_vec_as::<i64>().unwrap();
    let lines = (1..40).rev().fold((0..50).collect::<Vec<i64>>(), |line, t| {
        let before = ancestors(t);
        line.iter().map(|&i| before[i as usize]).collect()
    });
    let distinct = |indices: Vec<i64>| indices.into_iter().collect::<std::collections::BTreeSet<_>>().len();
    let paths = Paths::draw(&model, &rollout, &actions(&problem, 1), &uniforms(50 * 40, 2));
    let first = paths.indices.slice_dim(2, 0..1).try_to_vec_as::<i64>().unwrap();
    let (lines, paths) = (distinct(lines), distinct(first));
    assert!(lines <= 4 && paths >= 15, "{lines} lines, {paths} paths");
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

/// One number for each path and step, in this order: a path does not depend on the others.
#[test]
fn a_path_is_named_by_its_numbers() {
    let problem = Problem::golden_b();
    let model = problem.model(0.0);
    let rollout = problem.run(&model, &filter(Scheme::Systematic), Runs { count: 2, particles: 30, seed: 1 });
    let numbers_of = uniforms(2 * 4 * 3, 7);
    let all = numbers(&Paths::draw(&model, &rollout, &actions(&problem, 2), &numbers_of).states);
    let two: Vec<f64> = [&numbers_of[3..9], &numbers_of[15..21]].concat();
    let some = numbers(&Paths::draw(&model, &rollout, &actions(&problem, 2), &two).states);
    assert_eq!(some, [&all[3..9], &all[15..21]].concat());
}
