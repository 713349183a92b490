//! A Gaussian chain on plain numbers: the most probable path between labels, and how sure it is.
//!
//! s_t = f(s_{t-1}, a_t) + N(0, Q_t), with labels y_t = s_t + N(0, R_t), or exact ones, at some
//! steps. Where f is linear everything is exact (it is then Rauch, Tung & Striebel's smoother, in
//! information form); otherwise Gauss–Newton finds the path of maximal posterior density, and the
//! covariances are those of the model linearised along it (Laplace's approximation without second
//! derivatives of f).

mod bridge;
mod dense;
mod gauss_newton;
mod odometry;
mod reckoning;
mod tridiagonal;

pub use bridge::{Bridge, Link};
pub use dense::Matrix;
pub use odometry::{Odometry, SoftLabels, soft_labels};

use crate::space::Space;
use std::fmt;
use tridiagonal::Tridiagonal;

/// How a state of S numbers moves, f and Q.
pub trait Dynamics {
    /// Which coordinates are angles.
    fn space(&self) -> Space;

    /// Where a state goes without noise, f(s, a).
    fn moved(&self, state: &[f64], action: &[f64]) -> Vec<f64>;

    /// The covariance Q of the noise; it may depend on the action, not on the state.
    fn noise(&self, action: &[f64]) -> Matrix;

    /// Whether the motion knows what to make of an action; numbers that are not finite are refused unless this says otherwise.
    fn accepts(&self, action: &[f64]) -> bool {
        action.iter().all(|value| value.is_finite())
    }

    /// ∂f/∂s; unless given, by central differences, whose error is about 1e-10 of f.
    fn jacobian(&self, state: &[f64], action: &[f64]) -> Matrix {
        let column = |k: usize| {
            let h = 1e-5 * state[k].abs().max(1.0);
            let at = |shift: f64| {
                let mut near = state.to_vec();
                near[k] += shift;
                self.moved(&near, action)
            };
            let slope = difference(self.space(), &at(h), &at(-h));
            slope.into_iter().map(|change| change / (2.0 * h)).collect::<Vec<_>>()
        };
        let columns: Vec<Vec<f64>> = (0..state.len()).map(column).collect();
        Matrix::from_fn(state.len(), |i, j| columns[j][i])
    }

    /// The state that f leads to `next`, for a first guess only; unless given, by Newton's method,
    /// and where that finds none, `next` itself.
    fn before(&self, next: &[f64], action: &[f64]) -> Vec<f64> {
        reckoning::newton(self, next, action)
    }
}

/// Knowledge of one state: a value, and its covariance. Without covariance it is exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The state, S numbers.
    pub state: Vec<f64>,
    /// How uncertain it is; None if not at all.
    pub covariance: Option<Matrix>,
}

/// One trajectory of T steps.
#[derive(Clone, Debug)]
pub struct Chain<'a, D: Dynamics> {
    /// How states move.
    pub dynamics: &'a D,
    /// Action t leads into step t, so action 0 is unused. T of them.
    pub actions: &'a [Vec<f64>],
    /// What is known of each state. T of them.
    pub labels: &'a [Option<Label>],
    /// What is known of the first state besides; None if nothing is.
    pub prior: Option<&'a Label>,
}

/// The posterior of a whole path.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// Which coordinates are angles.
    pub space: Space,
    /// The most probable path, T states of S numbers; angles in [-π, π).
    pub mean: Vec<Vec<f64>>,
    /// Cov(s_t), T of them; zero at exact labels.
    pub covariance: Vec<Matrix>,
    /// Cov(s_t, s_{t+1}), T - 1 of them: what expectation maximisation needs besides.
    pub cross: Vec<Matrix>,
    /// Whether the search ended at a maximum. If not, the path is the best one found.
    pub converged: bool,
    /// log p(labels | actions), nothing being known of the first state but its prior, and all states in
    /// between integrated out (linearised: Laplace's approximation). What a noise is to be evaluated by.
    pub log_evidence: f64,
    exact: Vec<bool>,
    system: Tridiagonal,
}

/// Why a chain has no posterior.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// There are no steps, or not as many labels as actions.
    Steps {
        /// Number of actions.
        actions: usize,
        /// Number of labels.
        labels: usize,
    },
    /// There is neither a label nor a prior: the path could be anywhere.
    NothingKnown,
    /// A number is not finite, a state has another size than the first, or a covariance is not
    /// positive definite.
    Invalid {
        /// At which step.
        step: usize,
        /// What.
        what: &'static str,
    },
    /// Labels, prior and motion together leave a direction open.
    Undetermined {
        /// The step at which that was noticed.
        step: usize,
    },
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps { actions, labels } => write!(f, "a chain of {actions} actions and {labels} labels"),
            Self::NothingKnown => write!(f, "a chain without label and prior could be anywhere"),
            Self::Invalid { step, what } => write!(f, "step {step}: invalid {what}"),
            Self::Undetermined { step } => write!(f, "step {step}: the labels do not determine the path"),
        }
    }
}

impl std::error::Error for ChainError {}

impl<D: Dynamics> Chain<'_, D> {
    /// The posterior given all labels.
    pub fn smooth(&self) -> Result<Posterior, ChainError> {
        self.check()?;
        gauss_newton::search(self, reckoning::first_path(self))
    }

    /// Everything known of step t, the prior counting for the first.
    fn known(&self, t: usize) -> impl Iterator<Item = &Label> {
        self.labels[t].iter().chain(self.prior.filter(|_| t == 0))
    }

    /// Whether an exact label fixes step t.
    fn is_exact(&self, t: usize) -> bool {
        self.known(t).any(|label| label.covariance.is_none())
    }

    fn check(&self) -> Result<(), ChainError> {
        let (actions, labels) = (self.actions.len(), self.labels.len());
        if actions == 0 || actions != labels {
            return Err(ChainError::Steps { actions, labels });
        }
        let first = (0..actions).find_map(|t| self.known(t).next());
        let size = first.ok_or(ChainError::NothingKnown)?.state.len();
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        for step in 0..actions {
            let invalid = |what| Err(ChainError::Invalid { step, what });
            for label in self.known(step) {
                if label.state.len() != size || !finite(&label.state) {
                    return invalid("label");
                }
                if label.covariance.as_ref().is_some_and(|covariance| !is_covariance(covariance, size)) {
                    return invalid("covariance of a label");
                }
            }
            if step > 0 && !self.dynamics.accepts(&self.actions[step]) {
                return invalid("action");
            }
            if step > 0 && !is_covariance(&self.dynamics.noise(&self.actions[step]), size) {
                return invalid("noise of the motion");
            }
        }
        Ok(())
    }
}

fn is_covariance(matrix: &Matrix, size: usize) -> bool {
    matrix.size() == size && matrix.is_finite() && matrix.cholesky(1e-14).is_some()
}

/// a - b, angles wrapped.
fn difference(space: Space, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut result: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    space.wrap_numbers(&mut result);
    result
}
