//! How the learning rate changes as training goes on.

use std::f64::consts::PI;

/// A factor for the learning rate, by the number of updates t = 0, 1, … already applied.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// 1.
    Constant,
    /// factor^⌊t / every⌋: PF-net's, 0.5 every four epochs.
    Step {
        /// What each stage multiplies by.
        factor: f64,
        /// Updates in a stage, at least 1.
        every: u64,
    },
    /// factor^(t / every), the same without stairs.
    Exponential {
        /// What `every` updates multiply by.
        factor: f64,
        /// Updates, at least 1.
        every: u64,
    },
    /// least + (1 - least) (1 + cos(π t / updates)) / 2, and `least` from then on (Loshchilov &
    /// Hutter 2017, without restarts).
    Cosine {
        /// Updates until the least, at least 1.
        updates: u64,
        /// What is left at the end.
        least: f64,
    },
    /// (t + 1) / updates times the first factor of another schedule, which begins at t = updates.
    WarmUp {
        /// Updates of it.
        updates: u64,
        /// What follows.
        then: Box<Schedule>,
    },
}

impl Schedule {
    /// The factor after `t` updates.
    pub fn factor(&self, t: u64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Step { factor, every } => factor.powf((t / every.max(&1)) as f64),
            Self::Exponential { factor, every } => factor.powf(t as f64 / *every.max(&1) as f64),
            Self::Cosine { updates, least } => {
                let share = t.min(*updates) as f64 / *updates.max(&1) as f64;
                least + (1.0 - least) * 0.5 * (1.0 + (PI * share).cos())
            }
            Self::WarmUp { updates, then } if t < *updates => {
                (t + 1) as f64 / *updates as f64 * then.factor(0)
            }
            Self::WarmUp { updates, then } => then.factor(t - updates),
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

    /// Powers and cosines of these angles are known to the last bit or two.
    #[test]
    fn published_values() {
        let step = Schedule::Step { factor: 0.5, every: 4 };
        assert_eq!(factors(&step, &[0, 3, 4, 7, 8]), [1.0, 1.0, 0.5, 0.5, 0.25]);
        let smooth = Schedule::Exponential { factor: 0.25, every: 4 };
        assert_close(&factors(&smooth, &[0, 2, 4, 6]), &[1.0, 0.5, 0.25, 0.125], 1e-15);
        let cosine = Schedule::Cosine { updates: 6, least: 0.1 };
        let expected = [1.0, 0.1 + 0.9 * 0.75, 0.55, 0.1 + 0.9 * 0.25, 0.1, 0.1];
        assert_close(&factors(&cosine, &[0, 2, 3, 4, 6, 600]), &expected, 1e-15);
        assert_eq!(factors(&Schedule::Constant, &[0, 1_000_000]), [1.0, 1.0]);
    }

    #[test]
    fn warm_up_leads_into_any_other() {
        let then = Box::new(Schedule::Step { factor: 0.5, every: 2 });
        let schedule = Schedule::WarmUp { updates: 4, then };
        let expected = [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.5, 0.5, 0.25];
        assert_eq!(factors(&schedule, &[0, 1, 2, 3, 4, 5, 6, 7, 8]), expected);
        let none = Schedule::WarmUp { updates: 0, then: Box::new(Schedule::Constant) };
        assert_eq!(factors(&none, &[0, 1]), [1.0, 1.0]);
    }

    /// Zero lengths are refused by the configuration; here they must not divide by zero.
    #[test]
    fn never_nan() {
        for schedule in [
            Schedule::Step { factor: 0.5, every: 0 },
            Schedule::Exponential { factor: 0.0, every: 0 },
            Schedule::Cosine { updates: 0, least: 0.2 },
        ] {
            assert!(factors(&schedule, &[0, 1, u64::MAX]).iter().all(|f| f.is_finite()), "{schedule:?}");
        }
    }
}
