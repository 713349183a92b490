//! Models against their formulas in 64 bits.

use super::*;
use crate::draws::{Replay, Stream};
use crate::motion::{Motion, Noise};
use crate::sensor::{Reading, Sensor};
use crate::{Belief, Particles, Space};
use std::f64::consts::{PI, TAU};

const COVARIANCE: [f64; 9] = [0.5, 0.2, 0.0, 0.2, 0.4, 0.1, 0.0, 0.1, 0.3];

#[test]
fn a_factor_times_itself_is_the_covariance() {
    let found = factor(&COVARIANCE, 3).unwrap();
    for row in 0..3 {
        for column in 0..3 {
            let product: f64 = (0..3).map(|k| found[row * 3 + k] * found[column * 3 + k]).sum();
            assert!((product - COVARIANCE[row * 3 + column]).abs() < 1e-14);
            assert!(column <= row || found[row * 3 + column] == 0.0, "lower");
        }
    }
    // A coordinate without noise is fine; no covariances are: negative, lopsided, correlated without a variance, NaN.
    assert_eq!(factor(&[0.0, 0.0, 0.0, 4.0], 2).unwrap(), [0.0, 0.0, 0.0, 2.0]);
    for wrong in [[1.0, 2.0, 2.0, 1.0], [1.0, 0.3, 0.2, 1.0], [0.0, 0.5, 0.5, 1.0], [1.0, f64::NAN, 0.0, 1.0]]
    {
        assert_eq!(factor(&wrong, 2), None, "{wrong:?}");
    }
}

/// With numbers that are known, more than a block of particles, and an angle that wraps.
#[test]
fn linear_motion_by_hand() {
    let matrix = [0.9, 0.1, 0.0, -0.3, 1.0, 0.2, 0.0, 0.5, 1.0_f32];
    let offset = [0.5, -1.0, 3.0_f32];
    let mut motion = LinearMotion::new(matrix.to_vec(), offset.to_vec(), &COVARIANCE).unwrap();
    let states: Vec<[f32; 3]> = (0..150).map(|i| [i as f32 * 0.01, 1.0 - i as f32 * 0.02, 0.5]).collect();
    let mut particles = Particles::from_states(Space::linear(3).with_angle(2), &states);
    let normals: Vec<f32> = (0..450).map(|i| (i as f32 * 0.7).sin()).collect();
    let mut draws = Replay { normals: normals.clone().into(), ..Replay::default() };
    assert!(motion.propagate(&mut particles, &mut draws, &mut Noise::default()));
    let factor = factor(&COVARIANCE, 3).unwrap();
    for (i, state) in states.iter().enumerate() {
        for (row, found) in particles.state(i).enumerate() {
            let part = |k: usize| {
                f64::from(matrix[row * 3 + k]) * f64::from(state[k])
                    + factor[row * 3 + k] * f64::from(normals[k * 150 + i])
            };
            let exact = f64::from(offset[row]) + (0..3).map(part).sum::<f64>();
            let exact = if row == 2 { exact - TAU * (exact / TAU).round() } else { exact };
            // Seven roundings of numbers below 8.
            assert!((f64::from(found) - exact).abs() < 7.0 * 8.0 * 6e-8, "{i} {row}: {found} {exact}");
        }
    }
    assert_eq!(LinearMotion::new(vec![1.0; 4], vec![0.0; 3], &COVARIANCE), None);
}

#[test]
fn a_random_walk_spreads_by_its_covariance() {
    let mut walk = LinearMotion::random_walk(&COVARIANCE, 3).unwrap();
    let mut belief = Belief::new(Particles::from_states(Space::linear(3), vec![[1.0_f32, 2.0, 3.0]; 20_000]));
    walk.propagate(&mut belief.particles, &mut Stream::new(1, 2), &mut Noise::default());
    // Five standard errors of a covariance of 20,000 draws: below 5 √(2 / 20,000) times the largest variance.
    for (found, exact) in belief.covariance().iter().zip(COVARIANCE) {
        assert!((found - exact).abs() < 0.05 * 0.5, "{found} {exact}");
    }
}

/// The density of two readings, of either one alone, and of none.
#[test]
fn linear_sensor_by_hand() {
    let (matrix, [a, b, d]) = ([1.0, 0.5, -0.2, 1.0], [0.5, 0.2, 0.4]);
    let sensor = LinearSensor::new(matrix.to_vec(), vec![a, b, b, d], 2).unwrap();
    let states: Vec<[f32; 2]> = (0..70).map(|i| [i as f32 * 0.05 - 2.0, 1.0 - i as f32 * 0.03]).collect();
    let particles = Particles::from_states(Space::linear(2), &states);
    let mut log = vec![0.0; states.len()];
    let readings = [[0.3, -0.8], [0.3, f64::NAN], [f64::INFINITY, -0.8]];
    for reading in readings {
        assert_eq!(sensor.of(&reading).log_likelihoods(&particles, &mut log), Reading::Present);
        for (state, found) in states.iter().zip(&log) {
            let [x, y] = state.map(f64::from);
            let [u, v] =
                [reading[0] - matrix[0] * x - matrix[1] * y, reading[1] - matrix[2] * x - matrix[3] * y];
            let det = a * d - b * b;
            let exact = match (reading[0].is_finite(), reading[1].is_finite()) {
                (true, true) => {
                    -0.5 * (d * u * u - 2.0 * b * u * v + a * v * v) / det - 0.5 * det.ln() - TAU.ln()
                }
                (true, false) => -0.5 * u * u / a - 0.5 * (TAU * a).ln(),
                _ => -0.5 * v * v / d - 0.5 * (TAU * d).ln(),
            };
            // A few roundings of squares below 50.
            assert!((f64::from(*found) - exact).abs() < 5.0 * 50.0 * 6e-8, "{state:?} {found} {exact}");
        }
    }
    assert_eq!(sensor.of(&[f64::NAN; 2]).log_likelihoods(&particles, &mut log), Reading::Missing);
    assert_eq!(LinearSensor::new(vec![1.0, 0.0], vec![0.0], 2), None, "a sensor without noise");
}

#[test]
fn volatility_by_hand() {
    let particles = Particles::from_states(Space::linear(1), [[-1.0_f32], [0.0], [2.5], [-100.0]]);
    let mut log = [0.0; 4];
    let mut sensor = Volatility { scale: 0.5, reading: 0.7 };
    assert_eq!(sensor.log_likelihoods(&particles, &mut log), Reading::Present);
    for (found, x) in log.iter().zip([-1.0_f64, 0.0, 2.5]) {
        let variance = 0.25 * x.exp();
        let exact = -0.5 * 0.49 / variance - 0.5 * (2.0 * PI * variance).ln();
        assert!((f64::from(*found) - exact).abs() < 1e-6, "{x}");
    }
    assert!(log[3] < -1e30, "impossible, and no NaN");
    sensor.reading = 0.0;
    sensor.log_likelihoods(&particles, &mut log);
    assert!((f64::from(log[3]) - (50.0 - 0.5_f64.ln() - 0.5 * TAU.ln())).abs() < 1e-5, "{log:?}");
    sensor.reading = f64::NAN;
    assert_eq!(sensor.log_likelihoods(&particles, &mut log), Reading::Missing);
}
