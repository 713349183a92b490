//! A convolution of any size, stride and dilation: neighbourhoods gathered into rows, one product, and back.
//!
//! Images are pixels row after row, channels last. [`crate::patches`] does the same for 3x3 kernels with stride 2, where
//! the copies are known at compile time.

use crate::cpu::Work;
use crate::dense::{Layer, LayerGradient, Rows};
use crate::{Cpu, padded};

/// Rows that are multiplied at once, at least: fewer leave registers empty.
const FEW_ROWS: usize = 96;

/// Where the kernel lies: height and width of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvPlan {
    /// Of the image.
    pub image: [usize; 2],
    /// Numbers of a pixel, and from one pixel to the next.
    pub channels: usize,
    /// From one pixel to the next.
    pub pitch: usize,
    /// Of the kernel.
    pub kernel: [usize; 2],
    /// Pixels between two places of the kernel.
    pub stride: [usize; 2],
    /// Zeros before the first row and column.
    pub before: [usize; 2],
    /// Pixels between two taps of the kernel along a row.
    pub dilation: usize,
    /// Places of the kernel.
    pub places: [usize; 2],
}

impl ConvPlan {
    /// Numbers that the kernel sees at a place.
    pub fn inputs(&self) -> usize {
        self.kernel[0] * self.kernel[1] * self.channels
    }

    /// Numbers of an image.
    pub fn image_numbers(&self) -> usize {
        self.image[0] * self.image[1] * self.pitch
    }

    /// How many places.
    pub fn count(&self) -> usize {
        self.places[0] * self.places[1]
    }

    /// From the neighbourhood of a place to that of the next.
    fn width(&self) -> usize {
        padded(self.inputs())
    }

    /// Calls `copy(at in a row, at in the image, numbers)` for every run of numbers under the kernel at a place, and
    /// says so with nothing in the image where it is outside.
    #[inline(always)]
    fn runs(&self, place: [usize; 2], mut copy: impl FnMut(usize, Option<usize>, usize)) {
        let [rows, taps] = self.kernel;
        let line = taps * self.channels;
        for u in 0..rows {
            let row = (place[0] * self.stride[0] + u).wrapping_sub(self.before[0]);
            if row >= self.image[0] {
                copy(u * line, None, line);
                continue;
            }
            let first = (place[1] * self.stride[1]).wrapping_sub(self.before[1]);
            let last = first.wrapping_add((taps - 1) * self.dilation);
            let start = row * self.image[1];
            let inside = first < self.image[1] && last < self.image[1];
            if inside && self.dilation == 1 && self.pitch == self.channels {
                copy(u * line, Some((start + first) * self.pitch), line);
                continue;
            }
            for v in 0..taps {
                let column = first.wrapping_add(v * self.dilation);
                let from = (column < self.image[1]).then(|| (start + column) * self.pitch);
                copy(u * line + v * self.channels, from, self.channels);
            }
        }
    }
}

struct Gather<'a> {
    plan: ConvPlan,
    image: &'a [f32],
    rows: &'a mut [f32],
}

impl Work for Gather<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { plan, image, rows } = self;
        for (place, row) in rows.chunks_exact_mut(plan.width()).enumerate().take(plan.count()) {
            plan.runs([place / plan.places[1], place % plan.places[1]], |at, from, count| match from {
                Some(from) => row[at..at + count].copy_from_slice(&image[from..from + count]),
                None => row[at..at + count].fill(0.0),
            });
        }
    }
}

struct Scatter<'a> {
    plan: ConvPlan,
    rows: &'a [f32],
    image: &'a mut [f32],
}

impl Work for Scatter<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { plan, rows, image } = self;
        for (place, row) in rows.chunks_exact(plan.width()).enumerate().take(plan.count()) {
            plan.runs([place / plan.places[1], place % plan.places[1]], |at, to, count| {
                let Some(to) = to else { return };
                image[to..to + count].iter_mut().zip(&row[at..at + count]).for_each(|(sum, x)| *sum += x);
            });
        }
    }
}

