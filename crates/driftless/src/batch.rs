//! What a learner is given: observations, actions, and the few true states that are known.

mod lessons;
mod pixels;
mod readings;
mod scale;
mod shrunk;

pub use pixels::PixelScale;
pub(crate) use readings::images_of;
pub use readings::{Readings, Scales};
pub use scale::ReadingScale;
pub use shrunk::shrunk;

use burn::tensor::{Bool, Tensor};

/// B sequences of T steps.
#[derive(Clone, Debug)]
pub struct Batch<O> {
    /// What was observed, [B, T, ...].
    pub observations: O,
    /// Action t leads into step t, [B, T, A].
    pub actions: Tensor<3>,
    /// What is known of the truth.
    pub labels: Labels,
}

/// True states where known. Hidden ones are overwritten when this is made, so no loss can read
/// them, and whatever stood there (NaN, say) cannot spread.
#[derive(Clone, Debug)]
pub struct Labels {
    states: Tensor<3>,
    known: Tensor<2, Bool>,
}

/// What a sum over labelled steps is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LabelMean {
    /// Their number in this batch: the paper's 1 / |T_1|.
    Known,
    /// B T times the share of labels in the whole data, in (0, 1]: the authors' code. Equal in
    /// expectation; batches with more labels weigh more. With a share of 0 the mean is 0.
    Share(f64),
}

impl Labels {
    /// States [B, T, S], and which of them are known, [B, T]. A state that is not finite is not known,
    /// whatever is said of it; [`Labels::count`] tells how many are left.
    pub fn new(states: Tensor<3>, known: Tensor<2, Bool>) -> Self {
        let finite = states.clone().is_finite().all_dim(2).squeeze_dim::<2>(2);
        let known = known.bool_and(finite);
        let hidden = known.clone().bool_not().unsqueeze_dim::<3>(2).expand(states.dims());
        Self { states: states.mask_fill(hidden, 0.0), known }
    }

    /// How many states are known.
    pub fn count(&self) -> usize {
        self.known.clone().int().sum().try_to_vec_as::<i64>().expect("a count is a number")[0] as usize
    }

    /// What `term` makes of the true states of step t, where they are known, and 0 where hidden. It is
    /// computed for all sequences, hidden truths reading 0, and dropped where hidden.
    ///
    /// # Shapes
    /// `term` makes [B, N] of true states [B, S].
    pub fn at(&self, t: usize, term: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
        let truth = self.states.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1);
        let values = term(truth); // [B, N]
        let hidden = self.known.clone().slice_dim(1, t..t + 1).bool_not().expand(values.dims());
        values.mask_fill(hidden, 0.0)
    }

    /// Particles [B, N, S] of step t, all moved to the true state where it is known.
    pub fn pin(&self, t: usize, states: Tensor<3>) -> Tensor<3> {
        let known = self.known.clone().slice_dim(1, t..t + 1).unsqueeze_dim::<3>(2).expand(states.dims());
        let truth = self.states.clone().slice_dim(1, t..t + 1).expand(states.dims());
        states.mask_where(known, truth)
    }

    /// The mean of an error over the labelled steps; 0 without labels. The error is computed at all
    /// steps, hidden truths reading 0, and dropped where hidden.
    ///
    /// # Shapes
    /// `error` makes [B, T] of true states [B, T, S].
    pub fn mean(&self, over: LabelMean, error: impl FnOnce(Tensor<3>) -> Tensor<2>) -> Tensor<1> {
        let errors = error(self.states.clone()); // [B, T]
        let [batch, steps] = errors.dims();
        let sum = errors.mask_fill(self.known.clone().bool_not(), 0.0).sum();
        let count = match over {
            LabelMean::Known => self.count().max(1) as f64,
            LabelMean::Share(share) => batch as f64 * steps as f64 * share,
        };
        // Burn 0.22 differentiates a division by a number in 32 bits, a product in all.
        sum * if count > 0.0 { 1.0 / count } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    fn labels(known: [[bool; 2]; 2]) -> Labels {
        let states = f64s::<3>([[[1.0], [f64::NAN]], [[f64::INFINITY], [4.0]]]);
        Labels::new(states, Tensor::from_data(known, &burn::tensor::Device::flex().autodiff()))
    }

    #[test]
    fn hidden_states_do_not_exist() {
        let labels = labels([[true, false], [false, true]]);
        let guess = f64s::<2>([[0.0, 5.0], [7.0, 1.0]]).require_grad();
        let error = |truth: Tensor<3>| (truth.squeeze_dim::<2>(2) - guess.clone()).square();
        let mean = labels.mean(LabelMean::Known, error);
        assert_close(&numbers(&mean), &[5.0], 1e-12);
        assert_close(&numbers(&labels.mean(LabelMean::Share(0.25), error)), &[10.0], 1e-12);
        let gradient = numbers(&guess.grad(&mean.backward()).unwrap());
        assert_close(&gradient, &[-1.0, 0.0, 0.0, -3.0], 1e-12);
    }

    #[test]
    fn hidden_states_are_not_told() {
        let labels = labels([[true, false], [false, true]]);
        let particles = f64s::<3>([[[5.0], [6.0]], [[7.0], [8.0]]]);
        let seen = |truth: Tensor<2>| truth.expand([2, 2]) + 10.0;
        assert_eq!(numbers(&labels.at(0, seen)), [11.0, 11.0, 0.0, 0.0]);
        assert_eq!(numbers(&labels.at(1, seen)), [0.0, 0.0, 14.0, 14.0]);
        assert_eq!(numbers(&labels.pin(0, particles.clone())), [1.0, 1.0, 7.0, 8.0]);
        assert_eq!(numbers(&labels.pin(1, particles)), [5.0, 6.0, 4.0, 4.0]);
    }

    #[test]
    fn no_labels_no_error() {
        let mean = labels([[false; 2]; 2]).mean(LabelMean::Known, |truth| truth.squeeze_dim(2) + 1.0);
        assert_eq!(numbers(&mean), [0.0]);
        let one = labels([[true, false], [false; 2]]);
        assert_eq!(numbers(&one.mean(LabelMean::Share(0.0), |truth| truth.squeeze_dim(2))), [0.0]);
    }

    /// The second and third states are NaN and infinite: they are not known, though it is said.
    #[test]
    fn what_is_not_finite_is_no_label() {
        let labels = labels([[true; 2]; 2]);
        assert_eq!(labels.count(), 2);
        let mean = labels.mean(LabelMean::Known, |truth| truth.squeeze_dim(2));
        assert_close(&numbers(&mean), &[2.5], 1e-12);
    }
}
