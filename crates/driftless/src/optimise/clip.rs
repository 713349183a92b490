//! Cutting gradients that are too large.

use crate::parameters::Named;

/// How gradients are cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// Not at all, as in the authors' code.
    None,
    /// Where √Σ g² over all parameters exceeds the limit, all are scaled by limit / √Σ g²
    /// (Pascanu, Mikolov & Bengio 2013): the direction stays.
    Norm(f64),
    /// Each number is cut to ± the limit: the direction changes.
    Value(f64),
}

impl Clip {
    /// Cuts, and says whether anything was cut. A gradient that is not finite is left for the caller.
    pub(super) fn apply(self, gradients: &mut [Named], norm: f64) -> bool {
        let numbers = gradients.iter_mut().flat_map(|gradient| gradient.values.iter_mut());
        match self {
            _ if !norm.is_finite() => false,
            Self::Norm(limit) if norm > limit => {
                numbers.for_each(|g| *g *= limit / norm);
                true
            }
            Self::None | Self::Norm(_) => false,
            Self::Value(limit) => {
                let mut clipped = false;
                for g in numbers {
                    clipped |= g.abs() > limit;
                    *g = g.clamp(-limit, limit);
                }
                clipped
            }
        }
    }
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
