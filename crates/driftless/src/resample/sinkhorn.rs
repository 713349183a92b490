//! Entropic optimal transport between points of equal weight and points with weights.

use crate::belief::log_sum_exp;
use burn::tensor::Tensor;

/// A transport problem: P minimises Σ P C + ε KL(P | u wᵀ), with row sums u = 1 / M, column sums w.
///
/// At the optimum P_ij = u w_j exp((f_i + g_j - C_ij) / ε), and f and g solve each other's
/// equation (Cuturi 2013), here in the logarithmic domain.
#[derive(Debug)]
pub struct Problem {
    /// C, [B, M, N]; M = N unless the number of particles changes.
    pub cost: Tensor<3>,
    /// log w, [B, 1, N].
    pub log_weights: Tensor<3>,
    /// ε.
    pub epsilon: f64,
}

impl Problem {
    /// The column potential g [B, 1, N], iterated until row sums are right within `tolerance`
    /// (relative), at most `most` times. Not differentiated.
    pub fn solve(&self, tolerance: f64, most: usize) -> Tensor<3> {
        let held = Self {
            cost: self.cost.clone().detach(),
            log_weights: self.log_weights.clone().detach(),
            ..*self
        };
        let mut columns = held.log_weights.zeros_like();
        // From blurred to sharp: a small ε alone would need very many steps from a cold start.
        let mut blur = held.cost.clone().max().try_to_vec_as::<f64>().expect("costs are numbers")[0];
        while blur > self.epsilon {
            columns = held.at(blur).advance(columns);
            blur *= 0.75;
        }
        for iteration in 0..most {
            columns = held.advance(columns);
            if iteration % 5 == 4 && held.row_error(columns.clone()) <= tolerance {
                break;
            }
        }
        columns
    }

    /// One sweep: rows from columns, columns from rows.
    pub fn advance(&self, columns: Tensor<3>) -> Tensor<3> {
        self.columns(self.rows(columns))
    }

    /// T = M P [B, M, N] after one more sweep. Column sums are M w exactly, because columns come last.
    pub fn plan(&self, columns: Tensor<3>) -> Tensor<3> {
        let rows = self.rows(columns);
        let columns = self.columns(rows.clone());
        (self.log_weights.clone() + (rows + columns - self.cost.clone()) * self.sharpness()).exp()
    }

    /// f [B, M, 1] for the given g.
    fn rows(&self, columns: Tensor<3>) -> Tensor<3> {
        let terms = self.log_weights.clone() + (columns - self.cost.clone()) * self.sharpness(); // [B, M, N]
        log_sum_exp(terms, 2) * -self.epsilon
    }

    /// g [B, 1, N] for the given f.
    fn columns(&self, rows: Tensor<3>) -> Tensor<3> {
        let share = (self.cost.dims()[1] as f64).ln();
        log_sum_exp((rows - self.cost.clone()) * self.sharpness() - share, 1) * -self.epsilon
    }

    /// 1 / ε, to multiply by: Burn 0.22 differentiates a division by a number in 32 bits.
    fn sharpness(&self) -> f64 {
        1.0 / self.epsilon
    }

    /// How far the row sums of T are from 1, at most.
    fn row_error(&self, columns: Tensor<3>) -> f64 {
        let error = (self.plan(columns).sum_dim(2) - 1.0).abs().max();
        error.try_to_vec_as::<f64>().expect("sums are numbers")[0]
    }

    fn at(&self, epsilon: f64) -> Self {
        Self { cost: self.cost.clone(), log_weights: self.log_weights.clone(), epsilon }
    }
}
