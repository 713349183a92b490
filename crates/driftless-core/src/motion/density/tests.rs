//! Densities against the motions that they are of: what is drawn has them.

use super::*;
use crate::Space;
use crate::draws::Stream;
use crate::motion::{HeadingNoise, Motion, Noise, Odometry, TurnAndGo};
use crate::pose::Frame;

const ODOMETRY: Odometry = Odometry {
    frame: Frame::Robot,
    rest: [0.2, 0.1],
    share: [0.1, 0.2],
    scale: 0.0,
    heading_noise: HeadingNoise::After,
    missing: [1.0, 0.8],
};
const DRAWS: usize = 200_000;

/// E 1_A(s') / p(s') over what a motion draws is the volume of A, whatever the motion: the mean of 200,000 draws within five
/// standard errors, and 1 % for 32 bits. A is a box where most of them come to be.
fn check(motion: &mut dyn Motion, density: &mut dyn Density, middle: [f32; 3], half: [f32; 3]) {
    let start = [1.0_f32, -2.0, 3.0];
    let mut drawn = Particles::from_states(Space::SE2, vec![start; DRAWS]);
    motion.propagate(&mut drawn, &mut Stream::new(1, 0), &mut Noise::default());
    let one = Particles::from_states(Space::SE2, [start]);
    density.prepare(&one, &drawn);
    let (mut sums, mut inside) = ([0.0; 2], 0);
    for m in 0..DRAWS {
        let to: Vec<f32> = drawn.state(m).collect();
        let apart = (0..3).all(|k| Space::SE2.difference(k, to[k], middle[k]).abs() < half[k]);
        let mut log = [0.0];
        density.log_density(&one, m, &to, &mut log);
        if apart {
            let value = (-f64::from(log[0])).exp();
            sums = [sums[0] + value, sums[1] + value * value];
            inside += 1;
        }
    }
    let [mean, square] = sums.map(|sum| sum / DRAWS as f64);
    let volume: f64 = half.iter().map(|x| 2.0 * f64::from(*x)).product();
    let error = ((square - mean * mean) / DRAWS as f64).sqrt();
    assert!(inside > DRAWS / 10 && error < 0.05 * volume, "the box says something: {inside} {error}");
    assert!((mean - volume).abs() < 5.0 * error + 0.01 * volume, "{mean} ± {error} is not {volume}");
}

/// Where the action leads from the start, in 64 bits.
fn goal(action: [f32; 3]) -> [f32; 3] {
    let pose = crate::pose::Pose::new(1.0, -2.0, 3.0).moved(action.map(f64::from), Frame::Robot);
    [pose.x, pose.y, pose.heading].map(|x| x as f32)
}

#[test]
fn odometry_has_its_density() {
    let action = [0.7, -0.2, 0.4];
    for odometry in [
        ODOMETRY,
        Odometry { scale: 0.5, ..ODOMETRY },
        Odometry { heading_noise: HeadingNoise::Before, ..ODOMETRY },
    ] {
        let mut density = odometry.by(Some(action)).density().unwrap();
        check(&mut odometry.by(Some(action)), &mut density, goal(action), [0.25, 0.25, 0.15]);
    }
    // A missing action: the heading may be turned almost anywhere, and the density knows of whole turns.
    let wide = Odometry { missing: [1.0, 2.5], ..ODOMETRY };
    for odometry in [ODOMETRY, wide] {
        let mut density = odometry.by(None).density().unwrap();
        check(&mut odometry.by(None), &mut density, [1.0, -2.0, 3.0], [1.0, 1.0, 0.8]);
    }
    let exact = Odometry { rest: [0.0; 2], share: [0.0; 2], ..ODOMETRY };
    assert!(exact.by(Some(action)).density().is_none(), "a motion without noise has none");
    let both = Odometry { heading_noise: HeadingNoise::Before, scale: 0.5, ..ODOMETRY };
    assert!(both.by(Some(action)).density().is_none());
}

#[test]
fn a_turn_and_a_straight_line_have_their_density() {
    let odometry = TurnAndGo { alphas: [0.2, 0.1, 0.1, 0.2], missing: [1.0, 0.8] };
    for action in [[0.7, -0.2, 0.4], [-0.5, 0.0, 0.3]] {
        let mut density = odometry.by(Some(action)).density().unwrap();
        check(&mut odometry.by(Some(action)), &mut density, goal(action), [0.2, 0.2, 0.2]);
    }
    let mut unknown = odometry.by(None).density().unwrap();
    check(&mut odometry.by(None), &mut unknown, [1.0, -2.0, 3.0], [1.0, 1.0, 0.8]);
}

