//! The Gaussian chain on odometry: the most probable path, its covariance, its draws, and soft labels.

use crate::paths::{
    LABEL_STD, STEPS, assert_close, check_blocks, check_stationary, least_squares_covariance, odometry,
    sparse, walk,
};
use driftless::Space;
use driftless::smooth::chain::{Chain, Dynamics, Label, Matrix, Odometry, Posterior, soft_labels};
use driftless_world::pose::{Frame, Pose, wrap};
use std::f64::consts::PI;

fn posterior<D: Dynamics>(dynamics: &D, std: Option<[f64; 3]>) -> Posterior {
    let (poses, actions) = walk(1);
    let covariance = std.map(|std| Matrix::diagonal(&std.map(|std| std * std)));
    let label = |pose: [f64; 3]| Label { state: pose.to_vec(), covariance: covariance.clone() };
    let labels: Vec<_> = sparse(&poses).into_iter().map(|pose| pose.map(label)).collect();
    let actions: Vec<_> = actions.iter().map(|action| action.to_vec()).collect();
    Chain { dynamics, actions: &actions, labels: &labels, prior: None }.smooth().unwrap()
}

/// Residuals of poses, written out from the definition.
fn pose_residuals(path: &[f64]) -> Vec<f64> {
    let (poses, actions) = walk(1);
    let mut residuals = Vec::new();
    for t in 0..STEPS {
        let state = &path[3 * t..3 * t + 3];
        if t % 10 == 0 {
            let apart = |k: usize| if k == 2 { wrap(state[2] - poses[t][2]) } else { state[k] - poses[t][k] };
            residuals.extend((0..3).map(|k| apart(k) / LABEL_STD[k]));
        }
        if t > 0 {
            let (before, a) = (&path[3 * t - 3..3 * t], actions[t]);
            let (s, c) = before[2].sin_cos();
            let std = (0.01 + 0.01 * (a[0] * a[0] + a[1] * a[1])).sqrt();
            residuals.push((state[0] - before[0] - a[0] * c - a[1] * s) / std);
            residuals.push((state[1] - before[1] - a[0] * s + a[1] * c) / std);
            residuals.push(wrap(state[2] - before[2] - a[2]) / (0.0009 + 0.01 * a[2] * a[2]).sqrt());
        }
    }
    residuals
}

/// The slopes of the gradient are up to 1e4, and the path is within 1e-9 standard deviations of its
/// place; central differences of a cost of order 10 add 1e-8 or so.
#[test]
fn poses_are_most_probable_and_covariances_those_of_the_linearised_model() {
    let found = posterior(&odometry(), Some(LABEL_STD));
    assert!(found.converged);
    let path = found.mean.concat();
    check_stationary(&path, &pose_residuals, 1e-5);
    check_blocks(&found, &least_squares_covariance(&path, &pose_residuals, 1e-5), 1e-6);
}

/// Odometry that only says where it leads.
struct Bare(Odometry);

impl Dynamics for Bare {
    fn space(&self) -> Space {
        self.0.space()
    }

    fn moved(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        self.0.moved(state, action)
    }

    fn noise(&self, action: &[f64]) -> Matrix {
        self.0.noise(action)
    }
}

#[test]
fn slopes_and_inverses_can_be_left_out() {
    let (given, bare) = (odometry(), Bare(odometry()));
    let (state, action) = ([0.3, -1.0, 3.1], [0.8, -0.3, 0.4]);
    let (ours, default) = (given.jacobian(&state, &action), bare.jacobian(&state, &action));
    for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
        assert_close(ours.at(i, j), default.at(i, j), 1e-9);
    }
    let next = given.moved(&state, &action);
    for before in [given.before(&next, &action), bare.before(&next, &action)] {
        (0..2).for_each(|k| assert_close(before[k], state[k], 1e-9));
        assert_close(wrap(before[2] - state[2]), 0.0, 1e-9);
    }
    for std in [None, Some(LABEL_STD)] {
        let (ours, default) = (posterior(&given, std), posterior(&bare, std));
        assert!(ours.converged && default.converged);
        for (ours, default) in ours.mean.concat().iter().zip(default.mean.concat()) {
            assert_close(wrap(ours - default), 0.0, 1e-7);
        }
    }
}

/// Little is uncertain at labels, most in the middle between them; and the truth is where it should be.
#[test]
fn soft_labels_know_what_they_know() {
    let (mut squares, mut count, mut crossed) = (0.0, 0.0, false);
    for seed in 0..40 {
        let (poses, actions) = walk(seed);
        let soft = soft_labels(&odometry(), &actions, &sparse(&poses), None).unwrap();
        assert!(soft.converged);
        for t in (0..STEPS).step_by(10) {
            assert_eq!(soft.covariance[t], [[0.0; 3]; 3]);
            (0..3).for_each(|k| assert_close(soft.mean[t][k], poses[t][k], 1e-12));
        }
        let heading = |t: usize| soft.covariance[t][2][2];
        let most = (0..=10).max_by(|&a, &b| heading(a).total_cmp(&heading(b))).unwrap();
        assert!((4..=6).contains(&most), "{most}");
        assert!((0..4).all(|t| heading(t) < heading(t + 1)), "seed {seed}");
        for t in (0..STEPS).filter(|t| t % 10 != 0) {
            assert!(soft.mean[t][2] >= -PI && soft.mean[t][2] < PI);
            crossed |= t > 0 && (soft.mean[t][2] - soft.mean[t - 1][2]).abs() > PI;
            squares += wrap(soft.mean[t][2] - poses[t][2]).powi(2) / heading(t);
            count += 1.0;
        }
    }
    assert!(crossed, "no walk crossed ±π");
    // The odometry's floor is not in the data: errors are smaller than expected, but of their order.
    let ratio = squares / count;
    assert!((0.01..1.0).contains(&ratio), "{ratio}");
}

