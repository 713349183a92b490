//! The matrix product that everything is built on, with what follows it done while numbers are in registers.
//!
//! Small on purpose: matrices of a filter (hundreds of rows, at most some hundred columns) stay in the caches by
//! themselves, so there is no blocking, and only weights are ever rearranged ([`Panels`]).

mod panels;
mod tile;

pub use panels::Panels;

use crate::{Cpu, LANES};

/// The left factor: M rows of K numbers, or the transpose of K rows of M.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a> {
    numbers: &'a [f32],
    stride: usize,
    turned: bool,
}

impl<'a> Left<'a> {
    /// Rows that begin `stride` numbers apart.
    pub fn rows(numbers: &'a [f32], stride: usize) -> Self {
        Self { numbers, stride, turned: false }
    }

    /// The transpose of such rows.
    pub fn transposed(numbers: &'a [f32], stride: usize) -> Self {
        Self { numbers, stride, turned: true }
    }

    fn must_have(&self, m: usize, k: usize) {
        let (rows, width) = if self.turned { (k, m) } else { (m, k) };
        assert!(
            width <= self.stride && holds(self.numbers, rows, self.stride, width),
            "left factor is too small"
        );
    }
}

/// The right factor: K rows of N numbers, N a multiple of [`LANES`].
#[derive(Clone, Copy, Debug)]
pub struct Right<'a> {
    numbers: &'a [f32],
    stride: usize,
    panel: usize,
}

impl<'a> Right<'a> {
    /// Rows that begin `stride` numbers apart.
    pub fn rows(numbers: &'a [f32], stride: usize) -> Self {
        Self { numbers, stride, panel: LANES }
    }

    fn must_have(&self, k: usize, n: usize) {
        let last = (n / LANES - 1) * self.panel;
        let behind = self.numbers.get(last..).unwrap_or_default();
        assert!(holds(behind, k, self.stride, LANES), "the right factor is too small");
    }
}

/// What becomes of the product.
#[derive(Clone, Copy, Debug)]
pub enum Finish<'a> {
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
pub fn product(cpu: Cpu, left: Left, right: Right, [m, k, n]: [usize; 3], finish: Finish, out: &mut Out) {
    assert!(n > 0 && n.is_multiple_of(LANES), "the width of a product is a multiple of {LANES}");
    if m == 0 {
        return;
    }
    left.must_have(m, k);
    right.must_have(k, n);
    assert!(n <= out.stride && holds(out.numbers, m, out.stride, n), "the result is too small");
    match finish {
        Finish::Bias(bias) | Finish::BiasRelu(bias) => assert!(bias.len() >= n, "the bias is too small"),
        Finish::Gate(gate) => assert!(holds(gate, m, out.stride, n), "the gate is too small"),
        Finish::Store | Finish::Add => {}
    }
    tile::product(cpu, left, right, [m, k, n], finish, out);
}

/// Whether there are so many rows of this width, so far apart.
fn holds(numbers: &[f32], rows: usize, stride: usize, width: usize) -> bool {
    let needed = rows.checked_sub(1).map(|before| before.saturating_mul(stride).saturating_add(width));
    needed.is_none_or(|needed| numbers.len() >= needed)
}

#[cfg(test)]
mod tests;