/// A robot that stands still was where it is; one that turns is near, on a proper density.
#[test]
fn a_robot_on_the_spot() {
    let odometry = TurnAndGo { alphas: [0.2; 4], missing: [1.0, 0.8] };
    let from = Particles::from_states(Space::SE2, [[1.0_f32, 2.0, 3.0], [1.0, 2.0, 3.1]]);
    let mut log = [0.0; 2];
    let mut still = odometry.by(Some([0.0; 3])).density().unwrap();
    still.log_density(&from, 0, &[1.0, 2.0, 3.1], &mut log);
    assert_eq!(log, [f32::NEG_INFINITY, 0.0]);
    let mut turning = odometry.by(Some([0.0, 0.0, 0.5])).density().unwrap();
    turning.log_density(&from, 0, &[1.05, 2.0, 3.5], &mut log);
    // σ² = 0.2 · 0.25 of the place, with a centimetre; the same and 0.01 rad of the heading.
    let (place, turn) = (0.05_f64 + 1e-4, 0.05_f64 + 1e-4);
    let exact = -(place * TAU).ln() - 0.5 * 0.05_f64.powi(2) / place - 0.5 * (turn * TAU).ln();
    assert!((f64::from(log[0]) - exact).abs() < 1e-4, "{log:?} {exact}");
}

/// Sums to 1 over a turn, whatever the width; 64-bit sums of forty turns agree within 10^-4, which rounding of 32 bits and
/// the turns that are left out make.
#[test]
fn wrapped_normal_laws() {
    for deviation in [0.05, 0.49, 0.5, 1.0, 2.0, 4.9, 5.1, 50.0] {
        let law = WrappedNormal::new(deviation);
        let mut whole = 0.0;
        for k in 0..20_000 {
            let x = (k as f64 + 0.5) / 20_000.0 * TAU - TAU / 2.0;
            let turn = |k: i32| (-0.5 * ((x + f64::from(k) * TAU) / deviation).powi(2)).exp();
            let exact = (-40..=40).map(turn).sum::<f64>() / (deviation * TAU.sqrt());
            let found = f64::from(law.log(x as f32)).exp();
            whole += found * TAU / 20_000.0;
            assert!((found - exact).abs() < 1e-4 * (1.0 + exact), "{deviation} {x}: {found} {exact}");
        }
        assert!((whole - 1.0).abs() < 2e-4, "{deviation}: {whole}");
    }
}

/// A mixture by hand, with what is impossible on either side.
#[test]
fn carried_off_by_hand() {
    struct Given([f32; 3]);
    impl Density for Given {
        fn log_density(&mut self, _: &Particles, _: usize, _: &[f32], log: &mut [f32]) {
            log.copy_from_slice(&self.0);
        }
    }
    let given = Given([0.5_f32.ln(), -200.0, f32::NEG_INFINITY]);
    let from = Particles::from_states(Space::linear(1), [[0.0_f32]; 3]);
    let mut log = [0.0; 3];
    let log_elsewhere: fn(&[f32]) -> f64 = |_| 0.2_f64.ln();
    let mut carried = Carried { motion: given, probability: 0.1, log_elsewhere };
    carried.log_density(&from, 0, &[0.0], &mut log);
    for (found, exact) in log.iter().zip([0.9 * 0.5 + 0.1 * 0.2, 0.02, 0.02_f64]) {
        assert!((f64::from(*found) - exact.ln()).abs() < 1e-6, "{found} {exact}");
    }
    carried.log_elsewhere = |_| f64::NEG_INFINITY;
    carried.log_density(&from, 0, &[0.0], &mut log);
    assert!((log[0] - 0.45_f32.ln()).abs() < 1e-6 && log[2] == f32::NEG_INFINITY, "{log:?}");
}

/// Coordinates with an angle, against the product of one-dimensional laws.
#[test]
fn named_coordinates_by_hand() {
    let space = Space::linear(2).with_angle(0);
    let reached = Particles::from_states(space, [[3.1_f32, 1.0], [0.0, 2.0]]);
    let mut log = [0.0; 2];
    let mut law = NormalDensity::new(reached.clone(), &[0.2, 0.5]);
    law.log_density(&reached, 0, &[-3.1, 1.5], &mut log);
    let normal = |x: f64, s: f64| -0.5 * (x / s).powi(2) - (s * TAU.sqrt()).ln();
    for (found, exact) in
        log.iter().zip([normal(TAU - 6.2, 0.2) + normal(0.5, 0.5), normal(3.1, 0.2) + normal(-0.5, 0.5)])
    {
        assert!((f64::from(*found) - exact).abs() < 1e-4, "{found} {exact}");
    }
}
