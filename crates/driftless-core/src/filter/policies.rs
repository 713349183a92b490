//! How many particles, how much a reading counts, and when the robot is elsewhere.

/// How many particles a belief is to have: as many for an area as once the robot is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// Once it is found.
    pub least: usize,
    /// As long as it may be anywhere.
    pub most: usize,
    /// A belief with this standard deviation has found it: the square of it is the area that `least` are for.
    pub found: f64,
}

impl Population {
    /// Always the same.
    pub const fn fixed(count: usize) -> Self {
        Self { least: count, most: count, found: 1.0 }
    }

    /// For a belief of this standard deviation.
    pub fn count(&self, spread: impl FnOnce() -> f64) -> usize {
        let (least, most) = (self.least.max(1), self.most.max(self.least).max(1));
        if least == most {
            return least;
        }
        let count = least as f64 * (spread() / self.found).powi(2);
        (count as usize).clamp(least, most)
    }
}

/// Likelihood tempering: what log-likelihoods are multiplied by.
///
/// Neighbouring readings err alike, so that a few of them can make a wrong place look sure; around a place that is
/// known they only move the estimate a little.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tempering {
    /// Where the belief is around one place.
    pub near: f32,
    /// Where readings decide between places.
    pub far: f32,
    /// A belief within this standard deviation is around one place.
    pub one_place: f64,
}

impl Tempering {
    /// Likelihoods as they are.
    pub const NONE: Self = Self::constant(1.0);

    /// The same everywhere.
    pub const fn constant(factor: f32) -> Self {
        Self { near: factor, far: factor, one_place: f64::INFINITY }
    }

    /// For a belief of this standard deviation.
    pub fn factor(&self, spread: impl FnOnce() -> f64) -> f32 {
        if self.near == self.far || spread() <= self.one_place { self.near } else { self.far }
    }
}

/// Recovery of a kidnapped robot by Bayes' rule: is it where it is believed to be, or anywhere?
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// The probability with which a robot is carried off in a step, or was never where it is believed to be.
    pub kidnap_probability: f64,
    /// No more than this share of the belief is given up at once: one odd reading must not move the mean far.
    pub most_injected: f64,
}

impl Recovery {
    /// The probability that the robot is elsewhere, given what it was before and the log evidence of a reading under the
    /// belief, and under the whole space.
    pub fn probability(&self, before: f64, here: f64, anywhere: f64) -> f64 {
        let before = self.unseen(before);
        let odds = (here - anywhere).exp() * (1.0 - before) / before;
        if odds.is_nan() { before } else { 1.0 / (1.0 + odds) }
    }

    /// The same where there was no reading.
    pub fn unseen(&self, before: f64) -> f64 {
        before + (1.0 - before) * self.kidnap_probability
    }
}
