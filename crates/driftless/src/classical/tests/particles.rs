//! Weights, drawing anew and motion, by sensors that know the answer.

use super::super::{ClassicalSettings, Localiser, RangeScan, SensorModel};
use crate::config::parse;
use driftless_world::pose::Pose;
use driftless_world::random::Random;

/// Likelihoods by position, whatever the scan.
#[derive(Debug)]
struct ByPlace(fn(f64) -> f64);

impl SensorModel for ByPlace {
    fn visit(&self, pose: Pose, _: &RangeScan, beam: &mut dyn FnMut(f64)) {
        beam((self.0)(pose.x).ln());
    }
}

fn still() -> ClassicalSettings {
    parse("position_noise = 0.0\nheading_noise = 0.0\nlikelihood_tempering = 1.0").unwrap()
}

/// Weights in proportion to 1, 2 … 7 and 0 three times: each place has ten times its weight in children.
#[test]
fn drawing_anew_is_unbiased() {
    let (model, runs) = (ByPlace(|x| if x < 7.0 { x + 1.0 } else { 0.0 }), 20_000);
    let settings = ClassicalSettings { resample_below: 1.0, ..still() };
    let start: Vec<Pose> = (0..10).map(|x| Pose::new(f64::from(x), 0.0, 0.0)).collect();
    let (mut random, mut counts) = (Random::new(2), [0.0; 10]);
    for _ in 0..runs {
        let mut localiser = Localiser::new(&model, &settings, &start).unwrap();
        let stepped = localiser.step(&RangeScan::default(), None, &mut random);
        // (1 + 2 + … + 7)² / (1² + 2² + … + 7²)
        assert!((stepped.effective - 784.0 / 140.0).abs() < 1e-5);
        localiser.step(&RangeScan::default(), None, &mut random);
        for &x in localiser.belief().particles.column(0) {
            counts[x as usize] += 1.0 / f64::from(runs);
        }
    }
    for (x, count) in counts.into_iter().enumerate() {
        let expected = if x < 7 { 10.0 * (x + 1) as f64 / 28.0 } else { 0.0 };
        // Systematic: N w rounded down or up, at most a quarter of variance; five standard errors.
        assert!((count - expected).abs() <= 2.5 / f64::from(runs).sqrt(), "place {x}: {count}");
    }
}

/// Facing +y, forward is +y and left is -x; noise has the sizes that were asked for.
#[test]
fn particles_move_in_the_robots_frame_and_spread() {
    let (model, count) = (ByPlace(|_| 1.0), 20_000);
    let run = |text: &str, action| {
        let settings: ClassicalSettings = parse(text).unwrap();
        let start = vec![Pose::new(10.0, 20.0, std::f64::consts::FRAC_PI_2); count];
        let mut localiser = Localiser::new(&model, &settings, &start).unwrap();
        localiser.step(&RangeScan::default(), Some(action), &mut Random::new(6));
        let particles = &localiser.belief().particles;
        let pose = |i: usize| [0, 1, 2].map(|k| f64::from(particles.column(k)[i]));
        let poses: Vec<Pose> = (0..count).map(pose).map(|[x, y, heading]| Pose::new(x, y, heading)).collect();
        let moments = |of: fn(&Pose) -> f64| {
            let mean = poses.iter().map(of).sum::<f64>() / count as f64;
            let variance = poses.iter().map(|pose| (of(pose) - mean).powi(2)).sum::<f64>() / count as f64;
            [mean, variance.sqrt()]
        };
        [moments(|pose| pose.x), moments(|pose| pose.y), moments(|pose| pose.heading)]
    };
    let quarter = std::f64::consts::FRAC_PI_2;
    // Means and deviations; a mean errs by σ / √N, a deviation by σ / √2N: five of these, or rounding of 32 bits.
    let close = |found: [[f64; 2]; 3], expected: [[f64; 2]; 3]| {
        for (found, [mean, deviation]) in found.into_iter().zip(expected) {
            let slack = 5.0 * deviation / (count as f64).sqrt() + 1e-5;
            assert!((found[0] - mean).abs() < slack && (found[1] - deviation).abs() < slack, "{found:?}");
        }
    };
    let still = "position_noise = 0.0\nheading_noise = 0.0\n";
    close(run(still, [5.0, 2.0, 0.3]), [[8.0, 0.0], [25.0, 0.0], [quarter + 0.3, 0.0]]);
    let noisy = run("position_noise = 0.04\nheading_noise = 5.0", [0.0; 3]);
    close(noisy, [[10.0, 2.0], [20.0, 2.0], [quarter, 5.0_f64.to_radians()]]);
    let slipping = run(&format!("{still}odometry_noise = 0.1"), [5.0, 2.0, 0.3]);
    close(slipping, [[8.0, 0.2], [25.0, 0.5], [quarter + 0.3, 0.03]]);
    // The heading errs before the robot moves: a step of 50 pixels goes aside by 50 sin(5°), about.
    let aside = run("position_noise = 0.0\nheading_noise = 5.0", [50.0, 0.0, 0.0])[0][1];
    assert!((aside - 50.0 * 5.0_f64.to_radians()).abs() < 0.2, "{aside}");
}

#[test]
fn what_no_particle_explains_changes_no_weight() {
    let settings = still();
    let start = [1.0, 2.0].map(|x| Pose::new(x, 0.0, 0.0));
    let model = ByPlace(|x| if x > 10.0 { 0.0 } else { x });
    let mut localiser = Localiser::new(&model, &settings, &start).unwrap();
    let mut random = Random::new(1);
    let mut step =
        |forward: f64| localiser.step(&RangeScan::default(), Some([forward, 0.0, 0.0]), &mut random);
    let first = step(0.0);
    assert!(first.explained && (first.estimate.x - 5.0 / 3.0).abs() < 1e-6, "{first:?}");
    let lost = step(100.0);
    assert!(!lost.explained && (lost.estimate.x - 305.0 / 3.0).abs() < 1e-4, "{lost:?}");
    assert!((lost.effective - first.effective).abs() < 1e-12);
    let back = step(-100.0);
    assert!(back.explained && (back.estimate.x - 9.0 / 5.0).abs() < 1e-5, "weights 1 : 4 {back:?}");
    // An absurd action says only that time has passed: 20 cm, 10 pixels, in any direction.
    for absurd in [f64::NAN, f64::INFINITY, 1e300] {
        assert!(!step(absurd).moved);
    }
    let apart =
        localiser.belief().particles.column(0).iter().zip([1.0, 2.0]).map(|(at, from)| (at - from).abs());
    assert!(apart.into_iter().all(|moved| moved > 0.01 && moved < 100.0));
}
