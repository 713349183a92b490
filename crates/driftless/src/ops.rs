//! Networks handed to the kernels: their weights there, gradients back by name.
//!
//! The kernels know the networks of the maze experiments in 32 bits. What they compute is said once more with
//! tensors ([`crate::nets`]), which any other device, precision or network uses, and with which tests compare.

mod decoder;
mod dense;
mod images;
mod matched;
mod moved;
mod pair;
mod recurrent;

pub(crate) use images::{image_gradients, image_net};
pub(crate) use matched::Matched;
pub(crate) use moved::{Moved, MovedGradient, MovedNets};
pub(crate) use pair::{EncoderWorkspace, FrameEncoder};
pub(crate) use recurrent::{estimator, estimator_gradients};

use burn::module::Param;
use burn::tensor::Tensor;

/// Numbers of a parameter, row after row.
fn numbers<const D: usize>(parameter: &Param<Tensor<D>>) -> Vec<f32> {
    parameter.val().try_into_vec_as::<f32>().expect("parameters are numbers")
}
