//! The image decoder: a layer with ReLU, transposed 3x3 convolutions with stride 2 and ReLU; forward, and backward from
//! the squared error of its images.

mod backward;
mod error;

use crate::Cpu;
use crate::dense::{Layer, LayerGradient, Rows};
use crate::images::{ImagePlan, conv_place};
use crate::patches::Patches;
use crate::ranks::{Message, Wire};

/// The network, its weights arranged for products. It mirrors an image encoder: its first transposed convolution goes
/// from the encoder's last level to the one before.
#[derive(Clone, Debug)]
pub struct DecoderNet {
    dense: Layer,
    /// From the smallest images on: where patches lie in the larger image, weights without bias, biases.
    deconvs: Vec<Deconv>,
    relu: bool,
    plan: ImagePlan,
}

#[derive(Clone, Debug)]
struct Deconv {
    patches: Patches,
    layer: Layer,
    bias: Vec<f32>,
}

/// What a backward pass needs of a forward pass; and room to work.
#[derive(Clone, Debug, Default)]
pub struct DecoderMemory {
    count: usize,
    /// Images of each size, from the smallest on.
    levels: Vec<Vec<f32>>,
    patches: Vec<f32>,
    by_level: [Vec<f32>; 2],
}

/// The derivatives of a loss by all weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecoderGradient {
    /// By those of the first layer.
    pub dense: LayerGradient,
    /// By those of each transposed convolution: patches of 9 times its outputs, and biases.
    pub deconvs: Vec<LayerGradient>,
}

impl DecoderGradient {
    /// Zeros for all weights of a network.
    pub(crate) fn reset(&mut self, net: &DecoderNet) {
        self.dense.reset(&net.dense);
        self.deconvs.resize(net.deconvs.len(), LayerGradient::default());
        for (by, deconv) in self.deconvs.iter_mut().zip(&net.deconvs) {
            by.reset(&deconv.layer);
            by.bias.clear();
            by.bias.resize(deconv.bias.len(), 0.0);
        }
    }

    /// Adds those of other images.
    pub fn add(&mut self, other: &Self) {
        self.dense.add(&other.dense);
        self.deconvs.resize(other.deconvs.len(), LayerGradient::default());
        self.deconvs.iter_mut().zip(&other.deconvs).for_each(|(sum, part)| sum.add(part));
    }
}

impl Message for DecoderGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.dense.pass(wire);
        self.deconvs.pass(wire);
    }
}

impl DecoderNet {
    /// A network of zeros; its images are cut at 0 if `relu`.
    pub fn new(plan: ImagePlan, relu: bool) -> Self {
        let patches = plan.patches();
        let (last, depth) = (patches[patches.len() - 1], plan.channels[plan.channels.len() - 1]);
        let dense = Layer::new([plan.features, last.count() * crate::padded(depth)], true);
        let deconv = |(patches, &inputs): (Patches, &usize)| Deconv {
            patches,
            layer: Layer::new([inputs, patches.length()], false),
            bias: vec![0.0; patches.pitch],
        };
        let deconvs = patches.into_iter().zip(&plan.channels).rev().map(deconv).collect();
        Self { dense, deconvs, relu, plan }
    }

    /// Weights of the first layer by feature and (channel, row, column), and its biases in that order.
    pub fn set_dense(&mut self, weight: impl Fn(usize, usize) -> f32, bias: &[f32]) {
        let place = self.flat_place();
        let outputs = self.dense.shape()[1];
        let bias: Vec<f32> = (0..outputs).map(|output| place(output).map_or(0.0, |at| bias[at])).collect();
        self.dense.set_by(|input, output| place(output).map_or(0.0, |at| weight(input, at)), &bias);
    }

    /// Weights of a transposed convolution, [inputs, outputs, 3, 3], and its biases.
    pub fn set_deconv(&mut self, number: usize, weight: &[f32], bias: &[f32]) {
        let deconv = &mut self.deconvs[number];
        let [inputs, length] = deconv.layer.shape();
        assert_eq!(weight.len(), inputs * length, "weights of transposed convolution {number}");
        let place = conv_place(deconv.patches.channels);
        deconv.layer.set_by(|input, output| weight[place(output, input)], &vec![0.0; length]);
        deconv.bias[..bias.len()].copy_from_slice(bias);
    }

