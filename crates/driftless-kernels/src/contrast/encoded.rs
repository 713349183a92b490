//! A trained pair put to use: what an image says of places.

use super::Pair;
use crate::cpu::Work;
use crate::dense::Rows;
use crate::gemm::{Epilogue, Left, Out, Panels, product};
use crate::images::ImageMemory;
use crate::mlp::MlpMemory;
use crate::rows::{LEAST_LENGTH, dot, to_units};
use crate::{Cpu, padded};

/// Places that are encoded at once: so many stay in the nearest cache.
const AT_ONCE: usize = 96;

/// A workspace, kept from one image to the next.
#[derive(Clone, Debug, Default)]
pub struct PairMemory {
    frame_encoder: ImageMemory,
    mlp: MlpMemory,
    lengths: Vec<f32>,
}

/// Features of many places, to be compared with images at little cost.
#[derive(Clone, Debug, Default)]
pub struct Atlas {
    places: Panels,
    count: usize,
}

impl Pair {
    /// From the features of one image to those of the next.
    pub fn width(&self) -> usize {
        self.last.width()
    }

    /// Features of length 1 of images, which replace those there were; zeros, which say nothing, for an image that
    /// is not finite.
    pub fn see(&self, cpu: Cpu, images: &[f32], memory: &mut PairMemory, seen: &mut Vec<f32>) {
        self.frame_encoder.forward(cpu, images, None, &mut memory.frame_encoder);
        let count = images.len() / self.frame_encoder.pixels();
        seen.resize(count * self.width(), 0.0);
        let features = Rows { numbers: memory.frame_encoder.features(), stride: self.frame_encoder.width() };
        self.last.forward(cpu, features, count, seen);
        to_units(cpu, seen, self.width(), &mut memory.lengths);
        let rows = seen.chunks_exact_mut(self.width()).zip(images.chunks_exact(self.frame_encoder.pixels()));
        rows.filter(|(_, image)| !image.iter().all(|x| x.is_finite())).for_each(|(row, _)| row.fill(0.0));
    }

    /// κ cos of one image's features and each place, given as rows of [`crate::mlp::Mlp::input_width`].
    pub fn scores(
        &self,
        cpu: Cpu,
        seen: &[f32],
        places: &[f32],
        memory: &mut PairMemory,
        scores: &mut [f32],
    ) {
        let width = self.places.input_width();
        for (part, scores) in places.chunks(AT_ONCE * width).zip(scores.chunks_mut(AT_ONCE)) {
            self.places.forward(cpu, part, part.len() / width, &mut memory.mlp);
            let results = memory.mlp.results();
            cpu.run(Cosines { seen, results, factor: self.sharpness, scores });
        }
    }

    /// Memory to score any number of places, which are looked at few at once.
    pub fn reserve(&self, cpu: Cpu, memory: &mut PairMemory) {
        self.places.forward(cpu, &vec![0.0; AT_ONCE * self.places.input_width()], AT_ONCE, &mut memory.mlp);
    }

    /// Places to be compared with many images.
    pub fn atlas(&self, cpu: Cpu, places: &[f32]) -> Atlas {
        let (mut memory, width) = (PairMemory::default(), self.places.input_width());
        let mut features = Vec::with_capacity(places.len() / width * self.width());
        for part in places.chunks(AT_ONCE * width) {
            self.places.forward(cpu, part, part.len() / width, &mut memory.mlp);
            features.extend_from_slice(memory.mlp.results());
        }
        to_units(cpu, &mut features, self.width(), &mut memory.lengths);
        let mut atlas = Atlas { count: places.len() / width, places: Panels::default() };
        super::across(&features, self.width(), &mut atlas.places);
        atlas
    }

    /// cos of some images' features and all places of an atlas, a row for each image, padded; κ is left out.
    pub fn look_up(&self, cpu: Cpu, seen: &[f32], atlas: &Atlas, cosines: &mut Vec<f32>) {
        let (count, wide) = (seen.len() / self.width(), padded(atlas.count));
        cosines.resize(count * wide, 0.0);
        let mut out = Out { numbers: cosines, stride: wide };
        let left = Left::rows(seen, self.width());
        product(cpu, left, atlas.places.right(), [count, self.width(), wide], Epilogue::Store, &mut out);
    }
}

struct Cosines<'a> {
    seen: &'a [f32],
    results: &'a [f32],
    factor: f32,
    scores: &'a mut [f32],
}

impl Work for Cosines<'_> {
    #[inline(always)]
    fn run(self) {
        for (row, score) in self.results.chunks_exact(self.seen.len()).zip(self.scores) {
            // Shares of lengths beyond all squares are as good as none.
            let length = dot(row, row).sqrt().max(LEAST_LENGTH);
            *score = self.factor * dot(row, self.seen) / length;
        }
    }
}
