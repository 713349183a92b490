//! Linear state-space models with normal noise, whose exact answers are known: what filters are measured by.

use super::{Simulation, World, vectors};
use crate::error::{Error, Result};
use crate::files::{Entry, Format};
use crate::random::Random;

/// s_1 ~ N(0, I), s_t = A s_(t-1) + N(0, q I); the first numbers of a state are read, each with N(0, r).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearGaussian {
    /// A, row after row.
    pub matrix: Vec<f64>,
    /// Numbers in a state.
    pub states: usize,
    /// How many of them are read.
    pub readings: usize,
    /// q, a variance.
    pub motion: f64,
    /// r, a variance.
    pub noise: f64,
}

impl LinearGaussian {
    /// Two independent numbers, both read: A = θ I, q = 0.5, r = 0.1 (Corenflos et al. 2021, with θ = 0.5).
    pub fn plane(theta: f64) -> Self {
        Self { matrix: vec![theta, 0.0, 0.0, theta], states: 2, readings: 2, motion: 0.5, noise: 0.1 }
    }

    /// Numbers of which each is drawn to its neighbours, A_ij = 0.38^(|i-j| + 1), and only the first is read; q = r = 1
    /// (PyDPF, with 25).
    pub fn chain(states: usize) -> Self {
        let entry = |k: usize| 0.38_f64.powi((k / states).abs_diff(k % states) as i32 + 1);
        let matrix = (0..states * states).map(entry).collect();
        Self { matrix, states, readings: 1, motion: 1.0, noise: 1.0 }
    }

    /// A s.
    pub fn moved(&self, state: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(state).map(|(a, s)| a * s).sum();
        self.matrix.chunks(self.states).map(row).collect()
    }

    /// States and readings of so many steps.
    pub fn walk(&self, steps: usize, random: &mut Random) -> Vec<[Vec<f64>; 2]> {
        let mut state: Vec<f64> = (0..self.states).map(|_| random.normal()).collect();
        let mut walk = Vec::with_capacity(steps);
        for step in 0..steps {
            if step > 0 {
                state = self.moved(&state);
                for number in &mut state {
                    *number += self.motion.sqrt() * random.normal();
                }
            }
            let read =
                state[..self.readings].iter().map(|s| s + self.noise.sqrt() * random.normal()).collect();
            walk.push([state.clone(), read]);
        }
        walk
    }
}

struct Walks {
    model: LinearGaussian,
    seed: u64,
    steps: usize,
}

/// The one of two numbers.
pub(super) fn plane(wanted: &Simulation, _: &Format) -> Result<Box<dyn World>> {
    walks(wanted, LinearGaussian::plane(0.5), 150)
}

/// The one of 25 numbers.
pub(super) fn chain(wanted: &Simulation, _: &Format) -> Result<Box<dyn World>> {
    walks(wanted, LinearGaussian::chain(25), 1000)
}

fn walks(wanted: &Simulation, model: LinearGaussian, usual: usize) -> Result<Box<dyn World>> {
    let steps = wanted.steps.unwrap_or(usual);
    if steps == 0 {
        return Err(Error::usage("--steps 0: must be at least 1"));
    }
    Ok(Box::new(Walks { model, seed: wanted.seed, steps }))
}

impl World for Walks {
    fn steps(&self) -> usize {
        self.steps
    }

    fn step_bytes(&self) -> usize {
        4 * (self.model.states + self.model.readings)
    }

    fn episode(&self, number: usize) -> Result<Entry> {
        vectors(&self.model.walk(self.steps, &mut Random::stream(self.seed, number as u64)))
    }
}
