//! How the learning rate changes as training goes on.

use std::f64::consts::PI;

/// A factor for the learning rate, by the number of updates t = 0, 1, … already applied.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// 1.
    Constant,
    /// least + (1 - least) (1 + cos(π t / updates)) / 2, and `least` from then on (Loshchilov &
    /// Hutter 2017, without restarts).
    Cosine {
        /// Updates until the least, at least 1.
        updates: u64,
        /// What is left at the end.
        least: f64,
    },
}

impl Schedule {
    /// The factor after `t` updates.
    pub fn factor(&self, t: u64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine { updates, least } => {
                let share = t.min(*updates) as f64 / *updates.max(&1) as f64;
                least + (1.0 - least) * 0.5 * (1.0 + (PI * share).cos())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    fn factors(schedule: &Schedule, at: &[u64]) -> Vec<f64> {
        at.iter().map(|&t| schedule.factor(t)).collect()
    }

    /// Cosines of these angles are known to the last bit or two.
    #[test]
    fn published_values() {
        let cosine = Schedule::Cosine { updates: 6, least: 0.1 };
        let expected = [1.0, 0.1 + 0.9 * 0.75, 0.55, 0.1 + 0.9 * 0.25, 0.1, 0.1];
        assert_close(&factors(&cosine, &[0, 2, 3, 4, 6, 600]), &expected, 1e-15);
        assert_eq!(factors(&Schedule::Constant, &[0, 1_000_000]), [1.0, 1.0]);
    }

    /// No updates must not divide by zero.
    #[test]
    fn never_nan() {
        let schedule = Schedule::Cosine { updates: 0, least: 0.2 };
        assert!(factors(&schedule, &[0, 1, u64::MAX]).iter().all(|f| f.is_finite()));
    }
}
