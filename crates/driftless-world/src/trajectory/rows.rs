//! Numbers of all steps, and true states that are known at some of them.

use crate::error::{Error, Result};

/// T rows of equal width, stored one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    width: usize,
    values: Vec<f32>,
}

impl Rows {
    /// Rows of `width` numbers; `values` must hold a whole number of them.
    pub fn new(width: usize, values: Vec<f32>) -> Result<Self> {
        if width == 0 && !values.is_empty() || width > 0 && !values.len().is_multiple_of(width) {
            return Err(Error::new(format!("{} numbers do not make rows of {width}", values.len())));
        }
        Ok(Self { width, values })
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows from `first` on.
    pub(super) fn from(self, first: usize) -> Self {
        Self {
            width: self.width,
            values: self.values[(first * self.width).min(self.values.len())..].to_vec(),
        }
    }

    /// Number of rows; 0 if the rows are empty.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// True if there is no number at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Row `t`.
    pub fn row(&self, t: usize) -> &[f32] {
        &self.values[t * self.width..(t + 1) * self.width]
    }

    /// All numbers, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All numbers, row after row, to be changed in place.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

/// True states, known at some steps only. An unknown state is absent, not a number in disguise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    width: usize,
    known: Vec<bool>,
    values: Vec<f32>,
}

impl Labels {
    /// No steps yet; states of `width` numbers.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Every state known.
    pub fn all(rows: Rows) -> Self {
        Self { width: rows.width, known: vec![true; rows.len()], values: rows.values }
    }

    /// Adds a step. What is unknown is stored as zeros, which nobody can read.
    pub fn push(&mut self, state: Option<&[f32]>) {
        self.known.push(state.is_some());
        match state {
            Some(state) => {
                assert_eq!(state.len(), self.width, "a state of another width");
                self.values.extend_from_slice(state);
            }
            None => self.values.resize(self.values.len() + self.width, 0.0),
        }
    }

    /// The state at step `t`, if known.
    pub fn get(&self, t: usize) -> Option<&[f32]> {
        self.known[t].then(|| &self.values[t * self.width..(t + 1) * self.width])
    }

    /// All steps in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[f32]>> {
        (0..self.len()).map(|t| self.get(t))
    }

    /// Numbers in a state.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of steps, known or not.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True if there is no step.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Number of steps with a known state.
    pub fn known(&self) -> usize {
        self.known.iter().filter(|&&known| known).count()
    }
}
