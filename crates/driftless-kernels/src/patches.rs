//! The neighbourhoods that 3x3 kernels with stride 2 see, as rows; and back.

mod assemble;
mod lines;

use crate::cpu::Work;
use crate::{Cpu, padded};
use assemble::Ground;
use lines::Lines;

/// Height and width of all kernels.
pub const KERNEL: usize = 3;
/// Pixels between the places of a kernel.
pub const STRIDE: usize = 2;

/// How the pixels of a large image lie under the kernels that make a small one of it.
///
/// Images are pixels row after row, each `pitch` numbers of which the first `channels` count. A patch is a row
/// of 9 times `channels` numbers, padded: kernel row, kernel column, channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patches {
    /// Height and width of the large image.
    pub large: [usize; 2],
    /// Height and width of the small one.
    pub small: [usize; 2],
    /// Zeros before the first row and column of the large image.
    pub before: [usize; 2],
    /// Numbers of a pixel of the large image that count.
    pub channels: usize,
    /// From one pixel of the large image to the next.
    pub pitch: usize,
}

impl Patches {
    /// Numbers of a patch that count.
    pub fn length(&self) -> usize {
        KERNEL * KERNEL * self.channels
    }

    /// From one patch to the next.
    pub fn stride(&self) -> usize {
        padded(self.length())
    }

    /// How many patches an image has.
    pub fn count(&self) -> usize {
        self.small[0] * self.small[1]
    }

    /// How many numbers a large image has.
    pub fn image(&self) -> usize {
        self.large[0] * self.large[1] * self.pitch
    }

    /// Copies each patch of a large image into a row, with zeros for what is outside. What pads rows stays.
    pub fn gather(&self, cpu: Cpu, image: &[f32], rows: &mut [f32]) {
        cpu.run(Gather { patches: *self, image: &image[..self.image()], rows });
    }

    /// Adds up all patches where they were in a large image: the transpose of [`Patches::gather`], onto a bias for
    /// each channel (zeros if there is none), cut at 0 if `relu`.
    pub fn scatter(&self, cpu: Cpu, rows: &[f32], bias: &[f32], relu: bool, image: &mut [f32]) {
        let ground = Ground { bias, relu };
        cpu.run(Scatter { patches: *self, rows, ground, image: &mut image[..self.image()] });
    }

    /// Numbers of a kernel's row.
    fn line(&self) -> usize {
        KERNEL * self.channels
    }

    /// Each row of the kernel at all places, in runs of places beside each other that see alike.
    #[inline(always)]
    fn runs(&self) -> impl Iterator<Item = Run> + use<> {
        let (patches, columns) = (*self, self.small[1]);
        // Between these columns nothing is outside, and nothing needs to be asked.
        let lowest = self.before[1].div_ceil(STRIDE).min(columns);
        let workspace = (self.large[1] + self.before[1]).checked_sub(KERNEL);
        let highest = workspace.map_or(0, |workspace| workspace / STRIDE + 1).clamp(lowest, columns);
        let (mut line, mut column) = (0, 0);
        std::iter::from_fn(move || {
            if column == columns {
                (line, column) = (line + 1, 0);
            }
            if line == patches.small[0] * KERNEL {
                return None;
            }
            let run = patches.run(line, column, lowest..highest);
            column += run.count;
            Some(run)
        })
    }

    /// The run of a line, which is a row of places and one of the kernel's, that begins at a column.
    #[inline(always)]
    fn run(&self, line: usize, column: usize, inner: std::ops::Range<usize>) -> Run {
        let (place, u, columns) = (line / KERNEL, line % KERNEL, self.small[1]);
        let row = (STRIDE * place + u).checked_sub(self.before[0]).filter(|&row| row < self.large[0]);
        let alike = if row.is_some() { inner } else { 0..columns };
        let count = if column == alike.start { alike.len().max(1) } else { 1 };
        let at = (place * columns + column) * self.stride() + u * self.line();
        let seen = row.and_then(|row| self.seen(row * self.large[1], STRIDE * column));
        Run { at, count, seen }
    }

    /// Of a row of the image that begins at a pixel, what a kernel sees that begins at a column before the padding.
    #[inline(always)]
    fn seen(&self, row: usize, column: usize) -> Option<Window> {
        let (before, width) = (self.before[1], self.large[1]);
        let skipped = before.saturating_sub(column).min(KERNEL);
        let first = (column + skipped).checked_sub(before)?;
        let pixels = (KERNEL - skipped).min(width.checked_sub(first)?);
        (pixels > 0).then_some(Window { skipped, pixels, start: (row + first) * self.pitch })
    }
}

/// A row of the kernel at some places beside each other.
#[derive(Clone, Copy)]
struct Run {
    /// Where the first begins among the patches; the others follow in the next ones.
    at: usize,
    count: usize,
    /// What lies inside the image, if anything does.
    seen: Option<Window>,
}

/// So many of its pixels are before the image, so many in it, from there on.
#[derive(Clone, Copy)]
struct Window {
    skipped: usize,
    pixels: usize,
    start: usize,
}