/// A convolution with its weights, inputs in the order kernel row, kernel column, channel.
#[derive(Clone, Debug)]
pub struct Conv {
    /// Where its kernel lies.
    pub plan: ConvPlan,
    layer: Layer,
}

impl Conv {
    /// One of zeros.
    pub fn new(plan: ConvPlan, outputs: usize, relu: bool) -> Self {
        Self { plan, layer: Layer::new([plan.inputs(), outputs], relu) }
    }

    /// Weights, inputs times outputs without gaps, and biases.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn set(&mut self, weight: &[f32], bias: &[f32]) {
        let [inputs, outputs] = self.layer.shape();
        assert_eq!(weight.len(), inputs * outputs, "one weight an input and output");
        self.layer.set_by(|input, output| weight[input * outputs + output], bias);
    }

    /// Inputs and outputs.
    pub fn shape(&self) -> [usize; 2] {
        self.layer.shape()
    }

    /// Numbers of a result.
    pub fn result(&self) -> usize {
        self.plan.count() * self.layer.width()
    }

    /// Results of whole images.
    pub fn forward(&self, cpu: Cpu, images: &[f32], rows: &mut Vec<f32>, results: &mut [f32]) {
        self.groups(images.len(), |images_of, results_of| {
            let count = self.gather(cpu, &images[images_of], rows);
            let seen = Rows { numbers: rows, stride: self.plan.width() };
            self.layer.forward(cpu, seen, count, &mut results[results_of]);
        });
    }

    /// Adds the derivatives by the weights, and by the images if they are asked for; `by_results` has been led back
    /// through the layer's own ReLU.
    pub fn backward(
        &self,
        cpu: Cpu,
        images: &[f32],
        by_results: &[f32],
        rows: &mut Vec<f32>,
        gradient: &mut LayerGradient,
        mut by_images: Option<&mut [f32]>,
    ) {
        self.groups(images.len(), |images_of, results_of| {
            let by_results = &by_results[results_of];
            let count = self.gather(cpu, &images[images_of.clone()], rows);
            let seen = Rows { numbers: rows, stride: self.plan.width() };
            self.layer.differentiate(cpu, seen, by_results, count, gradient);
            let Some(by_images) = &mut by_images else { return };
            self.layer.backward(cpu, by_results, count, None, rows);
            let by_rows = rows.chunks_exact(self.plan.count() * self.plan.width());
            let by_images = by_images[images_of].chunks_exact_mut(self.plan.image_numbers());
            for (image, rows) in by_images.zip(by_rows) {
                cpu.run(Scatter { plan: self.plan, rows, image });
            }
        });
    }

    /// Zeros for the derivatives by the weights.
    pub fn reset(&self, gradient: &mut LayerGradient) {
        gradient.reset(&self.layer);
    }

    /// Calls `work` with the numbers of some images and of their results, group after group.
    fn groups(&self, numbers: usize, mut work: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>)) {
        let (image, group) = (self.plan.image_numbers(), FEW_ROWS.div_ceil(self.plan.count()));
        let images = numbers / image;
        for first in (0..images).step_by(group) {
            let last = (first + group).min(images);
            work(first * image..last * image, first * self.result()..last * self.result());
        }
    }

    /// The neighbourhoods of all places of some images; how many.
    fn gather(&self, cpu: Cpu, images: &[f32], rows: &mut Vec<f32>) -> usize {
        let (image, each) = (self.plan.image_numbers(), self.plan.count() * self.plan.width());
        let count = images.len() / image;
        if rows.len() < count * each {
            rows.resize(count * each, 0.0);
        }
        for (image, rows) in images.chunks_exact(image).zip(rows.chunks_exact_mut(each)) {
            cpu.run(Gather { plan: self.plan, image, rows });
        }
        count * self.plan.count()
    }
}

#[cfg(test)]
mod tests;
