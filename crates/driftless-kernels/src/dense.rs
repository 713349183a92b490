//! Layers y = f(x W + b) on rows of numbers, forward and backward.

use crate::gemm::{Epilogue, Left, Out, Panels, Right, product};
use crate::{Cpu, padded};

/// Rows of numbers that begin `stride` apart.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// All of them.
    pub numbers: &'a [f32],
    /// From one row to the next.
    pub stride: usize,
}

/// A layer of K inputs and N outputs, its weights arranged for both directions.
///
/// Results have rows of [`Layer::width`] numbers, N padded.
#[derive(Clone, Debug)]
pub struct Layer {
    inputs: usize,
    outputs: usize,
    relu: bool,
    ahead: Panels,
    back: Panels,
    bias: Vec<f32>,
}

/// The derivatives of a loss by a layer's weights and bias.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerGradient {
    /// K rows of N padded numbers.
    pub weight: Vec<f32>,
    /// N padded numbers.
    pub bias: Vec<f32>,
}

impl Layer {
    /// A layer of zeros; with `relu`, what is below 0 becomes 0.
    pub fn new([inputs, outputs]: [usize; 2], relu: bool) -> Self {
        assert!(inputs > 0 && outputs > 0, "a layer needs inputs and outputs");
        let mut layer = Self {
            inputs,
            outputs,
            relu,
            ahead: Panels::default(),
            back: Panels::default(),
            bias: vec![0.0; padded(outputs)],
        };
        layer.set_by(|_, _| 0.0, &vec![0.0; outputs]);
        layer
    }

    /// The weights by input and output, and the biases.
    ///
    /// # Panics
    /// If there is not one bias an output.
    pub fn set_by(&mut self, weight: impl Fn(usize, usize) -> f32, bias: &[f32]) {
        assert_eq!(bias.len(), self.outputs, "one bias an output");
        self.ahead.fill_by([self.inputs, self.outputs], &weight);
        self.back.fill_by([self.outputs, self.inputs], |output, input| weight(input, output));
        self.bias[..self.outputs].copy_from_slice(bias);
    }

    /// K and N.
    pub fn shape(&self) -> [usize; 2] {
        [self.inputs, self.outputs]
    }

    /// From one row of a result to the next.
    pub fn width(&self) -> usize {
        padded(self.outputs)
    }

    /// y of so many rows x.
    pub fn forward(&self, cpu: Cpu, x: Rows, count: usize, y: &mut [f32]) {
        let finish = if self.relu { Epilogue::BiasRelu(&self.bias) } else { Epilogue::Bias(&self.bias) };
        let shape = [count, self.inputs, self.width()];
        let mut out = Out { numbers: y, stride: self.width() };
        product(cpu, Left::rows(x.numbers, x.stride), self.ahead.right(), shape, finish, &mut out);
    }

    /// ∂x of ∂y, which has been led back through the layer's own ReLU; led back through the ReLU that made x, if
    /// that is given (rows as far apart as those of ∂x, K padded).
    pub fn backward(&self, cpu: Cpu, by_y: &[f32], count: usize, x: Option<&[f32]>, by_x: &mut [f32]) {
        let width = padded(self.inputs);
        let finish = x.map_or(Epilogue::Store, Epilogue::Gate);
        let mut out = Out { numbers: by_x, stride: width };
        let left = Left::rows(by_y, self.width());
        product(cpu, left, self.back.right(), [count, self.outputs, width], finish, &mut out);
    }

    /// Adds the derivatives by weights and bias.
    pub fn differentiate(&self, cpu: Cpu, x: Rows, by_y: &[f32], count: usize, sum: &mut LayerGradient) {
        self.differentiate_weight(cpu, x, by_y, count, sum);
        add_rows(cpu, &by_y[..count * self.width()], self.width(), &mut sum.bias);
    }

    /// Adds the derivatives by weights alone.
    pub fn differentiate_weight(
        &self,
        cpu: Cpu,
        x: Rows,
        by_y: &[f32],
        count: usize,
        sum: &mut LayerGradient,
    ) {
        let width = self.width();
        sum.weight.resize(self.inputs * width, 0.0);
        let left = Left::transposed(x.numbers, x.stride);
        let mut out = Out { numbers: &mut sum.weight, stride: width };
        product(cpu, left, Right::rows(by_y, width), [self.inputs, count, width], Epilogue::Add, &mut out);
    }
}

/// Rows that are summed up at once.
const ONES: usize = 128;

/// Adds the sum of all rows, whose width is a multiple of [`crate::LANES`].
pub(crate) fn add_rows(cpu: Cpu, rows: &[f32], width: usize, sum: &mut Vec<f32>) {
    sum.resize(width, 0.0);
    let ones = [1.0; ONES];
    for rows in rows.chunks(ONES * width) {
        let mut out = Out { numbers: sum, stride: width };
        let shape = [1, rows.len() / width, width];
        product(cpu, Left::rows(&ones, ONES), Right::rows(rows, width), shape, Epilogue::Add, &mut out);
    }
}

impl LayerGradient {
    /// The derivative by the weight of an input and one of so many outputs.
    pub fn of(&self, input: usize, output: usize, outputs: usize) -> f32 {
        self.weight[input * padded(outputs) + output]
    }

    /// As many zeros as a layer has weights and biases.
    pub fn reset(&mut self, layer: &Layer) {
        for (part, size) in
            [(&mut self.weight, layer.inputs * layer.width()), (&mut self.bias, layer.width())]
        {
            part.clear();
            part.resize(size, 0.0);
        }
    }

    /// All derivatives 0, with the memory kept.
    pub fn clear(&mut self) {
        self.weight.fill(0.0);
        self.bias.fill(0.0);
    }

    /// Adds those of another part of the data.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in [(&mut self.weight, &other.weight), (&mut self.bias, &other.bias)] {
            sum.resize(part.len().max(sum.len()), 0.0);
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
}
