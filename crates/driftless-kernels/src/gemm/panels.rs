//! Weights rearranged so that a tile reads them one line after the other.

use super::Right;
use crate::{LANES, padded};
use rayon::prelude::*;

/// A K×N matrix as panels of [`LANES`] columns, padded with zeros; made once, used for many products.
#[derive(Clone, Debug, Default)]
pub struct Panels {
    numbers: Vec<f32>,
    rows: usize,
    width: usize,
}

impl Panels {
    /// Of a matrix given as K rows of N numbers, without gaps.
    pub fn fill(&mut self, matrix: &[f32], [k, n]: [usize; 2]) {
        assert_eq!(matrix.len(), k * n, "a matrix of {k} rows of {n}");
        self.fill_by([k, n], |row, column| matrix[row * n + column]);
    }

    /// Of the transpose of a matrix given as N rows of K numbers.
    pub fn fill_transposed(&mut self, matrix: &[f32], [k, n]: [usize; 2]) {
        assert_eq!(matrix.len(), k * n, "a matrix of {n} rows of {k}");
        self.fill_by([k, n], |row, column| matrix[column * k + row]);
    }

    /// Of K×N numbers by row and column.
    pub fn fill_by(&mut self, [k, n]: [usize; 2], number: impl Fn(usize, usize) -> f32) {
        (self.rows, self.width) = (k, padded(n));
        self.numbers.clear();
        self.numbers.resize(k * self.width, 0.0);
        for column in 0..n {
            let start = column / LANES * LANES * k + column % LANES;
            for row in 0..k {
                self.numbers[start + row * LANES] = number(row, column);
            }
        }
    }

    /// Of K×N numbers, N a multiple of [`LANES`], by lines: `line` fills that of a row in a panel, which is zeros.
    pub(crate) fn fill_lines(&mut self, [k, n]: [usize; 2], line: impl Fn(usize, usize, &mut [f32]) + Sync) {
        (self.rows, self.width) = (k, n);
        self.numbers.clear();
        self.numbers.resize(k * n, 0.0);
        self.numbers.par_chunks_exact_mut(k * LANES).enumerate().for_each(|(panel, lines)| {
            for (row, numbers) in lines.chunks_exact_mut(LANES).enumerate() {
                line(row, panel, numbers);
            }
        });
    }

    /// One number.
    pub fn at(&self, row: usize, column: usize) -> f32 {
        self.numbers[column / LANES * LANES * self.rows + row * LANES + column % LANES]
    }

    /// One panel from a row on, as a right factor.
    pub(crate) fn panel_from(&self, panel: usize, row: usize) -> Right<'_> {
        Right::rows(&self.numbers[(panel * self.rows + row) * LANES..(panel + 1) * self.rows * LANES], LANES)
    }

    /// As a right factor.
    pub fn right(&self) -> Right<'_> {
        Right { numbers: &self.numbers, stride: LANES, panel: LANES * self.rows, offsets: None }
    }
}
