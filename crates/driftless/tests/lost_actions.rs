//! An action that is not finite counts as none, in filters, smoothers, objectives and baselines alike.

mod common;
mod differences;

use burn::tensor::{Device, Tensor};
use common::{LinearGaussian, Problem, Runs, f64s, filter, numbers};
use differences::{eyes, init, noise, stirred};
use driftless::baseline::{BaselinePlan, BaselineScales, CellKind, RecurrentBaseline};
use driftless::objective::PseudoLikelihood;
use driftless::resample::Scheme;
use driftless::smooth::{Anchored, Marginals, Paths};
use driftless::{Batch, DrawSizes, Draws, Labels, Objective, Phase, Prior, Rollout, Space};

const RUNS: Runs = Runs { count: 2, particles: 7, seed: 4 };

fn labels() -> Labels {
    let known = Tensor::from_data([[false, true, false]; 2], &Device::flex().autodiff());
    Labels::new(f64s([[[0.0], [-0.4], [0.0]]; 2]), known)
}

/// Everything that a rollout of golden problem B, driven by `action` at step 1, comes to.
fn all(action: f64) -> Vec<f64> {
    let problem = Problem { actions: vec![0.3, action, 0.8], ..Problem::golden_b() };
    let (model, filter) = (problem.model(0.0), filter(Scheme::Systematic));
    let actions = f64s::<3>([[[0.3], [action], [0.8]]; 2]);
    let seen = f64s::<3>([[[0.2], [-0.6], [0.9]]; 2]);
    let prior = Prior::Normal { mean: vec![0.0], std: vec![1.2] };
    let sizes = DrawSizes { batch: 2, steps: 3, particles: 7, state: 1, noise: 1, uniforms: 1 };
    let draws = Draws::new(sizes, 9, &seen.device(), seen.dtype());
    let labels = labels();
    let told = Anchored::exact(&filter, &labels).run(&model, &prior, &seen, &actions, &draws);
    let plain = problem.run(&model, &filter, RUNS);
    let batch = Batch { observations: seen, actions: actions.clone(), labels: labels.clone() };
    let of = |rollout: &Rollout<LinearGaussian>| {
        let lost: Vec<i64> =
            rollout.infos.iter().flat_map(|info| info.lost.try_to_vec_as::<i64>().unwrap()).collect();
        let reported = i64::from(!action.is_finite());
        assert_eq!(lost, [0, 0, reported, reported, 0, 0]);
        let uniforms: Vec<f64> = (0..2 * 4 * 3).map(|k| (f64::from(k) * 0.37).fract()).collect();
        let paths = Paths::draw(&model, rollout, &actions, &uniforms);
        let (means, _) = Marginals::of(&model, rollout, &actions).moments();
        let objective = PseudoLikelihood::paper(3, prior.clone()).loss(&model, rollout, &batch);
        let numbers = [numbers(&rollout.estimates()), numbers(&paths.states), numbers(&means)];
        [numbers.concat(), common::numbers(&objective), common::numbers(&rollout.log_evidence())].concat()
    };
    [of(&plain), of(&told)].concat()
}

#[test]
fn a_lost_action_is_none_and_is_reported() {
    let none = all(0.0);
    assert!(none.iter().all(|x| x.is_finite()), "{none:?}");
    assert_ne!(all(0.1), none);
    for lost in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(all(lost), none);
    }
}

#[test]
fn baselines_pass_over_what_is_lost() {
    let scales = BaselineScales {
        space: Space::SE2,
        action_std: vec![0.5; 3],
        state_mean: vec![0.0; 3],
        state_std: vec![1.0; 3],
        step: vec![1.0; 3],
    };
    let plan = BaselinePlan { cell: CellKind::Gru, encoding: 5, units: 4, head: 4, tracking: false };
    let net = stirred(RecurrentBaseline::new(eyes(), plan, scales, &mut init(1)), 2);
    let said = |action: f64, pixel: f64| {
        let part = |value: f64, t: usize, shape: Tensor<5>| {
            Tensor::cat(
                vec![shape.clone().slice_dim(1, 0..t), shape.slice_dim(1, t..t + 1).full_like(value)],
                1,
            )
        };
        let actions = noise::<5>([2, 3, 3, 1, 1], 2);
        let actions = part(action, 2, actions).reshape([2, 3, 3]);
        let images = part(pixel, 2, noise([2, 3, 2, 5, 6], 3));
        numbers(&net.estimates(&images, &actions, None, Phase::Evaluation))
    };
    let none = said(0.0, 0.0);
    assert!(none.iter().all(|x| x.is_finite()) && said(0.1, 0.0) != none && said(0.0, 0.1) != none);
    assert_eq!(said(f64::NAN, f64::INFINITY), none);
}
