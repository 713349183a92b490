//! An action that is not finite counts as none, in filters, objectives and baselines alike.

use crate::common::{Problem, Runs, f64s, filter, numbers};
use crate::differences::{frame_encoder, init, noise, stirred};
use burn::tensor::{Device, Tensor};
use driftless::baseline::{BaselineNormalisation, BaselinePlan, RecurrentBaseline};
use driftless::objective::PseudoLikelihood;
use driftless::resample::Scheme;
use driftless::{Batch, Labels, Objective, Phase, Prior, Space};

const RUNS: Runs = Runs { count: 2, particles: 7, seed: 4 };

fn labels() -> Labels {
    let known = Tensor::from_data([[false, true, false]; 2], &Device::flex().autodiff());
    Labels::new(f64s([[[0.0], [-0.4], [0.0]]; 2]), known)
}

/// Everything that a rollout of golden problem B, driven by `action` at step 1, comes to.
fn all(action: f64) -> Vec<f64> {
    let problem = Problem { actions: vec![0.3, action, 0.8], ..Problem::golden_b() };
    let (model, filter) = (problem.model(0.0), filter(Scheme::Systematic));
    let seen = f64s::<3>([[[0.2], [-0.6], [0.9]]; 2]);
    let rollout = problem.run(&model, &filter, RUNS);
    let batch = Batch { observations: seen, actions: f64s([[[0.3], [action], [0.8]]; 2]), labels: labels() };
    let lost: Vec<i64> =
        rollout.infos.iter().flat_map(|info| info.lost.try_to_vec_as::<i64>().unwrap()).collect();
    let reported = i64::from(!action.is_finite());
    assert_eq!(lost, [0, 0, reported, reported, 0, 0]);
    let prior = Prior::Normal { mean: vec![0.0], std: vec![1.2] };
    let objective = PseudoLikelihood::paper(3, prior).loss(&model, &rollout, &batch);
    [numbers(&rollout.estimates()), numbers(&objective), numbers(&rollout.log_evidence())].concat()
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
    let normalisation = BaselineNormalisation {
        space: Space::SE2,
        action_std: vec![0.5; 3],
        state_mean: vec![0.0; 3],
        state_std: vec![1.0; 3],
        step: vec![1.0; 3],
    };
    let plan = BaselinePlan { encoding: 5, units: 4, head: 4 };
    let net = stirred(RecurrentBaseline::new(frame_encoder(), plan, normalisation, &mut init(1)), 2);
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
        numbers(&net.estimates(&images, &actions, Phase::Evaluation))
    };
    let none = said(0.0, 0.0);
    assert!(none.iter().all(|x| x.is_finite()) && said(0.1, 0.0) != none && said(0.0, 0.1) != none);
    assert_eq!(said(f64::NAN, f64::INFINITY), none);
}
