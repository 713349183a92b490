//! The image encoder: 3x3 convolutions with stride 2 and ReLU, dropout, a layer with ReLU; forward and backward.

mod backward;
mod weights;

pub(crate) use weights::conv_place;
pub use weights::{ImageGradient, ImagePlan, Padding};

use crate::Cpu;
use crate::dense::{Layer, Rows};
use crate::patches::Patches;
use crate::pixels::interleave;

/// Rows of patches that are multiplied at once, at least: fewer leave registers empty.
const FEW_ROWS: usize = 36;

/// The network, its weights arranged for products.
#[derive(Clone, Debug)]
pub struct ImageNet {
    pub(crate) convs: Vec<(Patches, Layer)>,
    pub(crate) dense: Layer,
    pub(crate) plan: ImagePlan,
}

/// What a backward pass needs of a forward pass, for some images; and room to work. Nothing is allocated once it
/// has seen as many images.
#[derive(Clone, Debug, Default)]
pub struct ImageMemory {
    pub(crate) count: usize,
    /// Images pixel by pixel, and what each convolution made of them, the last one after dropout.
    pub(crate) levels: Vec<Vec<f32>>,
    /// Results, rows of the padded number of features.
    pub(crate) features: Vec<f32>,
    pub(crate) patches: Vec<f32>,
    pub(crate) by_level: [Vec<f32>; 2],
}

impl ImageMemory {
    /// The features of the images seen last, in rows of the padded number of features.
    pub fn features(&self) -> &[f32] {
        &self.features
    }
}

impl ImageNet {
    /// Numbers in an image.
    pub fn pixels(&self) -> usize {
        self.plan.image.iter().product()
    }

    /// Numbers in a mask of dropout.
    pub fn mask(&self) -> usize {
        let (last, layer) = self.convs.last().expect("there are convolutions");
        last.count() * layer.shape()[1]
    }

    /// From the features of one image to those of the next.
    pub fn width(&self) -> usize {
        self.dense.width()
    }

    /// Features of images, which are channel after channel; each number before the last layer is multiplied by
    /// that of a mask, which is as the images are, if there is one.
    ///
    /// # Panics
    /// If there are not whole images, or not as many masks.
    pub fn forward(&self, cpu: Cpu, images: &[f32], masks: Option<&[f32]>, memory: &mut ImageMemory) {
        let count = images.len() / self.pixels();
        assert_eq!(images.len(), count * self.pixels(), "whole images");
        assert!(masks.is_none_or(|masks| masks.len() == count * self.mask()), "one mask an image");
        self.make_room(count, memory);
        let [channels, height, width] = self.plan.image;
        interleave(cpu, images, [channels, height * width], &mut memory.levels[0]);
        for (number, (patches, layer)) in self.convs.iter().enumerate() {
            let (before, after) = memory.levels.split_at_mut(number + 1);
            convolve(cpu, patches, layer, &before[number], &mut memory.patches, &mut after[0]);
        }
        let last = memory.levels.last_mut().expect("there are levels");
        if let Some(masks) = masks {
            self.drop_out(last, masks);
        }
        let stride = self.dense.shape()[0];
        self.dense.forward(cpu, Rows { numbers: last, stride }, count, &mut memory.features);
    }

    /// Multiplies what the last convolution made by masks.
    pub(crate) fn drop_out(&self, level: &mut [f32], masks: &[f32]) {
        let (last, layer) = self.convs.last().expect("there are convolutions");
        let (count, channels, pitch) = (last.count(), layer.shape()[1], layer.width());
        for (image, mask) in level.chunks_exact_mut(count * pitch).zip(masks.chunks_exact(count * channels)) {
            for (p, pixel) in image.chunks_exact_mut(pitch).enumerate() {
                pixel[..channels].iter_mut().enumerate().for_each(|(c, x)| *x *= mask[c * count + p]);
            }
        }
    }

    fn make_room(&self, count: usize, memory: &mut ImageMemory) {
        memory.count = count;
        memory.levels.resize(self.convs.len() + 1, Vec::new());
        memory.levels[0].resize(count * self.pixels(), 0.0);
        let mut most = 0;
        for ((patches, layer), level) in self.convs.iter().zip(&mut memory.levels[1..]) {
            level.resize(count * patches.count() * layer.width(), 0.0);
            most = most.max(at_once(patches) * patches.count() * patches.stride());
        }
        memory.patches.resize(most, 0.0);
        memory.features.resize(count * self.dense.width(), 0.0);
    }
}

/// How many images' patches are multiplied at once.
pub(crate) fn at_once(patches: &Patches) -> usize {
    FEW_ROWS.div_ceil(patches.count())
}

/// One convolution of all images.
fn convolve(cpu: Cpu, patches: &Patches, layer: &Layer, from: &[f32], workspace: &mut [f32], to: &mut [f32]) {
    let (group, stride) = (at_once(patches), patches.stride());
    let (images, results) = (group * patches.image(), group * patches.count() * layer.width());
    for (from, to) in from.chunks(images).zip(to.chunks_mut(results)) {
        let count = from.len() / patches.image();
        let rows = workspace.chunks_exact_mut(patches.count() * stride);
        from.chunks_exact(patches.image())
            .zip(rows)
            .for_each(|(image, rows)| patches.gather(cpu, image, rows));
        layer.forward(cpu, Rows { numbers: workspace, stride }, count * patches.count(), to);
    }
}

#[cfg(test)]
mod tests;
