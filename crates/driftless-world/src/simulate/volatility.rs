//! Stochastic volatility: returns whose standard deviation is what is looked for.

use super::{Simulation, World, vectors};
use crate::error::{Error, Result};
use crate::files::{Entry, Format};
use crate::random::Random;

/// x_1 ~ N(0, σ² / (1 - α²)), x_t = α x_(t-1) + N(0, σ²), y_t = β exp(x_t / 2) N(0, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StochasticVolatility {
    /// α, between -1 and 1.
    pub persistence: f64,
    /// σ.
    pub motion: f64,
    /// β.
    pub scale: f64,
}

impl StochasticVolatility {
    /// α = 0.91, σ = 1, β = 0.5 (Doucet & Johansen 2009).
    pub const USUAL: Self = Self { persistence: 0.91, motion: 1.0, scale: 0.5 };

    /// The standard deviation of x.
    pub fn spread(&self) -> f64 {
        self.motion / (1.0 - self.persistence * self.persistence).sqrt()
    }

    /// Logarithms of variances, and returns, of so many steps.
    pub fn walk(&self, steps: usize, random: &mut Random) -> Vec<[Vec<f64>; 2]> {
        let mut state = self.spread() * random.normal();
        let mut walk = Vec::with_capacity(steps);
        for step in 0..steps {
            if step > 0 {
                state = self.persistence * state + self.motion * random.normal();
            }
            walk.push([vec![state], vec![self.scale * (0.5 * state).exp() * random.normal()]]);
        }
        walk
    }
}

struct Walks {
    seed: u64,
    steps: usize,
}

/// With the usual parameters.
pub(super) fn build(wanted: &Simulation, _: &Format) -> Result<Box<dyn World>> {
    let steps = wanted.steps.unwrap_or(100);
    if steps == 0 {
        return Err(Error::usage("--steps 0: must be at least 1"));
    }
    Ok(Box::new(Walks { seed: wanted.seed, steps }))
}

impl World for Walks {
    fn steps(&self) -> usize {
        self.steps
    }

    fn episode(&self, number: usize) -> Result<Entry> {
        vectors(&StochasticVolatility::USUAL.walk(self.steps, &mut Random::stream(self.seed, number as u64)))
    }
}
