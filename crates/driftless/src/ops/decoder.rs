//! The image decoder.

use super::images::image_plan;
use super::numbers;
use crate::nets::{Activation, ImageDecoder};
use crate::parameters::Named;
use driftless_kernels::decoder::{DecoderGradient, DecoderNet};

pub(super) fn decoder_net(decoder: &ImageDecoder) -> DecoderNet {
    let mut net = DecoderNet::new(image_plan(decoder.plan()), decoder.last() == Activation::Relu);
    let (weight, outputs) = (numbers(&decoder.dense.weight), decoder.dense.weight.dims()[1]);
    net.set_dense(|input, output| weight[input * outputs + output], &numbers(&decoder.dense.bias));
    for (number, deconv) in decoder.deconvs.iter().enumerate() {
        net.set_deconv(number, &numbers(&deconv.weight), &numbers(&deconv.bias));
    }
    net
}

/// By all parameters of a decoder of this name.
pub(super) fn decoder_gradients(
    name: &str,
    of: &ImageDecoder,
    net: &DecoderNet,
    by: &DecoderGradient,
) -> Vec<Named> {
    let pair = |name: String, shape: &[usize], outputs: usize, [weight, bias]: [Vec<f32>; 2]| {
        let weight = Named::singles(format!("{name}.weight"), shape, weight);
        [weight, Named::singles(format!("{name}.bias"), &[outputs], bias)]
    };
    let shape = of.dense.weight.dims();
    let mut all = pair(format!("{name}.dense"), &shape, shape[1], net.dense_gradient(by)).to_vec();
    for (number, deconv) in of.deconvs.iter().enumerate() {
        let shape = deconv.weight.dims();
        all.extend(pair(
            format!("{name}.deconvs.{number}"),
            &shape,
            shape[1],
            net.deconv_gradient(number, by),
        ));
    }
    all
}
