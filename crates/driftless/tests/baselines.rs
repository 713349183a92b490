//! Baselines: gradients, sizes, losses, and what they are told.

mod common;
mod differences;

use burn::tensor::{DType, Device};
use common::{f64s, numbers};
use differences::{TRAINING, batch, check, count, eyes, init, noise, stirred};
use driftless::baseline::{BaselinePlan, BaselineScales, CellKind, RecurrentBaseline};
use driftless::nets::{ConvPlan, ImageEncoder};
use driftless::parameters::{Init, Named, values, with_values};
use driftless::{LabelMean, Phase, Space};

fn scales() -> BaselineScales {
    BaselineScales {
        space: Space::SE2,
        action_std: vec![0.5, 0.5, 0.2],
        state_mean: vec![1.0, 2.0, 0.0],
        state_std: vec![1.5, 1.5, 2.0],
        step: vec![0.5, 0.5, 0.3],
    }
}

fn baseline(cell: CellKind, tracking: bool) -> RecurrentBaseline<ImageEncoder> {
    let plan = BaselinePlan { cell, encoding: 5, units: 6, head: 6, tracking };
    stirred(RecurrentBaseline::new(eyes(), plan, scales(), &mut init(18)), 19)
}

#[test]
fn baselines() {
    let batch = batch();
    for (cell, tracking) in [(CellKind::Lstm, true), (CellKind::Gru, false), (CellKind::FeedForward, true)] {
        let first = tracking.then(|| noise([2, 3], 20));
        check(&format!("{cell:?}"), &baseline(cell, tracking), |net| {
            net.loss(&batch, first.clone(), LabelMean::Known, TRAINING)
        });
    }
}

/// (ŝ - s*) / step, squared and summed, angles wrapped by hand: from 3 to -3 it is 2π - 6, not 6.
#[test]
fn a_baselines_loss_by_hand() {
    let (batch, net) = (batch(), baseline(CellKind::Gru, false));
    let said = numbers(&net.estimates(&batch.observations, &batch.actions, None, Phase::Evaluation));
    let mut sum = 0.0;
    for (from, truth) in [(0, [0.5, 1.0, 3.0]), (15, [-0.3, 0.2, -3.0])] {
        for (k, step) in [0.5, 0.5, 0.3].iter().enumerate() {
            let difference = truth[k] - said[from + k];
            let wrapped = if k == 2 { difference.sin().atan2(difference.cos()) } else { difference };
            sum += (wrapped / step).powi(2);
        }
    }
    let loss = |over| numbers(&net.loss(&batch, None, over, Phase::Evaluation))[0];
    assert!((loss(LabelMean::Known) - sum / 2.0).abs() < 1e-11 * sum, "{sum}");
    assert!((loss(LabelMean::Share(0.5)) - sum / 3.0).abs() < 1e-11 * sum, "{sum}");
}

/// A state of its mean tells only the flag, and a flag alone differs from nothing told; without
/// memory the first state is seen at the first step alone; states are said around their mean.
#[test]
fn the_first_state_is_told_once() {
    let batch = batch();
    let said = |net: &RecurrentBaseline<ImageEncoder>, first: Option<[f64; 3]>| {
        let first = first.map(|first| f64s::<2>([first, first]));
        numbers(&net.estimates(&batch.observations, &batch.actions, first, Phase::Evaluation))
    };
    let changed = |cell: CellKind, one: Option<[f64; 3]>, other: Option<[f64; 3]>| {
        let net = baseline(cell, true);
        let (one, other) = (said(&net, one), said(&net, other));
        [0, 3, 6].map(|step| one[step..step + 3] != other[step..step + 3])
    };
    let (mean, away) = (Some([1.0, 2.0, 0.0]), Some([3.0, 2.0, 1.0]));
    assert_eq!(changed(CellKind::FeedForward, None, mean), [true, false, false]);
    assert_eq!(changed(CellKind::FeedForward, mean, away), [true, false, false]);
    assert_eq!(changed(CellKind::Lstm, mean, away), [true, true, true]);
    let net = baseline(CellKind::Lstm, false);
    let silent: Vec<Named> = values(&net)
        .into_iter()
        .filter(|value| value.name.starts_with("head.layers.2"))
        .map(|value| Named { values: vec![0.0; value.values.len()], ..value })
        .collect();
    assert_eq!(silent.len(), 2);
    assert_eq!(said(&with_values(net, &silent), None), [1.0, 2.0, 0.0].repeat(6));
}

/// By hand, besides the encoder's 97 440: LSTMs (131 + 512) 2048 + 2048 and 1024 · 2048 + 2048; GRUs 3 (643 · 512 + 512) and 3 (1024 · 512 + 512);
/// layers 131 · 512 + 512 and 512 · 512 + 512; head 131 328 + 65 792 + 771.
#[test]
fn parameters_of_the_released_baselines() {
    let mut init = Init::new(1, &Device::flex(), DType::F32);
    let encoder = ImageEncoder::new(ConvPlan::released([3, 24, 24]), &mut init);
    let head = 197_891;
    for (cell, cells) in [
        (CellKind::Lstm, 1_318_912 + 2_099_200),
        (CellKind::Gru, 989_184 + 1_574_400),
        (CellKind::FeedForward, 67_584 + 262_656),
    ] {
        let plan = BaselinePlan::released(cell);
        let net = RecurrentBaseline::new(encoder.clone(), plan, scales(), &mut init);
        assert_eq!(count(&net), 97_440 + cells + head, "{cell:?}");
        let tracking = RecurrentBaseline::new(
            encoder.clone(),
            BaselinePlan { tracking: true, ..plan },
            scales(),
            &mut init,
        );
        let inputs = match cell {
            CellKind::Lstm => 4 * 2048,
            CellKind::Gru => 4 * 3 * 512,
            CellKind::FeedForward => 4 * 512,
        };
        assert_eq!(count(&tracking), count(&net) + inputs, "{cell:?} told the first state");
    }
}
