//! The image encoder.

use super::{numbers, weight_and_bias};
use crate::nets::{ConvPlan, ImageEncoder};
use crate::parameters::Named;
use driftless_kernels::images::{ImageGradient, ImageNet, ImagePlan, Padding};

pub(crate) fn image_net(encoder: &ImageEncoder) -> ImageNet {
    let plan = encoder.plan();
    let mut net = ImageNet::new(image_plan(plan));
    for (number, conv) in encoder.convs.iter().enumerate() {
        net.set_conv(number, &numbers(&conv.weight), &numbers(&conv.bias));
    }
    let weight = numbers(&encoder.dense.weight);
    net.set_dense(|input, output| weight[input * plan.features + output], &numbers(&encoder.dense.bias));
    net
}

/// Other weights, of an encoder of this name.
///
/// # Panics
/// If one is missing.
pub(crate) fn load_images(net: &mut ImageNet, name: &str, values: &[Named]) {
    for number in 0..net.convs() {
        let [weight, bias] = weight_and_bias(values, &format!("{name}.convs.{number}"));
        net.set_conv(number, &weight, &bias);
    }
    let [weight, bias] = weight_and_bias(values, &format!("{name}.dense"));
    net.set_dense(|input, output| weight[input * bias.len() + output], &bias);
}

pub(super) fn image_plan(plan: &ConvPlan) -> ImagePlan {
    let ConvPlan { image, channels, features, .. } = plan;
    ImagePlan { image: *image, channels: channels.clone(), features: *features, padding: Padding::Same }
}

/// By all parameters of an encoder of this name.
pub(crate) fn image_gradients(name: &str, net: &ImageNet, by: &ImageGradient) -> Vec<Named> {
    let mut all = Vec::new();
    for number in 0..net.convs() {
        let (shape, name) = (net.conv_shape(number), format!("{name}.convs.{number}"));
        let bias = by.convs[number].bias[..shape[0]].iter().copied();
        all.push(Named::singles(format!("{name}.weight"), &shape, net.conv_gradient(number, by)));
        all.push(Named::singles(format!("{name}.bias"), &[shape[0]], bias));
    }
    let shape = net.dense_shape();
    let bias = by.dense.bias[..shape[1]].iter().copied();
    all.push(Named::singles(format!("{name}.dense.weight"), &shape, net.dense_gradient(by)));
    all.push(Named::singles(format!("{name}.dense.bias"), &[shape[1]], bias));
    all
}
