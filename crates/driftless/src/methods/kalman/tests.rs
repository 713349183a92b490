//! Gradients against differences, and what is missing, by hand.

use super::*;
use driftless_core::random::Random;

const FILTER: PlanarFilter = PlanarFilter {
    how: Linearisation::Slopes,
    frame: Frame::Robot,
    mean: [2.0, -1.0, 0.0],
    std: [3.0, 3.0, 1.5],
    missing: [0.4, 0.3],
};

fn window(random: &mut Random) -> (Vec<f64>, Vec<Met>) {
    let said = (0..6 * SAID).map(|_| random.normal()).collect();
    let met = (0..6).map(|t| Met {
        is_first: t == 0,
        action: (t != 3).then(|| from_fn(|_| 0.5 * random.normal())),
        saw: t != 2,
        label: (t % 2 == 1).then(|| from_fn(|_| random.normal())),
    });
    (said, met.collect())
}

/// Of a window with a missing reading and a missing action, by every number: central differences, whose error is the
/// step's square (1e-10) and rounding over the step (1e-11), a thousandth of which a loss of tens allows.
#[test]
fn gradients_are_those_of_differences() {
    const H: f64 = 1e-5;
    for how in [Linearisation::Slopes, Linearisation::SigmaPoints] {
        let filter = PlanarFilter { how, ..FILTER };
        let mut random = Random::new(5);
        let (said, met) = window(&mut random);
        let (start, noise) = (filter.anywhere(), [-0.1, -0.2, -0.15, -0.3]);
        let loss = |said: &[f64], noise: &[f64; NOISES]| {
            filter.gradient(&start, said, noise, &met).loss.iter().sum::<f64>()
        };
        let found = filter.gradient(&start, &said, &noise, &met);
        let near = |found: f64, slope: f64| {
            assert!((found - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{found} {slope}");
        };
        for k in 0..said.len() {
            let moved = |by: f64| {
                let mut said = said.clone();
                said[k] += by;
                loss(&said, &noise)
            };
            near(found.said[k], (moved(H) - moved(-H)) / (2.0 * H));
        }
        for k in 0..NOISES {
            let moved = |by: f64| {
                let mut noise = noise;
                noise[k] += by;
                loss(&said, &noise)
            };
            near(found.noise[k], (moved(H) - moved(-H)) / (2.0 * H));
        }
        assert!(found.said[2 * SAID..3 * SAID].iter().all(|&by| by == 0.0), "nothing was read");
    }
}

/// Hand-made: no reading and no action is only wider, an action moves, and a reading beyond all sense is none.
#[test]
fn what_is_missing_says_nothing() {
    let start = Normal::independent([1.0, 2.0, 3.1], [0.1, 0.1, 0.2]);
    let step = |said: [f64; SAID], met: Met| FILTER.step(&start, (&said, &[-1.0; NOISES]), &met);
    let lost = step([0.0; SAID], Met::default());
    assert_eq!(lost.belief.mean, start.mean);
    assert!((lost.belief.covariance[0][0] - (0.01 + 0.16)).abs() < 1e-12);
    assert_eq!(lost.evidence, 0.0);
    let moved = step([0.0; SAID], Met { action: Some([1.0, 0.0, 0.2]), ..Met::default() }).belief;
    assert!((moved.mean[0] - (1.0 + 3.1_f64.cos())).abs() < 1e-12);
    assert!((moved.mean[2] - (3.3 - std::f64::consts::TAU)).abs() < 1e-12, "{moved:?}");
    for hostile in [f64::NAN, f64::INFINITY, 1e9, 0.0] {
        let seen = step([hostile; SAID], Met { is_first: true, saw: true, ..Met::default() });
        assert_eq!((seen.belief, seen.evidence), (start, 0.0));
    }
}

/// A robot that reads itself at ±π from both sides stays there: the mean of 3.1 and -3.1 is not 0.
#[test]
fn headings_wrap() {
    let start = Normal::independent([2.0, -1.0, 3.1], [1.0, 1.0, 1.0]);
    let mut said = [0.0; SAID];
    (said[2], said[3]) = ((-3.1_f64).cos(), (-3.1_f64).sin());
    // softplus(0.52) = 0.99, so that the reading is as wide as the belief.
    said[6] = (0.99_f64.exp() - 1.0).ln() - FIRST_WIDTH;
    let met = Met { is_first: true, saw: true, ..Met::default() };
    let found = FILTER.step(&start, (&said, &[0.0; NOISES]), &met).belief;
    assert!((found.mean[2].abs() - std::f64::consts::PI).abs() < 1e-9, "{found:?}");
}
