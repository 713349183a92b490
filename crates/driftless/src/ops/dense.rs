//! Fully connected layers.

use super::{numbers, weight_and_bias};
use crate::nets::{Activation, Dense, Mlp};
use crate::parameters::Named;
use driftless_kernels::dense::{Layer, LayerGradient};
use driftless_kernels::mlp;

pub(super) fn layer(dense: &Dense, activation: Activation) -> Layer {
    let shape @ [_, outputs] = dense.weight.dims();
    let mut layer = Layer::new(shape, activation == Activation::Relu);
    set(&mut layer, &numbers(&dense.weight), outputs, &numbers(&dense.bias));
    layer
}

fn set(layer: &mut Layer, weight: &[f32], outputs: usize, bias: &[f32]) {
    layer.set_by(|input, output| weight[input * outputs + output], bias);
}

pub(crate) fn chain(network: &Mlp) -> mlp::Mlp {
    let shapes: Vec<[usize; 2]> = network.layers.iter().map(|layer| layer.weight.dims()).collect();
    let widths: Vec<usize> = shapes.iter().map(|shape| shape[1]).collect();
    let mut chain = mlp::Mlp::new(shapes[0][0], &widths, network.last() == Activation::Relu);
    for (layer, dense) in chain.layers_mut().iter_mut().zip(&network.layers) {
        set(layer, &numbers(&dense.weight), dense.weight.dims()[1], &numbers(&dense.bias));
    }
    chain
}

/// Other weights, of a layer of this name.
///
/// # Panics
/// If one is missing.
pub(super) fn load_layer(layer: &mut Layer, name: &str, values: &[Named]) {
    let [weight, bias] = weight_and_bias(values, name);
    set(layer, &weight, bias.len(), &bias);
}

/// Other weights, of a chain of this name.
///
/// # Panics
/// If one is missing.
pub(crate) fn load_chain(chain: &mut mlp::Mlp, name: &str, values: &[Named]) {
    for (number, layer) in chain.layers_mut().iter_mut().enumerate() {
        load_layer(layer, &format!("{name}.layers.{number}"), values);
    }
}

/// By weight and bias of a layer of this shape.
pub(super) fn layer_gradient(name: &str, [inputs, outputs]: [usize; 2], by: &LayerGradient) -> [Named; 2] {
    let rows = (0..inputs).flat_map(|input| (0..outputs).map(move |output| by.of(input, output, outputs)));
    [
        Named::singles(format!("{name}.weight"), &[inputs, outputs], rows),
        Named::singles(format!("{name}.bias"), &[outputs], by.bias[..outputs].iter().copied()),
    ]
}

/// By all layers of a chain of this name.
pub(crate) fn chain_gradient(name: &str, chain: &mlp::Mlp, by: &mlp::MlpGradient) -> Vec<Named> {
    let layers = chain.layers().iter().zip(by).enumerate();
    let named = |(number, (layer, by)): (usize, (&Layer, &LayerGradient))| {
        layer_gradient(&format!("{name}.layers.{number}"), layer.shape(), by)
    };
    layers.flat_map(named).collect()
}
