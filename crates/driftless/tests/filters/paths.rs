//! What tests of Gaussian chains share: curved walks, and least squares by finite differences.

use crate::rts::inverse;
use driftless::smooth::chain::{Odometry, Posterior};
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;

#[track_caller]
pub fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

/// (JᵀJ)⁻¹ with J by central differences.
pub fn least_squares_covariance(
    path: &[f64],
    whitened: &dyn Fn(&[f64]) -> Vec<f64>,
    h: f64,
) -> Vec<Vec<f64>> {
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
pub fn check_blocks(found: &Posterior, exact: &[Vec<f64>], tolerance: f64) {
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
pub fn check_stationary(path: &[f64], whitened: &dyn Fn(&[f64]) -> Vec<f64>, tolerance: f64) {
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

pub const STEPS: usize = 21;
pub const LABEL_STD: [f64; 3] = [0.05, 0.05, 0.02];

pub fn odometry() -> Odometry {
    Odometry::new(Frame::Reflected, [0.1, 0.03], [0.1; 2])
}

/// A walk in curves that crosses ±π: true poses, and actions as odometry reports them.
pub fn walk(seed: u64) -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
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
pub fn sparse(poses: &[[f64; 3]]) -> Vec<Option<[f64; 3]>> {
    poses.iter().enumerate().map(|(t, pose)| Some(*pose).filter(|_| t % 10 == 0)).collect()
}
