//! How far one estimate is from the truth, in units, in radians and in step sizes.

use super::coordinates::Coordinate;
use crate::error::{Error, Result};
use crate::pose::{Pose, wrap};

/// Beyond this many units, sums of fourth powers come near to leaving the range of floats; no world is that large.
const FARTHEST: f64 = 1e9;
/// Step sizes outside of this range are mistakes, and would make squares overflow.
const STEP_SIZES: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// The errors of one estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Errors {
    /// Distance of the positions; of named coordinates √ Σ_k (Δ_k / deviation_k)².
    pub(super) position: f64,
    /// Absolute difference of the headings, radians, at most π.
    pub(super) heading: f64,
    /// DPF's d² = Σ_k (Δ_k / step size_k)² over x, y and the wrapped heading.
    pub(super) squared_scaled: f64,
}

/// A step whose true pose is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compared {
    /// Which step, from 0.
    pub(super) step: usize,
    /// How far off the estimate is; nothing if it is not usable.
    pub(super) errors: Option<Errors>,
}

impl Errors {
    /// Nothing if the estimate is not finite or beyond 10⁹ units.
    pub(super) fn of(truth: Pose, estimate: Pose, step_sizes: [f64; 3]) -> Option<Self> {
        if !is_place(&estimate) {
            return None;
        }
        let heading = wrap(estimate.heading - truth.heading).abs();
        let differences = [estimate.x - truth.x, estimate.y - truth.y, heading];
        let squared_scaled =
            differences.iter().zip(step_sizes).map(|(difference, size)| (difference / size).powi(2)).sum();
        Some(Self { position: truth.distance(estimate), heading, squared_scaled })
    }

    /// The same of named coordinates, whose differences are divided by their sizes; there is no heading.
    pub(super) fn of_state(truth: &[f64], estimate: &[f64], coordinates: &[Coordinate]) -> Option<Self> {
        if !estimate.iter().copied().all(is_usable) {
            return None;
        }
        let squares = |size: fn(&Coordinate) -> f64| -> f64 {
            let all = coordinates.iter().zip(truth.iter().zip(estimate));
            all.map(|(one, (truth, estimate))| (one.difference(*estimate, *truth) / size(one)).powi(2)).sum()
        };
        let position = squares(|one| one.deviation).sqrt();
        Some(Self { position, heading: 0.0, squared_scaled: squares(|one| one.step) })
    }
}

pub(super) fn check_step_sizes(sizes: &[f64]) -> Result<()> {
    if sizes.iter().all(|size| STEP_SIZES.contains(size)) {
        return Ok(());
    }
    let problem = format!("{sizes:?} are not positive numbers between 1e-9 and 1e9");
    Err(Error::new(problem).in_field("step sizes"))
}

/// True if a number is finite and small enough that its fourth power is.
pub(super) fn is_usable(value: f64) -> bool {
    value.abs() <= FARTHEST
}

/// True if a pose can be compared with another.
pub(super) fn is_place(pose: &Pose) -> bool {
    [pose.x, pose.y, pose.heading].into_iter().all(is_usable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn headings_are_compared_across_the_seam() {
        let errors =
            Errors::of(Pose::new(0.0, 0.0, PI - 0.1), Pose::new(3.0, 4.0, -PI + 0.2), [1.0, 2.0, 0.3]);
        let errors = errors.unwrap();
        assert_eq!(errors.position, 5.0);
        assert!((errors.heading - 0.3).abs() < 1e-12);
        // 3² + (4 / 2)² + (0.3 / 0.3)² = 14; subtracting angles near π costs a few 1e-16.
        assert!((errors.squared_scaled - 14.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_a_place_has_no_errors() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e9] {
            for estimate in [Pose::new(bad, 0.0, 0.0), Pose::new(0.0, bad, 0.0), Pose::new(0.0, 0.0, bad)] {
                assert_eq!(Errors::of(Pose::default(), estimate, [1.0; 3]), None);
            }
        }
        assert!(
            check_step_sizes(&[1.0, 0.0, 1.0]).is_err() && check_step_sizes(&[1.0, f64::NAN, 1.0]).is_err()
        );
    }
}