    /// The derivatives by the weights of the first layer, [features, channel · row · column], and its biases.
    pub fn dense_gradient(&self, by: &DecoderGradient) -> [Vec<f32>; 2] {
        let ([inputs, outputs], place) = (self.dense.shape(), self.flat_place());
        let count = (0..outputs).filter_map(&place).count();
        let (mut weight, mut bias) = (vec![0.0; inputs * count], vec![0.0; count]);
        for (output, to) in (0..outputs).filter_map(|output| Some((output, place(output)?))) {
            bias[to] = by.dense.bias[output];
            for input in 0..inputs {
                weight[input * count + to] = by.dense.of(input, output, outputs);
            }
        }
        [weight, bias]
    }

    /// The derivatives by the weights of a transposed convolution, [inputs, outputs, 3, 3], and its biases.
    pub fn deconv_gradient(&self, number: usize, by: &DecoderGradient) -> [Vec<f32>; 2] {
        let Deconv { patches, layer, .. } = &self.deconvs[number];
        let ([inputs, length], place) = (layer.shape(), conv_place(patches.channels));
        let mut weight = vec![0.0; inputs * length];
        for input in 0..inputs {
            for output in 0..length {
                weight[place(output, input)] = by.deconvs[number].of(input, output, length);
            }
        }
        [weight, by.deconvs[number].bias[..patches.channels].to_vec()]
    }

    /// Where an output of the first layer is when channels come one after the other; nowhere if it only pads.
    fn flat_place(&self) -> impl Fn(usize) -> Option<usize> + use<> {
        let (count, channels) = (self.deconvs[0].patches.count(), self.deconvs[0].layer.shape()[0]);
        let pitch = crate::padded(channels);
        move |at| (at % pitch < channels).then_some(at % pitch * count + at / pitch)
    }

    /// Images of so many rows of features.
    pub fn forward(&self, cpu: Cpu, features: Rows, count: usize, memory: &mut DecoderMemory) {
        memory.count = count;
        memory.levels.resize(self.deconvs.len() + 1, Vec::new());
        memory.levels[0].resize(count * self.dense.width(), 0.0);
        self.dense.forward(cpu, features, count, &mut memory.levels[0]);
        for (number, deconv) in self.deconvs.iter().enumerate() {
            let (before, after) = memory.levels.split_at_mut(number + 1);
            let relu = self.relu || number + 1 < self.deconvs.len();
            deconv.forward(cpu, &before[number], relu, &mut memory.patches, &mut after[0]);
        }
    }

    /// The image number `index` of the last forward pass, channel after channel.
    pub fn image(&self, memory: &DecoderMemory, index: usize) -> Vec<f32> {
        let [channels, height, width] = self.plan.image;
        let (pixels, pitch) = (height * width, self.deconvs[self.deconvs.len() - 1].patches.pitch);
        let image = &memory.levels[self.deconvs.len()][index * pixels * pitch..][..pixels * pitch];
        (0..channels * pixels).map(|k| image[k % pixels * pitch + k / pixels]).collect()
    }
}

impl Deconv {
    /// Patches of some small images at once, added up in the large ones.
    fn forward(&self, cpu: Cpu, small: &[f32], relu: bool, workspace: &mut Vec<f32>, large: &mut Vec<f32>) {
        let (rows, stride) = (self.patches.count(), crate::padded(self.layer.shape()[0]));
        let count = small.len() / (rows * stride);
        large.resize(count * self.patches.image(), 0.0);
        let group = crate::images::at_once(&self.patches);
        workspace.resize(group * rows * self.patches.stride(), 0.0);
        let parts = small.chunks(group * rows * stride).zip(large.chunks_mut(group * self.patches.image()));
        for (small, large) in parts {
            self.layer.forward(cpu, Rows { numbers: small, stride }, small.len() / stride, workspace);
            let patches = workspace.chunks_exact(rows * self.patches.stride());
            for (image, patches) in large.chunks_exact_mut(self.patches.image()).zip(patches) {
                self.patches.scatter(cpu, patches, &self.bias, relu, image);
            }
        }
    }
}

#[cfg(test)]
mod tests;
