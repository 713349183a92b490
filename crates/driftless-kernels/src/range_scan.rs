//! The range network: an image becomes, for each of its columns, a distribution over the distance to the next wall.
//!
//! Four convolutions shrink the height to one and the width by two; along the columns that are left follow a residual
//! convolution of 5, a linear term of the mean over all columns, a residual convolution of 5 with gaps, and a layer with
//! one output a bin of distance. ReLU, no normalisation layers.

mod backward;
#[cfg(test)]
mod tests;

use crate::conv::{Conv, ConvPlan};
use crate::dense::{Layer, LayerGradient, Rows};
use crate::{Cpu, padded};

/// Taps of the convolutions along the columns.
const TAPS: usize = 5;
/// Pixels between taps in the second of them.
const GAPS: usize = 2;
/// Filters of the convolutions.
const FILTERS: [usize; 4] = [16, 32, 48, 64];
/// Numbers of a column before the last layer.
const FEATURES: usize = FILTERS[3];

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPlan {
    /// Height and width of images, at least 1 each.
    pub image: [usize; 2],
    /// Numbers of a pixel.
    pub channels: usize,
    /// Bins of distance.
    pub bins: usize,
}

/// A tensor of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanTensor {
    /// Layer and `weight` or `bias`, joined by a dot.
    pub name: String,
    /// Kernel height, kernel width, inputs, outputs; or what a layer has of these.
    pub shape: Vec<usize>,
}

impl ScanPlan {
    /// Columns of the scan: half of the image's.
    pub fn columns(&self) -> usize {
        self.image[1].div_ceil(2)
    }

    /// Numbers of an image.
    pub fn pixels(&self) -> usize {
        self.image[0] * self.image[1] * self.channels
    }

    /// From the scores of a column to those of the next.
    pub fn width(&self) -> usize {
        padded(self.bins)
    }

    /// Numbers of a mask of dropout.
    pub fn mask(&self) -> usize {
        self.columns() * FEATURES
    }

    /// All tensors, in the order in which weights and derivatives are given.
    pub fn tensors(&self) -> Vec<ScanTensor> {
        let convs = self.convs();
        let names = ["conv1", "conv2", "conv3", "conv4", "beside1", "beside2"];
        let kernels = names.iter().zip(&convs).map(|(name, (plan, outputs))| {
            let [rows, columns] = plan.kernel;
            (*name, vec![rows, columns, plan.channels, *outputs])
        });
        let layers = [("mean", vec![FEATURES, FEATURES]), ("bins", vec![FEATURES, self.bins])];
        let all = kernels.chain(layers);
        all.flat_map(|(name, shape)| {
            let bias = vec![*shape.last().expect("outputs come last")];
            [("weight", shape), ("bias", bias)]
                .map(|(part, shape)| ScanTensor { name: format!("{name}.{part}"), shape })
        })
        .collect()
    }

    /// The convolutions and their outputs: those of images, then those along columns.
    fn convs(&self) -> [(ConvPlan, usize); 6] {
        let [height, width] = self.image;
        let columns = self.columns();
        let rows = [height.div_ceil(2), height.div_ceil(4), height.div_ceil(8)];
        let conv = |image, channels, kernel: [usize; 2], stride, before, places| ConvPlan {
            image,
            channels,
            pitch: channels,
            kernel,
            stride,
            before,
            dilation: 1,
            places,
        };
        let beside = |dilation| ConvPlan {
            dilation,
            ..conv([1, columns], FEATURES, [1, TAPS], [1, 1], [0, dilation * (TAPS / 2)], [1, columns])
        };
        let [first, second, third, fourth] = FILTERS;
        [
            (conv([height, width], self.channels, [5, 5], [2, 2], [2, 2], [rows[0], columns]), first),
            (conv([rows[0], columns], first, [3, 3], [2, 1], [1, 1], [rows[1], columns]), second),
            (conv([rows[1], columns], second, [3, 3], [2, 1], [1, 1], [rows[2], columns]), third),
            (conv([rows[2], columns], third, [rows[2], 3], [1, 1], [0, 1], [1, columns]), fourth),
            (beside(1), FEATURES),
            (beside(GAPS), FEATURES),
        ]
    }
}

/// The network, its weights arranged for products.
#[derive(Clone, Debug)]
pub struct ScanNet {
    plan: ScanPlan,
    convs: Vec<Conv>,
    mean: Layer,
    bins: Layer,
}

/// Derivatives by all weights.
#[derive(Clone, Debug, Default)]
pub struct ScanGradient {
    layers: Vec<LayerGradient>,
}

/// What a backward pass needs of a forward pass, and room to work.
#[derive(Clone, Debug, Default)]
pub struct ScanMemory {
    count: usize,
    /// Images, and what each convolution made of them.
    levels: Vec<Vec<f32>>,
    /// Columns after the first residual, their mean, and after its linear term.
    first: Vec<f32>,
    means: Vec<f32>,
    second: Vec<f32>,
    /// After the second residual and dropout.
    features: Vec<f32>,
    scores: Vec<f32>,
    rows: Vec<f32>,
    by: Vec<Vec<f32>>,
}

