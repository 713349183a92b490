//! Weights of the standard networks as the Python contenders have them, and Adam on them.

use super::job::{MASK, plan, read};
use anyhow::Result;
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
/// Adam's rate and memory.
const RATE: f32 = 3e-4;
const DECAY: [f32; 2] = [0.9, 0.999];

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
    arrays: Vec<Vec<f32>>,
    moments: [Vec<Vec<f32>>; 2],
    updates: i32,
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
        let zeros: Vec<Vec<f32>> = arrays.iter().map(|array| vec![0.0; array.len()]).collect();
        Self { arrays, moments: [zeros.clone(), zeros], updates: 0 }
    }

    /// The networks, arranged for products.
    pub fn networks(&self) -> Networks {
        let arrays = &self.arrays;
        let mut eyes = ImageNet::new(plan());
        (0..3).for_each(|k| eyes.set_conv(k, &arrays[2 * k], &arrays[2 * k + 1]));
        eyes.set_dense(|i, o| arrays[6][o * MASK + i], &arrays[7]);
        let mut layers = Mlp::new(POSES[0], &POSES[1..], true);
        for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
            let weight = &arrays[8 + 2 * k];
            layer.set_by(|i, o| weight[o * POSES[k] + i], &arrays[9 + 2 * k]);
        }
        let poses = PoseNet { layers, centre: [500.0, 250.0], extent: [300.0; 2], epsilon: 1e-8 };
        let mut decoder = DecoderNet::new(plan(), true);
        decoder.set_dense(|i, o| arrays[16][o * FEATURES + i], &arrays[17]);
        (0..3).for_each(|k| decoder.set_deconv(k, &arrays[18 + 2 * k], &arrays[19 + 2 * k]));
        Networks { eyes, poses, decoder }
    }

    /// Derivatives by all arrays, as they are laid out.
    pub fn gradients(nets: &Networks, by: &Gradient) -> Vec<Vec<f32>> {
        let mut all = Vec::new();
        for (k, conv) in by.eyes.convs.iter().enumerate() {
            all.extend([nets.eyes.conv_gradient(k, &by.eyes), conv.bias[..CHANNELS[k + 1]].to_vec()]);
        }
        all.extend([
            turned(&nets.eyes.dense_gradient(&by.eyes), FEATURES),
            by.eyes.dense.bias[..FEATURES].to_vec(),
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

    /// One step of Adam (Kingma & Ba 2015).
    pub fn update(&mut self, gradients: &[Vec<f32>]) {
        self.updates += 1;
        let [mean, square] = &mut self.moments;
        let [left, left_square] = DECAY.map(|decay| 1.0 - decay.powi(self.updates));
        for (((array, by), mean), square) in self.arrays.iter_mut().zip(gradients).zip(mean).zip(square) {
            for (((x, g), m), v) in array.iter_mut().zip(by).zip(mean).zip(square) {
                *m = DECAY[0] * *m + (1.0 - DECAY[0]) * g;
                *v = DECAY[1] * *v + (1.0 - DECAY[1]) * g * g;
                *x -= RATE * (*m / left) / ((*v / left_square).sqrt() + 1e-8);
            }
        }
    }
}

/// [inputs, outputs] as [outputs, inputs].
fn turned(weight: &[f32], outputs: usize) -> Vec<f32> {
    let inputs = weight.len() / outputs;
    (0..weight.len()).map(|at| weight[at % inputs * outputs + at / inputs]).collect()
}
