//! The filter of deployment against a robot on a circle, and its rules by hand.

use super::*;
use driftless_world::pose::{Frame, Pose, wrap};
use std::f64::consts::PI;

/// A robot on a circle, seen by a Gaussian of 10 units around where it is.
struct Circle<'a> {
    truth: Vec<Pose>,
    map: &'a [[f64; 3]],
}

impl View for Circle<'_> {
    fn scores(&self, t: usize, poses: &[[f64; 3]], scores: &mut Vec<f64>) {
        let truth = self.truth[t];
        let score = |pose: &[f64; 3]| {
            let far = (pose[0] - truth.x).powi(2) + (pose[1] - truth.y).powi(2);
            -0.005 * far - 20.0 * wrap(pose[2] - truth.heading).powi(2)
        };
        *scores = poses.iter().map(score).collect();
    }

    fn of_map(&self, t: usize, scores: &mut Vec<f64>) {
        self.scores(t, self.map, scores);
    }

    fn everywhere(&self, t: usize, temper: f64) -> f64 {
        let mut scores = Vec::new();
        self.of_map(t, &mut scores);
        log_sum(&scores.iter().map(|score| temper * score).collect::<Vec<f64>>()) - (scores.len() as f64).ln()
    }
}

const ACTION: [f64; 3] = [10.0, 0.0, 0.2];

fn tracker(map: &[[f64; 3]], bounds: [[f64; 2]; 2]) -> Tracker<'_> {
    Tracker {
        odometry: Odometry::new(Frame::Reflected, [1.0, 0.02], [0.0; 2]),
        map,
        jitter: [6.0, 6.0, 0.2],
        bounds,
        temper: 0.5 / DOUBT,
        population: [1000, 100],
        found: 20.0,
        looks_first: true,
        recovers: true,
    }
}

/// Distances from the truth at all steps; the robot is carried away at step 20 if `kidnapped`.
fn errors(recovers: bool, kidnapped: bool, seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut random = Random::new(9);
    let mut pose = || [random.range(0.0, 200.0), random.range(0.0, 200.0), random.range(-PI, PI)];
    let map: Vec<[f64; 3]> = (0..5000).map(|_| pose()).collect();
    let mut truth = vec![Pose::new(150.0, 50.0, 0.5)];
    for t in 1..40 {
        let next = truth[t - 1].moved(ACTION, Frame::Reflected);
        truth.push(if kidnapped && t == 20 { Pose::new(40.0, 60.0, -1.0) } else { next });
    }
    let view = Circle { truth: truth.clone(), map: &map };
    let tracker = Tracker { recovers, ..tracker(&map, [[0.0; 2], [200.0; 2]]) };
    let (mut errors, mut counts) = (Vec::new(), Vec::new());
    tracker.follow(&view, &[ACTION; 40], &mut Random::new(seed), |t, cloud, _| {
        errors.push(cloud.mean().distance(truth[t]));
        counts.push(cloud.poses.len());
    });
    (errors, counts)
}

#[test]
fn the_map_finds_the_robot_and_recovery_finds_it_again() {
    let (found, counts) = errors(true, false, 1);
    // A doubtful look is exact within 14 units (10 / √½); ten of them within 5, and two of those are 10.
    assert!(found[39] < 10.0 && found[5] < 20.0, "{found:?}");
    assert_eq!((counts[0], counts[10], counts[39]), (1000, 100, 100));
    let (again, _) = errors(true, true, 1);
    assert!(again[19] < 10.0 && again[39] < 10.0, "{again:?}");
    let (never, _) = errors(false, true, 1);
    // It stays on a wrong circle, which crosses the right one, while the recovered one is exact again.
    assert!(never[35..].iter().all(|&error| error > 15.0), "{never:?}");
    assert!(again[25..].iter().all(|&error| error < 10.0), "{again:?}");
}

/// Four times the area, four times the particles; never none, and a world without extent is found.
#[test]
fn as_many_particles_as_the_belief_is_wide() {
    let with = |population| Tracker { population, ..tracker(&[], [[0.0; 2]; 2]) };
    let wanted = [0.0, 20.0, 40.0, 1e3, f64::INFINITY, f64::NAN].map(|s| with([3000, 100]).wanted(s));
    assert_eq!(wanted, [100, 100, 400, 3000, 3000, 100]);
    assert_eq!([0.0, 1e3].map(|s| with([0, 0]).wanted(s)), [1, 1]);
    assert_eq!([0.0, 1e3].map(|s| with([50, 100]).wanted(s)), [100, 100]);
}

