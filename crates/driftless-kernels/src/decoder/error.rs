//! How far decoded images are from those that were wanted.

use crate::cpu::Work;
use crate::pixels::interleave;
use crate::{Cpu, LANES};

/// Σ (image - wanted)², and 2 `factor` (image - wanted). Wanted images are channel after channel, the others pixel
/// after pixel.
pub(super) fn by_images(
    cpu: Cpu,
    (images, wanted): (&[f32], &[f32]),
    [channels, pixels]: [usize; 2],
    factor: f32,
    by: &mut [f32],
) -> f64 {
    interleave(cpu, wanted, [channels, pixels], by);
    let mut sum = 0.0;
    let size = channels * pixels;
    for (image, by) in images.chunks_exact(size).zip(by.chunks_exact_mut(size)) {
        let mut part = 0.0;
        cpu.run(OfOne { image, twice: 2.0 * factor, by, sum: &mut part });
        sum += f64::from(part);
    }
    sum
}

/// One image; `by` has the wanted one.
struct OfOne<'a> {
    image: &'a [f32],
    twice: f32,
    by: &'a mut [f32],
    sum: &'a mut f32,
}

impl Work for OfOne<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { image, twice, by, sum } = self;
        let (mut sums, mut rest) = ([0.0; LANES], 0.0);
        let ((images, last), (bys, by_last)) = (image.as_chunks::<LANES>(), by.as_chunks_mut::<LANES>());
        for (image, by) in images.iter().zip(bys) {
            for k in 0..LANES {
                let apart = image[k] - by[k];
                sums[k] += apart * apart;
                by[k] = twice * apart;
            }
        }
        for (x, by) in last.iter().zip(by_last) {
            let apart = x - *by;
            rest += apart * apart;
            *by = twice * apart;
        }
        *sum = sums.iter().sum::<f32>() + rest;
    }
}
