//! Gated recurrent units, as Sonnet 1 computes them.

use super::zero_state;
use crate::nets::Dense;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

/// (z, r) = σ((x, h) W + b); h' = (1 - z) h + z tanh((x, r h) V + d) (Cho et al. 2014; z and 1 - z
/// are exchanged in some libraries).
#[derive(Module, Debug)]
pub struct Gru {
    /// W, [inputs + units, 2 units]: rows of x before those of h, columns of z before those of r.
    pub gates: Dense,
    /// V, [inputs + units, units].
    pub candidate: Dense,
}

impl Gru {
    /// Weights are normal with standard deviation 1 / √(inputs + units), redrawn beyond two of
    /// them, biases 0, as in all other layers. (Sonnet leaves this one cell to TensorFlow, which
    /// draws weights and biases uniformly.)
    pub fn new(inputs: usize, units: usize, init: &mut Init) -> Self {
        Self {
            gates: Dense::new(inputs + units, 2 * units, init),
            candidate: Dense::new(inputs + units, units, init),
        }
    }

    /// T times [B, inputs] → h, T times [B, units]; h is zero before the first step.
    pub fn forward(&self, steps: Vec<Tensor<2>>) -> Vec<Tensor<2>> {
        let Some(first) = steps.first() else { return steps };
        let mut h = zero_state(first, self.candidate.bias.dims()[0]);
        let mut outputs = Vec::with_capacity(steps.len());
        for step in steps {
            h = self.step(step, h);
            outputs.push(h.clone());
        }
        outputs
    }

    /// One step: x [B, inputs] and h [B, units], to h'.
    pub fn step(&self, x: Tensor<2>, h: Tensor<2>) -> Tensor<2> {
        let units = h.dims()[1];
        let gates = sigmoid(self.gates.forward(Tensor::cat(vec![x.clone(), h.clone()], 1))); // [B, 2 units]
        let (z, r) = (gates.clone().slice_dim(1, 0..units), gates.slice_dim(1, units..2 * units));
        let candidate = self.candidate.forward(Tensor::cat(vec![x, r * h.clone()], 1)).tanh();
        h.clone() + z * (candidate - h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    /// The formulas with plain numbers, unit by unit. Sums of 5 numbers of order 1.
    #[test]
    fn against_loops() {
        let (inputs, units) = (2, 3);
        let mut init = Init::new(12, &Device::flex().autodiff(), DType::F64);
        let mut gru = Gru::new(inputs, units, &mut init);
        gru.gates.bias = init.truncated_normal([2 * units], 0.5);
        gru.candidate.bias = init.truncated_normal([units], 0.5);
        let layer = |dense: &Dense, row: &[f64], unit: usize| {
            let (weight, bias) = (numbers(&dense.weight.val()), numbers(&dense.bias.val()));
            let terms = row.iter().enumerate().map(|(k, v)| v * weight[k * bias.len() + unit]);
            bias[unit] + terms.sum::<f64>()
        };
        let logistic = |z: f64| 1.0 / (1.0 + (-z).exp());
        let sequence = [[0.5, -1.0], [2.0, 0.3], [-0.7, 0.1], [0.0, 0.0]];
        let mut h = vec![0.0; units];
        for (x, found) in sequence.iter().zip(gru.forward(sequence.map(|x| f64s::<2>([x])).to_vec())) {
            let joint: Vec<f64> = x.iter().chain(&h).copied().collect();
            let gate = |unit: usize| logistic(layer(&gru.gates, &joint, unit));
            let reset = h.iter().enumerate().map(|(unit, h)| gate(units + unit) * h);
            let joint_reset: Vec<f64> = x.iter().copied().chain(reset).collect();
            let new = |unit: usize| {
                (1.0 - gate(unit)) * h[unit] + gate(unit) * layer(&gru.candidate, &joint_reset, unit).tanh()
            };
            h = (0..units).map(new).collect();
            assert_close(&numbers(&found), &h, 1e-14);
        }
    }

    #[test]
    fn no_steps_no_outputs() {
        let gru = Gru::new(2, 3, &mut Init::new(1, &Device::flex(), DType::F32));
        assert!(gru.forward(Vec::new()).is_empty());
    }
}
