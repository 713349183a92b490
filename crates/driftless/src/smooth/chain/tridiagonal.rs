//! Block-tridiagonal information matrices: elimination forwards, moments backwards.

use super::dense::{Cholesky, Matrix};

/// Pivots of less than this share of their entry are rounding, not information.
pub(super) const LEAST_PIVOT: f64 = 1e-13;

/// A quadratic ½ xᵀ H x - bᵀ x over T blocks, H symmetric and block-tridiagonal.
#[derive(Clone, Debug)]
pub(super) struct Tridiagonal {
    /// H_tt, T of them.
    pub diagonal: Vec<Matrix>,
    /// H_{t, t+1}, T - 1 of them.
    pub upper: Vec<Matrix>,
    /// b_t, T of them.
    pub right: Vec<Vec<f64>>,
}

/// The normal distribution with precision H and mean H⁻¹ b, as a chain that runs backwards:
/// x_t = c_t + G_t x_{t+1} + N(0, P_t⁻¹).
#[derive(Clone, Debug)]
pub(super) struct Eliminated {
    /// Factors of P_t.
    pivots: Vec<Cholesky>,
    /// G_t = -P_t⁻¹ H_{t, t+1}, T - 1 of them.
    gains: Vec<Matrix>,
    /// c_t = P_t⁻¹ b̃_t.
    offsets: Vec<Vec<f64>>,
}

impl Tridiagonal {
    /// Block Cholesky: P_t = H_tt - H_{t, t-1} P_{t-1}⁻¹ H_{t-1, t}. The step whose pivot is not
    /// positive definite is the error.
    pub(super) fn eliminate(&self) -> Result<Eliminated, usize> {
        let (mut pivots, mut gains) = (Vec::new(), Vec::<Matrix>::new());
        let mut offsets: Vec<Vec<f64>> = Vec::new();
        for (t, diagonal) in self.diagonal.iter().enumerate() {
            let (mut pivot, mut right) = (diagonal.clone(), self.right[t].clone());
            if t > 0 {
                let lower = self.upper[t - 1].transposed();
                // P_t = H_tt + H_{t, t-1} G_{t-1}; b̃_t = b_t - H_{t, t-1} c_{t-1}.
                pivot = pivot.plus(1.0, &lower.times(&gains[t - 1]));
                let known = lower.apply(&offsets[t - 1]);
                right.iter_mut().zip(known).for_each(|(right, known)| *right -= known);
                let kept = |k: usize| pivot.at(k, k) > LEAST_PIVOT * diagonal.at(k, k);
                if !(0..pivot.size()).all(kept) {
                    return Err(t);
                }
            }
            let factor = pivot.cholesky(LEAST_PIVOT).ok_or(t)?;
            offsets.push(factor.solve(&right));
            if let Some(upper) = self.upper.get(t) {
                let gain = factor.solve_matrix(upper);
                gains.push(Matrix::zeros(gain.size()).plus(-1.0, &gain));
            }
            pivots.push(factor);
        }
        Ok(Eliminated { pivots, gains, offsets })
    }
}

impl Eliminated {
    /// log |H| / 2.
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.pivots.iter().map(Cholesky::half_log_determinant).sum()
    }

    /// The mean H⁻¹ b: x_t = c_t + G_t x_{t+1}.
    pub(super) fn mean(&self) -> Vec<Vec<f64>> {
        let mut states = self.offsets.clone();
        for t in (0..states.len().saturating_sub(1)).rev() {
            let shift = self.gains[t].apply(&states[t + 1]);
            states[t].iter_mut().zip(shift).for_each(|(state, shift)| *state += shift);
        }
        states
    }

    /// The blocks (t, t) and (t, t + 1) of H⁻¹.
    pub(super) fn covariances(&self) -> (Vec<Matrix>, Vec<Matrix>) {
        let mut covariances: Vec<Matrix> = self.pivots.iter().map(Cholesky::inverse).collect();
        let mut cross = Vec::with_capacity(self.gains.len());
        for t in (0..self.gains.len()).rev() {
            let with_next = self.gains[t].times(&covariances[t + 1]);
            covariances[t] = covariances[t].plus(1.0, &with_next.times(&self.gains[t].transposed()));
            cross.push(with_next);
        }
        cross.reverse();
        (covariances, cross)
    }
}
