//! Fully connected layers, and chains of them.

use crate::parameters::Init;
use burn::module::{Module, Param};
use burn::tensor::{Tensor, activation};

/// What is done to the output of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// Nothing.
    Linear,
}

impl Activation {
    /// Applies it to every number.
    pub fn apply<const D: usize>(self, values: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Relu => activation::relu(values),
            Self::Linear => values,
        }
    }
}

/// x W + b.
#[derive(Module, Debug)]
pub struct Dense {
    /// W, a row for each input and a column for each output.
    pub weight: Param<Tensor<2>>,
    /// b.
    pub bias: Param<Tensor<1>>,
}

impl Dense {
    /// A layer with the first weights of Sonnet 1.
    pub fn new(inputs: usize, outputs: usize, init: &mut Init) -> Self {
        let weight = init.truncated_normal([inputs, outputs], (inputs as f64).sqrt().recip());
        Self { weight, bias: init.constant([outputs], 0.0) }
    }

    /// [.., inputs] → [.., outputs].
    pub fn forward<const D: usize>(&self, values: Tensor<D>) -> Tensor<D> {
        let product = multiply(values, self.weight.val());
        let mut shape = [1; D];
        shape[D - 1] = product.dims()[D - 1];
        product + self.bias.val().reshape(shape)
    }
}

/// x W, [.., inputs] → [.., outputs], as one product of matrices: all leading dimensions are rows.
pub(crate) fn multiply<const D: usize>(values: Tensor<D>, weight: Tensor<2>) -> Tensor<D> {
    let [inputs, outputs] = weight.dims();
    let mut shape = values.dims();
    let rows = shape[..D - 1].iter().product::<usize>();
    shape[D - 1] = outputs;
    values.reshape([rows, inputs]).matmul(weight).reshape(shape)
}

/// Layers with a ReLU between them, and a choice after the last.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::nets::{Activation, Mlp};
/// use driftless::parameters::{Init, values};
///
/// let mut init = Init::new(1, &Device::flex(), DType::F32);
/// let mlp = Mlp::new(4, &[16, 3], Activation::Linear, &mut init);
/// assert_eq!(values(&mlp).iter().map(|p| p.values.len()).sum::<usize>(), 4 * 16 + 16 + 16 * 3 + 3);
/// assert_eq!(mlp.forward(Tensor::<3>::zeros([2, 5, 4], &Device::flex())).dims(), [2, 5, 3]);
/// ```
#[derive(Module, Debug)]
pub struct Mlp {
    /// From input to output.
    pub layers: Vec<Dense>,
    #[module(skip)]
    last: Activation,
}

impl Mlp {
    /// One layer for each of `widths`.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(inputs: usize, widths: &[usize], last: Activation, init: &mut Init) -> Self {
        assert!(!widths.is_empty(), "a network has at least one layer");
        let before = std::iter::once(&inputs).chain(widths);
        let layers = before.zip(widths).map(|(&inputs, &outputs)| Dense::new(inputs, outputs, init));
        Self { layers: layers.collect(), last }
    }

    /// What is done to the output of the last layer.
    pub fn last(&self) -> Activation {
        self.last
    }

    /// [.., inputs] → [.., last of the widths].
    pub fn forward<const D: usize>(&self, values: Tensor<D>) -> Tensor<D> {
        let end = self.layers.len() - 1;
        self.layers.iter().enumerate().fold(values, |values, (k, layer)| {
            let after = if k < end { Activation::Relu } else { self.last };
            after.apply(layer.forward(values))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    fn init() -> Init {
        Init::new(3, &Device::flex().autodiff(), DType::F64)
    }

    /// By hand: (1, 2) W + b = (1·1 + 2·4 + .5, 1·2 + 2·5 - .5, 1·3 + 2·6).
    #[test]
    fn a_layer_by_hand() {
        let layer = Dense {
            weight: init().values([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            bias: init().values([3], vec![0.5, -0.5, 0.0]),
        };
        assert_eq!(numbers(&layer.forward(f64s::<2>([[1.0, 2.0]]))), [9.5, 11.5, 15.0]);
        let many = layer.forward(f64s::<3>([[[1.0, 2.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, 1.0]]]));
        let expected = [9.5, 11.5, 15.0, 0.5, -0.5, 0.0, -0.5, -2.5, -3.0, 4.5, 4.5, 6.0];
        assert_eq!(numbers(&many), expected);
        assert_eq!(many.dims(), [2, 2, 3]);
    }

    /// A plain loop over layers, units and inputs. Sums of at most 7 numbers below 10: rounding is
    /// far below 1e-13.
    #[test]
    fn a_chain_against_loops() {
        for last in [Activation::Relu, Activation::Linear] {
            let mlp = Mlp::new(4, &[7, 5, 6], last, &mut init());
            let mut values = vec![0.3, -1.2, 2.0, 0.7];
            let found = numbers(&mlp.forward(f64s::<2>([[0.3, -1.2, 2.0, 0.7]])));
            for (k, layer) in mlp.layers.iter().enumerate() {
                let (weight, bias) = (numbers(&layer.weight.val()), numbers(&layer.bias.val()));
                let unit = |j: usize| {
                    let sum = values.iter().enumerate().map(|(i, v)| v * weight[i * bias.len() + j]);
                    bias[j] + sum.sum::<f64>()
                };
                let units: Vec<f64> = (0..bias.len()).map(unit).collect();
                let linear = k == 2 && last == Activation::Linear;
                values = units.into_iter().map(|v| if linear { v } else { v.max(0.0) }).collect();
            }
            assert_close(&found, &values, 1e-13);
            assert_eq!(found.iter().any(|&v| v < 0.0), last == Activation::Linear);
        }
    }

    /// Var of a normal cut at two standard deviations is 0.7737 σ², here with σ² = 1 / 400.
    #[test]
    fn first_weights() {
        let layer = Dense::new(400, 100, &mut init());
        let weights = numbers(&layer.weight.val());
        let variance = weights.iter().map(|w| w * w).sum::<f64>() / 4e4;
        // Five standard errors of 40 000 squares, whose variance is below that of a normal's, 2 σ⁴.
        assert!((variance * 400.0 - 0.7737).abs() < 5.0 * (2.0_f64 / 4e4).sqrt(), "{variance}");
        assert_eq!(numbers(&layer.bias.val()), [0.0; 100]);
    }
}
