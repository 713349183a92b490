//! Long short-term memory, as Sonnet 1 computes it.

use crate::nets::Dense;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

/// (i, j, f, o) = (x, h) W + b; c' = σ(f + 1) c + σ(i) tanh(j); h' = tanh(c') σ(o)
/// (Hochreiter and Schmidhuber 1997, with the forget gate's 1 of Sonnet).
#[derive(Module, Debug)]
pub struct Lstm {
    /// W, [inputs + units, 4 units]: rows of x before those of h, columns of i, j, f, o in turn.
    pub gates: Dense,
}

impl Lstm {
    /// First weights of Sonnet 1: weights and, unlike in other layers, biases are normal with
    /// standard deviation 1 / √(inputs + units), redrawn beyond two of them.
    pub fn new(inputs: usize, units: usize, init: &mut Init) -> Self {
        let gates = Dense::new(inputs + units, 4 * units, init);
        let std = ((inputs + units) as f64).sqrt().recip();
        Self { gates: Dense { bias: init.truncated_normal([4 * units], std), ..gates } }
    }

    /// h or c before the first step: zeros [B, units], with the batch, precision and device of that step.
    pub(super) fn nothing(&self, step: &Tensor<2>) -> Tensor<2> {
        let units = self.gates.bias.dims()[0] / 4;
        Tensor::zeros([step.dims()[0], units], (&step.device(), step.dtype()))
    }

    /// One step: x, [B, inputs], and (h, c), [B, units] each → (h', c').
    pub fn step(&self, x: Tensor<2>, (h, c): (Tensor<2>, Tensor<2>)) -> (Tensor<2>, Tensor<2>) {
        remembered(&self.gates.forward(Tensor::cat(vec![x, h], 1)), c)
    }

    /// T times [B, inputs] → h, T times [B, units]; h and c are zero before the first step.
    ///
    /// What x adds to the gates is one product for all steps: only h has to wait for the step before. Steps are kept
    /// apart, because cutting them out of one tensor would cost a gradient of the size of the sequence at every step.
    pub fn forward(&self, steps: Vec<Tensor<2>>) -> Vec<Tensor<2>> {
        let units = self.gates.bias.dims()[0] / 4;
        let Some([batch, inputs]) = steps.first().map(Tensor::dims) else { return steps };
        let mut state = (self.nothing(&steps[0]), self.nothing(&steps[0]));
        let weight = self.gates.weight.val();
        let (of_x, of_h) =
            (weight.clone().slice_dim(0, 0..inputs), weight.slice_dim(0, inputs..inputs + units));
        let count = steps.len();
        let drive = Tensor::cat(steps, 0).matmul(of_x) + self.gates.bias.val().reshape([1, 4 * units]); // [T B, ·]
        let mut outputs = Vec::with_capacity(count);
        for t in 0..count {
            let driven = drive.clone().slice_dim(0, t * batch..(t + 1) * batch);
            state = remembered(&(driven + state.0.matmul(of_h.clone())), state.1);
            outputs.push(state.0.clone());
        }
        outputs
    }
}

/// From the sums of all gates, [B, 4 units], and c, [B, units], to (h', c').
fn remembered(gates: &Tensor<2>, c: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let units = c.dims()[1];
    let gate = |k: usize| gates.clone().slice_dim(1, k * units..(k + 1) * units);
    let c = sigmoid(gate(2) + 1.0) * c + sigmoid(gate(0)) * gate(1).tanh();
    (c.clone().tanh() * sigmoid(gate(3)), c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    fn lstm(inputs: usize, units: usize) -> Lstm {
        Lstm::new(inputs, units, &mut Init::new(11, &Device::flex().autodiff(), DType::F64))
    }

    /// The formulas with plain numbers, unit by unit. Sums of 5 numbers of order 1.
    #[test]
    fn against_loops() {
        let (inputs, units) = (2, 3);
        let lstm = lstm(inputs, units);
        let (weight, bias) = (numbers(&lstm.gates.weight.val()), numbers(&lstm.gates.bias.val()));
        let sequence = [[0.5, -1.0], [2.0, 0.3], [-0.7, 0.1], [0.0, 0.0]];
        let (mut h, mut c) = (vec![0.0; units], vec![0.0; units]);
        let logistic = |z: f64| 1.0 / (1.0 + (-z).exp());
        let found = lstm.forward(sequence.map(|x| f64s::<2>([x])).to_vec());
        for (x, found) in sequence.iter().zip(&found) {
            let joint: Vec<f64> = x.iter().chain(&h).copied().collect();
            let gate = |k: usize, unit: usize| {
                let column = k * units + unit;
                let terms = joint.iter().enumerate().map(|(row, v)| v * weight[row * 4 * units + column]);
                bias[column] + terms.sum::<f64>()
            };
            let memory = |unit: usize| {
                let kept = logistic(gate(2, unit) + 1.0) * c[unit];
                kept + logistic(gate(0, unit)) * gate(1, unit).tanh()
            };
            let new: Vec<f64> = (0..units).map(memory).collect();
            h = (0..units).map(|unit| new[unit].tanh() * logistic(gate(3, unit))).collect();
            c = new;
            assert_close(&numbers(found), &h, 1e-14);
        }
    }

    /// Biases are drawn too; var of a normal cut at two standard deviations is 0.7737 σ².
    #[test]
    fn first_biases() {
        let bias = numbers(&lstm(5, 500).gates.bias.val());
        let variance = bias.iter().map(|b| b * b).sum::<f64>() / 2e3;
        // Five standard errors of 2000 squares, whose variance is below that of a normal's, 2 σ⁴.
        assert!((variance * 505.0 - 0.7737).abs() < 5.0 * (2.0_f64 / 2e3).sqrt(), "{variance}");
    }

    #[test]
    fn step_by_step_is_the_same() {
        let lstm = lstm(2, 3);
        let steps: Vec<Tensor<2>> = [[0.5, -1.0], [2.0, 0.3]].map(|x| f64s::<2>([x])).to_vec();
        let mut state = (lstm.nothing(&steps[0]), lstm.nothing(&steps[0]));
        for (x, expected) in steps.clone().into_iter().zip(lstm.forward(steps)) {
            state = lstm.step(x, state);
            assert_close(&numbers(&state.0), &numbers(&expected), 1e-14);
        }
    }

    #[test]
    fn no_steps_no_outputs() {
        assert!(lstm(2, 3).forward(Vec::new()).is_empty());
    }
}
