//! Differentiable Kalman filters: a network turns each reading into a pose with a covariance, odometry moves the belief, and
//! both are trained through the filter (Haarnoja et al. 2016; Kloss, Martius & Bohg 2020): `ekf` and `ukf`.
//!
//! Theirs are the virtual sensor with a covariance for each reading, learned noise of the motion, and the likelihood of known
//! states under the filter's normal law as loss. Ours are the networks (those of the other methods), the motion in the plane,
//! the odometry's bias and first noise, fitted to labels as `driftless` does, and the sensor's own likelihood in the loss, by
//! which Kloss et al. train the sensor beforehand. A heading is measured as an angle, with a normal law within half a turn: the
//! sensor is then the state itself, and Joseph's form is exact. Only the motion is curved, where the two filters differ.
//!
//! The step is written once, for any [`Scalar`]: plain in use, with derivatives in training, where the way back through a
//! window multiplies the Jacobians of its steps.

use super::sensed::{self, Gradient, Met, NOISE_SPEED, NOISES, SensedFilter};
use crate::error::Result;
use crate::learn::{Experiment, Method, Normalisation};
use driftless_core::Space;
use driftless_core::kalman::{
    Dual, Function, Itself, Linearisation, Matrix, Normal, Scalar, diagonal, squared,
};
use driftless_core::pose::{Frame, Pose, compose};
use driftless_world::trajectory::Start;
use std::array::from_fn;

/// Numbers that a network says of a reading: position, cosine and sine of the heading, and a lower triangle.
const SAID: usize = 10;
/// Numbers of a belief: its mean, and the lower triangle of its covariance.
const BELIEF: usize = 9;
/// What a step depends on.
const INPUTS: usize = BELIEF + SAID + NOISES;
/// A reading is never more exact than this, in deviations of poses and in radians.
const LEAST_STD: f64 = 0.01;
/// What is added to the diagonal of a triangle before it is made positive: readings of a network that has learned nothing are
/// then twice as wide as poses are apart, and say next to nothing.
const FIRST_WIDTH: f64 = 2.0;
/// The weight of the sensor's own likelihood in the loss. With 1 a network that had learned its labelled readings by heart was
/// too sure of others (held-out training episodes of MR.CLAM 6).
const ALONE: f64 = 0.1;
/// What a network says beyond this is no reading.
const MOST_SAID: f64 = 1e4;
/// Squared Mahalanobis distance of three coordinates within which nine tenths of a normal law lie.
const REGION: f64 = 6.251_388_631_170_325;
/// Rows and columns of a lower triangle.
const LOWER: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [1, 0], [2, 0], [2, 1]];

/// Everything but what is learned by gradients.
#[derive(Clone, Debug)]
struct PlanarFilter {
    how: Linearisation,
    frame: Frame,
    /// Of known poses.
    mean: [f64; 3],
    std: [f64; 3],
    /// Standard deviations of position and heading where an action is missing.
    missing: [f64; 2],
}

/// What a step comes to.
#[derive(Clone, Copy, Debug)]
struct Stepped<S> {
    belief: Normal<S, 3>,
    /// log p of what was read; 0 if nothing was.
    evidence: S,
    /// -log p(label) of the belief, and of the reading alone times its weight.
    loss: [S; 2],
}

/// SE(2): x += c a₀ - s a₁, y += s a₀ + c a₁, θ += a₂, in the frame in which odometry is written.
struct Motion {
    action: [f64; 3],
    frame: Frame,
}

impl Function<3, 3> for Motion {
    fn at<S: Scalar>(&self, [x, y, heading]: [S; 3]) -> [S; 3] {
        let (sine, cosine) = (heading * S::of(self.frame.turning())).sin_cos();
        let [forward, aside, turn] = self.action;
        let [dx, dy] = compose([cosine, sine], [S::of(forward), S::of(self.frame.side() * aside)]);
        [x + dx, y + dy, heading + S::of(turn)]
    }
}

/// ln(1 + eˣ).
fn softplus<S: Scalar>(x: S) -> S {
    if x.value() > 30.0 { x } else { (x.exp() + S::of(1.0)).ln() }
}

/// One of the two, not trained yet.
pub(super) fn build(
    how: Linearisation,
    experiment: &Experiment,
    normalisation: &Normalisation,
) -> Result<Box<dyn Method>> {
    let filter = PlanarFilter::new(how, experiment.frame(), normalisation);
    sensed::build(filter, experiment, normalisation)
}

