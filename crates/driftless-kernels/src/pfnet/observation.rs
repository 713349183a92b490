//! PF-net's observation branch: what a 56x56 image says, as 14x14 pixels of 16 features.
//!
//! Convolutions 3x3x128, 5x5x128, 5x5x64 dilated by 2 and by 4 → maxima → norm → ReLU → 3x3x16 → maxima → norm → ReLU.
//! The first layer's results (5 MB an image) are never held as a whole: three rows are enough for the maxima.

use super::many_scales::{Kernel, ManyScales, Scale};
use super::norm::Norm;
use super::pooling::{Affine, Moments, activate, pool_row};
use crate::Cpu;
use crate::gemm::{Epilogue, Left, Out, Panels, product};

pub(super) mod backward;

/// Pixels of an image, a side.
pub const IMAGE_SIDE: usize = 56;
/// Pixels after the first maxima, a side.
pub(super) const MIDDLE: usize = IMAGE_SIDE / 2;
/// The same with a pixel of zeros on both sides.
pub(super) const AROUND: usize = MIDDLE + 2;
/// Pixels of the features, a side.
pub(super) const SMALL: usize = MIDDLE / 2;
/// Outputs of the first layer.
pub(super) const WIDE: usize = 384;
/// Features of a pixel.
pub(super) const FEATURES: usize = 16;
/// Rows of the second layer's kernels, and taps in a row.
pub(super) const KERNEL: usize = 3;
/// Numbers that a row of a kernel of the second layer sees.
pub(super) const LINE: usize = KERNEL * WIDE;

/// The branch.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) first: ManyScales,
    pub(super) first_norm: Norm,
    /// For each row of the kernels, [column · input, output].
    pub(super) second: [Panels; KERNEL],
    /// [row · column · output, input].
    pub(super) second_back: Panels,
    pub(super) second_bias: Vec<f32>,
    pub(super) second_norm: Norm,
}

/// What is remembered of an image for the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct EncodedFrame {
    /// With zeros around it.
    pub(super) image: Vec<f32>,
    pub(super) first: Pooled,
    pub(super) second: Pooled,
}

/// Maxima, where they were, and their moments.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    pub(super) kept: Vec<f32>,
    pub(super) places: Vec<u8>,
    pub(super) moments: Moments,
}

/// A workspace in.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservationWorkspace {
    /// Three rows of the first layer's results.
    pub(super) rows: [Vec<f32>; 3],
    /// What the second layer sees, a pixel of zeros around it.
    pub(super) middle: Vec<f32>,
    /// The second layer's results.
    pub(super) results: Vec<f32>,
    pub(super) by_middle: Vec<f32>,
    pub(super) by_results: Vec<f32>,
}

/// The first layer's scales.
pub(super) fn scales() -> Vec<Scale> {
    [(3, 1, 128), (5, 1, 128), (5, 2, 64), (5, 4, 64)]
        .map(|(side, dilation, outputs)| Scale { side, dilation, outputs })
        .to_vec()
}

impl Observation {
    /// Zeros.
    pub(super) fn new(channels: usize) -> Self {
        let kernels =
            |scale: usize, outputs| (0..outputs).map(|output| Kernel { scale, output }).collect::<Vec<_>>();
        let blocks = scales().iter().enumerate().map(|(k, scale)| kernels(k, scale.outputs)).collect();
        let mut all = Self {
            first: ManyScales::new(IMAGE_SIDE, channels, scales(), blocks),
            first_norm: Norm::new(WIDE),
            second: Default::default(),
            second_back: Panels::default(),
            second_bias: vec![0.0; FEATURES],
            second_norm: Norm::new(FEATURES),
        };
        all.set_second(|_, _, _, _| 0.0);
        all
    }

    /// Weights of the second layer by row, column, input and output.
    pub(super) fn set_second(&mut self, weight: impl Fn(usize, usize, usize, usize) -> f32) {
        for (u, panels) in self.second.iter_mut().enumerate() {
            panels.fill_by([LINE, FEATURES], |k, output| weight(u, k / WIDE, k % WIDE, output));
        }
        let rows = KERNEL * KERNEL * FEATURES;
        self.second_back.fill_by([rows, WIDE], |k, input| {
            let (tap, output) = (k / FEATURES, k % FEATURES);
            weight(tap / KERNEL, tap % KERNEL, input, output)
        });
    }

