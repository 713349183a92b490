//! Images that are given channel after channel, turned pixel after pixel.

use crate::Cpu;
use crate::cpu::Work;

/// to[p · channels + c] = from[c · pixels + p], for each of some images.
pub(crate) fn interleave(cpu: Cpu, from: &[f32], [channels, pixels]: [usize; 2], to: &mut [f32]) {
    cpu.run(Interleave { from, channels, pixels, to });
}

struct Interleave<'a> {
    from: &'a [f32],
    channels: usize,
    pixels: usize,
    to: &'a mut [f32],
}

impl Work for Interleave<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { from, channels, pixels, to } = self;
        let size = channels * pixels;
        for (from, to) in from.chunks_exact(size).zip(to.chunks_exact_mut(size)) {
            // Colours are turned in registers if the compiler knows how many there are.
            match channels {
                3 => of::<3>(from, pixels, to),
                _ => any(from, channels, to),
            }
        }
    }
}

#[inline(always)]
fn of<const C: usize>(from: &[f32], pixels: usize, to: &mut [f32]) {
    let planes: [&[f32]; C] = std::array::from_fn(|c| &from[c * pixels..][..pixels]);
    let (all, _) = to.as_chunks_mut::<C>();
    for (p, pixel) in all.iter_mut().enumerate().take(pixels) {
        for c in 0..C {
            pixel[c] = planes[c][p];
        }
    }
}

#[inline(always)]
fn any(from: &[f32], channels: usize, to: &mut [f32]) {
    let pixels = from.len() / channels;
    for (p, pixel) in to.chunks_exact_mut(channels).enumerate() {
        pixel.iter_mut().enumerate().for_each(|(c, x)| *x = from[c * pixels + p]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two images of five pixels, whose numbers say where they are.
    #[test]
    fn numbers_stay_with_their_pixels() {
        for cpu in Cpu::all() {
            for channels in [1, 2, 3, 4] {
                let count = 2 * 5 * channels;
                let from: Vec<f32> = (0..count).map(|k| k as f32).collect();
                let mut to = vec![-1.0; count];
                interleave(cpu, &from, [channels, 5], &mut to);
                for (at, &found) in to.iter().enumerate() {
                    let (image, p, c) = (at / (5 * channels), at / channels % 5, at % channels);
                    assert_eq!(found, ((image * channels + c) * 5 + p) as f32, "{channels} channels, {at}");
                }
            }
        }
    }
}
