//! An LSTM over whole sequences, forward and backward through time, on plain numbers of 32 bits.
//!
//! Automatic differentiation multiplies and adds a gradient of the size of all weights at every step. By
//! hand these are one product for the whole sequence, and only what has to wait for another step is
//! computed step by step. [`Lstm::forward`] says the same with tensors; the tests compare the two.

mod gates;
mod product;

use super::Lstm;
use burn::tensor::Tensor;
use gates::{Remembered, derivatives};
use product::{matrix, numbers, product, transposed};
use rayon::prelude::*;

/// The weights of an [`Lstm`], outside of autodiff.
pub(super) struct Weights {
    /// [inputs, 4 units].
    of_x: Tensor<2>,
    /// [units, 4 units].
    of_h: Tensor<2>,
    /// 4 units.
    bias: Vec<f32>,
}

impl Weights {
    pub(super) fn of(lstm: &Lstm) -> Self {
        let bias = lstm.gates.bias.val().try_into_vec_as::<f32>().expect("biases are numbers");
        let weight = lstm.gates.weight.val().inner();
        let (rows, units) = (weight.dims()[0], bias.len() / 4);
        let of_x = weight.clone().slice_dim(0, 0..rows - units);
        Self { of_x, of_h: weight.slice_dim(0, rows - units..rows), bias }
    }
}

/// All that a backward pass needs of a forward pass. Rows are those of step 1, of step 2, and so on, B
/// each; U units.
pub(super) struct Unrolled {
    weights: Weights,
    batch: usize,
    /// [T B, inputs].
    inputs: Tensor<2>,
    /// What the gates i, j, f, o let through, T B rows of 4 U.
    gates: Vec<f32>,
    /// B rows of zeros and then T B rows of U, as for `h`: what was before step t is at row t B.
    c: Vec<f32>,
    tanh_c: Vec<f32>,
    h: Vec<f32>,
}

/// The derivatives of a loss by all that went into the cell.
pub(super) struct CellGradients {
    /// [inputs + units, 4 units].
    pub weight: Tensor<2>,
    /// 4 units.
    pub bias: Vec<f32>,
    /// [T B, inputs].
    pub inputs: Tensor<2>,
}

impl Unrolled {
    /// All steps from a zero state; `inputs` are [T B, inputs], the rows of a step beside each other.
    pub(super) fn new(weights: Weights, inputs: Tensor<2>, batch: usize) -> Self {
        let (rows, units) = (inputs.dims()[0], weights.bias.len() / 4);
        let gates = product(&inputs, &weights.of_x);
        let state = || vec![0.0; (rows + batch) * units];
        let (c, tanh_c, h) = (state(), vec![0.0; rows * units], state());
        let mut unrolled = Self { weights, batch, inputs, gates, c, tanh_c, h };
        (0..rows / batch).for_each(|t| unrolled.step(t));
        unrolled
    }

    fn units(&self) -> usize {
        self.weights.bias.len() / 4
    }

    fn step(&mut self, t: usize) {
        let (units, state) = (self.units(), self.batch * self.units());
        let h_before = matrix(self.h[t * state..(t + 1) * state].to_vec(), units);
        let sums = product(&h_before, &self.weights.of_h);
        let (c_before, c) = self.c[t * state..(t + 2) * state].split_at_mut(state);
        let bias = &self.weights.bias;
        let rows = self.gates[4 * t * state..4 * (t + 1) * state].par_chunks_mut(4 * units);
        let rows = rows.zip(c.par_chunks_mut(units));
        let rows = rows.zip(self.tanh_c[t * state..(t + 1) * state].par_chunks_mut(units));
        let rows = rows.zip(self.h[(t + 1) * state..(t + 2) * state].par_chunks_mut(units));
        let rows = rows.zip(c_before.par_chunks(units)).zip(sums.par_chunks(4 * units));
        rows.for_each(|(((((gates, c), tanh_c), h), c_before), sums)| {
            gates.iter_mut().zip(sums).zip(bias).for_each(|((gate, sum), bias)| *gate += sum + bias);
            Remembered { gates, c, tanh_c, h }.pass(c_before);
        });
    }

    /// h of all steps, [T B, units].
    pub(super) fn outputs(&self) -> Tensor<2> {
        matrix(self.h[self.batch * self.units()..].to_vec(), self.units())
    }

    /// From the derivatives of a loss by the outputs, [T B, units], to those by everything else.
    pub(super) fn backward(mut self, d_outputs: Tensor<2>) -> CellGradients {
        let (units, steps) = (self.units(), d_outputs.dims()[0] / self.batch);
        let mut d_h = numbers(d_outputs);
        let mut d_c = vec![0.0; self.batch * units];
        let of_h_turned = transposed(&self.weights.of_h);
        (0..steps).rev().for_each(|t| self.step_back(t, &of_h_turned, &mut d_h, &mut d_c));
        self.h.truncate(steps * self.batch * units);
        let bias = column_sums(&self.gates, 4 * units);
        let (d_sums, h_before) = (matrix(self.gates, 4 * units), matrix(self.h, units));
        let mut weight = product(&self.inputs.transpose(), &d_sums);
        weight.extend(product(&h_before.transpose(), &d_sums));
        let inputs = product(&d_sums, &transposed(&self.weights.of_x));
        let columns = self.weights.of_x.dims()[0];
        CellGradients { weight: matrix(weight, 4 * units), bias, inputs: matrix(inputs, columns) }
    }

    /// Leaves the derivatives by the sums of the gates of step t in their place, adds what h before the
    /// step is owed to `d_h`, and replaces that by c.
    fn step_back(&mut self, t: usize, of_h_turned: &Tensor<2>, d_h: &mut [f32], d_c: &mut [f32]) {
        let (units, state) = (self.units(), self.batch * self.units());
        let here = t * state..(t + 1) * state;
        let gates = &mut self.gates[4 * t * state..4 * (t + 1) * state];
        let rows = gates.par_chunks_mut(4 * units).zip(d_c.par_chunks_mut(units));
        let rows = rows.zip(d_h[here.clone()].par_chunks(units)).zip(self.c[here.clone()].par_chunks(units));
        let rows = rows.zip(self.tanh_c[here].par_chunks(units));
        rows.for_each(|((((gates, d_c), d_h), c_before), tanh_c)| {
            derivatives(gates, d_c, d_h, c_before, tanh_c);
        });
        if t > 0 {
            let owed = product(&matrix(gates.to_vec(), 4 * units), of_h_turned);
            let before = &mut d_h[(t - 1) * state..t * state];
            before.iter_mut().zip(owed).for_each(|(d_h, owed)| *d_h += owed);
        }
    }
}

/// The sum of each column, added in 64 bits: thousands of rows are nothing to them.
fn column_sums(values: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f64; columns];
    for row in values.chunks_exact(columns) {
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}
