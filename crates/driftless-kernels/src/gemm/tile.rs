//! The inner tile: some rows by sixteen columns of the product, kept in registers over all of K.

#![allow(
    unsafe_code,
    reason = "the one micro-kernel: pointers into checked slices, instructions after asking"
)]

use super::{Epilogue, Left, Order, Out, Right};
use crate::lanes::{Plain, Row};
use crate::{Cpu, LANES};

#[cfg(target_arch = "x86_64")]
use crate::lanes::{Double, Wide};

/// Rows of a tile: as many as fill the registers beside one row of the right factor.
const PORTABLE_ROWS: usize = 2;
#[cfg(target_arch = "x86_64")]
const DOUBLE_ROWS: usize = 6;
#[cfg(target_arch = "x86_64")]
const WIDE_ROWS: usize = 12;

/// All tiles, by the instructions of this CPU. Shapes were checked.
pub(super) fn product(
    cpu: Cpu,
    left: Left,
    right: Right,
    shape: [usize; 3],
    epilogue: Epilogue,
    out: &mut Out,
) {
    // SAFETY: `super::product` has checked that all matrices are large enough, and whether this CPU has the
    // instructions is asked here.
    unsafe {
        match cpu {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 if cpu.is_here() => wide(left, right, shape, epilogue, out),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 if cpu.is_here() => double(left, right, shape, epilogue, out),
            _ => tiles::<Plain, PORTABLE_ROWS>(left, right, shape, epilogue, out),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn wide(left: Left, right: Right, shape: [usize; 3], epilogue: Epilogue, out: &mut Out) {
    // SAFETY: the caller's.
    unsafe { tiles::<Wide, WIDE_ROWS>(left, right, shape, epilogue, out) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn double(left: Left, right: Right, shape: [usize; 3], epilogue: Epilogue, out: &mut Out) {
    // SAFETY: the caller's.
    unsafe { tiles::<Double, DOUBLE_ROWS>(left, right, shape, epilogue, out) }
}

/// Panel by panel, so that a panel stays in the nearest cache; in each from the top, with fewer rows at the end.
#[inline(always)]
unsafe fn tiles<R: Row, const M: usize>(
    left: Left,
    right: Right,
    shape: [usize; 3],
    epilogue: Epilogue,
    out: &mut Out,
) {
    let [m, k, n] = shape;
    for panel in 0..n / LANES {
        let mut row = 0;
        while row < m {
            let place = Place {
                left,
                right,
                k,
                epilogue,
                row,
                panel,
                out: out.numbers.as_mut_ptr(),
                stride: out.stride,
            };
            // SAFETY: rows up to m and panels up to n / LANES exist in all matrices.
            unsafe {
                row += match m - row {
                    // Two rows alone would wait for each other: 4 and 4 are faster than 6 and 2.
                    8 if M == 6 => place.tile::<R, 4>(),
                    rest if rest >= M => place.tile::<R, M>(),
                    4.. => place.tile::<R, 4>(),
                    2.. => place.tile::<R, 2>(),
                    _ => place.tile::<R, 1>(),
                };
            }
        }
    }
}

/// Where a tile is.
#[derive(Clone, Copy)]
struct Place<'a> {
    left: Left<'a>,
    right: Right<'a>,
    k: usize,
    epilogue: Epilogue<'a>,
    row: usize,
    panel: usize,
    out: *mut f32,
    stride: usize,
}

impl Place<'_> {
    /// M rows; returns how many.
    #[inline(always)]
    unsafe fn tile<R: Row, const M: usize>(self) -> usize {
        let Left { numbers, stride, order } = self.left;
        let (a, row) = (numbers.as_ptr(), self.row);
        // SAFETY: the caller's; a loop for each order, so that one of the steps is known to be 1.
        unsafe {
            let sums = match order {
                Order::Rows => {
                    let a = a.wrapping_add(row * stride);
                    self.sums::<R, M>(|i, k| *a.add(i * stride + k))
                }
                Order::Turned => {
                    let a = a.wrapping_add(row);
                    self.sums::<R, M>(|i, k| *a.add(i + k * stride))
                }
                Order::Taps(offsets) => {
                    let (a, offsets) = (a.wrapping_add(row * stride), offsets.as_ptr());
                    self.sums::<R, M>(|i, k| *a.add(i * stride + *offsets.add(k)))
                }
                Order::TapRows(offsets) => {
                    let rows: [*const f32; M] = std::array::from_fn(|i| a.wrapping_add(offsets[row + i]));
                    self.sums::<R, M>(|i, k| *rows[i].add(k * stride))
                }
            };
            self.put(sums);
        }
        M
    }

    /// Σ over k of a(i, k) b(k, ·), for M rows i.
    #[inline(always)]
    unsafe fn sums<R: Row, const M: usize>(self, a: impl Fn(usize, usize) -> f32) -> [R; M] {
        let Right { numbers, stride, panel, offsets } = self.right;
        let b = numbers.as_ptr().wrapping_add(self.panel * panel);
        // SAFETY: the caller's.
        unsafe {
            match offsets.map(<[usize]>::as_ptr) {
                None => sums::<R, M>(a, |k| b.wrapping_add(k * stride), self.k),
                Some(offsets) => sums::<R, M>(a, |k| b.wrapping_add(*offsets.add(k)), self.k),
            }
        }
    }

    #[inline(always)]
    unsafe fn put<R: Row, const M: usize>(self, sums: [R; M]) {
        let column = self.panel * LANES;
        // SAFETY: the caller's.
        unsafe {
            for (i, sum) in sums.into_iter().enumerate() {
                let offset = (self.row + i) * self.stride + column;
                let to = self.out.add(offset);
                let done = match self.epilogue {
                    Epilogue::Store => sum,
                    Epilogue::Add => sum.plus(R::load(to)),
                    Epilogue::Bias(bias) => sum.plus(R::load(bias.as_ptr().add(column))),
                    Epilogue::BiasRelu(bias) => sum.plus(R::load(bias.as_ptr().add(column))).positive(),
                    Epilogue::Gate(gate) => sum.where_positive(R::load(gate.as_ptr().add(offset))),
                };
                done.store(to);
            }
        }
    }
}

/// Σ over k of a(i, k) b(k, ·), for M rows i.
#[inline(always)]
unsafe fn sums<R: Row, const M: usize>(
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize) -> *const f32,
    k: usize,
) -> [R; M] {
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [R::splat(0.0); M];
        for k in 0..k {
            let row = R::load(b(k));
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus_product(R::splat(a(i, k)), row);
            }
        }
        sums
    }
}
