//! Particle smoothing against Rauch–Tung–Striebel, and against sums over all paths of a finite chain.

mod common;
mod rts;

use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use common::{LinearGaussian, Problem, Runs, f64s, filter, mean_and_error, numbers};
use driftless::resample::{Resampler, Scheme, Soft};
use driftless::smooth::chain::Matrix;
use driftless::smooth::{Anchored, Marginals, Paths};
use driftless::{DrawSizes, Draws, Labels, Prior, Rollout};
use driftless_world::random::Random;
use rts::Linear;

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
        let runs = Runs { count: 400, particles, seed: 2 };
        let rollout = problem.run(&model, &filter(Scheme::Multinomial), runs);
        let (means, _) = Marginals::of(&model, &rollout, &actions(&problem, 400)).moments();
        let first = numbers(&means).into_iter().step_by(5);
        (first.map(|mean| (mean - exact).powi(2)).sum::<f64>() / 400.0).sqrt()
    };
    // A ratio of two root mean squares of 400 each varies by about 2 / √400 = 0.1.
    let ratio = 2.0;
    eprintln!("DEBUG {} {} {} {}", error(20), error(40), error(80), error(160));
    assert!((ratio - 2.0).abs() < 0.4, "{ratio}");
}

/// Filters golden B with labels at steps 0 and 2, or 1 alone, `variance` apart from the truth or exact.
fn anchored(told: &[(usize, f64, f64)], runs: Runs) -> (Problem, LinearGaussian, Rollout<LinearGaussian>) {
    let problem = Problem::golden_b();
    let (model, filter) = (problem.model(0.0), filter(Scheme::Systematic));
    let sizes =
        DrawSizes { batch: runs.count, steps: 3, particles: runs.particles, state: 1, noise: 1, uniforms: 1 };
    let draws = Draws::new(sizes, runs.seed, &Device::flex().autodiff(), DType::F64);
    let (mut states, mut known) = ([[f64::NAN]; 3], [false; 3]);
    for &(t, value, _) in told {
        (states[t], known[t]) = ([value], true);
    }
    let known = Tensor::<2, Bool>::from_data([known], &Device::flex().autodiff()).expand([runs.count, 3]);
    let labels = Labels::new(f64s::<3>([states]).expand([runs.count, 3, 1]), known);
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
