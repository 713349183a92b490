//! Gauss–Newton over a whole path: linearise, solve the block-tridiagonal system, repeat.

use super::dense::Matrix;
use super::tridiagonal::Tridiagonal;
use super::{Chain, ChainError, Dynamics, Posterior, difference};
use std::f64::consts::TAU;

/// More than ever seen to be needed: odometry converges within ten.
const MOST_STEPS: usize = 100;
/// A step is halved this often before the search gives up.
const MOST_HALVINGS: usize = 40;
/// Corrections below this many posterior standard deviations are the end.
const ENOUGH: f64 = 1e-9;

/// Improves `path` until it no longer moves.
pub(super) fn search<D: Dynamics>(
    chain: &Chain<'_, D>,
    mut path: Vec<Vec<f64>>,
) -> Result<Posterior, ChainError> {
    let space = chain.dynamics.space();
    let undetermined = |step| ChainError::Undetermined { step };
    let mut converged = false;
    for _ in 0..MOST_STEPS {
        let system = linearised(chain, &path);
        let correction = system.eliminate().map_err(undetermined)?.mean();
        converged = is_small(&correction, &system);
        let Some(better) = descend(chain, &path, &correction) else { break };
        path = better;
        if converged {
            break;
        }
    }
    for state in &mut path {
        space.wrap_numbers(state);
    }
    let system = linearised(chain, &path);
    let eliminated = system.eliminate().map_err(undetermined)?;
    let (mut covariance, cross) = eliminated.covariances();
    let exact: Vec<bool> = (0..path.len()).map(|t| chain.is_exact(t)).collect();
    for (covariance, _) in covariance.iter_mut().zip(&exact).filter(|(_, exact)| **exact) {
        *covariance = Matrix::zeros(covariance.size());
    }
    let log_evidence = factors(chain) - cost(chain, &path) - eliminated.half_log_determinant();
    Ok(Posterior { space, mean: path, covariance, cross, converged, log_evidence, exact, system })
}

/// The constants of all densities multiplied, -½ Σ log |2π Σ|, and that of the integral over the states
/// that are not exact, ½ S log 2π each; an exact label's unit block adds nothing to log |H|.
fn factors<D: Dynamics>(chain: &Chain<'_, D>) -> f64 {
    let constant = |covariance: &Matrix| {
        let factor = covariance.cholesky(0.0).expect("covariances were checked");
        factor.half_log_determinant() + 0.5 * covariance.size() as f64 * TAU.ln()
    };
    let size =
        (0..chain.labels.len()).find_map(|t| chain.known(t).next()).map_or(0, |label| label.state.len());
    let mut sum = 0.0;
    for t in 0..chain.actions.len() {
        let exact = chain.is_exact(t);
        for label in chain.known(t).filter(|_| !exact) {
            sum -= label.covariance.as_ref().map_or(0.0, constant);
        }
        if t > 0 {
            sum -= constant(&chain.dynamics.noise(&chain.actions[t]));
        }
        if !exact {
            sum += 0.5 * size as f64 * TAU.ln();
        }
    }
    sum
}

/// δᵀ H_tt δ < ENOUGH² at every step.
fn is_small(correction: &[Vec<f64>], system: &Tridiagonal) -> bool {
    correction.iter().zip(&system.diagonal).all(|(change, block)| {
        let length: f64 = change.iter().zip(block.apply(change)).map(|(a, b)| a * b).sum();
        length < ENOUGH * ENOUGH
    })
}

/// The path corrected by the largest of 1, ½, ¼, … of `correction` that makes it no less probable.
fn descend<D: Dynamics>(
    chain: &Chain<'_, D>,
    path: &[Vec<f64>],
    correction: &[Vec<f64>],
) -> Option<Vec<Vec<f64>>> {
    let before = cost(chain, path);
    // At the optimum the cost no longer changes but for rounding.
    let allowed = before + 1e-12 * before.abs() + 1e-12;
    let moved = |share: f64| -> Vec<Vec<f64>> {
        let step = |state: &Vec<f64>, change: &Vec<f64>| {
            state.iter().zip(change).map(|(state, change)| state + share * change).collect()
        };
        path.iter().zip(correction).map(|(state, change)| step(state, change)).collect()
    };
    let shares = (0..MOST_HALVINGS).map(|k| 0.5_f64.powi(k as i32));
    shares.map(moved).find(|path| cost(chain, path) <= allowed)
}

