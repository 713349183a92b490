//! What this machine can do at most: one product that stays in the nearest caches, on all threads.

use super::seconds;
use driftless_kernels::Cpu;
use driftless_kernels::gemm::{Epilogue, Left, Out, Panels, product};
use rayon::prelude::*;

/// Rows, depth and columns: panels and rows fit into the first two caches.
const SHAPE: [usize; 3] = [96, 256, 128];
const REPEATS: usize = 400;
const ROUNDS: usize = 12;

/// GFLOP/s of the best of some rounds, of all threads together.
pub fn gflops() -> f64 {
    let [m, k, n] = SHAPE;
    let work = || {
        let mut panels = Panels::default();
        panels.fill_by([k, n], |i, j| (i + j) as f32 * 1e-3);
        let (rows, mut results) = (vec![0.5; m * k], vec![0.0; m * n]);
        for _ in 0..REPEATS {
            let mut out = Out { numbers: &mut results, stride: n };
            product(Cpu::best(), Left::rows(&rows, k), panels.right(), SHAPE, Epilogue::Store, &mut out);
            std::hint::black_box(&out);
        }
    };
    let threads = rayon::current_num_threads();
    let round = || seconds(|| (0..threads).into_par_iter().with_max_len(1).for_each(|_| work()));
    let best = (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min);
    2e-9 * (m * k * n * REPEATS * threads) as f64 / best
}
