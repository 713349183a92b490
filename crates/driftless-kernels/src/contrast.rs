//! Which images belong to which places: the contrastive loss of two encoders, with its gradient, in one pass.
//!
//! score(i, j) = κ cos(e_i, ê_j) of image i and pose j, K poses of each image side by side; the loss is the mean over
//! images of log Σ_all exp(score) - log Σ_own exp(score). Images and their own poses are encoded in parts, in
//! parallel; parts do not depend on the number of threads, and their gradients are added in order.

mod encoded;
mod part;
mod rotated;

pub use encoded::{Atlas, PairMemory};

use crate::Cpu;
use crate::dense::{Layer, LayerGradient};
use crate::gemm::Panels;
use crate::images::{ImageGradient, ImageNet};
use crate::mlp::{Mlp, MlpGradient};
use crate::ranks::{Lost, Message, Ranks, Wire, is_own, share};
use part::{All, Features, Part, cost};
use rayon::prelude::*;

/// Images of a part.
const AT_ONCE: usize = 16;

/// Two encoders whose features are compared by their directions.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Of images.
    pub frame_encoder: ImageNet,
    /// From the features of images to those that are compared.
    pub last: Layer,
    /// Of places.
    pub places: Mlp,
    /// κ.
    pub sharpness: f32,
}

/// Images, and K poses of each.
#[derive(Clone, Copy, Debug)]
pub struct Examples<'a> {
    /// Images one after the other, each channel after channel.
    pub images: &'a [f32],
    /// A mask of dropout for each, or none.
    pub masks: Option<&'a [f32]>,
    /// What the encoder of places is given of K poses of each image: rows of [`Mlp::input_width`].
    pub places: &'a [f32],
}

/// The derivatives of a loss by all weights of a [`Pair`].
#[derive(Clone, Debug, Default)]
pub struct PairGradient {
    /// By those of the image network.
    pub frame_encoder: ImageGradient,
    /// By those of the layer behind it.
    pub last: LayerGradient,
    /// By those of the encoder of places.
    pub places: MlpGradient,
    /// By κ.
    pub sharpness: f64,
}

/// A loss of one image's cosines with all places: its value, and its derivative by κ; derivatives by the cosines take their
/// place. Losses of several images add up.
pub type Cost<'a> = dyn Fn(usize, &mut [f32]) -> (f64, f64) + Sync + 'a;

/// A workspace, kept from one update to the next.
#[derive(Debug, Default)]
pub struct Workspace {
    parts: Vec<Part>,
    all: All,
}

impl Pair {
    /// The loss and its gradient. Ranks share what costs most: encoding, and the way back.
    ///
    /// # Panics
    /// If there are no images, or not the same number of poses for each.
    pub fn contrast(
        &self,
        cpu: Cpu,
        examples: &Examples,
        ranks: &dyn Ranks,
        workspace: &mut Workspace,
    ) -> Result<(f64, PairGradient), Lost> {
        let images = examples.images.len() / self.frame_encoder.pixels();
        let each = examples.places.len() / self.places.input_width() / images.max(1);
        let share = 1.0 / images as f32;
        let cost = |image: usize, cosines: &mut [f32]| {
            cost(cpu, cosines, image * each..(image + 1) * each, self.sharpness, share)
        };
        let (loss, gradient) = self.learn(cpu, examples, &cost, ranks, workspace)?;
        Ok((loss / images as f64, gradient))
    }

    /// Any loss of the cosines of all images with all places, and its gradient.
    ///
    /// # Panics
    /// If there are no images, or not the same number of poses for each.
    pub fn learn(
        &self,
        cpu: Cpu,
        examples: &Examples,
        cost: &Cost,
        ranks: &dyn Ranks,
        workspace: &mut Workspace,
    ) -> Result<(f64, PairGradient), Lost> {
        let images = examples.images.len() / self.frame_encoder.pixels();
        let poses = examples.places.len() / self.places.input_width();
        assert!(images > 0 && poses > 0 && poses.is_multiple_of(images), "{poses} poses of {images} images");
        let each = poses / images;
        let count = images.div_ceil(AT_ONCE);
        workspace.parts.resize_with(count, Part::default);
        let Workspace { parts, all } = workspace;
        parts.iter_mut().enumerate().for_each(|(number, part)| part.number = number);
        let own = |part: &&mut Part| is_own(ranks, part.number);
        parts.par_iter_mut().filter(own).for_each(|part| part.encode(self, cpu, examples, each));
        share(ranks, &mut parts.iter_mut().map(Features).collect::<Vec<_>>())?;
        all.gather(parts, [images, poses], self.last.width());
        parts.par_iter_mut().for_each(|part| part.compare(cpu, all, cost));
        all.gather_gradients(parts);
        parts.par_iter_mut().filter(own).for_each(|part| part.go_back(self, cpu, examples, all, each));
        share(ranks, &mut parts.iter_mut().map(Part::gradient_mut).collect::<Vec<_>>())?;
        let loss = parts.iter().map(Part::loss).sum::<f64>();
        let mut sum = PairGradient::default();
        for part in parts {
            sum.add(part.gradient());
        }
        Ok((loss, sum))
    }
}

impl PairGradient {
    fn add(&mut self, other: &Self) {
        self.frame_encoder.add(&other.frame_encoder);
        self.last.add(&other.last);
        self.places.resize(other.places.len(), LayerGradient::default());
        self.places.iter_mut().zip(&other.places).for_each(|(sum, part)| sum.add(part));
        self.sharpness += other.sharpness;
    }

    /// All derivatives 0, with the memory kept.
    fn clear(&mut self) {
        let Self { frame_encoder, last, places, sharpness } = self;
        let layers = frame_encoder.convs.iter_mut().chain([&mut frame_encoder.dense, last]).chain(places);
        layers.for_each(LayerGradient::clear);
        *sharpness = 0.0;
    }
}

impl Message for PairGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.frame_encoder.pass(wire);
        self.last.pass(wire);
        self.places.pass(wire);
        self.sharpness.pass(wire);
    }
}

/// Features of length 1 of all places, as the right factor of scores.
pub(crate) fn across(places: &[f32], width: usize, panels: &mut Panels) {
    panels.fill_transposed(places, [width, places.len() / width]);
}

#[cfg(test)]
mod tests;
