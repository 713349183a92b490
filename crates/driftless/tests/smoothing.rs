//! Particle smoothing against Rauch–Tung–Striebel.

mod common;
mod rts;
mod smoothed;

use common::{Problem, Runs, filter, numbers};
use driftless::resample::{Resampler, Scheme, Soft};
use driftless::smooth::{Marginals, Paths};
use smoothed::{RUNS, actions, agree, both, linear, uniforms};

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
