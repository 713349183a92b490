//! The squared error of the mean state, at labelled steps.

use super::Objective;
use crate::batch::{Batch, LabelMean, Labels};
use crate::filter::Rollout;
use crate::model::{Model, Observations};
use crate::prior::row;
use crate::space::Space;
use burn::tensor::Tensor;

/// The mean over labelled steps of Σ_k ((s*_k - ŝ_k) / scale_k)², angles wrapped: paper's L(θ).
/// A term beyond 1e30 counts as 1e30, without gradient.
#[derive(Clone, Debug)]
pub struct SquaredError {
    /// Normalisation statistics in each coordinate, for instance the mean size of a step. S numbers.
    pub scale: Vec<f64>,
    /// What the sum is divided by.
    pub over: LabelMean,
}

/// Squares of 32 bits overflow at 3e38, and a batch of them is added.
const MOST: f64 = 1e30;

impl SquaredError {
    /// The loss of any estimates [B, T, S], `[1]`.
    pub fn of(&self, estimates: Tensor<3>, labels: &Labels, space: Space) -> Tensor<1> {
        let scale = row(&self.scale, &estimates);
        labels.mean(self.over, |truth| {
            let errors = (space.difference(truth, estimates) / scale).square(); // [B, T, S]
            errors.clamp_max(MOST).sum_dim(2).squeeze_dim(2)
        })
    }
}

impl<M: Model> Objective<M> for SquaredError {
    fn name(&self) -> &'static str {
        "squared error"
    }

    fn loss(&self, _: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        self.of(rollout.estimates(), &batch.labels, rollout.space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{f64s, numbers};
    use burn::tensor::{Bool, Device};

    /// By hand: ((1 - 4) / 2)² + ((3.1 + 3.1 - 2π) / 0.1)² at the only label.
    #[test]
    fn scales_and_wraps() {
        let known = Tensor::<2, Bool>::from_data([[true, false]], &Device::flex().autodiff());
        let labels = Labels::new(f64s([[[1.0, 3.1], [9.0, 9.0]]]), known);
        let error = SquaredError { scale: vec![2.0, 0.1], over: LabelMean::Known };
        let found = numbers(&error.of(f64s([[[4.0, -3.1], [0.0, 0.0]]]), &labels, Space::new(&[1])))[0];
        let turn = (6.2 - std::f64::consts::TAU) / 0.1;
        assert!((found - 2.25 - turn * turn).abs() < 1e-11, "{found}");
    }

    /// The square of 1e25 is infinite in 32 bits: a large number stands for it, without gradient.
    #[test]
    fn squares_stay_finite() {
        let device = Device::flex().autodiff();
        let known = Tensor::<2, Bool>::from_data([[true, true]], &device);
        let labels = Labels::new(Tensor::zeros([1, 2, 1], &device), known);
        let error = SquaredError { scale: vec![1.0], over: LabelMean::Known };
        let estimates = Tensor::<3>::from_data([[[1e25_f32], [3.0]]], &device).require_grad();
        let loss = error.of(estimates.clone(), &labels, Space::LINEAR);
        assert!((numbers(&loss)[0] / 5e29 - 1.0).abs() < 1e-6, "{loss}");
        assert_eq!(numbers(&estimates.grad(&loss.backward()).unwrap()), [0.0, 3.0]);
    }
}
