//! Weights of the standard networks as the Python contenders have them, and the library's Adam on them.

use super::job::{MASK, plan, read};
use anyhow::Result;
use driftless::optimise::{Adam, Optimiser, Rule};
use driftless::parameters::Named;
use driftless_kernels::decoder::DecoderNet;
use driftless_kernels::images::ImageNet;
use driftless_kernels::mlp::Mlp;
use driftless_kernels::scan::PoseNet;
use driftless_kernels::training::{Gradient, Networks};
use driftless_kernels::uniform;
use std::path::Path;

/// Inputs and outputs of the layers of the pose encoder.
const POSES: [usize; 5] = [4, 16, 32, 64, 128];
const CHANNELS: [usize; 4] = [3, 16, 32, 64];
const FEATURES: usize = 128;
/// Adam's rate.
const RATE: f64 = 3e-4;

/// Numbers of each array, and of the inputs of one of its outputs; weights and biases take turns.
fn shapes() -> Vec<[usize; 2]> {
    let pair = |count: usize, inputs: usize, outputs: usize| [[count, inputs], [outputs, inputs]];
    let conv = |k: usize| pair(CHANNELS[k] * CHANNELS[k + 1] * 9, 9 * CHANNELS[k], CHANNELS[k + 1]);
    let deconv = |k: usize| pair(CHANNELS[k] * CHANNELS[k + 1] * 9, 9 * CHANNELS[k], CHANNELS[k]);
    let layer = |inputs: usize, outputs: usize| pair(inputs * outputs, inputs, outputs);
    let poses = POSES.windows(2).map(|size| layer(size[0], size[1]));
    let all = (0..3).map(conv).chain([layer(MASK, FEATURES)]).chain(poses);
    all.chain([layer(FEATURES, MASK)]).chain((0..3).rev().map(deconv)).flatten().collect()
}

/// 24 arrays in `PyTorch`'s layouts.
pub struct Weights {
    arrays: Vec<Named>,
    optimiser: Optimiser,
}

impl Weights {
    /// First weights as usual: uniform within 1 / √inputs.
    pub fn new() -> Self {
        let array = |(k, &[count, inputs]): (usize, &[usize; 2])| {
            let bound = 1.0 / (inputs as f32).sqrt();
            (0..count as u64).map(|i| bound * (2.0 * uniform(100 + k as u64, i) - 1.0)).collect()
        };
        let mut arrays: Vec<Vec<f32>> = shapes().iter().enumerate().map(array).collect();
        // The last ReLU is to stay alive.
        arrays.last_mut().expect("there are arrays").fill(0.5);
        Self::of(arrays)
    }

    /// The contenders'.
    pub fn of_peers(folder: &Path) -> Result<Self> {
        let array = |(k, [count, _]): (usize, [usize; 2])| read(folder, &format!("p{k}"), count);
        Ok(Self::of(shapes().into_iter().enumerate().map(array).collect::<Result<_>>()?))
    }

    fn of(arrays: Vec<Vec<f32>>) -> Self {
        Self { arrays: named(arrays), optimiser: Optimiser::new(Rule::Adam(Adam::default()), RATE) }
    }

    /// The networks, arranged for products.
    pub fn networks(&self) -> Networks {
        let singles = |array: &Named| array.values.iter().map(|&x| x as f32).collect();
        let arrays: Vec<Vec<f32>> = self.arrays.iter().map(singles).collect();
        let mut frame_encoder = ImageNet::new(plan());
        (0..3).for_each(|k| frame_encoder.set_conv(k, &arrays[2 * k], &arrays[2 * k + 1]));
        frame_encoder.set_dense(|i, o| arrays[6][o * MASK + i], &arrays[7]);
        let mut layers = Mlp::new(POSES[0], &POSES[1..], true);
        for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
            let weight = &arrays[8 + 2 * k];
            layer.set_by(|i, o| weight[o * POSES[k] + i], &arrays[9 + 2 * k]);
        }
        let poses = PoseNet { layers, centre: [500.0, 250.0], extent: [300.0; 2], epsilon: 1e-8 };
        let mut decoder = DecoderNet::new(plan(), true);
        decoder.set_dense(|i, o| arrays[16][o * FEATURES + i], &arrays[17]);
        (0..3).for_each(|k| decoder.set_deconv(k, &arrays[18 + 2 * k], &arrays[19 + 2 * k]));
        Networks { frame_encoder, poses, decoder }
    }

    /// Derivatives by all arrays, as they are laid out.
    pub fn gradients(nets: &Networks, by: &Gradient) -> Vec<Vec<f32>> {
        let mut all = Vec::new();
        for (k, conv) in by.frame_encoder.convs.iter().enumerate() {
            all.extend([
                nets.frame_encoder.conv_gradient(k, &by.frame_encoder),
                conv.bias[..CHANNELS[k + 1]].to_vec(),
            ]);
        }
        all.extend([
            turned(&nets.frame_encoder.dense_gradient(&by.frame_encoder), FEATURES),
            by.frame_encoder.dense.bias[..FEATURES].to_vec(),
        ]);
        for (layer, size) in by.poses.iter().zip(POSES.windows(2)) {
            let weight = (0..size[0] * size[1]).map(|at| layer.of(at % size[0], at / size[0], size[1]));
            all.extend([weight.collect(), layer.bias[..size[1]].to_vec()]);
        }
        let [weight, bias] = nets.decoder.dense_gradient(&by.decoder);
        all.extend([turned(&weight, MASK), bias]);
        (0..3).for_each(|k| all.extend(nets.decoder.deconv_gradient(k, &by.decoder)));
        all
    }

    /// One step of Adam.
    pub fn update(&mut self, gradients: Vec<Vec<f32>>) {
        self.optimiser.step_on(&mut self.arrays, 0.0, &named(gradients));
    }
}

/// Arrays by their numbers.
fn named(arrays: Vec<Vec<f32>>) -> Vec<Named> {
    let one = |(k, array): (usize, Vec<f32>)| Named::singles(k.to_string(), &[array.len()], array);
    arrays.into_iter().enumerate().map(one).collect()
}

/// [inputs, outputs] as [outputs, inputs].
fn turned(weight: &[f32], outputs: usize) -> Vec<f32> {
    let inputs = weight.len() / outputs;
    (0..weight.len()).map(|at| weight[at % inputs * outputs + at / inputs]).collect()
}
