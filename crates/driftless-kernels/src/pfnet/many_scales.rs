//! A convolution with kernels of several sizes and dilations, their results side by side; stride 1, zeros outside.
//!
//! Products read the image where it is: each tap of a kernel is an offset ([`Left::taps`]). Outputs come in blocks
//! that share their taps, so that kernels with fewer than sixteen outputs need not leave lanes empty.

use crate::Cpu;
use crate::dense::add_rows;
use crate::gemm::{Epilogue, Left, Out, Panels, Right, product};

/// Square kernels of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Taps a side, an odd number.
    pub side: usize,
    /// Pixels from one tap to the next.
    pub dilation: usize,
    /// How many kernels.
    pub outputs: usize,
}

impl Scale {
    /// Pixels that a kernel reaches beyond its middle.
    fn reach(self) -> isize {
        (self.side / 2 * self.dilation) as isize
    }

    /// Which of a side's taps is so far from the middle, if one is.
    fn tap(self, from_middle: isize) -> Option<usize> {
        let (place, step) = (from_middle + self.reach(), self.dilation as isize);
        (0..=2 * self.reach()).contains(&place).then_some(())?;
        (place % step == 0).then_some((place / step) as usize)
    }
}

/// A kernel: number `output` of those of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) scale: usize,
    pub(super) output: usize,
}

/// Outputs that are computed together, and the taps that any of their kernels has.
#[derive(Clone, Debug)]
struct Block {
    kernels: Vec<Kernel>,
    /// From the middle: rows, columns, channel.
    taps: Vec<(isize, isize, usize)>,
    offsets: Vec<usize>,
    ahead: Panels,
    /// Its first output among all.
    first: usize,
}

/// The layer.
#[derive(Clone, Debug)]
pub(super) struct ManyScales {
    pub(super) side: usize,
    pub(super) channels: usize,
    pub(super) scales: Vec<Scale>,
    pad: usize,
    blocks: Vec<Block>,
    bias: Vec<f32>,
}

/// The derivatives by its weights: for each block a row a tap; and by its biases.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ManyScalesGradient {
    pub(super) blocks: Vec<Vec<f32>>,
    pub(super) bias: Vec<f32>,
}

impl ManyScales {
    /// Zeros for square images. `blocks` say which kernels are computed together, a multiple of sixteen each.
    pub(super) fn new(side: usize, channels: usize, scales: Vec<Scale>, blocks: Vec<Vec<Kernel>>) -> Self {
        let pad = scales.iter().map(|scale| scale.reach() as usize).max().unwrap_or(0);
        let pitch = side + 2 * pad;
        let mut first = 0;
        let block = |kernels: Vec<Kernel>| {
            let taps = taps(&scales, &kernels, channels);
            let offset = |&(u, v, c): &(isize, isize, usize)| {
                let [u, v] = [u, v].map(|x| x.strict_add_unsigned(pad) as usize);
                (u * pitch + v) * channels + c
            };
            let offsets = taps.iter().map(offset).collect();
            first += kernels.len();
            let first = first - kernels.len();
            Block { kernels, taps, offsets, ahead: Panels::default(), first }
        };
        let blocks: Vec<Block> = blocks.into_iter().map(block).collect();
        let outputs = blocks.iter().map(|block| block.kernels.len()).sum();
        Self { side, channels, scales, pad, blocks, bias: vec![0.0; outputs] }
    }

