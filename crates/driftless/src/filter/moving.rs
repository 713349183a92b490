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

/// Samples the motion. Where an action is not finite, particles wander, or it counts as zeros if the motion does not say
/// how; and a particle that would go where nothing is finite stays where it was: a NaN among the states would soon be
/// everywhere.
///
/// # Shapes
/// parents [B, N, S], action [B, A], noise [B, N, ·].
pub(crate) fn moved<M: Model>(model: &M, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Moved {
    let (action, action_lost) = screened(action); // [B, A], [B, 1]
    let mut states = model.transition().sample(parents.clone(), action, noise.clone()); // [B, N, S]
    if let Some(wander) = model.transition().wander() {
        let missing = action_lost.clone().unsqueeze_dim::<3>(2).expand(states.dims());
        states = states.mask_where(missing, wander.sample(parents.clone(), noise));
    }
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

/// log g of states [B, N, S] given their parents and action t of [B, T, A], as the filter moved them, [B, N].
pub(crate) fn log_density<M: Model>(
    model: &M,
    parents: Tensor<3>,
    states: Tensor<3>,
    actions: &Tensor<3>,
    t: usize,
) -> Tensor<2> {
    let (action, missing) = screened(actions.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1)); // [B, A], [B, 1]
    let told = model.transition().log_density(parents.clone(), states.clone(), action);
    let Some(wander) = model.transition().wander() else { return told };
    let dims = told.dims();
    told.mask_where(missing.expand(dims), wander.log_density(parents, states))
}

/// Where any number of the last dimension is not finite, [.., 1].
fn not_finite<const D: usize>(values: &Tensor<D>) -> Tensor<D, Bool> {
    values.clone().is_finite().bool_not().any_dim(D - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GaussianMotion, GaussianReading, Shift, StateSpace, Wander};
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

    /// By hand: only the second sequence has no action. Its particles move by the noise times 2 and 3, and their density
    /// is that of the noise.
    #[test]
    fn a_missing_action_is_not_standing_still() {
        let wander = Wander::new(vec![2.0, 3.0], Space::LINEAR);
        let transition =
            GaussianMotion::new(Shift::default(), vec![0.5, 0.5], Space::LINEAR).wandering(wander);
        let measurement = GaussianReading::new(vec![1.0, 1.0], Space::LINEAR);
        let model = StateSpace { transition, measurement };
        let (parents, noise) = (f64s::<3>([[[1.0, 2.0]]; 2]), f64s::<3>([[[1.0, -2.0]]; 2]));
        let actions = f64s::<3>([[[0.1, 0.2]], [[0.1, f64::NAN]]]);
        let action = actions.clone().squeeze_dim::<2>(1);
        let Moved { states, lost } = moved(&model, parents.clone(), action, noise);
        crate::testing::assert_close(&numbers(&states), &[1.6, 1.2, 3.0, -4.0], 1e-14);
        assert_eq!(lost.try_to_vec_as::<i32>().unwrap(), [0, 1]);
        let found = numbers(&log_density(&model, parents, states, &actions, 0));
        let of_noise = -0.5 * (1.0 + 4.0) - std::f64::consts::TAU.ln();
        crate::testing::assert_close(&found, &[of_noise - 0.25_f64.ln(), of_noise - 6.0_f64.ln()], 1e-12);
    }
}
