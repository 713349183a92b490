//! Which rule an optimiser follows.

use super::{Adam, RmsProp};

/// How a gradient becomes a change, chosen by configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Moments of the gradient, freed of their bias.
    Adam(Adam),
    /// The gradient divided by its recent size.
    RmsProp(RmsProp),
}

impl Rule {
    /// What the two numbers of state of a parameter are called, and where they start.
    pub(super) fn slots(&self) -> [(&'static str, f64); 2] {
        match self {
            Self::Adam(_) => [("m", 0.0), ("v", 0.0)],
            Self::RmsProp(rule) => [("ms", rule.start), ("mom", 0.0)],
        }
    }

    /// The rate of an update, which counts from 1.
    pub(super) fn rate(&self, rate: f64, update: u64) -> f64 {
        match self {
            Self::Adam(rule) => rule.unbiased_rate(rate, update),
            Self::RmsProp(_) => rate,
        }
    }

    /// What is taken from one number, whose state moves on, at the update's [`Rule::rate`].
    pub(super) fn change(&self, state: [&mut f64; 2], gradient: f64, rate: f64) -> f64 {
        match self {
            Self::Adam(rule) => rule.change(state, gradient, rate),
            Self::RmsProp(rule) => rule.change(state, gradient, rate),
        }
    }
}
