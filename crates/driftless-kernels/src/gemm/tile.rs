//! The inner tile: some rows by sixteen columns of the product, kept in registers over all of K.

#![allow(
    unsafe_code,
    reason = "the one micro-kernel: pointers into checked slices, instructions after asking"
)]

use super::{Finish, Left, Out, Right};
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
pub(super) fn product(cpu: Cpu, left: Left, right: Right, shape: [usize; 3], finish: Finish, out: &mut Out) {
    // SAFETY: `super::product` has checked that all matrices are large enough, and whether this CPU has the
    // instructions is asked here.
    unsafe {
        match cpu {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 if cpu.is_here() => wide(left, right, shape, finish, out),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 if cpu.is_here() => double(left, right, shape, finish, out),
            _ => tiles::<Plain, PORTABLE_ROWS>(left, right, shape, finish, out),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn wide(left: Left, right: Right, shape: [usize; 3], finish: Finish, out: &mut Out) {
    // SAFETY: the caller's.
    unsafe { tiles::<Wide, WIDE_ROWS>(left, right, shape, finish, out) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn double(left: Left, right: Right, shape: [usize; 3], finish: Finish, out: &mut Out) {
    // SAFETY: the caller's.
    unsafe { tiles::<Double, DOUBLE_ROWS>(left, right, shape, finish, out) }
}

/// Panel by panel, so that a panel stays in the nearest cache; in each from the top, with fewer rows at the end.
#[inline(always)]
unsafe fn tiles<R: Row, const M: usize>(
    left: Left,
    right: Right,
    shape: [usize; 3],
    finish: Finish,
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
                finish,
                row,
                panel,
                out: out.numbers.as_mut_ptr(),
                stride: out.stride,
            };
            // SAFETY: rows up to m and panels up to n / LANES exist in all matrices.
            unsafe {
                row += match m - row {
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
    finish: Finish<'a>,
    row: usize,
    panel: usize,
    out: *mut f32,
    stride: usize,
}

impl Place<'_> {
    /// M rows; returns how many.
    #[inline(always)]
    unsafe fn tile<R: Row, const M: usize>(self) -> usize {
        let b = self.right.numbers.as_ptr().wrapping_add(self.panel * self.right.panel);
        // SAFETY: the caller's; two loops, so that one of the steps is known to be 1.
        unsafe {
            let sums = if self.left.turned {
                let a = self.left.numbers.as_ptr().wrapping_add(self.row);
                sums::<R, M>(a, [1, self.left.stride], b, self.right.stride, self.k)
            } else {
                let a = self.left.numbers.as_ptr().wrapping_add(self.row * self.left.stride);
                sums::<R, M>(a, [self.left.stride, 1], b, self.right.stride, self.k)
            };
            self.put(sums);
        }
        M
    }

    #[inline(always)]
    unsafe fn put<R: Row, const M: usize>(self, sums: [R; M]) {
        let column = self.panel * LANES;
        // SAFETY: the caller's.
        unsafe {
            for (i, sum) in sums.into_iter().enumerate() {
                let offset = (self.row + i) * self.stride + column;
                let to = self.out.add(offset);
                let done = match self.finish {
                    Finish::Store => sum,
                    Finish::Add => sum.plus(R::load(to)),
                    Finish::Bias(bias) => sum.plus(R::load(bias.as_ptr().add(column))),
                    Finish::BiasRelu(bias) => sum.plus(R::load(bias.as_ptr().add(column))).positive(),
                    Finish::Gate(gate) => sum.where_positive(R::load(gate.as_ptr().add(offset))),
                };
                done.store(to);
            }
        }
    }
}

/// Σ over k of a(i, k) b(k, ·), for M rows i.
#[inline(always)]
unsafe fn sums<R: Row, const M: usize>(
    a: *const f32,
    [down, along]: [usize; 2],
    b: *const f32,
    stride: usize,
    k: usize,
) -> [R; M] {
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [R::splat(0.0); M];
        for k in 0..k {
            let row = R::load(b.add(k * stride));
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus_product(R::splat(*a.add(i * down + k * along)), row);
            }
        }
        sums
    }
}
