//! The Gaussian chain against Rauch–Tung–Striebel, dense least squares and finite differences.

mod rts;

use driftless::Space;
use driftless::smooth::chain::{
    Chain, ChainError, Dynamics, Label, Matrix, Odometry, Posterior, soft_labels,
};
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::random::Random;
use rts::{Linear, Square, inverse};
use std::f64::consts::PI;

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

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

/// (JᵀJ)⁻¹ with J by central differences.
fn least_squares_covariance(path: &[f64], whitened: &dyn Fn(&[f64]) -> Vec<f64>, h: f64) -> Vec<Vec<f64>> {
    let column = |k: usize| -> Vec<f64> {
        let at = |shift: f64| {
            let mut moved = path.to_vec();
            moved[k] += shift;
            whitened(&moved)
        };
        at(h).iter().zip(at(-h)).map(|(up, down)| (up - down) / (2.0 * h)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..path.len()).map(column).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let hessian: Vec<Vec<f64>> =
        columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
    inverse(&hessian)
}

/// All blocks on and beside the diagonal, within `tolerance` standard deviations squared.
fn check_blocks(found: &Posterior, exact: &[Vec<f64>], tolerance: f64) {
    let size = found.mean[0].len();
    let scale = |a: usize, b: usize| (exact[a][a] * exact[b][b]).sqrt();
    for t in 0..found.mean.len() {
        for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
            let (a, b) = (size * t + i, size * t + j);
            assert_close(found.covariance[t].at(i, j), exact[a][b], tolerance * scale(a, b));
            if t + 1 < found.mean.len() {
                assert_close(found.cross[t].at(i, j), exact[a][b + size], tolerance * scale(a, b + size));
            }
        }
    }
}

/// The gradient of half the sum of squares is zero, by central differences whose error is about 1e-9.
fn check_stationary(path: &[f64], whitened: &dyn Fn(&[f64]) -> Vec<f64>, tolerance: f64) {
    let cost = |path: &[f64]| 0.5 * whitened(path).iter().map(|z| z * z).sum::<f64>();
    for k in 0..path.len() {
        let at = |shift: f64| {
            let mut moved = path.to_vec();
            moved[k] += shift;
            cost(&moved)
        };
        assert_close((at(1e-4) - at(-1e-4)) / 2e-4, 0.0, tolerance);
    }
}

const STEPS: usize = 21;
const LABEL_STD: [f64; 3] = [0.05, 0.05, 0.02];

fn odometry() -> Odometry {
    Odometry::new(Frame::Reflected, [0.1, 0.03], 0.1)
}

/// A walk in curves that crosses ±π: true poses, and actions as odometry reports them.
fn walk(seed: u64) -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
    let mut random = Random::new(seed);
    let (mut pose, mut poses, mut actions) = (Pose::new(1.0, -2.0, 2.5), Vec::new(), Vec::new());
    for t in 0..STEPS {
        let motion = [1.0 + 0.3 * random.normal(), 0.2 * random.normal(), 0.15 + 0.05 * random.normal()];
        if t > 0 {
            pose = pose.moved(motion, Frame::Reflected);
        }
        poses.push([pose.x, pose.y, pose.heading]);
        actions.push(motion.map(|part| part * (1.0 + 0.1 * random.normal())));
    }
    (poses, actions)
}

/// Labels every ten steps.
fn sparse(poses: &[[f64; 3]]) -> Vec<Option<[f64; 3]>> {
    poses.iter().enumerate().map(|(t, pose)| Some(*pose).filter(|_| t % 10 == 0)).collect()
}

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

/// Mean and covariance of drawn paths, neighbours included, within 4.5 standard errors (there are 500
/// numbers to compare); exact labels stay.
#[test]
fn drawn_paths_have_the_posterior_moments() {
    let draws = 4000;
    for std in [None, Some(LABEL_STD)] {
        let found = posterior(&odometry(), std);
        let mut random = Random::new(9);
        let mut apart = || -> Vec<f64> {
            let normals: Vec<f64> = (0..3 * STEPS).map(|_| random.normal()).collect();
            let path = found.sample(&normals).concat();
            let mean = found.mean.concat();
            path.iter()
                .zip(mean)
                .enumerate()
                .map(|(k, (state, mean))| if k % 3 == 2 { wrap(state - mean) } else { state - mean })
                .collect()
        };
        let paths: Vec<Vec<f64>> = (0..draws).map(|_| apart()).collect();
        let moment =
            |a: usize, b: usize| paths.iter().map(|path| path[a] * path[b]).sum::<f64>() / f64::from(draws);
        let error =
            |a: f64, b: f64, both: f64| 4.5 * ((a * b + both * both) / f64::from(draws)).sqrt() + 1e-15;
        for (t, (i, j)) in (0..STEPS).flat_map(|t| (0..9).map(move |k| (t, (k / 3, k % 3)))) {
            let (exact, variance) = (found.covariance[t].at(i, j), |i: usize| found.covariance[t].at(i, i));
            assert_close(moment(3 * t + i, 3 * t + j), exact, error(variance(i), variance(j), exact));
            if t + 1 < STEPS {
                let (exact, next) = (found.cross[t].at(i, j), found.covariance[t + 1].at(j, j));
                assert_close(moment(3 * t + i, 3 * t + 3 + j), exact, error(variance(i), next, exact));
            }
            let mean = paths.iter().map(|path| path[3 * t + i]).sum::<f64>() / f64::from(draws);
            assert_close(mean, 0.0, 4.5 * (variance(i) / f64::from(draws)).sqrt() + 1e-12);
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
