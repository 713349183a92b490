//! The particle filter against Kalman's, which is exact for linear-Gaussian models.

use crate::common::{Problem, Runs, filter, mean_and_error, numbers};
use driftless::resample::{Resampler, Scheme, Soft, StopGradient, WhenBelow};

fn never() -> WhenBelow {
    WhenBelow { fraction: 0.0, inner: Box::new(Scheme::Systematic) }
}

/// All resamplers whose evidence must be unbiased.
fn unbiased() -> Vec<Box<dyn Resampler>> {
    let mut all: Vec<Box<dyn Resampler>> =
        vec![Box::new(Soft::new(0.5, Scheme::Systematic)), Box::new(StopGradient(Scheme::Stratified))];
    all.push(Box::new(WhenBelow { fraction: 0.5, inner: Box::new(Scheme::Systematic) }));
    all.push(Box::new(WhenBelow { fraction: 0.5, inner: Box::new(Soft::new(0.3, Scheme::Multinomial)) }));
    all.push(Box::new(never()));
    all.extend(Scheme::ALL.map(|scheme| Box::new(scheme) as Box<dyn Resampler>));
    all
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected} within {tolerance}");
}

/// The oracle itself, against numbers from dense linear algebra.
#[test]
fn kalman_has_the_golden_numbers() {
    let a = Problem::golden_a().kalman();
    let means = [0.338_983_050_8, 0.010_434_782_6, 0.359_410_738_5, 0.701_576_167_5, 0.403_770_592_5];
    let variances = [0.338_983_050_8, 0.243_478_260_9, 0.221_360_728_8, 0.215_683_637_8, 0.214_188_945_7];
    for (found, (mean, variance)) in a.iter().zip(means.into_iter().zip(variances)) {
        assert_close(found[0], mean, 1e-10);
        assert_close(found[1], variance, 1e-10);
    }
    assert_close(Problem::golden_a().log_evidence(), -5.831_309_639_890_94, 1e-12);
    assert_close(Problem::golden_b().log_evidence(), -3.304_982_743_258_96, 1e-12);
}

/// Means, variances and evidence factors, for both problems and all resamplers. The bias of order
/// 1 / N is far below the Monte-Carlo error of 40 runs.
#[test]
fn many_particles_find_the_exact_posterior() {
    for problem in [Problem::golden_a(), Problem::golden_b()] {
        for resampler in unbiased() {
            let name = format!("{resampler:?}");
            let filter = driftless::Filter { resampler, ..filter(never()) };
            let runs = Runs { count: 40, particles: 4000, seed: 1 };
            let rollout = problem.run(&problem.model(0.0), &filter, runs);
            for (t, exact) in problem.kalman().into_iter().enumerate() {
                let belief = &rollout.beliefs[t];
                let mean = belief.mean(filter.space); // [B, 1]
                let centred = belief.states.clone() - mean.clone().unsqueeze_dim::<3>(1);
                let spread = (belief.weights.exp().unsqueeze_dim::<3>(2) * centred.square()).sum_dim(1);
                let found = [numbers(&mean), numbers(&spread), numbers(&rollout.infos[t].log_evidence)];
                for (k, (found, exact)) in found.iter().zip(exact).enumerate() {
                    let (mean, error) = mean_and_error(found);
                    assert!(
                        (mean - exact).abs() < 4.0 * error,
                        "{name} step {t}, {k}: {mean}±{error} {exact}"
                    );
                    assert!(error < 0.01, "{name}: {error} is no test");
                }
            }
        }
    }
}

/// Four times the particles halve the error: each root mean square of 400 runs has a relative
/// standard error of 1 / √800, their ratio one of 1 / 20, four of which are 20 %.
#[test]
fn error_falls_with_the_root_of_n() {
    let problem = Problem::golden_a();
    let exact = problem.kalman()[4][0];
    let error = |particles| {
        let runs = Runs { count: 400, particles, seed: 2 };
        let rollout = problem.run(&problem.model(0.0), &filter(Scheme::Multinomial), runs);
        let means = numbers(&rollout.beliefs[4].mean(driftless::Space::LINEAR));
        (means.iter().map(|mean| (mean - exact).powi(2)).sum::<f64>() / 400.0).sqrt()
    };
    assert_close(error(100) / error(400), 2.0, 0.4);
}

/// E[Ẑ / Z] = 1 for any number of particles, even ten.
#[test]
fn evidence_is_unbiased() {
    for problem in [Problem::golden_a(), Problem::golden_b()] {
        for resampler in unbiased() {
            let name = format!("{resampler:?}");
            let filter = driftless::Filter { resampler, ..filter(never()) };
            let runs = Runs { count: 10_000, particles: 10, seed: 3 };
            let rollout = problem.run(&problem.model(0.0), &filter, runs);
            let logs = numbers(&rollout.log_evidence());
            let ratios: Vec<f64> = logs.iter().map(|log| (log - problem.log_evidence()).exp()).collect();
            let (mean, error) = mean_and_error(&ratios);
            assert!((mean - 1.0).abs() < 4.0 * error, "{name}: {mean} ± {error}");
            assert!(error < 0.02, "{name}: {error} is no test");
            // The logarithm is biased downwards: the check above is not vacuous.
            let (mean, error) = mean_and_error(&logs);
            assert!(mean + 4.0 * error < problem.log_evidence(), "{name}: {mean} ± {error}");
        }
    }
}

