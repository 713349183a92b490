//! The first path of a chain: dead reckoning from the nearest labels on both sides.

use super::{Chain, Dynamics, difference};

/// Steps of Newton's method, which needs one for linear motion and a few for odometry.
const NEWTON_STEPS: usize = 20;

/// A state, and how many steps ago it was known.
type Reckoned = Option<(Vec<f64>, usize)>;

/// At each step the states reckoned forwards from the last known one and backwards from the next,
/// mixed in proportion to their distances; labels themselves are taken as they are.
pub(super) fn first_path<D: Dynamics>(chain: &Chain<'_, D>) -> Vec<Vec<f64>> {
    let (space, steps) = (chain.dynamics.space(), chain.labels.len());
    let known = |t: usize| {
        // An exact label has the last word, then a label, then the prior.
        let exact = chain.known(t).find(|label| label.covariance.is_none());
        exact.or_else(|| chain.known(t).next()).map(|label| (label.state.clone(), 0))
    };
    let mut from_before: Vec<Reckoned> = (0..steps).map(known).collect();
    let mut from_after = from_before.clone();
    for t in 1..steps {
        if let (None, Some((state, age))) = (&from_before[t], &from_before[t - 1]) {
            from_before[t] = Some((chain.dynamics.moved(state, &chain.actions[t]), age + 1));
        }
    }
    for t in (1..steps).rev() {
        if let (None, Some((state, age))) = (&from_after[t - 1], &from_after[t]) {
            from_after[t - 1] = Some((chain.dynamics.before(state, &chain.actions[t]), age + 1));
        }
    }
    let mix = |pair: (Reckoned, Reckoned)| match pair {
        (Some((early, since)), Some((late, until))) => {
            let share = if since == 0 { 0.0 } else { since as f64 / (since + until) as f64 };
            let apart = difference(space, &late, &early);
            early.iter().zip(apart).map(|(early, apart)| early + share * apart).collect()
        }
        (Some((state, _)), None) | (None, Some((state, _))) => state,
        (None, None) => unreachable!("a chain was checked to know something"),
    };
    let mut path: Vec<Vec<f64>> = from_before.into_iter().zip(from_after).map(mix).collect();
    for state in &mut path {
        space.wrap_numbers(state);
    }
    path
}

/// Solves f(s, a) = next by Newton's method from s = next; gives `next` where that fails.
pub(super) fn newton<D: Dynamics + ?Sized>(dynamics: &D, next: &[f64], action: &[f64]) -> Vec<f64> {
    let mut state = next.to_vec();
    for _ in 0..NEWTON_STEPS {
        let residual = difference(dynamics.space(), next, &dynamics.moved(&state, action));
        let jacobian = dynamics.jacobian(&state, action);
        let turned = jacobian.transposed();
        // JᵀJ δ = Jᵀ r; squaring the condition is harmless in a guess that is iterated.
        let Some(normal) = turned.times(&jacobian).cholesky(1e-12) else { return next.to_vec() };
        let step = normal.solve(&turned.apply(&residual));
        state.iter_mut().zip(&step).for_each(|(state, step)| *state += step);
        if state.iter().any(|value| !value.is_finite()) {
            return next.to_vec();
        }
        if step.iter().zip(&state).all(|(step, state)| step.abs() < 1e-10 * state.abs().max(1.0)) {
            return state;
        }
    }
    next.to_vec()
}
