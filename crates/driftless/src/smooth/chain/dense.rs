//! Small square matrices of 64 bits, and their Cholesky factors: all the algebra a chain needs.

/// A square matrix, row after row.
///
/// ```
/// use driftless::smooth::chain::Matrix;
/// let variances = Matrix::diagonal(&[4.0, 9.0]);
/// assert_eq!(variances.at(1, 1), 9.0);
/// assert_eq!(variances.at(0, 1), 0.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    size: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// The matrix whose entry in row i and column j is `entry(i, j)`.
    pub fn from_fn(size: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        Self { size, values: (0..size * size).map(|k| entry(k / size, k % size)).collect() }
    }

    /// All zeros.
    pub fn zeros(size: usize) -> Self {
        Self { size, values: vec![0.0; size * size] }
    }

    /// These numbers on the diagonal, zeros elsewhere.
    pub fn diagonal(values: &[f64]) -> Self {
        Self::from_fn(values.len(), |i, j| if i == j { values[i] } else { 0.0 })
    }

    /// Ones on the diagonal.
    pub fn identity(size: usize) -> Self {
        Self::diagonal(&vec![1.0; size])
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Row i, column j.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.size + j]
    }

    /// The matrix with rows and columns exchanged.
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.size, |i, j| self.at(j, i))
    }

    /// The product with another matrix.
    pub fn times(&self, other: &Self) -> Self {
        let entry = |i: usize, j: usize| (0..self.size).map(|k| self.at(i, k) * other.at(k, j)).sum();
        Self::from_fn(self.size, entry)
    }

    /// The product with a column.
    pub fn apply(&self, column: &[f64]) -> Vec<f64> {
        self.values
            .chunks_exact(self.size)
            .map(|row| row.iter().zip(column).map(|(a, b)| a * b).sum())
            .collect()
    }

    /// `self + factor · other`.
    pub fn plus(&self, factor: f64, other: &Self) -> Self {
        Self::from_fn(self.size, |i, j| self.at(i, j) + factor * other.at(i, j))
    }

    /// Whether all entries are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.values.iter().all(|value| value.is_finite())
    }

    /// The lower triangle L with L Lᵀ = self, of which only the lower half is read.
    ///
    /// None unless positive definite. A pivot below `least` times its diagonal entry counts as zero:
    /// with none left but rounding, a factor would be noise.
    pub(crate) fn cholesky(&self, least: f64) -> Option<Cholesky> {
        let mut lower = Self::zeros(self.size);
        for i in 0..self.size {
            for j in 0..=i {
                let known: f64 = (0..j).map(|k| lower.at(i, k) * lower.at(j, k)).sum();
                let rest = self.at(i, j) - known;
                let value = if i > j {
                    rest / lower.at(j, j)
                } else if rest > least * self.at(i, i) && rest > 0.0 && rest.is_finite() {
                    rest.sqrt()
                } else {
                    return None;
                };
                lower.values[i * self.size + j] = value;
            }
        }
        Some(Cholesky(lower))
    }
}

/// L of a positive definite matrix L Lᵀ.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky(Matrix);

impl Cholesky {
    /// L x = column, solved for x.
    pub(crate) fn whiten(&self, column: &[f64]) -> Vec<f64> {
        let mut x = column.to_vec();
        for i in 0..x.len() {
            let known: f64 = (0..i).map(|k| self.0.at(i, k) * x[k]).sum();
            x[i] = (x[i] - known) / self.0.at(i, i);
        }
        x
    }

    /// Lᵀ x = column, solved for x: standard normals become a draw with precision L Lᵀ.
    pub(crate) fn colour(&self, column: &[f64]) -> Vec<f64> {
        let mut x = column.to_vec();
        for i in (0..x.len()).rev() {
            let known: f64 = (i + 1..x.len()).map(|k| self.0.at(k, i) * x[k]).sum();
            x[i] = (x[i] - known) / self.0.at(i, i);
        }
        x
    }

    /// L Lᵀ x = column, solved for x.
    pub(crate) fn solve(&self, column: &[f64]) -> Vec<f64> {
        self.colour(&self.whiten(column))
    }

    /// L Lᵀ X = right, solved for X.
    pub(crate) fn solve_matrix(&self, right: &Matrix) -> Matrix {
        let size = right.size;
        let column = |j: usize| (0..size).map(|i| right.at(i, j)).collect::<Vec<_>>();
        let columns: Vec<Vec<f64>> = (0..size).map(|j| self.solve(&column(j))).collect();
        Matrix::from_fn(size, |i, j| columns[j][i])
    }

    /// (L Lᵀ)⁻¹, symmetric to the last bit.
    pub(crate) fn inverse(&self) -> Matrix {
        let inverse = self.solve_matrix(&Matrix::identity(self.0.size));
        Matrix::from_fn(self.0.size, |i, j| 0.5 * (inverse.at(i, j) + inverse.at(j, i)))
    }

    /// L.
    pub(crate) fn lower(&self) -> &Matrix {
        &self.0
    }

    /// log |L Lᵀ| / 2.
    pub(crate) fn half_log_determinant(&self) -> f64 {
        (0..self.0.size).map(|i| self.0.at(i, i).ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    /// By hand: [[4, 2, 0], [2, 5, 2], [0, 2, 5]] has L = [[2], [1, 2], [0, 1, 2]].
    fn example() -> Matrix {
        Matrix { size: 3, values: vec![4.0, 2.0, 0.0, 2.0, 5.0, 2.0, 0.0, 2.0, 5.0] }
    }

    #[test]
    fn factors_and_solutions_by_hand() {
        let factor = example().cholesky(1e-12).unwrap();
        assert_eq!(factor.0.values, [2.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 1.0, 2.0]);
        assert_close(&factor.solve(&example().apply(&[1.0, -2.0, 3.0])), &[1.0, -2.0, 3.0], 1e-14);
        assert_close(&example().times(&factor.inverse()).values, &Matrix::identity(3).values, 1e-14);
        assert_close(&[factor.half_log_determinant()], &[8.0_f64.ln()], 1e-14);
        assert_eq!(factor.whiten(&[2.0, 5.0, 8.0]), [1.0, 2.0, 3.0]);
        assert_eq!(factor.colour(&[4.0, 7.0, 6.0]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn only_positive_definite_matrices_have_a_factor() {
        assert!(Matrix::diagonal(&[1.0, 0.0]).cholesky(1e-12).is_none());
        assert!(Matrix::diagonal(&[1.0, f64::NAN]).cholesky(1e-12).is_none());
        assert!(Matrix::from_fn(2, |_, _| 1.0).plus(1e-14, &Matrix::identity(2)).cholesky(1e-12).is_none());
        assert!(Matrix::diagonal(&[f64::INFINITY]).cholesky(1e-12).is_none());
    }
}