impl PlanarFilter {
    fn new(how: Linearisation, frame: Frame, normalisation: &Normalisation) -> Self {
        Self {
            how,
            frame,
            mean: normalisation.state_mean,
            std: normalisation.state_std,
            missing: normalisation.missing_motion().map(f64::from),
        }
    }

    /// Where a robot may be that is told nothing: a normal law of known poses, and of headings that are all alike.
    fn anywhere(&self) -> Normal<f64, 3> {
        let even = std::f64::consts::PI / 3.0_f64.sqrt();
        Normal::independent(self.mean, [self.std[0], self.std[1], even])
    }

    /// The pose that a network says, and its covariance L Lᵀ: L's diagonal is softplus(said) and a hundredth, which is
    /// positive. The heading is a direction, so nothing jumps at half a turn.
    fn reading<S: Scalar>(&self, said: &[S; SAID]) -> Option<([S; 3], Matrix<S, 3, 3>)> {
        let direction = said[2].value().hypot(said[3].value());
        let is_sound = said.iter().all(|x| x.value().abs() < MOST_SAID) && direction > 1e-6;
        let place = |k: usize| S::of(self.mean[k]) + said[k] * S::of(self.std[k]);
        let size = [self.std[0], self.std[1], 1.0];
        let mut root = [[S::of(0.0); 3]; 3];
        for ([i, j], said) in LOWER.into_iter().zip(&said[4..]) {
            let entry = if i == j { softplus(*said + S::of(FIRST_WIDTH)) + S::of(LEAST_STD) } else { *said };
            root[i][j] = entry * S::of(size[i]);
        }
        is_sound.then(|| ([place(0), place(1), said[3].atan2(said[2])], squared(&root)))
    }

    /// Variances of a move: at rest, and shares of distance and turn; where odometry is missing, what a robot does on average.
    fn noise<S: Scalar>(&self, noise: &[S; NOISES], action: Option<[f64; 3]>) -> Matrix<S, 3, 3> {
        let Some([forward, aside, turn]) = action else {
            let [place, heading] = self.missing.map(|std| S::of(std * std));
            return diagonal([place, place, heading]);
        };
        let [rest, turned, share, shared] = noise.map(|x| (x * S::of(2.0 * NOISE_SPEED)).exp());
        let place = rest + share * S::of(forward * forward + aside * aside);
        diagonal([place, place, turned + shared * S::of(turn * turn)])
    }

    /// Moves, looks, and compares with what is known.
    fn step<S: Scalar>(
        &self,
        belief: &Normal<S, 3>,
        (said, noise): (&[S; SAID], &[S; NOISES]),
        met: &Met,
    ) -> Stepped<S> {
        let (space, mut stepped) =
            (Space::SE2, Stepped { belief: *belief, evidence: S::of(0.0), loss: [S::of(0.0); 2] });
        if !met.is_first {
            let motion = Motion { action: met.action.unwrap_or([0.0; 3]), frame: self.frame };
            stepped.belief = belief.propagate(self.how, &motion, &self.noise(noise, met.action), space);
        }
        let read = if met.saw { self.reading(said) } else { None };
        if let Some((pose, covariance)) = &read {
            let (updated, evidence) =
                stepped.belief.update(self.how, &Itself, (pose, covariance), [space; 2]);
            (stepped.belief, stepped.evidence) = (updated, evidence);
        }
        if !is_finite(&stepped.belief) {
            return Stepped { belief: *belief, evidence: S::of(0.0), loss: [S::of(0.0); 2] };
        }
        if let Some(label) = met.label {
            let label = label.map(S::of);
            stepped.loss[0] = -stepped.belief.log_density(label, space);
            if let Some((mean, covariance)) = read {
                stepped.loss[1] = -Normal { mean, covariance }.log_density(label, space) * S::of(ALONE);
            }
        }
        stepped
    }
}

impl SensedFilter for PlanarFilter {
    type Belief = Normal<f64, 3>;
    const WINDOW: usize = 50;

    fn width(&self) -> usize {
        SAID
    }

