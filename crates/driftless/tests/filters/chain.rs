//! The Gaussian chain on linear motion, against Rauch–Tung–Striebel and dense least squares.

use crate::paths::{assert_close, check_blocks, check_stationary, least_squares_covariance, odometry};
use crate::rts;
use crate::rts::{Linear, Square};
use driftless::Space;
use driftless::smooth::chain::{Chain, ChainError, Dynamics, Label, Matrix, Posterior, soft_labels};
use driftless_world::random::Random;

/// s' = A s + a + N(0, Q); A and a are all there is, so slopes and inverses are the default ones.
struct Affine<const S: usize> {
    motion: Square<S>,
    noise: Square<S>,
}

impl<const S: usize> Dynamics for Affine<S> {
    fn space(&self) -> Space {
        Space::LINEAR
    }

    fn moved(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        let moved = rts::apply(&self.motion, &std::array::from_fn(|k| state[k]));
        moved.iter().zip(action).map(|(moved, action)| moved + action).collect()
    }

    fn noise(&self, _: &[f64]) -> Matrix {
        matrix(&self.noise)
    }
}

fn matrix<const S: usize>(values: &Square<S>) -> Matrix {
    Matrix::from_fn(S, |i, j| values[i][j])
}

/// The same problem as a chain; readings without variance are exact labels. At most one a step.
fn smooth<const S: usize>(problem: &Linear<S>, with_prior: bool) -> Posterior {
    let dynamics = Affine { motion: problem.motion, noise: problem.noise };
    let label = |(state, covariance): &([f64; S], Square<S>)| Label {
        state: state.to_vec(),
        covariance: Some(matrix(covariance)).filter(|_| covariance[0][0] > 0.0),
    };
    let labels: Vec<_> = problem.readings.iter().map(|readings| readings.first().map(label)).collect();
    let actions: Vec<_> = problem.drive.iter().map(|drive| drive.to_vec()).collect();
    let prior = label(&problem.first);
    let prior = Some(&prior).filter(|_| with_prior);
    Chain { dynamics: &dynamics, actions: &actions, labels: &labels, prior }.smooth().unwrap()
}

/// 1e-9 leaves room for the rounding of some hundred operations on numbers of order 1, and for the
/// default slopes' own.
fn agree<const S: usize>(problem: &Linear<S>, found: &Posterior) {
    assert!(found.converged);
    for (t, exact) in problem.smooth().iter().enumerate() {
        for i in 0..S {
            assert_close(found.mean[t][i], exact.mean[i], 1e-9);
            for j in 0..S {
                assert_close(found.covariance[t].at(i, j), exact.covariance[i][j], 1e-9);
                if t + 1 < problem.drive.len() {
                    assert_close(found.cross[t].at(i, j), exact.cross[i][j], 1e-9);
                }
            }
        }
    }
}

fn scalar(first: f64, motion: [f64; 2], reading: f64, drive: &[f64], seen: &[f64]) -> Linear<1> {
    Linear {
        first: ([0.0], [[first]]),
        motion: [[motion[0]]],
        drive: drive.iter().map(|drive| [*drive]).collect(),
        noise: [[motion[1]]],
        readings: seen.iter().map(|seen| vec![([*seen], [[reading]])]).collect(),
    }
}

#[test]
fn scalar_chains_are_rauch_tung_striebel() {
    let a = scalar(0.2 / 0.19, [0.9, 0.2], 0.5, &[0.0; 5], &[0.5, -0.3, 0.8, 1.2, 0.1]);
    let b = scalar(1.5, [0.7, 0.2], 0.4, &[0.0, -0.5, 0.4], &[0.2, -0.6, 0.9]);
    for problem in [a, b] {
        agree(&problem, &smooth(&problem, true));
    }
    // By Kalman's filter, in oracles' golden A: the last smoothed moments are the filtered ones.
    let a = scalar(0.2 / 0.19, [0.9, 0.2], 0.5, &[0.0; 5], &[0.5, -0.3, 0.8, 1.2, 0.1]);
    let found = smooth(&a, true);
    assert_close(found.mean[4][0], 0.403_770_592_5, 1e-9);
    assert_close(found.covariance[4].at(0, 0), 0.214_188_945_7, 1e-9);
}

