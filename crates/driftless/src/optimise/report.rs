//! What a step did, or why it did nothing.

use crate::parameters::Named;
use burn::tensor::DType;

/// What a step did.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// √Σ g² over all parameters.
    pub gradient_norm: f64,
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// Why nothing was changed, if so.
    pub skipped: Option<Skipped>,
}

/// Why an update was not applied. Parameters, state and schedule are then as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The loss is infinite or NaN.
    Loss,
    /// The gradient of this parameter is infinite or NaN, or too long to have a length.
    Gradient(String),
    /// This parameter, or its state, would have become infinite or NaN.
    Update(String),
}

/// √Σ g² over all parameters; NaN if any number is. Scaled by the largest, so that squares do not
/// overflow before the root is taken.
pub(super) fn norm(gradients: &[Named]) -> f64 {
    let numbers = || gradients.iter().flat_map(|gradient| gradient.values.iter());
    if numbers().any(|g| g.is_nan()) {
        return f64::NAN;
    }
    let largest = numbers().fold(0.0_f64, |largest, g| largest.max(g.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * numbers().map(|g| (g / largest).powi(2)).sum::<f64>().sqrt()
}

/// Why no update can be made of these numbers, if so.
pub(super) fn unusable(loss: f64, gradients: &[Named], norm: f64) -> Option<Skipped> {
    if !loss.is_finite() {
        return Some(Skipped::Loss);
    }
    let infinite = gradients.iter().find(|gradient| !is_finite(&gradient.values));
    // All may be finite, and the norm too large for a number.
    let infinite = infinite.or(gradients.first().filter(|_| !norm.is_finite()));
    infinite.map(|gradient| Skipped::Gradient(gradient.name.clone()))
}

pub(super) fn is_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// Whether a number is finite once it is rounded to the precision of its parameter.
pub(super) fn fits(value: f64, precision: DType) -> bool {
    if precision == DType::F64 { value.is_finite() } else { (value as f32).is_finite() }
}