/// Soft resampling of few particles, where the mass of the new weights varies most.
#[test]
fn soft_evidence_counts_the_mass_of_the_new_weights() {
    let problem = Problem::golden_a();
    for (alpha, fraction) in [(0.0, 1.0), (0.2, 1.0), (0.0, 0.9)] {
        let soft = WhenBelow { fraction, inner: Box::new(Soft::new(alpha, Scheme::Multinomial)) };
        let runs = Runs { count: 60_000, particles: 3, seed: 9 };
        let rollout = problem.run(&problem.model(0.0), &filter(soft), runs);
        let logs = numbers(&rollout.log_evidence());
        let ratios: Vec<f64> = logs.iter().map(|log| (log - problem.log_evidence()).exp()).collect();
        let (mean, error) = mean_and_error(&ratios);
        assert!((mean - 1.0).abs() < 4.0 * error, "{alpha}: {mean} ± {error}");
    }
}

#[test]
fn one_step_is_an_exact_average() {
    let mut problem = Problem::golden_a();
    problem.observations.truncate(1);
    problem.actions.truncate(1);
    let rollout =
        problem.run(&problem.model(0.0), &filter(never()), Runs { count: 3, particles: 7, seed: 4 });
    let states = numbers(&rollout.beliefs[0].states);
    for (row, log) in numbers(&rollout.log_evidence()).into_iter().enumerate() {
        let likelihood = |s: &f64| (-(s - 0.5).powi(2)).exp() / (std::f64::consts::PI).sqrt();
        let average = states[7 * row..7 * row + 7].iter().map(likelihood).sum::<f64>() / 7.0;
        assert_close(log, average.ln(), 1e-12);
    }
}

#[test]
fn a_single_particle_has_all_weight() {
    let problem = Problem::golden_b();
    for resampler in unbiased() {
        let filter = driftless::Filter { resampler, ..filter(never()) };
        let rollout = problem.run(&problem.model(0.0), &filter, Runs { count: 2, particles: 1, seed: 5 });
        let mut path = [0.0; 2];
        for (belief, info) in rollout.beliefs.iter().zip(&rollout.infos) {
            assert!(numbers(&belief.weights.exp()).iter().all(|weight| (weight - 1.0).abs() < 1e-12));
            path.iter_mut().zip(numbers(&info.log_likelihood)).for_each(|(sum, log)| *sum += log);
        }
        assert_close(numbers(&rollout.log_evidence())[0], path[0], 1e-12);
        assert_close(numbers(&rollout.log_evidence())[1], path[1], 1e-12);
    }
}

#[test]
fn a_constant_factor_shifts_the_evidence_and_nothing_else() {
    let problem = Problem::golden_a();
    let run = |shift| {
        let runs = Runs { count: 3, particles: 50, seed: 6 };
        problem.run(&problem.model(shift), &filter(Scheme::Systematic), runs)
    };
    let (plain, shifted) = (run(0.0), run(300.0));
    for (plain, shifted) in numbers(&plain.log_evidence()).into_iter().zip(numbers(&shifted.log_evidence())) {
        assert_close(shifted, plain + 5.0 * 300.0, 1e-8);
    }
    for (plain, shifted) in numbers(&plain.estimates()).into_iter().zip(numbers(&shifted.estimates())) {
        assert_close(shifted, plain, 1e-10);
    }
}

/// Algorithm 1 of the paper leaves the first observation out of the weights.
#[test]
fn the_first_observation_can_be_left_out() {
    let problem = Problem::golden_b();
    let filter = driftless::Filter { weigh_first: false, ..filter(Scheme::Systematic) };
    let rollout = problem.run(&problem.model(0.0), &filter, Runs { count: 40, particles: 4000, seed: 7 });
    assert!(numbers(&rollout.infos[0].log_evidence).iter().all(|log| log.abs() < 1e-12));
    // p(o_2, o_3) by Kalman's filter started at step 2, whose states are counted from their mean.
    let blind = {
        let [a, b, q] = problem.motion;
        let first_variance = a * a * problem.first_variance + q;
        let mut later = Problem { first_variance, ..problem.clone() };
        let mean = b * problem.actions[1];
        later.actions = vec![0.0, problem.actions[2] + mean * (a / b)];
        later.observations = vec![problem.observations[1] - mean, problem.observations[2]];
        later.log_evidence()
    };
    let (mean, error) = mean_and_error(&numbers(&rollout.log_evidence()));
    assert!((mean - blind).abs() < 4.0 * error && error < 0.01, "{mean} ± {error}, not {blind}");
}