    /// Features of an image, pixel after pixel.
    pub(super) fn forward(
        &self,
        cpu: Cpu,
        image: &[f32],
        encoded_frame: &mut EncodedFrame,
        workspace: &mut ObservationWorkspace,
        features: &mut [f32],
    ) {
        let EncodedFrame { image: placed, first, second } = encoded_frame;
        placed.resize(self.first.image(), 0.0);
        self.first.place(image, placed);
        self.first_maxima(cpu, placed, first, &mut workspace.rows);
        first.moments = Moments::of(cpu, &first.kept);
        self.middle(cpu, first, &mut workspace.middle);
        self.second_layer(cpu, &workspace.middle, &mut workspace.results);
        second.kept.resize(SMALL * SMALL * FEATURES, 0.0);
        second.places.resize(SMALL * SMALL * FEATURES, 0);
        let (line, all) = (SMALL * FEATURES, Affine::identity(FEATURES));
        let windows = second.kept.chunks_exact_mut(line).zip(second.places.chunks_exact_mut(line));
        for (y, (kept, places)) in windows.enumerate() {
            let rows = workspace.results.chunks_exact(MIDDLE * FEATURES).skip(2 * y).take(3);
            let rows: [&[f32]; 3] = fill(rows);
            let count = (MIDDLE - 2 * y).min(3);
            pool_row(cpu, &rows[..count], &all, kept, places);
        }
        second.moments = Moments::of(cpu, &second.kept);
        activate(cpu, &second.kept, &self.second_norm.affine(second.moments), features);
    }

    /// Convolves and keeps the maxima, row by row.
    fn first_maxima(&self, cpu: Cpu, image: &[f32], pooled: &mut Pooled, rows: &mut [Vec<f32>; 3]) {
        pooled.kept.resize(MIDDLE * MIDDLE * WIDE, 0.0);
        pooled.places.resize(MIDDLE * MIDDLE * WIDE, 0);
        for row in rows.iter_mut() {
            row.resize(IMAGE_SIDE * WIDE, 0.0);
        }
        let all = Affine::identity(WIDE);
        self.first.forward_row(cpu, image, 0, &mut rows[0]);
        let line = MIDDLE * WIDE;
        let windows = pooled.kept.chunks_exact_mut(line).zip(pooled.places.chunks_exact_mut(line));
        for (y, (kept, places)) in windows.enumerate() {
            let count = (IMAGE_SIDE - 2 * y).min(3);
            for (u, row) in rows[..count].iter_mut().enumerate().skip(1) {
                self.first.forward_row(cpu, image, 2 * y + u, row);
            }
            let [a, b, c] = &*rows;
            pool_row(cpu, &[&a[..], b, c][..count], &all, kept, places);
            rows.swap(0, 2);
        }
    }

    /// What the second layer sees: the maxima, normalised, above 0.
    pub(super) fn middle(&self, cpu: Cpu, first: &Pooled, middle: &mut Vec<f32>) {
        let affine = self.first_norm.affine(first.moments);
        middle.resize(AROUND * AROUND * WIDE, 0.0);
        let rows = middle.chunks_exact_mut(AROUND * WIDE).skip(1);
        for (from, to) in first.kept.chunks_exact(MIDDLE * WIDE).zip(rows) {
            activate(cpu, from, &affine, &mut to[WIDE..][..MIDDLE * WIDE]);
        }
    }

    /// 3x3 kernels over the middle: a row of theirs is a row of numbers that is already there.
    fn second_layer(&self, cpu: Cpu, middle: &[f32], results: &mut Vec<f32>) {
        results.resize(MIDDLE * MIDDLE * FEATURES, 0.0);
        for (y, out) in results.chunks_exact_mut(MIDDLE * FEATURES).enumerate() {
            for (u, panels) in self.second.iter().enumerate() {
                let left = Left::rows(&middle[(y + u) * AROUND * WIDE..], WIDE);
                let finish = if u == 0 { Epilogue::Bias(&self.second_bias) } else { Epilogue::Add };
                let mut out = Out { numbers: &mut *out, stride: FEATURES };
                product(cpu, left, panels.right(), [MIDDLE, LINE, FEATURES], finish, &mut out);
            }
        }
    }
}

/// Up to three rows, with empty ones behind them.
fn fill<'a>(rows: impl Iterator<Item = &'a [f32]>) -> [&'a [f32]; 3] {
    let mut all: [&[f32]; 3] = [&[]; 3];
    all.iter_mut().zip(rows).for_each(|(to, from)| *to = from);
    all
}
