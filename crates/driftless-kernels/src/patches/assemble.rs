//! Large images from patches, pixel by pixel: each is written once, as the sum of the up to four patches that see it.
//!
//! With stride 2 the places of kernels come in pairs of pixels: the first two of a patch are its own, the third is the
//! next one's first. So a row of an image is, pair by pair, the first two pixels of a patch, and on the first of them
//! the third of the patch before; and a row of places has two rows of its own, and shares one.

use super::{KERNEL, Patches, STRIDE};

/// The largest number of a pair's numbers.
const MOST: usize = 2 * 32;

/// What a sum begins with, and whether it is cut at 0.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    /// A number a channel; none are zeros.
    pub(super) bias: &'a [f32],
    pub(super) relu: bool,
}

/// Whether there is a loop for so many channels.
pub(super) fn fits(patches: &Patches) -> bool {
    patches.pitch == patches.channels && [3, 16, 32].contains(&patches.channels)
}

/// A large image, given all its patches.
#[inline(always)]
pub(super) fn image(patches: &Patches, ground: Ground, rows: &[f32], image: &mut [f32]) {
    let mut bias = [0.0; MOST];
    for (k, bias) in bias[..STRIDE * patches.channels].iter_mut().enumerate() {
        *bias = ground.bias.get(k % patches.channels).copied().unwrap_or(0.0);
    }
    let size = patches.large[1] * patches.pitch;
    for (y, row) in image.chunks_exact_mut(size).take(patches.large[0]).enumerate() {
        let sources = sources(patches, y).map(|at| at.map_or(&[][..], |at| &rows[at..]));
        match patches.channels {
            3 => line::<3, 6>(patches, &bias, ground.relu, sources, row),
            16 => line::<16, 32>(patches, &bias, ground.relu, sources, row),
            _ => line::<32, 64>(patches, &bias, ground.relu, sources, row),
        }
    }
}

/// Where the rows of kernels begin that lie on a row of the image: at most two.
#[inline(always)]
fn sources(patches: &Patches, y: usize) -> [Option<usize>; 2] {
    let below = y + patches.before[0];
    let at = |u: usize| {
        let place = below.checked_sub(u)? / STRIDE;
        let line = place * patches.small[1] * patches.stride() + u * patches.line();
        (place < patches.small[0]).then_some(line)
    };
    if below.is_multiple_of(STRIDE) { [at(0), at(KERNEL - 1)] } else { [at(1), None] }
}

/// One row of an image from up to two rows of kernels, of which some may be empty; C channels, W = 2 C.
#[inline(always)]
fn line<const C: usize, const W: usize>(
    patches: &Patches,
    bias: &[f32; MOST],
    relu: bool,
    sources: [&[f32]; 2],
    row: &mut [f32],
) {
    let (stride, columns) = (patches.stride(), patches.small[1]);
    let bias: [f32; W] = bias[..W].try_into().expect("a pair");
    // One pair more than there are patches: the third pixel of the last one.
    for pair in 0..=columns {
        let mut sum = bias;
        for source in sources {
            if source.is_empty() {
                continue;
            }
            if pair < columns {
                let own: [f32; W] = source[pair * stride..][..W].try_into().expect("a pair");
                for k in 0..W {
                    sum[k] += own[k];
                }
            }
            if pair > 0 {
                let third: [f32; C] = source[(pair - 1) * stride + W..][..C].try_into().expect("a pixel");
                for k in 0..C {
                    sum[k] += third[k];
                }
            }
        }
        if relu {
            for x in &mut sum {
                *x = if *x < 0.0 { 0.0 } else { *x };
            }
        }
        put::<C, W>(sum, (STRIDE * pair).checked_sub(patches.before[1]), row);
    }
}

/// Writes those of two pixels that are inside the row; the first is outside if it has no place.
#[inline(always)]
fn put<const C: usize, const W: usize>(sum: [f32; W], pixel: Option<usize>, row: &mut [f32]) {
    let (from, at) = pixel.map_or((C, 0), |pixel| (0, pixel * C));
    let Some(to) = row.get_mut(at..) else { return };
    match to.first_chunk_mut::<W>() {
        Some(to) if from == 0 => *to = sum,
        _ => to.iter_mut().zip(&sum[from..]).for_each(|(to, x)| *to = *x),
    }
}
