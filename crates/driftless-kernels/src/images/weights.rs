//! What an image encoder is built of, and where its weights are in the tensors of others.

use super::ImageNet;
use crate::dense::{Layer, LayerGradient};
use crate::padded;
use crate::patches::{KERNEL, Patches, STRIDE};
use crate::ranks::{Message, Wire};

/// Zeros around an image, where kernels hang out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// As TensorFlow's "SAME": none before an even number of pixels, one before an odd one.
    Same,
    /// One before and behind, as PyTorch's `padding=1`.
    One,
}

/// Sizes of an image encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlan {
    /// Channels, height and width.
    pub image: [usize; 3],
    /// Channels after each convolution.
    pub channels: Vec<usize>,
    /// Features in the end.
    pub features: usize,
    /// Zeros around all images.
    pub padding: Padding,
}

impl ImagePlan {
    /// How each convolution sees what the one before it made.
    pub(crate) fn patches(&self) -> Vec<Patches> {
        let [mut channels, height, width] = self.image;
        let (mut large, mut pitch) = ([height, width], channels);
        let mut all = Vec::new();
        for &next in &self.channels {
            let small = large.map(|size| size.div_ceil(STRIDE));
            let before = match self.padding {
                Padding::Same => large.map(|size| size % STRIDE),
                Padding::One => [1, 1],
            };
            all.push(Patches { large, small, before, channels, pitch });
            (large, channels, pitch) = (small, next, padded(next));
        }
        all
    }

    /// The same with layers of zeros.
    fn convs(&self) -> Vec<(Patches, Layer)> {
        let layer =
            |(patches, &outputs): (Patches, &usize)| (patches, Layer::new([patches.length(), outputs], true));
        self.patches().into_iter().zip(&self.channels).map(layer).collect()
    }
}

/// The derivatives of a loss by all weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageGradient {
    /// By those of each convolution.
    pub convs: Vec<LayerGradient>,
    /// By those of the last layer.
    pub dense: LayerGradient,
}

impl ImageGradient {
    /// Zeros for all weights of a network.
    pub fn reset(&mut self, net: &ImageNet) {
        self.convs.resize(net.convs.len(), LayerGradient::default());
        self.convs.iter_mut().zip(&net.convs).for_each(|(by, (_, layer))| by.reset(layer));
        self.dense.reset(&net.dense);
    }

    /// Adds those of other images.
    pub fn add(&mut self, other: &Self) {
        self.convs.resize(other.convs.len(), LayerGradient::default());
        self.convs.iter_mut().zip(&other.convs).for_each(|(sum, part)| sum.add(part));
        self.dense.add(&other.dense);
    }
}

impl Message for ImageGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.convs.pass(wire);
        self.dense.pass(wire);
    }
}

impl ImageNet {
    /// A network of zeros.
    ///
    /// # Panics
    /// If there are no convolutions.
    pub fn new(plan: ImagePlan) -> Self {
        let convs = plan.convs();
        let (last, layer) = convs.last().expect("an image network has convolutions");
        let dense = Layer::new([last.count() * layer.width(), plan.features], true);
        Self { convs, dense, plan }
    }

    /// How many convolutions.
    pub fn convs(&self) -> usize {
        self.plan.channels.len()
    }

    /// [outputs, inputs, 3, 3] of a convolution's weights.
    pub fn conv_shape(&self, number: usize) -> [usize; 4] {
        let (patches, layer) = &self.convs[number];
        [layer.shape()[1], patches.channels, KERNEL, KERNEL]
    }

    /// [channels · rows · columns, features] of the last layer's weights.
    pub fn dense_shape(&self) -> [usize; 2] {
        [self.mask(), self.dense.shape()[1]]
    }

    /// Weights of a convolution, [outputs, inputs, 3, 3], and its biases.
    pub fn set_conv(&mut self, number: usize, weight: &[f32], bias: &[f32]) {
        let (patches, layer) = &mut self.convs[number];
        assert_eq!(weight.len(), layer.shape().iter().product::<usize>(), "weights of convolution {number}");
        let place = conv_place(patches.channels);
        layer.set_by(|input, output| weight[place(input, output)], bias);
    }

    /// Weights of the last layer, by (channel, row, column) and feature, and its biases.
    pub fn set_dense(&mut self, weight: impl Fn(usize, usize) -> f32, bias: &[f32]) {
        let place = self.flat_place();
        self.dense.set_by(|input, output| place(input).map_or(0.0, |input| weight(input, output)), bias);
    }

    /// The derivatives by the weights of a convolution, [outputs, inputs, 3, 3].
    pub fn conv_gradient(&self, number: usize, gradient: &ImageGradient) -> Vec<f32> {
        let (patches, layer) = &self.convs[number];
        let [inputs, outputs] = layer.shape();
        let place = conv_place(patches.channels);
        let mut weight = vec![0.0; inputs * outputs];
        for input in 0..inputs {
            for output in 0..outputs {
                weight[place(input, output)] = gradient.convs[number].of(input, output, outputs);
            }
        }
        weight
    }

    /// The derivatives by the weights of the last layer, [channel · row · column, features].
    pub fn dense_gradient(&self, gradient: &ImageGradient) -> Vec<f32> {
        let [inputs, outputs] = self.dense.shape();
        let place = self.flat_place();
        let mut weight = vec![0.0; self.mask() * outputs];
        for (input, to) in (0..inputs).filter_map(|input| Some((input, place(input)?))) {
            for output in 0..outputs {
                weight[to * outputs + output] = gradient.dense.of(input, output, outputs);
            }
        }
        weight
    }

    /// Where an input of the last layer is when channels come one after the other; nowhere if it only pads.
    fn flat_place(&self) -> impl Fn(usize) -> Option<usize> + use<> {
        let (last, layer) = self.convs.last().expect("there are convolutions");
        let (count, channels, pitch) = (last.count(), layer.shape()[1], layer.width());
        move |input| {
            let (pixel, channel) = (input / pitch, input % pitch);
            (channel < channels).then_some(channel * count + pixel)
        }
    }
}

/// Where the weight of a place in a patch and an output is in [outputs, inputs, 3, 3].
pub(crate) fn conv_place(channels: usize) -> impl Fn(usize, usize) -> usize {
    const TAPS: usize = KERNEL * KERNEL;
    move |input, output| (output * channels + input % channels) * TAPS + input / channels
}
