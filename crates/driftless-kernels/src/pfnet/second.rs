//! The second layer of the map branch: 3x3x4 and 5x5x4 kernels over 14x14 pixels of 64 numbers.
//!
//! Four outputs would leave lanes empty, so that here pixels are the lanes: forward, every input is a plane that is
//! moved by each tap. Rows are 16 pixels apart and two zeros serve both as the end of one and the beginning of the
//! next.

use super::map::SMALL;
use crate::Cpu;
use crate::gemm::{Epilogue, Left, Out, Panels, Right, product};

/// Inputs.
pub(super) const VIEWS: usize = 64;
/// Outputs.
pub(super) const MAP_FEATURES: usize = 8;
/// Outputs of each of the two sizes.
pub(super) const EACH: usize = MAP_FEATURES / 2;
/// From one row of pixels to the next.
pub(super) const ACROSS: usize = 16;
/// Taps a side of both sizes.
pub(super) const SIDES: [usize; 2] = [3, 5];
/// Rows of zeros above and below, and zeros before the first row.
const BEYOND: usize = 2;
/// From one plane to the next.
const PLANE: usize = (SMALL + 2 * BEYOND) * ACROSS + 2 * BEYOND;
/// Numbers that results have, junk between rows included.
const RESULTS: usize = SMALL * ACROSS;

/// Weights, arranged for both directions.
#[derive(Clone, Debug)]
pub(super) struct Second {
    /// For both sizes: a row for each output, tap after tap, all inputs of a tap together.
    ahead: [Vec<f32>; 2],
    /// Where the plane of each input begins, moved by each tap.
    moves: [Vec<usize>; 2],
    /// [output · tap of both sizes, input].
    back: Panels,
    /// Where the derivatives lie that an input's pixel had a part in, for each row of `back`.
    moves_back: Vec<usize>,
    pub(super) bias: Vec<f32>,
}

/// A workspace in.
#[derive(Clone, Debug, Default)]
pub(super) struct SecondWorkspace {
    planes: Vec<f32>,
    results: Vec<f32>,
    by_planes: Vec<f32>,
}

/// Taps of a size from the middle: rows and columns.
fn taps(side: usize) -> impl Iterator<Item = [isize; 2]> {
    let reach = (side / 2) as isize;
    (-reach..=reach).flat_map(move |u| (-reach..=reach).map(move |v| [u, v]))
}

/// Where the first pixel of a plane is after a move.
fn moved([u, v]: [isize; 2]) -> usize {
    let beyond = BEYOND as isize;
    ((beyond + u) * ACROSS as isize + beyond + v) as usize
}

/// Rows of the gradient and of `back`: size, output, tap.
pub(super) fn rows_back() -> impl Iterator<Item = (usize, usize, usize)> {
    let of =
        |size: usize| (0..EACH).flat_map(move |o| (0..SIDES[size].pow(2)).map(move |tap| (size, o, tap)));
    of(0).chain(of(1))
}

impl Second {
    /// Zeros.
    pub(super) fn new() -> Self {
        let moves = |side: usize| {
            let planes = |tap| (0..VIEWS).map(move |input| input * PLANE + moved(tap));
            taps(side).flat_map(planes).collect::<Vec<_>>()
        };
        let back = |size: usize| {
            let plane = move |o: usize| (size * EACH + o) * PLANE;
            (0..EACH).flat_map(move |o| taps(SIDES[size]).map(move |[u, v]| plane(o) + moved([-u, -v])))
        };
        let ahead = SIDES.map(|side| vec![0.0; EACH * side * side * VIEWS]);
        Self {
            ahead,
            moves: SIDES.map(moves),
            back: Panels::default(),
            moves_back: back(0).chain(back(1)).collect(),
            bias: vec![0.0; MAP_FEATURES],
        }
    }

    /// Weights by size, tap, input and output.
    pub(super) fn set(&mut self, weight: impl Fn(usize, usize, usize, usize) -> f32) {
        for (size, rows) in self.ahead.iter_mut().enumerate() {
            for (k, to) in rows.iter_mut().enumerate() {
                let (taps, input) = (SIDES[size].pow(2), k % VIEWS);
                *to = weight(size, k / VIEWS % taps, input, k / VIEWS / taps);
            }
        }
        let rows: Vec<_> = rows_back().collect();
        self.back.fill_by([rows.len(), VIEWS], |row, input| {
            let (size, output, tap) = rows[row];
            weight(size, tap, input, output)
        });
    }

    /// Results, pixel after pixel, of rows of 16 pixels of which the last two are zeros.
    pub(super) fn forward(
        &self,
        cpu: Cpu,
        act: &[f32],
        workspace: &mut SecondWorkspace,
        results: &mut [f32],
    ) {
        let SecondWorkspace { planes, results: wide, .. } = workspace;
        planes.resize(VIEWS * PLANE, 0.0);
        for (row, pixels) in act.chunks_exact(ACROSS * VIEWS).enumerate() {
            for (x, pixel) in pixels.chunks_exact(VIEWS).take(SMALL).enumerate() {
                let place = moved([row as isize, x as isize]);
                pixel.iter().enumerate().for_each(|(input, &number)| planes[input * PLANE + place] = number);
            }
        }
        wide.resize(MAP_FEATURES * RESULTS, 0.0);
        let halves = wide.chunks_exact_mut(EACH * RESULTS);
        for ((weights, moves), out) in self.ahead.iter().zip(&self.moves).zip(halves) {
            let left = Left::rows(weights, moves.len());
            let shape = [EACH, moves.len(), RESULTS];
            let mut out = Out { numbers: out, stride: RESULTS };
            product(cpu, left, Right::moved(planes, moves), shape, Epilogue::Store, &mut out);
        }
        for (pixel, to) in results.chunks_exact_mut(MAP_FEATURES).enumerate() {
            let place = pixel / SMALL * ACROSS + pixel % SMALL;
            for (o, to) in to.iter_mut().enumerate() {
                *to = wide[o * RESULTS + place] + self.bias[o];
            }
        }
    }

    /// Adds the derivatives by weights, in the order of [`rows_back`], and by biases; gives those by what was seen,
    /// rows of 14 pixels.
    pub(super) fn backward(
        &self,
        cpu: Cpu,
        act: &[f32],
        by_results: &[f32],
        workspace: &mut SecondWorkspace,
        sum: &mut [f32],
        by_act: &mut Vec<f32>,
    ) {
        let by = &mut workspace.by_planes;
        by.resize(MAP_FEATURES * PLANE, 0.0);
        for (pixel, from) in by_results.chunks_exact(MAP_FEATURES).enumerate() {
            let place = moved([(pixel / SMALL) as isize, (pixel % SMALL) as isize]);
            from.iter().enumerate().for_each(|(o, &number)| by[o * PLANE + place] = number);
        }
        let left = Left::tap_rows(by, 1, &self.moves_back);
        let shape = [self.moves_back.len(), RESULTS, VIEWS];
        let mut out = Out { numbers: sum, stride: VIEWS };
        product(cpu, left, Right::rows(act, VIEWS), shape, Epilogue::Add, &mut out);
        by_act.resize(SMALL * SMALL * VIEWS, 0.0);
        for (y, row) in by_act.chunks_exact_mut(SMALL * VIEWS).enumerate() {
            let left = Left::taps(&by[y * ACROSS..], 1, &self.moves_back);
            let shape = [SMALL, self.moves_back.len(), VIEWS];
            let mut out = Out { numbers: row, stride: VIEWS };
            product(cpu, left, self.back.right(), shape, Epilogue::Store, &mut out);
        }
    }
}
