//! The neighbourhoods that 3x3 kernels with stride 2 see, as rows; and back.

use crate::padded;

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
    pub fn gather(&self, image: &[f32], rows: &mut [f32]) {
        let image = &image[..self.image()];
        let line = KERNEL * self.channels;
        self.each_line(|at, span| {
            let line = &mut rows[at..at + line];
            let Some(Span { skipped, length, start }) = span else {
                line.fill(0.0);
                return;
            };
            if length < line.len() {
                line[..skipped].fill(0.0);
                line[skipped + length..].fill(0.0);
            }
            self.gather_span(&image[start..], &mut line[skipped..skipped + length]);
        });
    }

    fn gather_span(&self, image: &[f32], inside: &mut [f32]) {
        if self.channels == self.pitch {
            // Nine numbers are copied faster than a function for many is called.
            match <&mut [f32; 9]>::try_from(&mut *inside) {
                Ok(nine) => nine.copy_from_slice(&image[..9]),
                Err(_) => inside.copy_from_slice(&image[..inside.len()]),
            }
            return;
        }
        for (part, pixel) in inside.chunks_exact_mut(self.channels).zip(image.chunks(self.pitch)) {
            part.copy_from_slice(&pixel[..self.channels]);
        }
    }

    /// Adds each patch to where it was in a large image: the transpose of [`Patches::gather`].
    pub fn scatter(&self, rows: &[f32], image: &mut [f32]) {
        let end = self.image();
        self.each_line(|at, span| {
            if let Some(Span { skipped, length, start }) = span {
                self.scatter_span(&rows[at + skipped..at + skipped + length], &mut image[start..end]);
            }
        });
    }

    fn scatter_span(&self, inside: &[f32], image: &mut [f32]) {
        if self.channels == self.pitch {
            image[..inside.len()].iter_mut().zip(inside).for_each(|(sum, x)| *sum += x);
            return;
        }
        for (part, pixel) in inside.chunks_exact(self.channels).zip(image.chunks_mut(self.pitch)) {
            pixel.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
    }

    /// Each row of the kernel at each place: where it begins among the patches, and what of it lies inside the image.
    #[inline(always)]
    fn each_line(&self, mut visit: impl FnMut(usize, Option<Span>)) {
        let (stride, [height, width]) = (self.stride(), self.large);
        let (line, columns) = (KERNEL * self.channels, self.small[1]);
        // Between these columns nothing is outside, and nothing needs to be asked.
        let lowest = self.before[1].div_ceil(STRIDE).min(columns);
        let room = (width + self.before[1]).checked_sub(KERNEL);
        let highest = room.map_or(0, |room| room / STRIDE + 1).clamp(lowest, columns);
        for place in 0..self.small[0] {
            for u in 0..KERNEL {
                let first = place * columns * stride + u * line;
                let row = (STRIDE * place + u).checked_sub(self.before[0]).filter(|&row| row < height);
                let Some(row) = row.map(|row| row * width) else {
                    (0..columns).for_each(|column| visit(first + column * stride, None));
                    continue;
                };
                for column in (0..lowest).chain(highest..columns) {
                    visit(first + column * stride, self.span(row, STRIDE * column));
                }
                for column in lowest..highest {
                    let start = (row + STRIDE * column - self.before[1]) * self.pitch;
                    visit(first + column * stride, Some(Span { skipped: 0, length: line, start }));
                }
            }
        }
    }

    /// Of a row of the image that begins at a pixel, what a kernel sees that begins at a column before the padding.
    #[inline(always)]
    fn span(&self, row: usize, column: usize) -> Option<Span> {
        let (c, before, width) = (self.channels, self.before[1], self.large[1]);
        let skipped = before.saturating_sub(column).min(KERNEL);
        let first = (column + skipped).checked_sub(before)?;
        let count = (KERNEL - skipped).min(width.checked_sub(first)?);
        (count > 0).then_some(Span {
            skipped: skipped * c,
            length: count * c,
            start: (row + first) * self.pitch,
        })
    }
}

/// A part of a row of a kernel: so many of its numbers are before the image, so many in it, from there on.
struct Span {
    skipped: usize,
    length: usize,
    start: usize,
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
        even.gather(&[1.0, 2.0, 3.0, 4.0], &mut row);
        assert_eq!(row[..9], [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(row[9..], [7.0; 7]);
        Patches { before: [1, 1], ..even }.gather(&[1.0, 2.0, 3.0, 4.0], &mut row);
        assert_eq!(row[..9], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
    }

    proptest! {
        /// ⟨gather x, y⟩ = ⟨x, scatter y⟩, exactly, on small whole numbers.
        #[test]
        fn scatter_is_the_transpose(
            large in [1_usize..8, 1_usize..8], before in [0_usize..2, 0_usize..2],
            channels in 1_usize..5, gap in 0_usize..2,
        ) {
            let small = large.map(|size| size.div_ceil(STRIDE));
            let patches = Patches { large, small, before, channels, pitch: channels + gap };
            let numbers = |count: usize, by: usize| -> Vec<f32> { (0..count).map(|i| (i * by % 11) as f32).collect() };
            let (x, mut y) = (numbers(patches.image(), 7), numbers(patches.count() * patches.stride(), 5));
            for patch in y.chunks_exact_mut(patches.stride()) {
                patch[patches.length()..].fill(0.0);
            }
            let (mut gathered, mut scattered) = (vec![0.0; y.len()], vec![0.0; x.len()]);
            patches.gather(&x, &mut gathered);
            patches.scatter(&y, &mut scattered);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            prop_assert_eq!(dot(&gathered, &y), dot(&x, &scattered));
            let pads = scattered.chunks_exact(patches.pitch).flat_map(|pixel| &pixel[channels..]);
            prop_assert!(pads.copied().all(|x| x == 0.0));
        }
    }
}
