//! The baseline: gradients, sizes and losses.

use crate::common::numbers;
use crate::differences::{TRAINING, batch, check, count, frame_encoder, init, stirred};
use burn::tensor::{DType, Device};
use driftless::baseline::{BaselineNormalisation, BaselinePlan, RecurrentBaseline};
use driftless::nets::{ConvPlan, ImageEncoder};
use driftless::parameters::{Init, Named, values, with_values};
use driftless::{LabelMean, Phase, Space};

fn normalisation() -> BaselineNormalisation {
    BaselineNormalisation {
        space: Space::SE2,
        action_std: vec![0.5, 0.5, 0.2],
        state_mean: vec![1.0, 2.0, 0.0],
        state_std: vec![1.5, 1.5, 2.0],
        step: vec![0.5, 0.5, 0.3],
    }
}

fn baseline() -> RecurrentBaseline<ImageEncoder> {
    let plan = BaselinePlan { encoding: 5, units: 6, head: 6 };
    stirred(RecurrentBaseline::new(frame_encoder(), plan, normalisation(), &mut init(18)), 19)
}

#[test]
fn gradients_of_the_lstm() {
    let batch = batch();
    check("lstm", &baseline(), |net| net.loss(&batch, LabelMean::Known, TRAINING));
}

/// (ŝ - s*) / step, squared and summed, angles wrapped by hand: from 3 to -3 it is 2π - 6, not 6.
#[test]
fn a_baselines_loss_by_hand() {
    let (batch, net) = (batch(), baseline());
    let said = numbers(&net.estimates(&batch.observations, &batch.actions, Phase::Evaluation));
    let mut sum = 0.0;
    for (from, truth) in [(0, [0.5, 1.0, 3.0]), (15, [-0.3, 0.2, -3.0])] {
        for (k, step) in [0.5, 0.5, 0.3].iter().enumerate() {
            let difference = truth[k] - said[from + k];
            let wrapped = if k == 2 { difference.sin().atan2(difference.cos()) } else { difference };
            sum += (wrapped / step).powi(2);
        }
    }
    let loss = |over| numbers(&net.loss(&batch, over, Phase::Evaluation))[0];
    assert!((loss(LabelMean::Known) - sum / 2.0).abs() < 1e-11 * sum, "{sum}");
    assert!((loss(LabelMean::Share(0.5)) - sum / 3.0).abs() < 1e-11 * sum, "{sum}");
}

/// States are said around their mean.
#[test]
fn a_silent_head_says_the_mean() {
    let (batch, net) = (batch(), baseline());
    let silent: Vec<Named> = values(&net)
        .into_iter()
        .filter(|value| value.name.starts_with("head.layers.2"))
        .map(|value| Named { values: vec![0.0; value.values.len()], ..value })
        .collect();
    assert_eq!(silent.len(), 2);
    let net = with_values(net, &silent);
    let said = net.estimates(&batch.observations, &batch.actions, Phase::Evaluation);
    assert_eq!(numbers(&said), [1.0, 2.0, 0.0].repeat(6));
}

/// By hand: the encoder's 97 440; LSTMs (131 + 512) 2048 + 2048 and 1024 · 2048 + 2048; head 131 328 + 65 792 + 771.
#[test]
fn parameters_of_the_released_baseline() {
    let mut init = Init::new(1, &Device::flex(), DType::F32);
    let encoder = ImageEncoder::new(ConvPlan::released([3, 24, 24]), &mut init);
    let net = RecurrentBaseline::new(encoder, BaselinePlan::RELEASED, normalisation(), &mut init);
    assert_eq!(count(&net), 97_440 + 1_318_912 + 2_099_200 + 197_891);
}
