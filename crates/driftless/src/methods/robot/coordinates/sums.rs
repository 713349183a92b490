//! Weighted least squares of several columns at once, from sums that can be added and taken away.

use crate::smooth::chain::Matrix;

/// Weights are about 10 at most, for columns whose deviation is about 1: what is believed of them before anything is seen.
const USUAL: f64 = 10.0;

/// Sums of some columns z and of the rows φ that they depend on.
pub(super) struct Sums {
    /// Σ w φ φᵀ, and Σ w φ z and Σ w z² for each column.
    products: Vec<f64>,
    by_columns: Vec<Vec<f64>>,
    pub(super) squares: Vec<f64>,
    /// Σ w.
    pub(super) count: f64,
}

impl Sums {
    /// Of rows of so many numbers, and so many columns.
    pub(super) fn new(size: usize, columns: usize) -> Self {
        let by_columns = vec![vec![0.0; size]; columns];
        Self { products: vec![0.0; size * size], by_columns, squares: vec![0.0; columns], count: 0.0 }
    }

    /// Adds a row, its first number being 1, and what depends on it.
    pub(super) fn add(&mut self, row: &[f32], readings: &[f64], weight: f64) {
        let size = row.len();
        for (i, a) in row.iter().enumerate() {
            let a = weight * f64::from(*a);
            let to = &mut self.products[size * i..=size * i + i];
            to.iter_mut().zip(row).for_each(|(to, b)| *to += a * f64::from(*b));
        }
        for ((sums, squares), z) in self.by_columns.iter_mut().zip(&mut self.squares).zip(readings) {
            sums.iter_mut().zip(row).for_each(|(sum, a)| *sum += weight * z * f64::from(*a));
            *squares += weight * z * z;
        }
        self.count += weight;
    }

    /// Adds others, times a factor.
    pub(super) fn plus(&mut self, factor: f64, other: &Self) {
        let pairs =
            |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += factor * b);
        pairs(&mut self.products, &other.products);
        pairs(&mut self.squares, &other.squares);
        self.by_columns.iter_mut().zip(&other.by_columns).for_each(|(a, b)| pairs(a, b));
        self.count += factor * other.count;
    }

    /// Σ w (z - W φ)² of each column.
    pub(super) fn errors(&self, weights: &[Vec<f64>]) -> Vec<f64> {
        let size = self.by_columns.first().map_or(0, Vec::len);
        let at = |i: usize, j: usize| self.products[size * i.max(j) + i.min(j)];
        let one = |(k, weights): (usize, &Vec<f64>)| {
            let said: f64 = weights.iter().zip(&self.by_columns[k]).map(|(w, b)| w * b).sum();
            let row = |i: usize| (0..size).map(|j| at(i, j) * weights[j]).sum::<f64>();
            let squared: f64 = (0..size).map(|i| weights[i] * row(i)).sum();
            (self.squares[k] - 2.0 * said + squared).max(0.0)
        };
        weights.iter().enumerate().map(one).collect()
    }

    /// Weights of least squares, held a little towards 0.
    pub(super) fn solve(&self) -> Option<Vec<Vec<f64>>> {
        let size = self.by_columns.first().map_or(0, Vec::len);
        let held = USUAL.powi(-2);
        let entry =
            |i: usize, j: usize| self.products[size * i.max(j) + i.min(j)] + if i == j { held } else { 0.0 };
        let factor = Matrix::from_fn(size, entry).cholesky(1e-12)?;
        Some(self.by_columns.iter().map(|sums| factor.solve(sums)).collect())
    }

    /// Weights of which all but the first are 0: means.
    pub(super) fn means(&self) -> Vec<Vec<f64>> {
        let mean = |sums: &Vec<f64>| {
            let mut weights = vec![0.0; sums.len()];
            weights[0] = sums[0] / self.count.max(f64::MIN_POSITIVE);
            weights
        };
        self.by_columns.iter().map(mean).collect()
    }

    /// All of some parts, of which there must be one.
    pub(super) fn total(parts: &[Self]) -> Self {
        let mut all = Self::new(parts[0].by_columns.first().map_or(0, Vec::len), parts[0].by_columns.len());
        for part in parts {
            all.plus(1.0, part);
        }
        all
    }
}