/// A label's own covariance bounds that of its step; far from others it is nearly reached.
#[test]
fn rough_labels_bound_the_covariance() {
    let (poses, actions) = walk(3);
    let soft = soft_labels(&odometry(), &actions, &sparse(&poses), Some(LABEL_STD)).unwrap();
    for (t, k) in (0..STEPS).step_by(10).flat_map(|t| (0..3).map(move |k| (t, k))) {
        let share = soft.covariance[t][k][k] / LABEL_STD[k].powi(2);
        assert!(share > 0.8 && share < 1.0, "step {t}, coordinate {k}: {share}");
    }
    assert!(soft.covariance[5][0][0] > 4.0 * soft.covariance[10][0][0]);
}

/// Turned by π, every path is the same path turned.
#[test]
fn the_cut_at_pi_is_nowhere() {
    for seed in 0..40 {
        let (poses, actions) = walk(seed);
        let turned: Vec<_> = poses.iter().map(|[x, y, heading]| [-x, -y, wrap(heading + PI)]).collect();
        let soft = |poses: &[[f64; 3]]| {
            soft_labels(&odometry(), &actions, &sparse(poses), Some(LABEL_STD)).unwrap().mean
        };
        for (plain, turned) in soft(&poses).iter().zip(&soft(&turned)) {
            assert_close(plain[0], -turned[0], 1e-8);
            assert_close(plain[1], -turned[1], 1e-8);
            assert_close(wrap(plain[2] + PI - turned[2]), 0.0, 1e-8);
        }
    }
}

/// One label, anywhere: dead reckoning in both directions, and nothing more.
#[test]
fn a_single_label_is_dead_reckoning() {
    let (poses, actions) = walk(2);
    for at in [0, 7, STEPS - 1] {
        let labels: Vec<_> =
            poses.iter().enumerate().map(|(t, pose)| Some(*pose).filter(|_| t == at)).collect();
        let soft = soft_labels(&odometry(), &actions, &labels, None).unwrap();
        for (t, action) in actions.iter().enumerate().skip(1) {
            let [x, y, heading] = soft.mean[t - 1];
            let moved = Pose::new(x, y, heading).moved(*action, Frame::Reflected);
            assert_close(soft.mean[t][0], moved.x, 1e-8);
            assert_close(soft.mean[t][1], moved.y, 1e-8);
            assert_close(wrap(soft.mean[t][2] - moved.heading), 0.0, 1e-8);
        }
    }
}

/// A missing action is a step to nowhere known, with the variance of what the robot could have done: the same as an action
/// of zero in a chain whose noise at rest is so large at that step alone. By hand: labels 4 apart, 1 by odometry, then
/// missing; the rest of 3 is shared by the variances 0.1² and 0.1² + 2².
#[test]
fn missing_actions_widen() {
    let odometry = Odometry::new(Frame::Robot, [0.1, 0.01], [0.0; 2]).with_missing([2.0, 0.5]);
    let labels = [Some([0.0, 0.0, 0.0]), None, Some([4.0, 0.0, 0.0])];
    let actions = [[0.0; 3], [1.0, 0.0, 0.0], [f64::NAN; 3]];
    let soft = soft_labels(&odometry, &actions, &labels, None).unwrap();
    let (before, after) = (0.01, 0.01 + 4.0);
    let expected = 1.0 + 3.0 * before / (before + after);
    assert!((soft.mean[1][0] - expected).abs() < 1e-9, "{:?} {expected}", soft.mean[1]);
    let variance = before * after / (before + after);
    assert!((soft.covariance[1][0][0] - variance).abs() < 1e-9, "{:?} {variance}", soft.covariance[1]);
}

/// Actions in the world's frame do not turn with the robot: x and y are two random walks with drift, whatever the heading.
#[test]
fn actions_of_the_world_do_not_turn() {
    let odometry = Odometry::new(Frame::World, [0.1, 0.01], [0.0; 2]);
    let labels = [Some([0.0, 0.0, 2.0]), None, Some([2.4, -1.0, 1.0])];
    let soft = soft_labels(&odometry, &[[1.0, -0.5, -0.5]; 3], &labels, None).unwrap();
    for (found, expected) in soft.mean[1].iter().zip([1.2, -0.5, 1.5]) {
        assert!((found - expected).abs() < 1e-9, "{:?}", soft.mean[1]);
    }
    assert!((soft.covariance[1][0][0] - 0.005).abs() < 1e-9 && soft.covariance[1][0][2].abs() < 1e-12);
}
