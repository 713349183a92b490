//! Small matrices of numbers of any kind, whose sizes are known when they are compiled.

use super::Scalar;
use std::array::from_fn;

/// Rows of numbers.
pub type Matrix<S, const ROWS: usize, const COLUMNS: usize> = [[S; COLUMNS]; ROWS];

/// Least pivot of a Cholesky factor: this share of the diagonal, and at least this.
const LEAST_PIVOT: [f64; 2] = [1e-12, 1e-18];

/// Numbers on the diagonal, zeros elsewhere.
pub fn diagonal<S: Scalar, const N: usize>(numbers: [S; N]) -> Matrix<S, N, N> {
    from_fn(|i| from_fn(|j| if i == j { numbers[i] } else { S::of(0.0) }))
}

/// A Aᵀ of rows.
pub fn squared<S: Scalar, const N: usize, const M: usize>(a: &Matrix<S, N, M>) -> Matrix<S, N, N> {
    from_fn(|i| from_fn(|j| dot(&a[i], &a[j])))
}

pub(super) fn dot<S: Scalar, const N: usize>(a: &[S; N], b: &[S; N]) -> S {
    a.iter().zip(b).fold(S::of(0.0), |sum, (a, b)| sum + *a * *b)
}

pub(super) fn add<S: Scalar, const N: usize, const M: usize>(
    a: &Matrix<S, N, M>,
    b: &Matrix<S, N, M>,
) -> Matrix<S, N, M> {
    from_fn(|i| from_fn(|j| a[i][j] + b[i][j]))
}

pub(super) fn transposed<S: Scalar, const N: usize, const M: usize>(a: &Matrix<S, N, M>) -> Matrix<S, M, N> {
    from_fn(|j| from_fn(|i| a[i][j]))
}

pub(super) fn times<S: Scalar, const N: usize, const K: usize, const M: usize>(
    a: &Matrix<S, N, K>,
    b: &Matrix<S, K, M>,
) -> Matrix<S, N, M> {
    let columns = transposed(b);
    from_fn(|i| from_fn(|j| dot(&a[i], &columns[j])))
}

/// A P Aᵀ.
pub(super) fn sandwich<S: Scalar, const N: usize, const M: usize>(
    a: &Matrix<S, M, N>,
    p: &Matrix<S, N, N>,
) -> Matrix<S, M, M> {
    times(&times(a, p), &transposed(a))
}

pub(super) fn symmetric<S: Scalar, const N: usize>(a: &Matrix<S, N, N>) -> Matrix<S, N, N> {
    from_fn(|i| from_fn(|j| if i == j { a[i][i] } else { (a[i][j] + a[j][i]) * S::of(0.5) }))
}

/// L of A = L Lᵀ; a pivot that rounding has made too small is raised, so there always is one.
pub(super) fn cholesky<S: Scalar, const N: usize>(a: &Matrix<S, N, N>) -> Matrix<S, N, N> {
    let mut root = [[S::of(0.0); N]; N];
    for i in 0..N {
        for j in 0..=i {
            let left = (0..j).fold(a[i][j], |left, k| left - root[i][k] * root[j][k]);
            root[i][j] = if i == j {
                let least = (LEAST_PIVOT[0] * a[i][i].value()).max(LEAST_PIVOT[1]);
                (if left.value() > least { left } else { S::of(least) }).sqrt()
            } else {
                left / root[j][j]
            };
        }
    }
    root
}

/// L⁻¹ b.
pub(super) fn forward<S: Scalar, const N: usize>(root: &Matrix<S, N, N>, b: [S; N]) -> [S; N] {
    let mut x = b;
    for i in 0..N {
        x[i] = (0..i).fold(b[i], |left, k| left - root[i][k] * x[k]) / root[i][i];
    }
    x
}

/// L⁻ᵀ b.
pub(super) fn back<S: Scalar, const N: usize>(root: &Matrix<S, N, N>, b: [S; N]) -> [S; N] {
    let mut x = b;
    for i in (0..N).rev() {
        x[i] = (i + 1..N).fold(b[i], |left, k| left - root[k][i] * x[k]) / root[i][i];
    }
    x
}
