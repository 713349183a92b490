//! LSTM baselines with small random parameters, batches for them, and how exact 32 bits are.

use crate::differences::{plan, stirred};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::baseline::{BaselineNormalisation, BaselinePlan, RecurrentBaseline};
use driftless::nets::ImageEncoder;
use driftless::parameters::{Init, values, with_values};
use driftless::{Batch, Labels, Space};
use driftless_world::random::Random;

/// What is tested.
pub type Net = RecurrentBaseline<ImageEncoder>;

/// A network of 6 units in each layer of its head.
pub fn net(units: usize, precision: DType) -> Net {
    let normalisation = BaselineNormalisation {
        space: Space::SE2,
        action_std: vec![0.5, 0.5, 0.2],
        state_mean: vec![1.0, 2.0, 0.0],
        state_std: vec![1.5, 1.5, 2.0],
        step: vec![0.5, 0.5, 0.3],
    };
    let mut init = Init::new(18, &Device::flex().autodiff(), precision);
    let encoder = ImageEncoder::new(plan(), &mut init);
    let plan = BaselinePlan { encoding: 5, units, head: 6 };
    stirred(RecurrentBaseline::new(encoder, plan, normalisation, &mut init), 19)
}

/// The same numbers, which 32 bits hold, with 64 bits.
pub fn exact(net: &Net, units: usize) -> Net {
    with_values(self::net(units, DType::F64), &values(net))
}

/// Standard normal numbers that 32 bits hold.
pub fn noise<const D: usize>(shape: [usize; D], seed: u64, precision: DType) -> Tensor<D> {
    let mut random = Random::new(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| random.normal() as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), (&Device::flex().autodiff(), precision))
}

/// Every other state is known.
pub fn batch(size: usize, steps: usize, precision: DType) -> Batch<Tensor<5>> {
    let known: Vec<bool> = (0..size * steps).map(|k| k % 2 == 0).collect();
    let known = Tensor::from_data(TensorData::new(known, [size, steps]), &Device::flex().autodiff());
    Batch {
        observations: noise([size, steps, 2, 5, 6], 16, precision),
        actions: noise([size, steps, 3], 17, precision),
        labels: Labels::new(noise([size, steps, 3], 20, precision), known),
    }
}

/// 32 bits round by at most 6e-8 of a number. The longest way of a number is through 5 steps of 2 cells,
/// forward and back, each of sums of up to 15 terms, and through 6 layers of up to 24 terms: some 900
/// roundings, 5e-5 if all were in the same direction. A wrong term is off by a hundredth and more.
pub const ROUNDING: f64 = 5e-5;

/// Fails unless numbers are near others, relative to the largest of these.
#[track_caller]
pub fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    let largest = expected.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    assert!(largest > 1e-3 && found.len() == expected.len(), "{what}: nothing to compare: {expected:?}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= ROUNDING * largest, "{what} {k}: {found} is not {expected}");
    }
}
