//! Bridges and the evidence of chains against dense Gaussian algebra over all states at once.

use driftless::Space;
use driftless::smooth::chain::{Bridge, Chain, Dynamics, Label, Matrix, Odometry, Posterior};
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use std::f64::consts::TAU;

/// s' = A s + a + N(0, Q) in two dimensions.
struct Affine;

const A: [[f64; 2]; 2] = [[0.9, 0.4], [-0.3, 0.8]];
const Q: [[f64; 2]; 2] = [[0.2, 0.05], [0.05, 0.1]];
const R: [[f64; 2]; 2] = [[0.3, 0.1], [0.1, 0.2]];

impl Dynamics for Affine {
    fn space(&self) -> Space {
        Space::LINEAR
    }

    fn moved(&self, s: &[f64], a: &[f64]) -> Vec<f64> {
        (0..2).map(|i| A[i][0] * s[0] + A[i][1] * s[1] + a[i]).collect()
    }

    fn noise(&self, _: &[f64]) -> Matrix {
        Matrix::from_fn(2, |i, j| Q[i][j])
    }
}

/// `kinds` says at each step n(one), r(ough) or e(xact).
fn smooth(kinds: &str) -> (Posterior, Vec<Vec<f64>>, Vec<Option<Label>>) {
    let mut random = Random::new(4);
    let mut pair = || vec![random.normal(), random.normal()];
    let actions: Vec<Vec<f64>> = kinds.chars().map(|_| pair()).collect();
    let label = |kind| match kind {
        'r' => Some(Label { state: pair(), covariance: Some(Matrix::from_fn(2, |i, j| R[i][j])) }),
        'e' => Some(Label { state: pair(), covariance: None }),
        _ => None,
    };
    let labels: Vec<Option<Label>> = kinds.chars().map(label).collect();
    let chain = Chain { dynamics: &Affine, actions: &actions, labels: &labels, prior: None };
    (chain.smooth().unwrap(), actions, labels)
}

/// Covariances of all states of a bridge by multiplying it out, from the start: Cov(d_t) =
/// G Cov(d_{t-1}) Gᵀ + C Cᵀ, Cov(d_{t-1}, d_t) = Cov(d_{t-1}) Gᵀ.
fn multiplied(bridge: &Bridge) -> (Vec<Matrix>, Vec<Matrix>) {
    let (mut covariances, mut cross) = (Vec::<Matrix>::new(), Vec::new());
    for link in &bridge.links {
        let own = link.colour.times(&link.colour.transposed());
        let before = covariances.last().cloned().unwrap_or(Matrix::zeros(own.size()));
        let shared = before.times(&link.gain.transposed());
        covariances.push(own.plus(1.0, &link.gain.times(&shared)));
        cross.push(shared);
    }
    (covariances, cross)
}

#[track_caller]
fn assert_near(found: &Matrix, expected: &Matrix, tolerance: f64) {
    let n = expected.size();
    let close = |k: usize| (found.at(k / n, k % n) - expected.at(k / n, k % n)).abs() <= tolerance;
    assert!((0..n * n).all(close), "{found:?} is not {expected:?}");
}

/// The marginals were checked against Rauch–Tung–Striebel; a chain of Gaussian conditionals with the same
/// marginals and neighbours' covariances is the same distribution. Rounding of some hundred operations.
#[test]
fn forward_conditionals_have_the_marginals() {
    for kinds in ["rnnrnn", "nnennrn", "ennnnne", "nnnnr", "neenr", "r", "e"] {
        let (posterior, ..) = smooth(kinds);
        let bridge = posterior.bridge().unwrap();
        let (covariances, cross) = multiplied(&bridge);
        for (t, found) in covariances.iter().enumerate() {
            assert_near(found, &posterior.covariance[t], 1e-10);
            if t > 0 && !kinds[t - 1..=t].contains('e') {
                assert_near(&cross[t], &posterior.cross[t - 1], 1e-10);
            }
            let link = &bridge.links[t];
            if kinds.as_bytes()[t] == b'e' {
                assert_eq!(link.whiten, Matrix::zeros(2));
            } else {
                assert_near(&link.whiten.times(&link.colour), &Matrix::identity(2), 1e-10);
            }
        }
    }
}

/// Robots too: headings make the chain nonlinear, and the linearisation is the posterior's own.
#[test]
fn odometry_has_the_marginals() {
    let odometry = Odometry::new(Frame::Reflected, [0.5, 0.02], [0.1; 2]);
    let actions = vec![vec![3.0, 0.5, 0.4]; 9];
    let label = |state: [f64; 3]| Some(Label { state: state.to_vec(), covariance: None });
    let mut labels = vec![None; 9];
    (labels[2], labels[6]) = (label([1.0, 2.0, 0.1]), label([9.0, 9.0, 1.8]));
    let chain = Chain { dynamics: &odometry, actions: &actions, labels: &labels, prior: None };
    let posterior = chain.smooth().unwrap();
    let (covariances, _) = multiplied(&posterior.bridge().unwrap());
    // Variances reach some ten; 1e-9 is rounding of some hundred operations on them.
    for (found, expected) in covariances.iter().zip(&posterior.covariance) {
        assert_near(found, expected, 1e-9);
    }
}

/// The density of y_2, y_5 given y_0 exact: dense joint covariance of the later labels, by hand.
#[test]
fn evidence_is_the_density_of_the_labels() {
    let (posterior, actions, labels) = smooth("ennrnn");
    let first = labels[0].as_ref().unwrap().state.clone();
    let (mut mean, mut spread) = (first, Matrix::zeros(2));
    let motion = Matrix::from_fn(2, |i, j| A[i][j]);
    for action in &actions[1..=3] {
        mean = Affine.moved(&mean, action);
        spread = motion.times(&spread).times(&motion.transposed()).plus(1.0, &Affine.noise(&[]));
    }
    let spread = spread.plus(1.0, &Matrix::from_fn(2, |i, j| R[i][j]));
    let seen = &labels[3].as_ref().unwrap().state;
    let (x, y) = (seen[0] - mean[0], seen[1] - mean[1]);
    let (a, b, d) = (spread.at(0, 0), spread.at(0, 1), spread.at(1, 1));
    let determinant = a * d - b * b;
    let square = (d * x * x - 2.0 * b * x * y + a * y * y) / determinant;
    let expected = -0.5 * square - 0.5 * determinant.ln() - TAU.ln();
    assert!((posterior.log_evidence - expected).abs() < 1e-10, "{} {expected}", posterior.log_evidence);
}
