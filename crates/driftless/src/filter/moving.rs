//! Moving particles by actions that may be lost.

use crate::model::{Model, Transition};
use burn::tensor::{Bool, Int, Tensor};

/// Particles after a move.
pub(crate) struct Moved {
    /// Where they stand, [B, N, S]; finite if the parents were.
    pub states: Tensor<3>,
    /// 1 where the action was lost, or the move of any particle, `[B]`.
    pub lost: Tensor<1, Int>,
}

/// Samples the motion. An action that is not finite counts as zeros, and a particle that would go where
/// nothing is finite stays where it was: a NaN among the states would soon be everywhere.
///
/// # Shapes
/// parents [B, N, S], action [B, A], noise [B, N, ·].
pub(crate) fn moved<M: Model>(model: &M, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Moved {
    let (action, action_lost) = screened(action); // [B, A], [B, 1]
    let states = model.transition().sample(parents.clone(), action, noise); // [B, N, S]
    let stuck = not_finite(&states); // [B, N, 1]
    let lost = action_lost.bool_or(stuck.clone().any_dim(1).squeeze_dim(2));
    let states = states.clone().mask_where(stuck.expand(states.dims()), parents);
    Moved { states, lost: lost.int().squeeze_dim(1) }
}

/// Actions [.., A] with zeros in the place of those that are not finite, and which these are, [.., 1].
pub(crate) fn screened<const D: usize>(actions: Tensor<D>) -> (Tensor<D>, Tensor<D, Bool>) {
    let lost = not_finite(&actions);
    let dims = actions.dims();
    (actions.mask_fill(lost.clone().expand(dims), 0.0), lost)
}

/// Action t of [B, T, A] as the filter used it, [B, A].
pub(crate) fn action_at(actions: &Tensor<3>, t: usize) -> Tensor<2> {
    screened(actions.clone().slice_dim(1, t..t + 1).squeeze_dim(1)).0
}

/// Where any number of the last dimension is not finite, [.., 1].
fn not_finite<const D: usize>(values: &Tensor<D>) -> Tensor<D, Bool> {
    values.clone().is_finite().bool_not().any_dim(D - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GaussianMotion, GaussianReading, Shift, StateSpace};
    use crate::space::Space;
    use crate::testing::{f64s, numbers};

    /// Sequences are lost one by one, particles too; noise moves even those without action.
    #[test]
    fn what_is_lost_stays() {
        let transition = GaussianMotion::new(Shift::default(), vec![0.5, 0.5], Space::LINEAR);
        let measurement = GaussianReading::new(vec![1.0, 1.0], Space::LINEAR);
        let model = StateSpace { transition, measurement };
        let parents = f64s::<3>([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]; 2]]);
        let action = f64s::<2>([[0.1, 0.2], [f64::NAN, 0.2], [0.1, 0.2]]);
        let noise =
            f64s::<3>([[[0.0, 2.0], [0.0; 2]], [[2.0, 0.0], [0.0; 2]], [[f64::INFINITY, 0.0], [0.0; 2]]]);
        let Moved { states, lost } = moved(&model, parents, action, noise);
        let expected = [1.1, 3.2, 3.1, 4.2, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.1, 6.2];
        crate::testing::assert_close(&numbers(&states), &expected, 1e-14);
        assert_eq!(lost.try_to_vec_as::<i32>().unwrap(), [0, 1, 1]);
    }
}
