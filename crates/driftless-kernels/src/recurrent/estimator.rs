//! Images and other numbers through an image encoder, LSTMs and layers to what is said of each step.

use super::{Lstm, LstmGradient, LstmMemory};
use crate::dense::Rows;
use crate::images::{ImageGradient, ImageMemory, ImageNet};
use crate::mlp::{Mlp, MlpGradient, MlpMemory};
use crate::{Cpu, padded};
use rayon::prelude::*;

/// Groups of sequences, and of rows, at most.
const GROUPS: usize = 8;
/// Rows that go through the last layers at once.
const ROWS: usize = 96;

/// Features of images and what is beside them, through LSTMs one after the other, and layers.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// Features of images.
    pub frame_encoder: ImageNet,
    /// From the first on; without any, what is said of an image is said of it alone.
    pub cells: Vec<Lstm>,
    /// From the last cell, or else the features, to what is said.
    pub head: Mlp,
}

/// The derivatives of a loss by all weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EstimatorGradient {
    /// Of the image encoder.
    pub frame_encoder: ImageGradient,
    /// Of each cell.
    pub cells: Vec<LstmGradient>,
    /// Of the layers.
    pub head: MlpGradient,
}

/// Sequences of as many steps each, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct SequenceFrames<'a> {
    /// Images step after step, each channel after channel.
    pub images: &'a [f32],
    /// A mask of dropout for each, or none.
    pub masks: Option<&'a [f32]>,
    /// What the first cell, or else the head, is given after the features, step after step.
    pub beside: &'a [f32],
    /// Steps and sequences.
    pub sizes: [usize; 2],
}

/// What a backward pass needs of a forward pass, and room to work, kept from one batch to the next.
///
/// Rows are those of all sequences at step 1, then at step 2, and so on.
#[derive(Clone, Debug, Default)]
pub struct EstimatorMemory {
    frame_encoder: Vec<Looking>,
    /// Of the first cell, or else of the head.
    inputs: Vec<f32>,
    cells: Vec<LstmMemory>,
    head: Vec<Saying>,
    said: Vec<f32>,
    by_rows: [Vec<f32>; 2],
}

/// Some of the sequences, of which one is remembered in full: convolutions are cheap, and their results are not small.
#[derive(Clone, Debug, Default)]
struct Looking {
    memory: ImageMemory,
    features: Vec<f32>,
    gradient: ImageGradient,
}

/// Some of the rows, in pieces of [`ROWS`].
#[derive(Clone, Debug, Default)]
struct Saying {
    pieces: Vec<MlpMemory>,
    gradient: MlpGradient,
}

impl EstimatorMemory {
    /// What is said at each step of each sequence, in rows of [`Mlp::width`] numbers.
    pub fn said(&self) -> &[f32] {
        &self.said
    }
}

/// Zeros for all weights.
fn reset(gradient: &mut MlpGradient, of: &Mlp) {
    gradient.resize_with(of.layers().len(), Default::default);
    gradient.iter_mut().zip(of.layers()).for_each(|(sum, layer)| sum.reset(layer));
}

/// How large the share of a group is.
fn share(count: usize) -> usize {
    count.div_ceil(GROUPS).max(1)
}

