//! Layers y = f(x W + b) on rows of numbers, forward and backward.

use crate::gemm::{Epilogue, Left, Out, Panels, Right, product};
use crate::ranks::{Message, Wire};
use crate::{Cpu, LANES, padded};

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
    /// Whether weights from an input to an output behind it are 0.
    lower: bool,
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
            lower: false,
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
        self.lower = false;
    }

    /// The same for a lower triangular matrix: weights from an input to an output behind it are not asked for, and
    /// [`Layer::forward`] has hardly more than half of the products.
    pub fn set_lower_by(&mut self, weight: impl Fn(usize, usize) -> f32, bias: &[f32]) {
        self.set_by(|input, output| if output > input { 0.0 } else { weight(input, output) }, bias);
        self.lower = true;
    }

    /// The weight from an input to an output.
    pub fn weight(&self, input: usize, output: usize) -> f32 {
        self.ahead.at(input, output)
    }

    /// One number for each output.
    pub fn bias(&self) -> &[f32] {
        &self.bias[..self.outputs]
    }

    /// Whether there is no ReLU behind it.
    pub fn is_linear(&self) -> bool {
        !self.relu
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
        if self.lower {
            return self.forward_lower(cpu, x, count, y);
        }
        let shape = [count, self.inputs, self.width()];
        let mut out = Out { numbers: y, stride: self.width() };
        let left = Left::rows(x.numbers, x.stride);
        product(cpu, left, self.ahead.right(), shape, self.epilogue(0), &mut out);
    }

    /// Panel by panel, each from its first input on whose weights are not all 0. Zeros that are left out would change
    /// nothing: results are the same bit by bit.
    fn forward_lower(&self, cpu: Cpu, x: Rows, count: usize, y: &mut [f32]) {
        for first in (0..self.width()).step_by(LANES).filter(|_| count > 0) {
            let skipped = first.min(self.inputs);
            let right = self.ahead.panel_from(first / LANES, skipped);
            let mut out = Out { numbers: &mut y[first..], stride: self.width() };
            let left = Left::rows(&x.numbers[skipped..], x.stride);
            let shape = [count, self.inputs - skipped, LANES];
            product(cpu, left, right, shape, self.epilogue(first), &mut out);
        }
    }

    /// What follows the products, from an output on.
    fn epilogue(&self, first: usize) -> Epilogue<'_> {
        let bias = &self.bias[first..];
        if self.relu { Epilogue::BiasRelu(bias) } else { Epilogue::Bias(bias) }
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

impl Message for LayerGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.weight.pass(wire);
        self.bias.pass(wire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    /// Fewer inputs than outputs, as many, and more: the same bits as with the zeros.
    #[test]
    fn zeros_that_are_left_out_change_nothing() {
        for ([inputs, outputs], relu) in
            [([20, 50], false), ([48, 48], true), ([70, 33], false), ([1, 17], true)]
        {
            let (weight, bias) = (numbers(inputs * outputs, 1), numbers(outputs, 2));
            let of = |input: usize, output: usize| weight[input * outputs + output];
            let mut lower = Layer::new([inputs, outputs], relu);
            lower.set_lower_by(of, &bias);
            let mut whole = Layer::new([inputs, outputs], relu);
            whole.set_by(|input, output| if output <= input { of(input, output) } else { 0.0 }, &bias);
            assert_eq!(lower.weight(0, 0), weight[0]);
            assert_eq!((lower.weight(0, outputs - 1), lower.bias()), (0.0, &bias[..]));
            for cpu in Cpu::all() {
                for count in [0, 1, 25] {
                    let (x, stride) = (numbers(count * (inputs + 3), 3), inputs + 3);
                    let run = |layer: &Layer| {
                        let mut y = vec![9.0; count * layer.width()];
                        layer.forward(cpu, Rows { numbers: &x, stride }, count, &mut y);
                        y
                    };
                    assert_eq!(run(&lower), run(&whole), "{cpu:?}: {count} rows of {inputs} to {outputs}");
                }
            }
        }
    }
}
