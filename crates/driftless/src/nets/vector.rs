//! Features of observations that are vectors.

use super::dense::{Activation, Mlp};
use crate::dropout::Phase;
use crate::model::Encoder;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;

/// Layers on observations of V numbers, such as ranges or positions; nothing is dropped.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::Phase;
/// use driftless::model::Encoder;
/// use driftless::nets::{Activation, VectorEncoder};
/// use driftless::parameters::Init;
///
/// let mut init = Init::new(1, &Device::flex(), DType::F32);
/// let encoder = VectorEncoder::new(7, &[32, 16], Activation::Relu, &mut init);
/// let ranges = Tensor::<3>::ones([2, 5, 7], &Device::flex());
/// assert_eq!(encoder.encode(ranges, Phase::Evaluation).dims(), [2, 5, 16]);
/// ```
#[derive(Module, Debug)]
pub struct VectorEncoder {
    /// From observations to features.
    pub mlp: Mlp,
}

impl VectorEncoder {
    /// One layer for each of `widths`, the last of them E, with ReLU between them.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(inputs: usize, widths: &[usize], last: Activation, init: &mut Init) -> Self {
        Self { mlp: Mlp::new(inputs, widths, last, init) }
    }
}

impl Encoder for VectorEncoder {
    /// Vectors, [B, T, V].
    type Input = Tensor<3>;

    fn encode(&self, vectors: Tensor<3>, _: Phase) -> Tensor<3> {
        self.mlp.forward(vectors)
    }
}
