//! An encoder with one more layer, whose features may have any sign.

use super::dense::Dense;
use crate::dropout::Phase;
use crate::model::Encoder;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;

/// Features of another encoder times a matrix: cosines of them can be negative, so that two things can
/// be less alike than nothing.
#[derive(Module, Debug)]
pub struct Projected<O: Encoder> {
    /// The encoder before.
    pub inner: O,
    /// The layer after it.
    pub last: Dense,
}

impl<O: Encoder> Projected<O> {
    /// A layer from the `inner` encoder's `inputs` features to E.
    pub fn new(inner: O, inputs: usize, features: usize, init: &mut Init) -> Self {
        Self { inner, last: Dense::new(inputs, features, init) }
    }
}

impl<O: Encoder> Encoder for Projected<O> {
    type Input = O::Input;

    fn encode(&self, input: O::Input, phase: Phase) -> Tensor<3> {
        self.last.forward(self.inner.encode(input, phase))
    }
}