/// -log p(path | labels) up to a constant: half the sum of squared, whitened residuals.
pub(super) fn cost<D: Dynamics>(chain: &Chain<'_, D>, path: &[Vec<f64>]) -> f64 {
    let space = chain.dynamics.space();
    let half_square = |covariance: &Matrix, residual: &[f64]| {
        let factor = covariance.cholesky(0.0).expect("covariances were checked");
        0.5 * factor.whiten(residual).iter().map(|z| z * z).sum::<f64>()
    };
    let mut sum = 0.0;
    for (t, state) in path.iter().enumerate() {
        for label in chain.known(t).filter(|_| !chain.is_exact(t)) {
            let covariance = label.covariance.as_ref().expect("the label is not exact");
            sum += half_square(covariance, &difference(space, &label.state, state));
        }
        if t > 0 {
            let expected = chain.dynamics.moved(&path[t - 1], &chain.actions[t]);
            let noise = chain.dynamics.noise(&chain.actions[t]);
            sum += half_square(&noise, &difference(space, state, &expected));
        }
    }
    sum
}

/// The quadratic that the cost is around `path`, in corrections to it: H = Σ Jᵀ Q⁻¹ J, and the
/// negative gradient. Steps with an exact label take no part.
fn linearised<D: Dynamics>(chain: &Chain<'_, D>, path: &[Vec<f64>]) -> Tridiagonal {
    let (space, size, steps) = (chain.dynamics.space(), path[0].len(), path.len());
    let mut diagonal = vec![Matrix::zeros(size); steps];
    let mut upper = vec![Matrix::zeros(size); steps - 1];
    let mut right = vec![vec![0.0; size]; steps];
    let add = |into: &mut Vec<f64>, sign: f64, column: &[f64]| {
        into.iter_mut().zip(column).for_each(|(into, value)| *into += sign * value);
    };
    for (t, state) in path.iter().enumerate() {
        for label in chain.known(t) {
            let Some(covariance) = &label.covariance else { continue };
            let information = inverse(covariance);
            add(&mut right[t], 1.0, &information.apply(&difference(space, &label.state, state)));
            diagonal[t] = diagonal[t].plus(1.0, &information);
        }
        if t == 0 {
            continue;
        }
        let (action, parent) = (&chain.actions[t], &path[t - 1]);
        let information = inverse(&chain.dynamics.noise(action));
        let slope = chain.dynamics.jacobian(parent, action);
        let residual = difference(space, state, &chain.dynamics.moved(parent, action));
        let pulled = information.apply(&residual);
        let turned = slope.transposed().times(&information); // Jᵀ Q⁻¹
        add(&mut right[t], -1.0, &pulled);
        add(&mut right[t - 1], 1.0, &slope.transposed().apply(&pulled));
        diagonal[t] = diagonal[t].plus(1.0, &information);
        diagonal[t - 1] = diagonal[t - 1].plus(1.0, &turned.times(&slope));
        upper[t - 1] = upper[t - 1].plus(-1.0, &turned);
    }
    let mut system = Tridiagonal { diagonal, upper, right };
    (0..steps).filter(|&t| chain.is_exact(t)).for_each(|t| system.hold(t));
    system
}

fn inverse(covariance: &Matrix) -> Matrix {
    covariance.cholesky(0.0).expect("covariances were checked").inverse()
}

impl Tridiagonal {
    /// Makes x_t = 0 for certain, whatever the others are: a unit block that touches no other.
    fn hold(&mut self, t: usize) {
        let size = self.right[t].len();
        self.diagonal[t] = Matrix::identity(size);
        self.right[t] = vec![0.0; size];
        for k in [t.checked_sub(1), Some(t)].into_iter().flatten() {
            if let Some(upper) = self.upper.get_mut(k) {
                *upper = Matrix::zeros(size);
            }
        }
    }
}
