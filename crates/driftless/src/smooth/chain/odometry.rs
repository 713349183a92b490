//! Soft labels for robots: few labelled poses and odometry become a pose with covariance at every step.

use super::{Chain, ChainError, Dynamics, Label, Matrix};
use crate::space::Space;
use driftless_world::pose::{Frame, Pose};

/// Odometry in the plane whose noise may grow with the motion.
///
/// Variances of independent causes add: σ² = floor² + (share · |a|)², with |a| the distance for x and
/// y and the turn for the heading, each with a floor and a share of its own. The noise is the same along both axes, so it
/// does not depend on where the robot looks. An action of NaN is missing: nothing is said of where it led, and the
/// variance is that of what the robot could have done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odometry {
    frame: Frame,
    floor: [f64; 2],
    share: [f64; 2],
    missing: [f64; 2],
}

impl Odometry {
    /// Actions written in `frame`, with standard deviations at rest of position and heading, and the
    /// shares of distance and turn that are noise (0.1 for 10 %). Noise of 10 % on each of two numbers of a
    /// step, independently, is 7 % of its length along either axis on average.
    ///
    /// # Panics
    /// If a standard deviation at rest is not positive and finite (the density would not exist), or
    /// a share is negative or not finite.
    pub fn new(frame: Frame, std_floor: [f64; 2], share: [f64; 2]) -> Self {
        let valid = std_floor.iter().all(|&std| std > 0.0 && std.is_finite());
        assert!(valid, "standard deviations must be positive: {std_floor:?}");
        let valid = share.iter().all(|&share| share >= 0.0 && share.is_finite());
        assert!(valid, "shares must not be negative: {share:?}");
        Self { frame, floor: std_floor, share, missing: [0.0; 2] }
    }

    /// With standard deviations of position and heading that are added where an action is missing.
    pub fn with_missing(self, missing: [f64; 2]) -> Self {
        Self { missing, ..self }
    }

    /// Where an action leads from a pose, without noise.
    pub fn carried(&self, from: &[f64; 3], action: &[f64; 3]) -> [f64; 3] {
        let moved = pose(from).moved(known(action).unwrap_or_default(), self.frame);
        [moved.x, moved.y, moved.heading]
    }

    /// Variances of the noise of an action, of x, y and heading.
    pub fn variances(&self, action: &[f64; 3]) -> [f64; 3] {
        let variance = |k: usize, size: f64| self.floor[k].powi(2) + (self.share[k] * size).powi(2);
        let Some(action) = known(action) else {
            let [position, heading] = [0, 1].map(|k| self.floor[k].powi(2) + self.missing[k].powi(2));
            return [position, position, heading];
        };
        let position = variance(0, action[0].hypot(action[1]));
        [position, position, variance(1, action[2])]
    }
}

fn triple(values: &[f64]) -> [f64; 3] {
    std::array::from_fn(|k| values[k])
}

/// An action that is there.
fn known(action: &[f64; 3]) -> Option<[f64; 3]> {
    action.iter().all(|x| x.is_finite()).then_some(*action)
}

fn pose(state: &[f64]) -> Pose {
    Pose::new(state[0], state[1], state[2])
}

impl Dynamics for Odometry {
    fn space(&self) -> Space {
        Space::SE2
    }

    fn moved(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        self.carried(&triple(state), &triple(action)).to_vec()
    }

    /// A row of NaN is a missing action.
    fn accepts(&self, action: &[f64]) -> bool {
        known(&triple(action)).is_some() || action.iter().all(|value| value.is_nan())
    }

    fn noise(&self, action: &[f64]) -> Matrix {
        Matrix::diagonal(&self.variances(&triple(action)))
    }

    /// A turn of the robot turns its step: ∂(x, y)/∂θ = (-Δy, Δx), unless steps are written in the world's frame.
    fn jacobian(&self, state: &[f64], action: &[f64]) -> Matrix {
        let (from, to) = (pose(state), pose(&self.moved(state, action)));
        Matrix::from_fn(3, |i, j| match (i, j) {
            (0, 2) => self.frame.turning() * (from.y - to.y),
            (1, 2) => self.frame.turning() * (to.x - from.x),
            _ => f64::from(u8::from(i == j)),
        })
    }

    /// The heading before is known, and with it the step.
    fn before(&self, next: &[f64], action: &[f64]) -> Vec<f64> {
        let action = known(&triple(action)).unwrap_or_default();
        let heading = next[2] - action[2];
        let step = Pose::new(0.0, 0.0, heading).moved(action, self.frame);
        let mut before = vec![next[0] - step.x, next[1] - step.y, heading];
        Space::SE2.wrap_numbers(&mut before);
        before
    }
}

/// A pose with covariance at every step.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftLabels {
    /// Most probable poses, T of them: x, y, heading in [-π, π).
    pub mean: Vec<[f64; 3]>,
    /// Their covariances, T of them; zero at exact labels.
    pub covariance: Vec<[[f64; 3]; 3]>,
    /// Whether the search for them ended; if not, they are the best found.
    pub converged: bool,
}

/// Labels between labels: T actions (action t leads into step t, the first is unused) and a true pose
/// at some of the steps, exact or with the standard deviations `label_std`.
///
/// ```
/// use driftless::smooth::chain::{Odometry, soft_labels};
/// use driftless_world::pose::Frame;
/// let odometry = Odometry::new(Frame::Robot, [0.1, 0.01], [0.0; 2]);
/// let labels = [Some([0.0, 0.0, 0.0]), None, Some([2.2, 0.0, 0.0])];
/// let soft = soft_labels(&odometry, &[[1.0, 0.0, 0.0]; 3], &labels, None)?;
/// // The odometry says 2, the labels 2.2: the difference is shared, and so is the variance.
/// assert!((soft.mean[1][0] - 1.1).abs() < 1e-9);
/// assert!((soft.covariance[1][0][0] - 0.1 * 0.1 / 2.0).abs() < 1e-9);
/// # Ok::<(), driftless::smooth::chain::ChainError>(())
/// ```
pub fn soft_labels(
    odometry: &Odometry,
    actions: &[[f64; 3]],
    labels: &[Option<[f64; 3]>],
    label_std: Option<[f64; 3]>,
) -> Result<SoftLabels, ChainError> {
    let actions: Vec<Vec<f64>> = actions.iter().map(|action| action.to_vec()).collect();
    let covariance = label_std.map(|std| Matrix::diagonal(&std.map(|std| std * std)));
    let label = |state: [f64; 3]| Label { state: state.to_vec(), covariance: covariance.clone() };
    let labels: Vec<Option<Label>> = labels.iter().map(|state| state.map(label)).collect();
    let chain = Chain { dynamics: odometry, actions: &actions, labels: &labels, prior: None };
    let found = chain.smooth()?;
    let block = |matrix: &Matrix| std::array::from_fn(|i| std::array::from_fn(|j| matrix.at(i, j)));
    Ok(SoftLabels {
        mean: found.mean.iter().map(|state| triple(state)).collect(),
        covariance: found.covariance.iter().map(block).collect(),
        converged: found.converged,
    })
}
