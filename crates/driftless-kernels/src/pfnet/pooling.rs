//! Maxima of 3x3 pixels, two apart, that remember where they were; and normalisation of whole images.
//!
//! Images are pixel after pixel, all channels of a pixel together. What is kept of a maximum is the number before
//! the affine map by which it was compared, because the way back through a normalisation needs that one.

use crate::cpu::Work;
use crate::{Cpu, LANES};

/// Pixels of a window, a side.
const WINDOW: usize = 3;
/// Pixels between windows.
pub(super) const STEP: usize = 2;

/// a x + b for each channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Affine {
    pub(super) a: Vec<f32>,
    pub(super) b: Vec<f32>,
}

impl Affine {
    /// x itself.
    pub(super) fn identity(channels: usize) -> Self {
        Self { a: vec![1.0; channels], b: vec![0.0; channels] }
    }
}

/// One row of windows over up to three rows of pixels; windows at the edge have fewer pixels.
pub(super) fn pool_row(cpu: Cpu, rows: &[&[f32]], affine: &Affine, kept: &mut [f32], places: &mut [u8]) {
    cpu.run(PoolRow { rows, affine, kept, places });
}

struct PoolRow<'a> {
    rows: &'a [&'a [f32]],
    affine: &'a Affine,
    kept: &'a mut [f32],
    places: &'a mut [u8],
}

impl Work for PoolRow<'_> {
    #[inline(always)]
    fn run(self) {
        let channels = self.affine.a.len();
        let across = self.rows.first().map_or(0, |row| row.len() / channels);
        let windows = self.kept.chunks_exact_mut(channels).zip(self.places.chunks_exact_mut(channels));
        for (x, (kept, places)) in windows.enumerate() {
            let columns = WINDOW.min(across - STEP * x);
            for first in (0..channels).step_by(LANES) {
                let (a, b) = (&self.affine.a[first..first + LANES], &self.affine.b[first..first + LANES]);
                let mut best = [f32::NEG_INFINITY; LANES];
                let (mut raw, mut place) = ([0.0_f32; LANES], [0_u32; LANES]);
                for (u, row) in self.rows.iter().enumerate() {
                    for v in 0..columns {
                        let pixel = &row[(STEP * x + v) * channels + first..][..LANES];
                        let here = (u * WINDOW + v) as u32;
                        for k in 0..LANES {
                            let value = pixel[k] * a[k] + b[k];
                            let better = value > best[k];
                            best[k] = if better { value } else { best[k] };
                            raw[k] = if better { pixel[k] } else { raw[k] };
                            place[k] = if better { here } else { place[k] };
                        }
                    }
                }
                kept[first..first + LANES].copy_from_slice(&raw);
                places[first..first + LANES].iter_mut().zip(place).for_each(|(to, from)| *to = from as u8);
            }
        }
    }
}

/// Adds derivatives by the maxima of a row of windows to those by the rows of pixels under it.
pub(super) fn unpool_row(by_kept: &[f32], places: &[u8], channels: usize, rows: &mut [&mut [f32]]) {
    for (x, (by, places)) in by_kept.chunks_exact(channels).zip(places.chunks_exact(channels)).enumerate() {
        for (c, (&by, &place)) in by.iter().zip(places).enumerate() {
            let (u, v) = (usize::from(place) / WINDOW, usize::from(place) % WINDOW);
            rows[u][(STEP * x + v) * channels + c] += by;
        }
    }
}

/// Mean and inverse standard deviation of all numbers of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub(super) mean: f32,
    pub(super) sharpness: f32,
}

/// What is added to a variance, as in TensorFlow's `contrib.layers.layer_norm`.
const EPSILON: f64 = 1e-12;
/// Numbers that are summed up in 32 bits.
const AT_ONCE: usize = 1024;

impl Moments {
    /// Of numbers, in two passes.
    pub(super) fn of(cpu: Cpu, x: &[f32]) -> Self {
        let mut sum = 0.0;
        cpu.run(Total { x, centre: 0.0, square: false, sum: &mut sum });
        let mean = (sum / x.len() as f64) as f32;
        cpu.run(Total { x, centre: mean, square: true, sum: &mut sum });
        // A mean that was rounded is left out of the variance again.
        Self { mean, sharpness: (1.0 / (sum / x.len() as f64 + EPSILON).sqrt()) as f32 }
    }

    /// γ (x - mean) / σ + β as a x + b.
    pub(super) fn affine(self, gamma: &[f32], beta: &[f32]) -> Affine {
        let a: Vec<f32> = gamma.iter().map(|gamma| gamma * self.sharpness).collect();
        let b = a.iter().zip(beta).map(|(a, beta)| beta - self.mean * a).collect();
        Affine { a, b }
    }
}

struct Total<'a> {
    x: &'a [f32],
    centre: f32,
    square: bool,
    sum: &'a mut f64,
}

impl Work for Total<'_> {
    #[inline(always)]
    fn run(self) {
        *self.sum = 0.0;
        for chunk in self.x.chunks(AT_ONCE) {
            let mut sums = [0.0_f32; LANES];
            let whole = chunk.chunks_exact(LANES);
            let rest = whole.remainder();
            for x in whole {
                for k in 0..LANES {
                    let x = x[k] - self.centre;
                    sums[k] += if self.square { x * x } else { x };
                }
            }
            for x in rest {
                let x = x - self.centre;
                sums[0] += if self.square { x * x } else { x };
            }
            *self.sum += sums.iter().map(|&x| f64::from(x)).sum::<f64>();
        }
    }
}

#[inline(always)]
fn above_zero(y: f32) -> f32 {
    if y > 0.0 { y } else { 0.0 }
}

/// What is above 0 of a x + b, channel by channel.
pub(super) fn activate(cpu: Cpu, x: &[f32], affine: &Affine, out: &mut [f32]) {
    cpu.run(Activate { x, affine, out });
}

struct Activate<'a> {
    x: &'a [f32],
    affine: &'a Affine,
    out: &'a mut [f32],
}

impl Work for Activate<'_> {
    #[inline(always)]
    fn run(self) {
        let Affine { a, b } = self.affine;
        let channels = a.len();
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (x, out) in self.x.chunks_exact(channels).zip(self.out.chunks_exact_mut(channels)) {
            let ((x, x_rest), (out, out_rest)) = (x.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
            for ((x, out), (a, b)) in x.iter().zip(out).zip(a.iter().zip(b)) {
                *out = std::array::from_fn(|k| above_zero(x[k] * a[k] + b[k]));
            }
            for ((x, out), (a, b)) in x_rest.iter().zip(out_rest).zip(a_rest.iter().zip(b_rest)) {
                *out = above_zero(x * a + b);
            }
        }
    }
}
