//! Textbook models as motions and sensors: what filters are compared by, and what many systems are near to.
//!
//! ```
//! use driftless_core::models::{LinearMotion, LinearSensor};
//! use driftless_core::{Belief, Filter, FilterState, Particles, Space, Stream, Workspace};
//!
//! // x' = 0.9 x + N(0, 0.25), y = x + N(0, 0.64).
//! let mut motion = LinearMotion::new(vec![0.9], vec![0.0], &[0.25]).unwrap();
//! let sensor = LinearSensor::new(vec![1.0], vec![0.64], 1).unwrap();
//! let start = Particles::from_states(Space::linear(1), vec![[0.0_f32]; 1000]);
//! let mut state = FilterState::new(Belief::new(start));
//! let report = Filter::bootstrap(1000).step(
//!     &mut state,
//!     &mut motion,
//!     &mut sensor.of(&[1.0]),
//!     &mut Stream::new(1, 0),
//!     &mut Workspace::new(Space::linear(1)),
//! );
//! assert!(!report.collapsed);
//! ```

mod linear_motion;
mod linear_sensor;
mod volatility;

#[cfg(test)]
mod tests;

pub use linear_motion::LinearMotion;
pub use linear_sensor::{LinearSensor, Measured};
pub use volatility::Volatility;

/// A variance below this share of the largest one is no variance but rounding.
const LEAST_PIVOT: f64 = 1e-12;

/// The lower factor L of a covariance L Lᵀ, row after row. Coordinates without noise are allowed; `None` if it is not
/// symmetric, not finite, or some combination of coordinates has a negative variance.
fn factor(covariance: &[f64], size: usize) -> Option<Vec<f64>> {
    let at = |row: usize, column: usize| covariance[row * size + column];
    let largest = (0..size).map(|k| at(k, k)).fold(0.0, f64::max);
    let mut factor = vec![0.0; size * size];
    for row in 0..size {
        for column in 0..=row {
            let [own, across] = [at(row, column), at(column, row)];
            if !own.is_finite() || !across.is_finite() || (own - across).abs() > 1e-9 * largest {
                return None;
            }
            let [own, other] = [row, column].map(|r| &factor[r * size..r * size + column]);
            let left = at(row, column) - own.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            let pivot = factor[column * size + column];
            factor[row * size + column] = match (row == column, left) {
                (true, left) if left < -LEAST_PIVOT * largest => return None,
                (true, left) => {
                    if left > LEAST_PIVOT * largest {
                        left.sqrt()
                    } else {
                        0.0
                    }
                }
                (false, left) if pivot == 0.0 => {
                    // A coordinate without noise of its own cannot vary with others.
                    if left.abs() > 1e-9 * largest {
                        return None;
                    }
                    0.0
                }
                (false, left) => left / pivot,
            };
        }
    }
    Some(factor)
}
