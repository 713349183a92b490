//! The sharp measurement: likelihood and contrast by hand, gradients by differences.

use crate::common::{f64s, numbers};
use crate::differences::{check, frame_encoder, init, noise, stirred};
use burn::module::Module;
use burn::tensor::Tensor;
use driftless::Phase;
use driftless::model::{Encoder, Measurement, SharpMatch, StateEncoder};
use driftless::nets::{ImageEncoder, PlaceEncoder, Projected, Waves};

/// What is seen, and where, are features themselves.
#[derive(Module, Debug)]
struct AsItIs {}

impl Encoder for AsItIs {
    type Input = Tensor<3>;
    fn encode(&self, input: Tensor<3>, _: Phase) -> Tensor<3> {
        input
    }
}

impl StateEncoder for AsItIs {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        states
    }
}

/// Two images, two poses each; cosines 1, 0 | 0.6, -1 and 0, 1 | 0.8, 0; κ = 10 (first value).
#[test]
fn contrast_by_hand() {
    let matcher = SharpMatch::new(AsItIs {}, AsItIs {}, &init(1));
    let seen = f64s::<3>([[[2.0, 0.0], [0.0, 0.5]]]);
    let poses = f64s::<3>([[[3.0, 0.0], [0.0, 1.0], [3.0, 4.0], [-1.0, 0.0]]]);
    let found = numbers(&matcher.contrast(seen, poses))[0];
    let sum = |cosines: &[f64]| cosines.iter().map(|c| (10.0 * c).exp()).sum::<f64>().ln();
    let first = sum(&[1.0, 0.0, 0.6, -1.0]) - sum(&[1.0, 0.0]);
    let second = sum(&[0.0, 1.0, 0.8, 0.0]) - sum(&[0.8, 0.0]);
    assert!((found - 0.5 * (first + second)).abs() < 1e-12, "{found}");
}

/// log l = τ κ cos; an image that is not finite says NaN, which a filter takes as nothing.
#[test]
fn likelihood_by_hand() {
    let matcher = SharpMatch::new(AsItIs {}, AsItIs {}, &init(1)).with_tempering(0.3);
    let cues = matcher.encode(&f64s([[[3.0, 4.0], [f64::NAN, 1.0]]]), Phase::Evaluation);
    let states = f64s::<3>([[[1.0, 0.0], [0.0, -2.0]]]);
    let found = numbers(&matcher.log_likelihood(&cues, 0, states.clone()));
    assert!((found[0] - 1.8).abs() < 1e-12 && (found[1] + 2.4).abs() < 1e-12, "{found:?}");
    assert!(numbers(&matcher.log_likelihood(&cues, 1, states)).iter().all(|l| l.is_nan()));
}

#[test]
fn gradients_are_differences() {
    let frame_encoder: Projected<ImageEncoder> = Projected::new(frame_encoder(), 5, 4, &mut init(2));
    let places = PlaceEncoder::new(Waves::new([0.0, 0.0], 3.0, 2), &[6, 4], &mut init(3));
    let matcher = stirred(SharpMatch::new(frame_encoder, places, &init(4)), 5);
    let (images, poses) = (noise([1, 3, 2, 5, 6], 6), noise([1, 6, 3], 7));
    check("contrast", &matcher, |matcher| {
        let seen = matcher.observation.encode(images.clone(), Phase::Training { seed: 3 });
        matcher.contrast(seen, poses.clone())
    });
}
