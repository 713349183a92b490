//! The matrix product that everything is built on, with what follows it done while numbers are in registers.
//!
//! Small on purpose: matrices of a filter (hundreds of rows, at most some hundred columns) stay in the caches by
//! themselves, so there is no blocking, and only weights are ever rearranged ([`Panels`]). [`large_product`] cuts larger
//! ones into such.

mod blocked;
mod panels;
mod tile;

pub use blocked::{Blocks, large_product};
pub use panels::Panels;

use crate::{Cpu, LANES};

/// The left factor: M rows of K numbers, or the transpose of K rows of M, or an image as kernels see it.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a> {
    numbers: &'a [f32],
    stride: usize,
    order: Order<'a>,
}

/// Where the number of row i and column k of a left factor is.
#[derive(Clone, Copy, Debug)]
enum Order<'a> {
    /// At i · stride + k.
    Rows,
    /// At i + k · stride.
    Turned,
    /// At i · stride + offset k.
    Taps(&'a [usize]),
    /// At offset i + k · stride.
    TapRows(&'a [usize]),
}

impl<'a> Left<'a> {
    /// Rows that begin `stride` numbers apart.
    pub fn rows(numbers: &'a [f32], stride: usize) -> Self {
        Self { numbers, stride, order: Order::Rows }
    }

    /// The transpose of such rows.
    pub fn transposed(numbers: &'a [f32], stride: usize) -> Self {
        Self { numbers, stride, order: Order::Turned }
    }

    /// Row i is what the taps of a kernel see at the i-th of some places that are `stride` apart: numbers so far
    /// behind the place as the offsets say. A convolution that copies nothing.
    pub fn taps(numbers: &'a [f32], stride: usize, offsets: &'a [usize]) -> Self {
        Self { numbers, stride, order: Order::Taps(offsets) }
    }

    /// The transpose of [`Left::taps`]: a row for each tap, a column for each place.
    pub fn tap_rows(numbers: &'a [f32], stride: usize, offsets: &'a [usize]) -> Self {
        Self { numbers, stride, order: Order::TapRows(offsets) }
    }

    fn check_bounds(&self, m: usize, k: usize) {
        let enough = match self.order {
            Order::Rows => holds(self.numbers, m, self.stride, k),
            Order::Turned => m <= self.stride && holds(self.numbers, k, self.stride, m),
            Order::Taps(offsets) => self.holds_taps(offsets, k, m),
            Order::TapRows(offsets) => self.holds_taps(offsets, m, k),
        };
        assert!(enough, "the left factor is too small");
    }

    /// Whether so many taps see only numbers that are there, at so many places.
    fn holds_taps(&self, offsets: &[usize], taps: usize, places: usize) -> bool {
        let farthest = offsets.get(..taps).map(|taps| taps.iter().max().copied());
        let behind = places.saturating_sub(1).saturating_mul(self.stride);
        let seen = |farthest: usize| farthest.saturating_add(behind) < self.numbers.len();
        farthest.is_some_and(|farthest| places == 0 || farthest.is_none_or(seen))
    }
}

/// The right factor: K rows of N numbers, N a multiple of [`LANES`].
#[derive(Clone, Copy, Debug)]
pub struct Right<'a> {
    numbers: &'a [f32],
    stride: usize,
    panel: usize,
    /// Where each row begins, if not `stride` after the one before.
    offsets: Option<&'a [usize]>,
}

impl<'a> Right<'a> {
    /// Rows that begin `stride` numbers apart.
    pub fn rows(numbers: &'a [f32], stride: usize) -> Self {
        Self { numbers, stride, panel: LANES, offsets: None }
    }

    /// Rows that begin where the offsets say: an image, moved by each tap of a kernel.
    pub fn moved(numbers: &'a [f32], offsets: &'a [usize]) -> Self {
        Self { numbers, stride: 0, panel: LANES, offsets: Some(offsets) }
    }

    fn check_bounds(&self, k: usize, n: usize) {
        if let Some(offsets) = self.offsets {
            let enough = |rows: &[usize]| rows.iter().all(|row| row.saturating_add(n) <= self.numbers.len());
            assert!(offsets.get(..k).is_some_and(enough), "the right factor is too small");
            return;
        }
        let last = (n / LANES - 1) * self.panel;
        let behind = self.numbers.get(last..).unwrap_or_default();
        assert!(holds(behind, k, self.stride, LANES), "the right factor is too small");
    }
}

/// What becomes of the product.
#[derive(Clone, Copy, Debug)]
pub enum Epilogue<'a> {
    /// It replaces what was there.
    Store,
    /// It is added to what was there.
    Add,
    /// A bias is added to each row.
    Bias(&'a [f32]),
    /// A bias is added, and what is below 0 becomes 0.
    BiasRelu(&'a [f32]),
    /// It becomes 0 where a matrix of the same shape and stride as the result is not above 0: back through a ReLU
    /// whose result that was.
    Gate(&'a [f32]),
}

/// A matrix that results, as rows that begin `stride` numbers apart.
#[derive(Debug)]
pub struct Out<'a> {
    /// All of it.
    pub numbers: &'a mut [f32],
    /// From one row to the next.
    pub stride: usize,
}

/// out = finish(left · right), M×K times K×N.
///
/// # Panics
/// If a matrix is too small for that, or N is not a positive multiple of [`LANES`].
pub fn product(cpu: Cpu, left: Left, right: Right, [m, k, n]: [usize; 3], epilogue: Epilogue, out: &mut Out) {
    assert!(n > 0 && n.is_multiple_of(LANES), "the width of a product is a multiple of {LANES}");
    if m == 0 {
        return;
    }
    left.check_bounds(m, k);
    right.check_bounds(k, n);
    assert!(n <= out.stride && holds(out.numbers, m, out.stride, n), "the result is too small");
    match epilogue {
        Epilogue::Bias(bias) | Epilogue::BiasRelu(bias) => assert!(bias.len() >= n, "the bias is too small"),
        Epilogue::Gate(gate) => assert!(holds(gate, m, out.stride, n), "the gate is too small"),
        Epilogue::Store | Epilogue::Add => {}
    }
    tile::product(cpu, left, right, [m, k, n], epilogue, out);
}

/// Whether there are so many rows of this width, so far apart.
fn holds(numbers: &[f32], rows: usize, stride: usize, width: usize) -> bool {
    let needed = rows.checked_sub(1).map(|before| before.saturating_mul(stride).saturating_add(width));
    needed.is_none_or(|needed| numbers.len() >= needed)
}

#[cfg(test)]
mod tests;
