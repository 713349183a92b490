//! A chain's posterior run forwards: each state given the one before and everything else that is known.

use super::dense::Matrix;
use super::tridiagonal::{LEAST_PIVOT, Tridiagonal};
use super::{ChainError, Posterior};

/// The posterior of a path as a Markov chain in the direction of time (a Gaussian bridge between labels).
///
/// With d_t = s_t - mean_t: d_t = G_t d_{t-1} + C_t ε, ε standard normal, where G_t and C_t know all
/// labels, those still to come included. Particles that move so stay on paths that end where the labels
/// are, and need weights only for what the labels did not say.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// The most probable path, T states of S numbers.
    pub mean: Vec<Vec<f64>>,
    /// How each state follows from the one before, T of them; the first follows from nothing.
    pub links: Vec<Link>,
}

/// One step of a bridge. At an exact label all three are zero: there is no deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// G_t.
    pub gain: Matrix,
    /// C_t, with C Cᵀ the covariance given the state before.
    pub colour: Matrix,
    /// C_t⁻¹: log p(d_t | d_{t-1}) = const - ½ ‖C_t⁻¹ (d_t - G_t d_{t-1})‖².
    pub whiten: Matrix,
}

impl Link {
    fn fixed(size: usize) -> Self {
        Self { gain: Matrix::zeros(size), colour: Matrix::zeros(size), whiten: Matrix::zeros(size) }
    }
}

impl Posterior {
    /// The same distribution, linearised along the mean as everything here, run forwards.
    ///
    /// The information matrix H is eliminated from the end: P_t = H_tt - H_{t, t+1} P_{t+1}⁻¹ H_{t+1, t},
    /// G_t = -P_t⁻¹ H_{t, t-1}, C_t C_tᵀ = P_t⁻¹.
    pub fn bridge(&self) -> Result<Bridge, ChainError> {
        let (size, steps) = (self.mean[0].len(), self.mean.len());
        let mut links = vec![Link::fixed(size); steps];
        let Tridiagonal { diagonal, upper, .. } = &self.system;
        let mut pivot = diagonal[steps - 1].clone();
        for t in (0..steps).rev() {
            let factor = pivot.cholesky(LEAST_PIVOT).ok_or(ChainError::Undetermined { step: t })?;
            if !self.exact[t] {
                let unit = |j: usize| (0..size).map(|i| f64::from(u8::from(i == j))).collect::<Vec<_>>();
                let columns: Vec<Vec<f64>> = (0..size).map(|j| factor.colour(&unit(j))).collect();
                links[t].colour = Matrix::from_fn(size, |i, j| columns[j][i]);
                links[t].whiten = factor.lower().transposed();
            }
            if t > 0 {
                let pull = factor.solve_matrix(&upper[t - 1].transposed()); // P_t⁻¹ H_{t, t-1}
                pivot = diagonal[t - 1].plus(-1.0, &upper[t - 1].times(&pull));
                links[t].gain = Matrix::zeros(size).plus(-1.0, &pull);
            }
        }
        Ok(Bridge { mean: self.mean.clone(), links })
    }
}