/// A driven rotation, labelled seldom: `kinds` says at each step n(one), r(ough) or e(xact).
fn planar(kinds: &str) -> Linear<2> {
    let mut random = Random::new(4);
    let mut pair = || [random.normal(), random.normal()];
    let reading = |kind, state| match kind {
        'r' => vec![(state, [[0.3, 0.1], [0.1, 0.2]])],
        'e' => vec![(state, [[0.0; 2]; 2])],
        _ => vec![],
    };
    Linear {
        first: ([0.4, -0.2], [[0.8, 0.1], [0.1, 0.5]]),
        motion: [[0.9, 0.4], [-0.3, 0.8]],
        drive: kinds.chars().map(|_| pair()).collect(),
        noise: [[0.2, 0.05], [0.05, 0.1]],
        readings: kinds.chars().map(|kind| reading(kind, pair())).collect(),
    }
}

#[test]
fn planar_chains_are_rauch_tung_striebel() {
    for kinds in ["nnnrnnrn", "rnnennnr", "ennnnnen", "nnnnnnne", "nnnnnnnn", "r", "neenr"] {
        let problem = planar(kinds);
        agree(&problem, &smooth(&problem, true));
    }
}

/// Without prior, a first label is one.
#[test]
fn a_label_at_the_start_is_a_prior() {
    for kinds in ["rnnrnn", "rnnenn", "ennnnn"] {
        let mut problem = planar(kinds);
        let found = smooth(&problem, false);
        problem.first = problem.readings[0].remove(0);
        agree(&problem, &found);
    }
}

/// Without prior and with labels only later: dense least squares over all states at once.
#[test]
fn labels_determine_the_past_without_any_prior() {
    let problem = planar("nnnrnr");
    let found = smooth(&problem, false);
    let whitened = |path: &[f64]| {
        let mut residuals = Vec::new();
        let mut add = |residual: [f64; 2], covariance: &Square<2>| {
            let l = covariance[0][0].sqrt();
            let slope = covariance[1][0] / l;
            let rest = (covariance[1][1] - slope * slope).sqrt();
            residuals.extend([residual[0] / l, (residual[1] - slope * residual[0] / l) / rest]);
        };
        for t in 0..6 {
            let state = [path[2 * t], path[2 * t + 1]];
            for (value, covariance) in &problem.readings[t] {
                add([state[0] - value[0], state[1] - value[1]], covariance);
            }
            if t > 0 {
                let moved = rts::apply(&problem.motion, &[path[2 * t - 2], path[2 * t - 1]]);
                add(std::array::from_fn(|k| state[k] - moved[k] - problem.drive[t][k]), &problem.noise);
            }
        }
        residuals
    };
    let covariance = least_squares_covariance(&found.mean.concat(), &whitened, 1e-3);
    check_blocks(&found, &covariance, 1e-9);
    check_stationary(&found.mean.concat(), &whitened, 1e-8);
}

#[test]
fn what_cannot_be_known_is_an_error() {
    let soft = |actions: &[[f64; 3]], labels: &[Option<[f64; 3]>], std| {
        soft_labels(&odometry(), actions, labels, std).map(|soft| soft.mean)
    };
    let action = [[1.0, 0.0, 0.1]; 2];
    let (here, nowhere) = (Some([0.0; 3]), Some([f64::NAN, 0.0, 0.0]));
    assert_eq!(soft(&[], &[], None), Err(ChainError::Steps { actions: 0, labels: 0 }));
    assert_eq!(soft(&action, &[here], None), Err(ChainError::Steps { actions: 2, labels: 1 }));
    assert_eq!(soft(&action, &[None, None], None), Err(ChainError::NothingKnown));
    assert_eq!(soft(&action, &[here, nowhere], None), Err(ChainError::Invalid { step: 1, what: "label" }));
    let lost = [[1.0, 0.0, 0.1], [f64::INFINITY, 0.0, 0.0]];
    assert_eq!(soft(&lost, &[here, None], None), Err(ChainError::Invalid { step: 1, what: "action" }));
    let invalid = ChainError::Invalid { step: 0, what: "covariance of a label" };
    assert_eq!(soft(&action, &[here, None], Some([0.0; 3])), Err(invalid));
    // Motion that forgets where it came from says nothing of the past.
    let forgetful = Linear { motion: [[0.0]], ..scalar(1.0, [0.0, 0.1], 0.2, &[0.0; 3], &[0.0; 3]) };
    let dynamics = Affine { motion: forgetful.motion, noise: forgetful.noise };
    let label = Label { state: vec![1.0], covariance: None };
    let labels = [None, None, Some(label)];
    let actions = vec![vec![0.0]; 3];
    let chain = Chain { dynamics: &dynamics, actions: &actions, labels: &labels, prior: None };
    assert_eq!(chain.smooth().map(|found| found.mean), Err(ChainError::Undetermined { step: 0 }));
}