impl Estimator {
    /// From what is seen to what is said, [`EstimatorMemory::said`].
    ///
    /// # Panics
    /// If sizes do not fit, or there is nothing to see.
    pub fn forward(&self, cpu: Cpu, seen: &SequenceFrames, memory: &mut EstimatorMemory) {
        let [steps, sequences] = seen.sizes;
        let (EstimatorMemory { frame_encoder, inputs, cells, head, said, .. }, size) =
            (memory, share(sequences));
        frame_encoder.resize(sequences.div_ceil(size), Looking::default());
        frame_encoder.par_iter_mut().enumerate().for_each(|(number, group)| {
            group.features.clear();
            for k in number * size..sequences.min((number + 1) * size) {
                let (images, masks) = self.sequence(seen, k);
                self.frame_encoder.forward(cpu, images, masks, &mut group.memory);
                group.features.extend_from_slice(group.memory.features());
            }
        });
        self.join(seen, frame_encoder, inputs);
        cells.resize(self.cells.len(), LstmMemory::default());
        for (number, cell) in self.cells.iter().enumerate() {
            let (before, after) = cells.split_at_mut(number);
            let numbers = before.last().map_or(&inputs[..], LstmMemory::outputs);
            let rows = Rows { numbers, stride: padded(cell.inputs()) };
            cell.forward(cpu, rows, seen.sizes, &mut after[0]);
        }
        let (rows, width) = (steps * sequences, self.head.width());
        said.resize(rows * width, 0.0);
        head.resize(rows.div_ceil(share(rows)), Saying::default());
        let inputs = cells.last().map_or(&inputs[..], LstmMemory::outputs);
        let inputs = inputs.par_chunks(share(rows) * self.head.input_width());
        let groups = head.par_iter_mut().zip(said.par_chunks_mut(share(rows) * width)).zip(inputs);
        groups.for_each(|((group, said), inputs)| group.say(cpu, &self.head, inputs, said));
    }

    /// The derivatives by all weights, given those by what was said; of what was seen last. They replace those there
    /// were.
    pub fn backward(
        &self,
        cpu: Cpu,
        seen: &SequenceFrames,
        by_said: &[f32],
        memory: &mut EstimatorMemory,
        gradient: &mut EstimatorGradient,
    ) {
        let EstimatorMemory { frame_encoder, inputs, cells, head, by_rows: [by_this, by_before], .. } =
            memory;
        let last = cells.last().map_or(&inputs[..], LstmMemory::outputs);
        self.back_through_head(cpu, by_said, (last, head), by_this, &mut gradient.head);
        gradient.cells.resize(self.cells.len(), LstmGradient::default());
        for (number, cell) in self.cells.iter().enumerate().rev() {
            let (before, after) = cells.split_at_mut(number);
            let numbers = before.last().map_or(&inputs[..], LstmMemory::outputs);
            let rows = Rows { numbers, stride: padded(cell.inputs()) };
            let sinks = (&mut gradient.cells[number], Some(&mut *by_before));
            cell.backward(cpu, rows, by_this, &mut after[0], sinks);
            std::mem::swap(by_this, by_before);
        }
        self.back_through_frame_encoder(cpu, seen, by_this, frame_encoder);
        gradient.frame_encoder.reset(&self.frame_encoder);
        for group in &*frame_encoder {
            gradient.frame_encoder.add(&group.gradient);
        }
    }

