//! Layers of units, each of which sees all of the layer before.

use crate::parameters::Init;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

/// x W + b.
#[derive(Module, Debug)]
pub struct Dense {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Dense {
    /// Weights of standard deviation 1 / √inputs, cut at two of them; no bias at first.
    pub fn new(inputs: usize, outputs: usize, init: &mut Init) -> Self {
        let weight = init.truncated_normal([inputs, outputs], 1.0 / (inputs as f64).sqrt());
        Self { weight, bias: init.constant([outputs], 0.0) }
    }

    /// [B, N, inputs] → [B, N, outputs].
    pub fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        input.matmul(self.weight.val().unsqueeze::<3>()) + self.bias.val().unsqueeze::<3>()
    }
}

/// Layers with ReLU between them, none after the last.
#[derive(Module, Debug)]
pub struct Mlp {
    layers: Vec<Dense>,
}

impl Mlp {
    /// Sizes of the input, of all hidden layers, and of the output.
    pub fn new(sizes: &[usize], init: &mut Init) -> Self {
        Self { layers: sizes.windows(2).map(|pair| Dense::new(pair[0], pair[1], init)).collect() }
    }

    /// [B, N, first size] → [B, N, last size].
    pub fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        let apply =
            |input, (k, layer): (usize, &Dense)| layer.forward(if k == 0 { input } else { relu(input) });
        self.layers.iter().enumerate().fold(input, apply)
    }
}
