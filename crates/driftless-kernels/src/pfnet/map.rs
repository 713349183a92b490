//! PF-net's map branch: what a particle's view of the floor map says, as 14x14 pixels of 8 features.
//!
//! Convolutions 3x3x24, 5x5x16, 7x7x8, and 7x7x8 dilated by 2 and by 3 → norm → ReLU → maxima → 3x3x4 and 5x5x4 →
//! norm → ReLU. The first layer's results (200 kB a particle) stay in the cache and are computed again on the way
//! back; of the maxima everything is kept.

use super::many_scales::{Kernel, ManyScales, Scale};
use super::norm::Norm;
use super::pooling::{Moments, activate, pool_row};
use super::second::{ACROSS, MAP_FEATURES, Second, VIEWS};
use crate::Cpu;

mod backward;

pub(super) use backward::MapGradient;

/// Pixels of a local map, a side.
pub const LOCAL_SIDE: usize = 28;
/// Pixels of the features, a side.
pub(super) const SMALL: usize = LOCAL_SIDE / 2;
/// Pixels that count, of the features.
pub(super) const PIXELS: usize = SMALL * SMALL;

/// The branch.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub(super) first: ManyScales,
    pub(super) first_norm: Norm,
    pub(super) second: Second,
    pub(super) second_norm: Norm,
}

/// What is remembered of a particle for the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The local map with zeros around it.
    pub(super) local: Vec<f32>,
    /// The maxima before norm and ReLU, 14 rows of 14 pixels; where they were; the moments of all results.
    pub(super) kept: Vec<f32>,
    pub(super) places: Vec<u8>,
    pub(super) first_moments: Moments,
    /// The second layer's results, pixel after pixel, and their moments.
    pub(super) results: Vec<f32>,
    pub(super) second_moments: Moments,
}

/// A workspace in.
#[derive(Clone, Debug, Default)]
pub(super) struct MapWorkspace {
    /// The first layer's results.
    results: Vec<f32>,
    /// What the second layer sees: rows of 16 pixels of which the last two are zeros.
    act: Vec<f32>,
    by_act: Vec<f32>,
    second: super::second::SecondWorkspace,
}

/// The first layer's scales.
pub(super) fn scales() -> Vec<Scale> {
    [(3, 1, 24), (5, 1, 16), (7, 1, 8), (7, 2, 8), (7, 3, 8)]
        .map(|(side, dilation, outputs)| Scale { side, dilation, outputs })
        .to_vec()
}

/// Blocks of sixteen kernels that share many taps.
fn blocks() -> Vec<Vec<Kernel>> {
    let kernels =
        |scale: usize, outputs: std::ops::Range<usize>| outputs.map(move |output| Kernel { scale, output });
    vec![
        kernels(0, 0..16).collect(),
        kernels(1, 0..16).collect(),
        kernels(0, 16..24).chain(kernels(2, 0..8)).collect(),
        kernels(3, 0..8).chain(kernels(4, 0..8)).collect(),
    ]
}

impl Map {
    /// Zeros.
    pub(super) fn new(channels: usize) -> Self {
        Self {
            first: ManyScales::new(LOCAL_SIDE, channels, scales(), blocks()),
            first_norm: Norm::new(VIEWS),
            second: Second::new(),
            second_norm: Norm::new(MAP_FEATURES),
        }
    }

    /// The place of each output of the first layer among those of all scales, one scale after the other.
    pub(super) fn order(&self) -> Vec<usize> {
        let starts = |scale: usize| scales()[..scale].iter().map(|scale| scale.outputs).sum::<usize>();
        self.first.kernels().map(|kernel| starts(kernel.scale) + kernel.output).collect()
    }

    /// Features of a local map, pixel after pixel.
    pub(super) fn forward(
        &self,
        cpu: Cpu,
        local: &[f32],
        view: &mut View,
        workspace: &mut MapWorkspace,
        features: &mut [f32],
    ) {
        view.local.resize(self.first.image(), 0.0);
        self.first.place(local, &mut view.local);
        self.first_layer(cpu, &view.local, &mut workspace.results);
        view.first_moments = Moments::of(cpu, &workspace.results);
        self.first_maxima(cpu, &workspace.results, view);
        self.activated(cpu, view, &mut workspace.act);
        view.results.resize(PIXELS * MAP_FEATURES, 0.0);
        self.second.forward(cpu, &workspace.act, &mut workspace.second, &mut view.results);
        view.second_moments = Moments::of(cpu, &view.results);
        activate(cpu, &view.results, &self.second_norm.affine(view.second_moments), features);
    }

    fn first_layer(&self, cpu: Cpu, local: &[f32], results: &mut Vec<f32>) {
        results.resize(LOCAL_SIDE * LOCAL_SIDE * VIEWS, 0.0);
        for (y, row) in results.chunks_exact_mut(LOCAL_SIDE * VIEWS).enumerate() {
            self.first.forward_row(cpu, local, y, row);
        }
    }

    fn first_maxima(&self, cpu: Cpu, results: &[f32], view: &mut View) {
        let (line, affine) = (SMALL * VIEWS, self.first_norm.affine(view.first_moments));
        view.kept.resize(SMALL * line, 0.0);
        view.places.resize(SMALL * line, 0);
        let windows = view.kept.chunks_exact_mut(line).zip(view.places.chunks_exact_mut(line));
        for (y, (kept, places)) in windows.enumerate() {
            let row = |u: usize| results.get((2 * y + u) * LOCAL_SIDE * VIEWS..).unwrap_or_default();
            let row = |u: usize| row(u).get(..LOCAL_SIDE * VIEWS).unwrap_or_default();
            let count = (LOCAL_SIDE - 2 * y).min(3);
            pool_row(cpu, &[row(0), row(1), row(2)][..count], &affine, kept, places);
        }
    }

    /// What the second layer sees.
    fn activated(&self, cpu: Cpu, view: &View, act: &mut Vec<f32>) {
        let affine = self.first_norm.affine(view.first_moments);
        act.resize(SMALL * ACROSS * VIEWS, 0.0);
        let rows = act.chunks_exact_mut(ACROSS * VIEWS);
        for (from, to) in view.kept.chunks_exact(SMALL * VIEWS).zip(rows) {
            activate(cpu, from, &affine, &mut to[..SMALL * VIEWS]);
        }
    }
}