    /// Images and masks of one sequence.
    fn sequence<'a>(&self, seen: &SequenceFrames<'a>, k: usize) -> (&'a [f32], Option<&'a [f32]>) {
        let steps = seen.sizes[0];
        let (pixels, mask) = (steps * self.frame_encoder.pixels(), steps * self.frame_encoder.mask());
        (&seen.images[k * pixels..][..pixels], seen.masks.map(|masks| &masks[k * mask..][..mask]))
    }

    /// Numbers of what the first cell, or else the head, is given.
    fn given(&self) -> usize {
        self.cells.first().map_or_else(|| self.head.layers()[0].shape()[0], Lstm::inputs)
    }

    /// What the first cell, or else the head, is given.
    fn join(&self, seen: &SequenceFrames, frame_encoder: &[Looking], inputs: &mut Vec<f32>) {
        let ([steps, sequences], size) = (seen.sizes, share(seen.sizes[1]));
        let (features, wide, all) =
            (self.frame_encoder.plan.features, self.frame_encoder.width(), self.given());
        let (stride, beside) = (padded(all), all - features);
        assert_eq!(seen.beside.len(), steps * sequences * beside, "{beside} numbers beside each image");
        inputs.resize(steps * sequences * stride, 0.0);
        inputs.par_chunks_exact_mut(sequences * stride).enumerate().for_each(|(t, rows)| {
            for (k, row) in rows.chunks_exact_mut(stride).enumerate() {
                let own = &frame_encoder[k / size].features[(k % size * steps + t) * wide..][..features];
                row[..features].copy_from_slice(own);
                row[features..all].copy_from_slice(&seen.beside[(k * steps + t) * beside..][..beside]);
            }
        });
    }

    fn back_through_head(
        &self,
        cpu: Cpu,
        by_said: &[f32],
        (outputs, head): (&[f32], &mut [Saying]),
        by_rows: &mut Vec<f32>,
        gradient: &mut MlpGradient,
    ) {
        by_rows.resize(outputs.len(), 0.0);
        let (width, wide) = (self.head.width(), self.head.input_width());
        let rows = share(outputs.len() / wide);
        let inputs = outputs.par_chunks(rows * wide).zip(by_rows.par_chunks_mut(rows * wide));
        let groups = head.par_iter_mut().zip(by_said.par_chunks(rows * width)).zip(inputs);
        groups.for_each(|((group, by_said), (inputs, by_inputs))| {
            group.back(cpu, &self.head, (inputs, by_said), by_inputs);
        });
        reset(gradient, &self.head);
        for group in head {
            gradient.iter_mut().zip(&group.gradient).for_each(|(sum, part)| sum.add(part));
        }
    }

    fn back_through_frame_encoder(
        &self,
        cpu: Cpu,
        seen: &SequenceFrames,
        by_inputs: &[f32],
        frame_encoder: &mut [Looking],
    ) {
        let ([steps, sequences], size) = (seen.sizes, share(seen.sizes[1]));
        let (features, wide) = (self.frame_encoder.plan.features, self.frame_encoder.width());
        let stride = padded(self.given());
        frame_encoder.par_iter_mut().enumerate().for_each(|(number, group)| {
            let Looking { memory, features: by_features, gradient } = group;
            gradient.reset(&self.frame_encoder);
            for k in number * size..sequences.min((number + 1) * size) {
                by_features.clear();
                by_features.resize(steps * wide, 0.0);
                for (t, row) in by_features.chunks_exact_mut(wide).enumerate() {
                    row[..features].copy_from_slice(&by_inputs[(t * sequences + k) * stride..][..features]);
                }
                let (images, masks) = self.sequence(seen, k);
                self.frame_encoder.forward(cpu, images, masks, memory);
                self.frame_encoder.backward(cpu, by_features, masks, memory, gradient);
            }
        });
    }
}

impl Saying {
    fn say(&mut self, cpu: Cpu, head: &Mlp, inputs: &[f32], said: &mut [f32]) {
        let (width, wide) = (head.width(), head.input_width());
        self.pieces.resize(said.len().div_ceil(ROWS * width), MlpMemory::default());
        let pieces = said.chunks_mut(ROWS * width).zip(inputs.chunks(ROWS * wide));
        for (memory, (said, inputs)) in self.pieces.iter_mut().zip(pieces) {
            head.forward(cpu, inputs, said.len() / width, memory);
            said.copy_from_slice(memory.results());
        }
    }

    fn back(&mut self, cpu: Cpu, head: &Mlp, (inputs, by_said): (&[f32], &[f32]), by_inputs: &mut [f32]) {
        let (width, wide) = (head.width(), head.input_width());
        reset(&mut self.gradient, head);
        let pieces = inputs.chunks(ROWS * wide).zip(by_said.chunks(ROWS * width));
        let pieces = pieces.zip(by_inputs.chunks_mut(ROWS * wide));
        for (memory, ((inputs, by_said), by_inputs)) in self.pieces.iter_mut().zip(pieces) {
            head.backward(cpu, inputs, by_said, memory, &mut self.gradient);
            head.by_inputs(cpu, memory, by_inputs);
        }
    }
}

#[cfg(test)]
mod tests;
