//! Looking back against Rauch, Tung & Striebel's smoother.

mod ring;

use super::*;
use crate::draws::Stream;
use crate::filter::{Filter, FilterState, Workspace};
use crate::motion::density::{DrivenDensity, log_evenly};
use crate::motion::{HeadingNoise, Motion, Noise, Odometry, Still};
use crate::pose::Frame;
use crate::sensor::Likelihood;
use crate::{Belief, Space};
use std::f64::consts::TAU;

/// Odometry in the world's frame: x, y and heading are three linear chains. The fourth action is missing.
const ODOMETRY: Odometry = Odometry {
    frame: Frame::World,
    rest: [0.3, 0.1],
    share: [0.0; 2],
    scale: 0.0,
    heading_noise: HeadingNoise::After,
    missing: [0.8, 0.3],
};
const ACTIONS: [Option<[f32; 3]>; 7] = [
    Some([0.0; 3]),
    Some([0.5, 0.1, 0.2]),
    Some([0.4, -0.2, -0.1]),
    Some([0.5, 0.3, 0.3]),
    None,
    Some([-0.2, 0.5, 0.1]),
    Some([0.3, 0.0, -0.4]),
];
/// Readings of x and heading; y is not seen.
const SEEN: [[f64; 2]; 7] =
    [[0.1, 0.0], [0.8, 0.3], [0.9, 0.0], [1.6, 0.5], [2.4, 0.9], [2.0, 0.7], [2.6, 0.5]];
/// Standard deviations of the readings and of the first state.
const SEES: [f64; 2] = [0.5, 0.2];
const FIRST: [f64; 3] = [0.5, 0.4, 0.3];

/// Mean and variance of coordinate k at each step, given all readings.
fn rauch_tung_striebel(k: usize) -> Vec<[f64; 2]> {
    let (mut now, mut filtered, mut predicted) = ([0.0, FIRST[k].powi(2)], Vec::new(), Vec::new());
    for (t, action) in ACTIONS.iter().enumerate() {
        if t > 0 {
            let noise = f64::from(ODOMETRY.deviations(*action)[usize::from(k == 2)]).powi(2);
            let step = f64::from(action.unwrap_or_default()[k]);
            now = [now[0] + step, now[1] + noise];
        }
        predicted.push(now);
        if k != 1 {
            let (see, seen) = (SEES[k / 2].powi(2), SEEN[t][k / 2]);
            let gain = now[1] / (now[1] + see);
            now = [now[0] + gain * (seen - now[0]), (1.0 - gain) * now[1]];
        }
        filtered.push(now);
    }
    for t in (0..filtered.len() - 1).rev() {
        let gain = filtered[t][1] / predicted[t + 1][1];
        let [mean, variance] = filtered[t + 1];
        filtered[t][0] += gain * (mean - predicted[t + 1][0]);
        filtered[t][1] += gain * gain * (variance - predicted[t + 1][1]);
    }
    filtered
}

fn linear_run(count: usize) -> (Vec<Belief>, Motions<DrivenDensity>) {
    let mut draws = Stream::new(5, 0);
    let mut noise = Noise::default();
    let columns = noise.draw(3, count, &mut draws).to_vec();
    let first = (0..count).map(|i| [0, 1, 2].map(|k| FIRST[k] as f32 * columns[k][i]));
    let mut state = FilterState::new(Belief::new(Particles::from_states(Space::SE2, first)));
    let (filter, mut workspace) = (Filter::bootstrap(count), Workspace::new(Space::SE2));
    let (mut beliefs, mut motions) = (Vec::new(), Vec::new());
    for (t, action) in ACTIONS.into_iter().enumerate() {
        let mut driven = ODOMETRY.by(action);
        if t > 0 {
            motions.push(driven.density().unwrap());
        }
        let far = |x: f32, k: usize| ((SEEN[t][k] - f64::from(x)) / SEES[k]).powi(2);
        let mut sensor = Likelihood(|s: &[f32]| (-0.5 * (far(s[0], 0) + far(s[2], 1))) as f32);
        let motion: &mut dyn Motion = if t == 0 { &mut Still } else { &mut driven };
        filter.step(&mut state, motion, &mut sensor, &mut draws, &mut workspace);
        beliefs.push(state.belief.clone());
    }
    (beliefs, Motions(motions))
}

/// Odometry, a missing action among it. Particles of one run share ancestors, so that 2000 of them count as about 200 where
/// they are smoothed: five standard errors of a mean are 5 / √200 = 0.35 σ, and of a variance 0.5 of it.
#[test]
fn the_smoother_of_odometry_is_rauch_tung_and_striebels() {
    let (beliefs, mut motions) = linear_run(2000);
    let weights = smoothed_weights(&beliefs, &mut motions);
    let drawn = backward_simulation(&beliefs, &mut motions, 1000, &mut Stream::new(6, 0));
    for k in 0..3 {
        for (t, [mean, variance]) in rauch_tung_striebel(k).into_iter().enumerate() {
            let marginal = Belief { particles: beliefs[t].particles.clone(), weights: weights[t].clone() };
            for belief in [&marginal, &Belief::new(drawn[t].clone())] {
                let found = [belief.mean()[k], belief.covariance()[4 * k]];
                assert!((found[0] - mean).abs() < 0.35 * variance.sqrt(), "{k} {t}: {found:?} {mean}");
                assert!((found[1] / variance - 1.0).abs() < 0.5, "{k} {t}: {found:?} {variance}");
            }
        }
    }
}

/// The weights are the law that paths are drawn from: frequencies of 20,000 paths among 40 particles, Pearson's χ² of about
/// 39 degrees of freedom, which is above 100 once in ten million.
#[test]
fn smoothed_weights_are_what_paths_are_drawn_from() {
    let (beliefs, mut motions) = linear_run(40);
    let weights = smoothed_weights(&beliefs, &mut motions);
    let paths = 20_000;
    let drawn = backward_simulation(&beliefs, &mut motions, paths, &mut Stream::new(9, 0));
    for (t, belief) in beliefs.iter().enumerate() {
        let mut squares = 0.0;
        for (i, weight) in weights[t].linear().iter().enumerate() {
            let x = belief.particles.column(0)[i];
            let alike = belief.particles.column(0).iter().zip(weights[t].linear()).filter(|(y, _)| **y == x);
            let (others, share) = alike.fold((0.0, 0.0), |(n, sum), (_, w)| (n + 1.0, sum + f64::from(*w)));
            let count = drawn[t].column(0).iter().filter(|y| **y == x).count() as f64;
            let expected = share * paths as f64;
            if expected > 5.0 {
                squares += (count - expected).powi(2) / expected / others;
            } else {
                assert!(count < 40.0, "{t}: {count} of weight {weight}");
            }
        }
        assert!(squares < 100.0, "{t}: {squares}");
    }
}

/// Poses spread over a box have a volume.
#[test]
fn evenly_by_hand() {
    assert!((log_evenly([[1.0, 2.0], [3.0, 5.0]]) + (6.0 * TAU).ln()).abs() < 1e-12);
}