/// All particles leave the world at the second step: newcomers are the belief, and nothing is missing from it, so
/// that none come in the third.
#[test]
fn an_impossible_belief_is_replaced_once() {
    struct Blank;
    impl View for Blank {
        fn scores(&self, _: usize, poses: &[[f64; 3]], scores: &mut Vec<f64>) {
            *scores = vec![0.0; poses.len()];
        }
        fn of_map(&self, _: usize, scores: &mut Vec<f64>) {
            *scores = vec![0.0; 50];
        }
        fn everywhere(&self, _: usize, _: f64) -> f64 {
            0.0
        }
    }
    let map = [[50.0, 50.0, 0.0]; 50];
    let tracker = Tracker { population: [100, 100], ..tracker(&map, [[0.0; 2], [100.0; 2]]) };
    let mut counts = Vec::new();
    let actions = [[0.0; 3], [1e6, 0.0, 0.0], [0.0; 3], [0.0; 3]];
    tracker.follow(&Blank, &actions, &mut Random::new(1), |_, cloud, _| {
        assert!((cloud.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        counts.push(cloud.poses.len());
    });
    assert_eq!(counts, [100, 110, 100, 100]);
}

/// As likely under both: one in ten thousand more than before. e^7 times likelier anywhere else: 0.0001 e^7 to
/// 0.9999 by odds. What points the same way adds up.
#[test]
fn lost_by_bayes_rule() {
    assert!((lost_now(0.0, -3.0, -3.0) - ASTRAY).abs() < 1e-15);
    assert!((lost_now(0.5, -3.0, -3.0) - 0.50005).abs() < 1e-12);
    let odds = ASTRAY * 7.0_f64.exp() / (1.0 - ASTRAY);
    assert!((lost_now(0.0, -9.0, -2.0) - odds / (1.0 + odds)).abs() < 1e-12);
    assert_eq!((lost_now(0.0, f64::NEG_INFINITY, -2.0), lost_now(0.3, 0.0, -1e4)), (1.0, 0.0));
    let often = (0..10).fold(0.0, |lost, _| lost_now(lost, -4.0, -3.0));
    assert!(often > 0.5, "ten images, each e times likelier anywhere else: {often}");
}

#[test]
fn a_seed_names_the_track() {
    assert_eq!(errors(true, true, 2), errors(true, true, 2));
    assert_ne!(errors(true, true, 2), errors(true, true, 3));
}

/// One in two poses is e times likelier, before the temper.
struct Either;

impl View for Either {
    fn scores(&self, _: usize, poses: &[[f64; 3]], scores: &mut Vec<f64>) {
        *scores = poses.iter().map(|pose| if pose[0] > 0.0 { 1.0 } else { 0.0 }).collect();
    }

    fn of_map(&self, t: usize, scores: &mut Vec<f64>) {
        self.scores(t, &EITHER, scores);
    }

    fn everywhere(&self, _: usize, temper: f64) -> f64 {
        0.7 * temper
    }
}

const EITHER: [[f64; 3]; 2] = [[-100.0, 0.0, 0.0], [100.0, 0.0, 0.0]];

/// A temper of 2 counts 0.8 of two places, and 2 around one; whether the robot is elsewhere is judged by 0.8 in any
/// case: by (1 + e^0.8) / 2 against e^0.56.
#[test]
fn images_are_doubted_between_places() {
    let tracker = Tracker { temper: 2.0, ..tracker(&EITHER, [[-500.0; 2], [500.0; 2]]) };
    for (apart, temper) in [(1.0, 0.8), (0.1, 2.0)] {
        let poses = EITHER.map(|[x, y, heading]| [apart * x, y, heading]).to_vec();
        let cloud = Cloud { poses, weights: vec![0.5; 2] };
        let (mut room, mut lost) = (Room::default(), 0.3);
        let evidence = tracker.weigh((&Either, 0), &cloud, &mut lost, &mut room);
        assert!((room.logs[1] - room.logs[0] - temper).abs() < 1e-12, "{:?}", room.logs);
        assert!((evidence - (0.5 + 0.5 * f64::exp(temper)).ln()).abs() < 1e-12, "{evidence}");
        let expected = lost_now(0.3, (0.5 + 0.5 * f64::exp(0.8)).ln(), 0.56);
        assert!((lost - expected).abs() < 1e-12, "{lost} {expected}");
    }
}

/// The map is looked at by 0.8, too: in the beginning, and where newcomers are drawn.
#[test]
fn images_are_doubted_on_the_map() {
    let tracker = Tracker { temper: 2.0, ..tracker(&EITHER, [[-500.0; 2], [500.0; 2]]) };
    let (mut walk, mut random) = (Walk::default(), Random::new(1));
    let evidence = tracker.begin(&Either, &mut random, &mut walk);
    assert!((evidence - 0.56).abs() < 1e-12, "{evidence}");
    let ratio = |walk: &Walk| (walk.room.map[1] / walk.room.map[0]).ln();
    assert!((ratio(&walk) - 0.8).abs() < 1e-12, "{:?}", walk.room.map);
    walk.room.map.clear();
    walk.lost = 0.9;
    tracker.step((&Either, 1), &[0.0; 3], &mut random, &mut walk);
    assert!((ratio(&walk) - 0.8).abs() < 1e-12, "{:?}", walk.room.map);
}