    fn first(&self, start: Option<Start>) -> Normal<f64, 3> {
        match start {
            Some(Start::About { pose, spread }) => {
                Normal::independent(pose.map(f64::from), spread.map(f64::from))
            }
            _ => self.anywhere(),
        }
    }

    fn go(&self, belief: &mut Normal<f64, 3>, said: &[f64], noise: &[f64; NOISES], met: &Met) -> f64 {
        let stepped = self.step(belief, (&from_fn(|k| said[k]), noise), met);
        *belief = stepped.belief;
        stepped.evidence
    }

    /// Forward with each step's Jacobian, then back.
    fn gradient(&self, start: &Normal<f64, 3>, said: &[f64], noise: &[f64; NOISES], met: &[Met]) -> Gradient {
        let mut belief = numbers(start);
        let mut steps = Vec::with_capacity(met.len());
        let mut loss = [0.0; 2];
        for (said, met) in said.chunks_exact(SAID).zip(met) {
            let all: [f64; INPUTS] = from_fn(|k| match k {
                0..BELIEF => belief[k],
                k if k < BELIEF + SAID => said[k - BELIEF],
                k => noise[k - BELIEF - SAID],
            });
            let duals: [Dual<f64, INPUTS>; INPUTS] = from_fn(|k| Dual::variable(all[k], k));
            let before = normal(from_fn(|k| duals[k]));
            let inputs = (&from_fn(|k| duals[BELIEF + k]), &from_fn(|k| duals[BELIEF + SAID + k]));
            let stepped = self.step(&before, inputs, met);
            let after = numbers(&stepped.belief);
            belief = after.map(|dual| dual.number);
            (0..2).for_each(|k| loss[k] += stepped.loss[k].number);
            steps.push((after.map(|dual| dual.by), (stepped.loss[0] + stepped.loss[1]).by));
        }
        let mut found = Gradient { loss, said: vec![0.0; SAID * met.len()], noise: [0.0; NOISES] };
        let mut by_belief = [0.0; BELIEF];
        for (t, (slopes, by_loss)) in steps.iter().enumerate().rev() {
            let by: [f64; INPUTS] =
                from_fn(|i| (0..BELIEF).fold(by_loss[i], |sum, k| sum + by_belief[k] * slopes[k][i]));
            by_belief = from_fn(|k| by[k]);
            found.said[t * SAID..(t + 1) * SAID].copy_from_slice(&by[BELIEF..BELIEF + SAID]);
            (0..NOISES).for_each(|k| found.noise[k] += by[BELIEF + SAID + k]);
        }
        found
    }

    fn mean(&self, belief: &Normal<f64, 3>) -> (Pose, [[f64; 3]; 3]) {
        let [x, y, heading] = belief.mean;
        (Pose::new(x, y, heading), belief.covariance)
    }

    fn density(&self, belief: &Normal<f64, 3>, pose: [f64; 3]) -> (f64, bool) {
        (belief.log_density(pose, Space::SE2), belief.distance(pose, Space::SE2) <= REGION)
    }

    fn save(&self, belief: &Normal<f64, 3>) -> Vec<f64> {
        numbers(belief).to_vec()
    }

    fn load(&self, numbers: &[f64]) -> Option<Normal<f64, 3>> {
        let belief = normal(numbers.try_into().ok()?);
        (0..3).all(|k| belief.covariance[k][k] >= 0.0).then_some(belief)
    }
}

fn is_finite<S: Scalar>(belief: &Normal<S, 3>) -> bool {
    belief.mean.iter().chain(belief.covariance.iter().flatten()).all(|x| x.value().is_finite())
}

/// A belief as its mean and the lower triangle of its covariance.
fn numbers<S: Scalar>(belief: &Normal<S, 3>) -> [S; BELIEF] {
    from_fn(|k| match k {
        0..3 => belief.mean[k],
        k => belief.covariance[LOWER[k - 3][0]][LOWER[k - 3][1]],
    })
}

/// The same back.
fn normal<S: Scalar>(numbers: [S; BELIEF]) -> Normal<S, 3> {
    let mut covariance = [[S::of(0.0); 3]; 3];
    for ([i, j], x) in LOWER.into_iter().zip(&numbers[3..]) {
        (covariance[i][j], covariance[j][i]) = (*x, *x);
    }
    Normal { mean: from_fn(|k| numbers[k]), covariance }
}

#[cfg(test)]
mod tests;