struct Gather<'a> {
    patches: Patches,
    image: &'a [f32],
    rows: &'a mut [f32],
}

impl Work for Gather<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { patches, image, rows } = self;
        let Patches { channels, pitch, .. } = patches;
        let (line, stride, step) = (patches.line(), patches.stride(), STRIDE * pitch);
        for Run { at, count, seen } in patches.runs() {
            let Some(Window { skipped, pixels, start }) = seen else {
                rows[at..].chunks_mut(stride).take(count).for_each(|row| row[..line].fill(0.0));
                continue;
            };
            if pixels < KERNEL {
                rows[at..at + line].fill(0.0);
            }
            let (from, to) = (Lines { at: start, step }, Lines { at: at + skipped * channels, step: stride });
            if pitch == channels {
                lines::copy((image, from), (rows, to), [count, pixels * channels]);
                continue;
            }
            for pixel in 0..pixels {
                let ends = (from.behind(pixel * pitch), to.behind(pixel * channels));
                lines::copy((image, ends.0), (rows, ends.1), [count, channels]);
            }
        }
    }
}

struct Scatter<'a> {
    patches: Patches,
    rows: &'a [f32],
    ground: Ground<'a>,
    image: &'a mut [f32],
}

impl Work for Scatter<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { patches, rows, ground, image } = self;
        if assemble::fits(&patches) {
            assemble::image(&patches, ground, rows, image);
            return;
        }
        let Patches { channels, pitch, .. } = patches;
        let (stride, step) = (patches.stride(), STRIDE * pitch);
        for pixel in image.chunks_exact_mut(pitch) {
            pixel.fill(0.0);
            pixel.iter_mut().zip(ground.bias).for_each(|(x, bias)| *x = *bias);
        }
        for Run { at, count, seen } in patches.runs() {
            let Some(Window { skipped, pixels, start }) = seen else { continue };
            let (from, to) = (Lines { at: at + skipped * channels, step: stride }, Lines { at: start, step });
            for pixel in 0..pixels {
                let ends = (from.behind(pixel * channels), to.behind(pixel * pitch));
                lines::add((rows, ends.0), (image, ends.1), [count, channels]);
            }
        }
        if ground.relu {
            for x in image {
                *x = if *x < 0.0 { 0.0 } else { *x };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1 2 / 3 4 with a kernel that begins at the first pixel, and with one that begins before it.
    #[test]
    fn patches_by_hand() {
        let even = Patches { large: [2, 2], small: [1, 1], before: [0, 0], channels: 1, pitch: 1 };
        let mut row = [7.0; 16];
        even.gather(Cpu::best(), &[1.0, 2.0, 3.0, 4.0], &mut row);
        assert_eq!(row[..9], [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(row[9..], [7.0; 7]);
        Patches { before: [1, 1], ..even }.gather(Cpu::best(), &[1.0, 2.0, 3.0, 4.0], &mut row);
        assert_eq!(row[..9], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
    }

    proptest! {
        /// ⟨gather x, y⟩ = ⟨x, scatter y⟩, exactly, on small whole numbers.
        #[test]
        fn scatter_is_the_transpose(
            large in [1_usize..8, 1_usize..8], before in [0_usize..2, 0_usize..2],
            channels in prop::sample::select(vec![1_usize, 2, 3, 4, 16, 32]), gap in 0_usize..2,
        ) {
            let small = large.map(|size| size.div_ceil(STRIDE));
            let patches = Patches { large, small, before, channels, pitch: channels + gap };
            let numbers = |count: usize, by: usize| -> Vec<f32> { (0..count).map(|i| (i * by % 11) as f32).collect() };
            let (x, mut y) = (numbers(patches.image(), 7), numbers(patches.count() * patches.stride(), 5));
            for patch in y.chunks_exact_mut(patches.stride()) {
                patch[patches.length()..].fill(0.0);
            }
            for cpu in Cpu::all() {
                let (mut gathered, mut scattered) = (vec![0.0; y.len()], vec![0.0; x.len()]);
                patches.gather(cpu, &x, &mut gathered);
                patches.scatter(cpu, &y, &[], false, &mut scattered);
                let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                prop_assert_eq!(dot(&gathered, &y), dot(&x, &scattered));
                let pads = scattered.chunks_exact(patches.pitch).flat_map(|pixel| &pixel[channels..]);
                prop_assert!(pads.copied().all(|x| x == 0.0));
                let bias: Vec<f32> = (0..channels).map(|c| 40.0 - 30.0 * c as f32).collect();
                let mut cut = scattered.clone();
                patches.scatter(cpu, &y, &bias, true, &mut cut);
                for (at, (&sum, &cut)) in scattered.iter().zip(&cut).enumerate() {
                    let bias = bias.get(at % patches.pitch).copied().unwrap_or(0.0);
                    prop_assert_eq!(cut, f32::max(sum + bias, 0.0));
                }
            }
        }
    }
}