    /// Outputs of all kernels.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// All kernels in the order of the outputs.
    pub(super) fn kernels(&self) -> impl Iterator<Item = Kernel> + '_ {
        self.blocks.iter().flat_map(|block| block.kernels.iter().copied())
    }

    /// Numbers of an image with the zeros around it.
    pub(super) fn image(&self) -> usize {
        self.pitch() * self.pitch() * self.channels
    }

    fn pitch(&self) -> usize {
        self.side + 2 * self.pad
    }

    /// Copies an image of pixel after pixel to where zeros are around it.
    pub(super) fn place(&self, from: &[f32], to: &mut [f32]) {
        let (line, pitch) = (self.side * self.channels, self.pitch() * self.channels);
        let rows = to.chunks_exact_mut(pitch).skip(self.pad);
        for (from, to) in from.chunks_exact(line).zip(rows) {
            to[self.pad * self.channels..][..line].copy_from_slice(from);
        }
    }

    /// All weights by kernel, row, column and channel, and biases by kernel.
    pub(super) fn set(&mut self, weight: impl Fn(Kernel, [usize; 3]) -> f32, bias: impl Fn(Kernel) -> f32) {
        for block in &mut self.blocks {
            let Block { kernels, taps, ahead, first, .. } = block;
            let number = |tap: usize, output: usize| {
                place_of(&self.scales, kernels[output], taps[tap])
                    .map_or(0.0, |place| weight(kernels[output], place))
            };
            ahead.fill_by([taps.len(), kernels.len()], number);
            for (bias_of, &kernel) in self.bias[*first..].iter_mut().zip(kernels.iter()) {
                *bias_of = bias(kernel);
            }
        }
    }

    /// Visits the derivative by each weight: kernel; row, column and channel; derivative.
    pub(super) fn each_gradient(
        &self,
        gradient: &ManyScalesGradient,
        mut visit: impl FnMut(Kernel, [usize; 3], f32),
    ) {
        for (block, numbers) in self.blocks.iter().zip(&gradient.blocks) {
            for (&tap, row) in block.taps.iter().zip(numbers.chunks_exact(block.kernels.len())) {
                for (&kernel, &by) in block.kernels.iter().zip(row) {
                    if let Some(place) = place_of(&self.scales, kernel, tap) {
                        visit(kernel, place, by);
                    }
                }
            }
        }
    }

    /// One row of results, pixel after pixel, of an image with zeros around it.
    pub(super) fn forward_row(&self, cpu: Cpu, image: &[f32], row: usize, out: &mut [f32]) {
        let (image, stride) = (self.seen_from(image, row), self.outputs());
        for block in &self.blocks {
            let left = Left::taps(image, self.channels, &block.offsets);
            let shape = [self.side, block.taps.len(), block.kernels.len()];
            let finish = Epilogue::Bias(&self.bias[block.first..]);
            let mut out = Out { numbers: &mut out[block.first..], stride };
            product(cpu, left, block.ahead.right(), shape, finish, &mut out);
        }
    }

    /// Adds what one row of results adds to the derivatives by weights and biases.
    pub(super) fn differentiate_row(
        &self,
        cpu: Cpu,
        image: &[f32],
        row: usize,
        by_row: &[f32],
        sum: &mut ManyScalesGradient,
    ) {
        let (image, stride) = (self.seen_from(image, row), self.outputs());
        for (block, sum) in self.blocks.iter().zip(&mut sum.blocks) {
            let left = Left::tap_rows(image, self.channels, &block.offsets);
            let right = Right::rows(&by_row[block.first..], stride);
            let width = block.kernels.len();
            let shape = [block.taps.len(), self.side, width];
            product(cpu, left, right, shape, Epilogue::Add, &mut Out { numbers: sum, stride: width });
        }
        add_rows(cpu, by_row, stride, &mut sum.bias);
    }

    /// From where the topmost taps see at the first place of a row.
    fn seen_from<'a>(&self, image: &'a [f32], row: usize) -> &'a [f32] {
        &image[row * self.pitch() * self.channels..]
    }

    /// Zeros for all derivatives.
    pub(super) fn reset(&self, gradient: &mut ManyScalesGradient) {
        gradient.blocks.resize(self.blocks.len(), Vec::new());
        for (block, numbers) in self.blocks.iter().zip(&mut gradient.blocks) {
            numbers.clear();
            numbers.resize(block.taps.len() * block.kernels.len(), 0.0);
        }
        gradient.bias.clear();
        gradient.bias.resize(self.outputs(), 0.0);
    }
}

/// Which weight of a kernel a tap is, if it has it: row, column, channel.
fn place_of(scales: &[Scale], kernel: Kernel, (u, v, c): (isize, isize, usize)) -> Option<[usize; 3]> {
    let scale = scales[kernel.scale];
    Some([scale.tap(u)?, scale.tap(v)?, c])
}

/// The taps that any of some kernels has.
fn taps(scales: &[Scale], kernels: &[Kernel], channels: usize) -> Vec<(isize, isize, usize)> {
    let reach = scales.iter().map(|scale| scale.reach()).max().unwrap_or(0);
    let pixels = (-reach..=reach).flat_map(|u| (-reach..=reach).map(move |v| (u, v)));
    let all = pixels.flat_map(|(u, v)| (0..channels).map(move |c| (u, v, c)));
    all.filter(|&tap| kernels.iter().any(|&kernel| place_of(scales, kernel, tap).is_some())).collect()
}
