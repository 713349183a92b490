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
        let patches = rows.chunks_exact_mut(self.stride()).take(self.count());
        for (number, patch) in patches.enumerate() {
            for (u, line) in patch[..self.length()].chunks_exact_mut(KERNEL * self.channels).enumerate() {
                self.gather_line(image, self.corner(number), u, line);
            }
        }
    }

    /// One row of a kernel.
    fn gather_line(&self, image: &[f32], [top, left]: [isize; 2], u: usize, line: &mut [f32]) {
        let Some(row) = inside(top + u as isize, self.large[0]) else {
            line.fill(0.0);
            return;
        };
        let (c, row) = (self.channels, row * self.large[1]);
        let whole =
            inside(left, self.large[1]).filter(|left| left + KERNEL <= self.large[1] && c == self.pitch);
        if let Some(left) = whole {
            let start = (row + left) * c;
            line.copy_from_slice(&image[start..start + KERNEL * c]);
            return;
        }
        for (v, part) in line.chunks_exact_mut(c).enumerate() {
            match inside(left + v as isize, self.large[1]) {
                Some(column) => {
                    let start = (row + column) * self.pitch;
                    part.copy_from_slice(&image[start..start + c]);
                }
                None => part.fill(0.0),
            }
        }
    }

    /// Adds each patch to where it was in a large image: the transpose of [`Patches::gather`].
    pub fn scatter(&self, rows: &[f32], image: &mut [f32]) {
        let image = &mut image[..self.image()];
        let (c, patches) = (self.channels, rows.chunks_exact(self.stride()).take(self.count()));
        for (number, patch) in patches.enumerate() {
            let [top, left] = self.corner(number);
            for (tap, part) in patch[..self.length()].chunks_exact(c).enumerate() {
                let row = inside(top + (tap / KERNEL) as isize, self.large[0]);
                let column = inside(left + (tap % KERNEL) as isize, self.large[1]);
                if let (Some(row), Some(column)) = (row, column) {
                    let start = (row * self.large[1] + column) * self.pitch;
                    image[start..start + c].iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
                }
            }
        }
    }

    /// The row and column of the large image where a patch begins.
    fn corner(&self, number: usize) -> [isize; 2] {
        let place = [number / self.small[1], number % self.small[1]];
        std::array::from_fn(|k| (STRIDE * place[k]) as isize - self.before[k] as isize)
    }
}

/// A place that exists, of so many.
fn inside(place: isize, size: usize) -> Option<usize> {
    usize::try_from(place).ok().filter(|&place| place < size)
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
