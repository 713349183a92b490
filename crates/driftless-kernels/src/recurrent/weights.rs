//! The weights of an LSTM, arranged for parts of its units; and gradients in the order of others.

use super::gates::BLOCK;
use crate::gemm::Panels;
use crate::{LANES, padded};
use rayon::prelude::*;

/// Units of a part: their weights, four gates of 512 units, are half a megabyte.
const PART: usize = 64;

/// (i, j, f, o) = (x, h) W + b; c' = σ(f + 1) c + σ(i) tanh(j); h' = tanh(c') σ(o) (Hochreiter and Schmidhuber 1997, with
/// the forget gate's 1 of Sonnet).
///
/// Within, columns of the gates come in blocks of sixteen units: their i, j, f and o.
#[derive(Clone, Debug)]
pub struct Lstm {
    inputs: usize,
    units: usize,
    parts: Vec<Part>,
    /// [4 units, inputs], padded.
    pub(super) back_x: Panels,
}

/// Some of the units.
#[derive(Clone, Debug)]
pub(super) struct Part {
    from: usize,
    units: usize,
    pub(super) inputs: usize,
    /// [inputs, own gates].
    pub(super) of_x: Panels,
    /// [all units, own gates].
    pub(super) of_h: Panels,
    /// Of own gates.
    pub(super) bias: Vec<f32>,
    /// [all gates, own units].
    pub(super) back_h: Panels,
}

/// The derivatives of a loss by all weights, part by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LstmGradient {
    pub(super) parts: Vec<PartGradient>,
}

/// The derivatives by what the own gates add up, columns as theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PartGradient {
    pub(super) of_x: Vec<f32>,
    pub(super) of_h: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

impl Part {
    /// Its first unit.
    pub(super) fn from(&self) -> usize {
        self.from
    }

    /// How many units, padded.
    pub(super) fn units(&self) -> usize {
        self.units
    }

    /// Of its gates.
    pub(super) fn columns(&self) -> usize {
        4 * self.units
    }
}

/// A matrix of others: rows of i, j, f and o of all units in turn.
#[derive(Clone, Copy)]
struct Theirs<'a> {
    numbers: &'a [f32],
    units: usize,
}

impl<'a> Theirs<'a> {
    /// One gate of the sixteen units of a block, of which fewer may exist.
    fn line(self, row: usize, block: usize, gate: usize) -> &'a [f32] {
        let (start, length) = (block * LANES, LANES.min(self.units.saturating_sub(block * LANES)));
        &self.numbers[(row * 4 + gate) * self.units + start..][..length]
    }

    /// The number of a column of ours, 0 where it only pads.
    fn number(self, row: usize, column: usize) -> f32 {
        let unit = column / BLOCK * LANES + column % LANES;
        let at = (row * 4 + column % BLOCK / LANES) * self.units + unit;
        if unit < self.units { self.numbers[at] } else { 0.0 }
    }
}

impl Lstm {
    /// Weights, [inputs + units, 4 units], rows of x before those of h, columns of i, j, f, o in turn; and biases.
    ///
    /// # Panics
    /// If there are no inputs or units, or not as many weights and biases.
    pub fn new([inputs, units]: [usize; 2], weight: &[f32], bias: &[f32]) -> Self {
        assert!(inputs > 0 && units > 0, "an LSTM needs inputs and units");
        let wide = padded(units);
        let part = |from: usize| Part {
            from,
            units: PART.min(wide - from),
            inputs,
            of_x: Panels::default(),
            of_h: Panels::default(),
            bias: Vec::new(),
            back_h: Panels::default(),
        };
        let parts = (0..wide).step_by(PART).map(part).collect();
        let mut lstm = Self { inputs, units, parts, back_x: Panels::default() };
        lstm.set(weight, bias);
        lstm
    }

    /// Other weights and biases, as in [`Lstm::new`].
    ///
    /// # Panics
    /// If there are not as many.
    pub fn set(&mut self, weight: &[f32], bias: &[f32]) {
        let Self { inputs, units, .. } = *self;
        assert_eq!(weight.len(), (inputs + units) * 4 * units, "weights of {units} units");
        assert_eq!(bias.len(), 4 * units, "four biases a unit");
        let (of_x, of_h) = weight.split_at(inputs * 4 * units);
        let [of_x, of_h, bias] = [of_x, of_h, bias].map(|numbers| Theirs { numbers, units });
        self.parts.iter_mut().for_each(|part| part.set(of_x, of_h, bias));
        let wide = [4 * padded(units), padded(inputs)];
        self.back_x.fill_lines(wide, |column, panel, line| turned(of_x, column, panel * LANES, inputs, line));
    }

    /// Inputs of a step.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many units.
    pub fn units(&self) -> usize {
        self.units
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The derivatives by weights and biases, in the order of [`Lstm::new`].
    pub fn gradient(&self, of: &LstmGradient) -> [Vec<f32>; 2] {
        let (inputs, units) = (self.inputs, self.units);
        let mut weight = vec![0.0; (inputs + units) * 4 * units];
        let mut bias = vec![0.0; 4 * units];
        weight.par_chunks_exact_mut(4 * units).enumerate().for_each(|(row, to)| {
            for (part, by) in self.parts.iter().zip(&of.parts) {
                let matrix = if row < inputs { &by.of_x } else { &by.of_h };
                let row = if row < inputs { row } else { row - inputs };
                part.put(&matrix[row * part.columns()..][..part.columns()], units, to);
            }
        });
        for (part, by) in self.parts.iter().zip(&of.parts) {
            part.put(&by.bias, units, &mut bias);
        }
        [weight, bias]
    }
}

impl Part {
    fn set(&mut self, of_x: Theirs, of_h: Theirs, bias: Theirs) {
        let (first, columns, own) = (self.from / LANES, self.columns(), self.from);
        let copy = |from: Theirs, row: usize, panel: usize, line: &mut [f32]| {
            let own = from.line(row, first + panel / 4, panel % 4);
            line[..own.len()].copy_from_slice(own);
        };
        let (units, wide) = (of_h.units, padded(of_h.units));
        self.of_x.fill_lines([self.inputs, columns], |row, panel, line| copy(of_x, row, panel, line));
        self.of_h.fill_lines([wide, columns], |row, panel, line| {
            if row < units {
                copy(of_h, row, panel, line);
            }
        });
        self.back_h.fill_lines([4 * wide, self.units], |column, panel, line| {
            turned(of_h, column, own + panel * LANES, units, line);
        });
        self.bias.clear();
        self.bias.resize(columns, 0.0);
        let lines = self.bias.chunks_exact_mut(LANES).enumerate();
        lines.for_each(|(panel, line)| copy(bias, 0, panel, line));
    }

    /// A row of own gates among those of all units in the order of others.
    fn put(&self, own: &[f32], units: usize, to: &mut [f32]) {
        for (panel, line) in own.chunks_exact(LANES).enumerate() {
            let (unit, gate) = (self.from + panel / 4 * LANES, panel % 4);
            let length = LANES.min(units.saturating_sub(unit));
            to[gate * units + unit..][..length].copy_from_slice(&line[..length]);
        }
    }
}

/// A column of ours, from a row on, of so many rows.
fn turned(of: Theirs, column: usize, from: usize, rows: usize, line: &mut [f32]) {
    let length = LANES.min(rows.saturating_sub(from));
    line[..length].iter_mut().enumerate().for_each(|(k, x)| *x = of.number(from + k, column));
}
