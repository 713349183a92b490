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

pub(crate) use dense::{chain, chain_gradient, load_chain};
pub(crate) use images::{image_gradients, image_net, load_images};
pub(crate) use matched::Matched;
pub(crate) use moved::{Moved, MovedGradient, MovedNets};
pub(crate) use pair::{EncoderWorkspace, FrameEncoder};
pub(crate) use recurrent::{estimator, estimator_gradients};

use crate::parameters::Named;
use burn::module::Param;
use burn::tensor::Tensor;

/// Numbers of a parameter, row after row.
fn numbers<const D: usize>(parameter: &Param<Tensor<D>>) -> Vec<f32> {
    parameter.val().try_into_vec_as::<f32>().expect("parameters are numbers")
}

/// Numbers of a layer's weight and bias, by name.
///
/// # Panics
/// If one is missing.
fn weight_and_bias(values: &[Named], name: &str) -> [Vec<f32>; 2] {
    ["weight", "bias"].map(|part| by_name(values, &format!("{name}.{part}")))
}

/// Numbers of a parameter, by name.
fn by_name(values: &[Named], name: &str) -> Vec<f32> {
    let found = values.iter().find(|value| value.name == name);
    found.unwrap_or_else(|| panic!("{name} is there")).values.iter().map(|&x| x as f32).collect()
}