impl ScanMemory {
    /// Scores of the bins of each column of each image seen last: logarithms of probabilities up to a constant, rows of
    /// [`ScanPlan::width`] numbers.
    pub fn scores(&self) -> &[f32] {
        &self.scores
    }
}

impl ScanNet {
    /// One of zeros.
    pub fn new(plan: ScanPlan) -> Self {
        let convs = plan.convs().map(|(conv, outputs)| Conv::new(conv, outputs, true)).to_vec();
        let (mean, bins) = (Layer::new([FEATURES; 2], false), Layer::new([FEATURES, plan.bins], false));
        Self { plan, convs, mean, bins }
    }

    /// Its sizes.
    pub fn plan(&self) -> ScanPlan {
        self.plan
    }

    /// Takes weights in the order of [`ScanPlan::tensors`].
    ///
    /// # Panics
    /// If there are not as many tensors, or one has not its size.
    pub fn set<T: AsRef<[f32]>>(&mut self, tensors: &[T]) {
        let (pairs, rest) = tensors.as_chunks::<2>();
        assert!(pairs.len() == self.convs.len() + 2 && rest.is_empty(), "all tensors of the plan");
        for ([weight, bias], conv) in pairs.iter().zip(&mut self.convs) {
            conv.set(weight.as_ref(), bias.as_ref());
        }
        for ([weight, bias], layer) in pairs[self.convs.len()..].iter().zip([&mut self.mean, &mut self.bins])
        {
            let [inputs, outputs] = layer.shape();
            let weight = weight.as_ref();
            assert_eq!(weight.len(), inputs * outputs, "one weight an input and output");
            layer.set_by(|input, output| weight[input * outputs + output], bias.as_ref());
        }
    }

    /// Scores of images, pixels with channels last. What the last layer sees is multiplied by masks, if there are some:
    /// dropout.
    ///
    /// # Panics
    /// If there are not whole images, or not as many masks.
    pub fn forward(&self, cpu: Cpu, images: &[f32], masks: Option<&[f32]>, memory: &mut ScanMemory) {
        let count = images.len() / self.plan.pixels();
        assert_eq!(images.len(), count * self.plan.pixels(), "whole images");
        assert!(masks.is_none_or(|masks| masks.len() == count * self.plan.mask()), "one mask an image");
        self.make_room(count, memory);
        let ScanMemory { levels, first, means, second, features, scores, rows, .. } = memory;
        levels[0].copy_from_slice(images);
        for number in 0..5 {
            let (before, after) = levels.split_at_mut(number + 1);
            self.convs[number].forward(cpu, &before[number], rows, &mut after[0]);
        }
        add(&levels[4], &levels[5], first);
        self.add_means(cpu, count, first, means, second);
        self.convs[5].forward(cpu, second, rows, &mut levels[6]);
        add(second, &levels[6], features);
        if let Some(masks) = masks {
            features.iter_mut().zip(masks).for_each(|(x, mask)| *x *= mask);
        }
        let seen = Rows { numbers: features, stride: FEATURES };
        self.bins.forward(cpu, seen, count * self.plan.columns(), scores);
    }

    /// second = first + W mean(first) + b.
    fn add_means(&self, cpu: Cpu, count: usize, first: &[f32], means: &mut [f32], second: &mut [f32]) {
        let columns = self.plan.columns();
        let (mean, term) = means.split_at_mut(count * FEATURES);
        mean.fill(0.0);
        for (image, mean) in first.chunks_exact(columns * FEATURES).zip(mean.chunks_exact_mut(FEATURES)) {
            for column in image.chunks_exact(FEATURES) {
                mean.iter_mut().zip(column).for_each(|(sum, x)| *sum += x);
            }
            for sum in mean.iter_mut() {
                *sum /= columns as f32;
            }
        }
        self.mean.forward(cpu, Rows { numbers: mean, stride: FEATURES }, count, term);
        let images = first.chunks_exact(columns * FEATURES).zip(second.chunks_exact_mut(columns * FEATURES));
        for ((from, to), term) in images.zip(term.chunks_exact(FEATURES)) {
            for (from, to) in from.chunks_exact(FEATURES).zip(to.chunks_exact_mut(FEATURES)) {
                add(from, term, to);
            }
        }
    }

    fn make_room(&self, count: usize, memory: &mut ScanMemory) {
        memory.count = count;
        memory.levels.resize(self.convs.len() + 1, Vec::new());
        memory.levels[0].resize(count * self.plan.pixels(), 0.0);
        for (conv, level) in self.convs.iter().zip(&mut memory.levels[1..]) {
            level.resize(count * conv.result(), 0.0);
        }
        let columns = count * self.plan.columns();
        for level in [&mut memory.first, &mut memory.second, &mut memory.features] {
            level.resize(columns * FEATURES, 0.0);
        }
        memory.means.resize(2 * count * FEATURES, 0.0);
        memory.scores.resize(columns * self.plan.width(), 0.0);
    }
}

fn add(a: &[f32], b: &[f32], sum: &mut [f32]) {
    sum.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum = a + b);
}
