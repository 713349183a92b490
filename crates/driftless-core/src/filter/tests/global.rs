//! Global start, tempering and recovery with a robot on a circle that may be kidnapped.

use crate::draws::{Draws, Stream};
use crate::exponential::log_sum_exp_64;
use crate::filter::{Filter, FilterState, Population, Recovery, Tempering, Workspace};
use crate::motion::{HeadingNoise, Odometry, Still};
use crate::pose::{Frame, Pose, wrap};
use crate::random::Random;
use crate::resample::Scheme;
use crate::sensor::{Proposal, Reading, Sensor};
use crate::{Belief, Particles, Space};
use std::f64::consts::PI;

/// Scores of poses, with a map of them all over the space.
struct Map<'a, F> {
    poses: &'a [[f32; 3]],
    score: F,
    jitter: [f32; 3],
}

impl<F: Fn(&[f32; 3]) -> f32> Sensor for Map<'_, F> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        for (i, log) in log.iter_mut().enumerate() {
            let mut state = particles.state(i);
            *log = (self.score)(&std::array::from_fn(|_| state.next().unwrap()));
        }
        Reading::Present
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        Some(self)
    }
}

impl<F: Fn(&[f32; 3]) -> f32> Proposal for Map<'_, F> {
    fn log_evidence(&mut self, tempering: f32) -> f64 {
        let logs: Vec<f64> =
            self.poses.iter().map(|pose| f64::from(tempering * (self.score)(pose))).collect();
        log_sum_exp_64(&logs) - (logs.len() as f64).ln()
    }

    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        let weights: Vec<f64> =
            self.poses.iter().map(|pose| f64::from(tempering * (self.score)(pose)).exp()).collect();
        let mut chosen = Vec::new();
        Scheme::Systematic.ancestors(&weights, count, || draws.uniform(), &mut chosen);
        for i in chosen {
            let mut z = [0.0; 3];
            draws.normals(&mut z);
            let pose = self.poses[i as usize];
            particles.push(&std::array::from_fn::<f32, 3, _>(|k| pose[k] + self.jitter[k] * z[k]));
        }
    }
}

const ACTION: [f32; 3] = [10.0, 0.0, 0.2];
const RECOVERY: Recovery = Recovery { kidnap_probability: 1e-4, most_injected: 0.1 };
const ODOMETRY: Odometry = Odometry {
    frame: Frame::Reflected,
    rest: [1.0, 0.02],
    share: [0.0; 2],
    scale: 0.0,
    heading_noise: HeadingNoise::After,
    missing: [10.0, 0.2],
};

fn filter(recovery: Option<Recovery>) -> Filter {
    Filter {
        population: Population { least: 100, most: 1000, found: 20.0 },
        tempering: Tempering { near: 1.25, far: 0.5, one_place: 40.0 },
        recovery,
        ..Filter::bootstrap(1000)
    }
}

/// Distances from the truth at all steps, and numbers of particles; the robot is carried away at step 20 if `kidnapped`.
fn errors(recovery: Option<Recovery>, kidnapped: bool, seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut random = Random::new(9);
    let mut pose =
        || [random.range(0.0, 200.0), random.range(0.0, 200.0), random.range(-PI, PI)].map(|x| x as f32);
    let map: Vec<[f32; 3]> = (0..5000).map(|_| pose()).collect();
    let (filter, mut workspace, mut draws) =
        (filter(recovery), Workspace::new(Space::SE2), Stream::new(seed, 0));
    let (mut truth, mut state) = (Pose::new(150.0, 50.0, 0.5), None);
    let (mut errors, mut counts) = (Vec::new(), Vec::new());
    for t in 0..40 {
        if t > 0 {
            truth = truth.moved(ACTION.map(f64::from), Frame::Reflected);
        }
        if kidnapped && t == 20 {
            truth = Pose::new(40.0, 60.0, -1.0);
        }
        // A Gaussian of 10 units around where it is.
        let score = |pose: &[f32; 3]| {
            let [x, y, heading] = pose.map(f64::from);
            let far = (x - truth.x).powi(2) + (y - truth.y).powi(2);
            (-0.005 * far - 20.0 * wrap(heading - truth.heading).powi(2)) as f32
        };
        let mut sensor = Map { poses: &map, score, jitter: [6.0, 6.0, 0.2] };
        match &mut state {
            None => {
                state = filter.global_start(Space::SE2, &mut sensor, true, &mut draws).map(|start| start.0);
            }
            Some(state) => {
                let mut motion = ODOMETRY.by(Some(ACTION));
                filter.step(state, &mut motion, &mut sensor, &mut draws, &mut workspace);
            }
        }
        let belief = &state.as_ref().unwrap().belief;
        let mean = belief.mean();
        errors.push(Pose::new(mean[0], mean[1], mean[2]).distance(truth));
        counts.push(belief.particles.len());
    }
    (errors, counts)
}

#[test]
fn the_map_finds_the_robot_and_recovery_finds_it_again() {
    let (found, counts) = errors(Some(RECOVERY), false, 1);
    // A tempered reading is exact within 14 units (10 / √½); ten of them within 5, and two of those are 10.
    assert!(found[39] < 10.0 && found[5] < 20.0, "{found:?}");
    assert_eq!((counts[0], counts[10], counts[39]), (1000, 100, 100));
    let (again, _) = errors(Some(RECOVERY), true, 1);
    assert!(again[19] < 10.0 && again[39] < 10.0, "{again:?}");
    let (never, _) = errors(None, true, 1);
    // It stays on a wrong circle, which crosses the right one, while the recovered one is exact again.
    assert!(never[35..].iter().all(|&error| error > 15.0), "{never:?}");
    assert!(again[25..].iter().all(|&error| error < 10.0), "{again:?}");
    assert_eq!(errors(Some(RECOVERY), true, 2), errors(Some(RECOVERY), true, 2));
    assert_ne!(errors(Some(RECOVERY), true, 2), errors(Some(RECOVERY), true, 3));
}

/// All particles leave the world at the second step: injected ones are the belief, and nothing is missing from it, so
/// that none come in the third.
#[test]
fn an_impossible_belief_is_replaced_once() {
    let map = [[50.0, 50.0, 0.0]; 50];
    let score = |pose: &[f32; 3]| if pose[0].abs() < 500.0 { 0.0 } else { f32::NEG_INFINITY };
    let mut sensor = Map { poses: &map, score, jitter: [6.0, 6.0, 0.2] };
    let filter = Filter { population: Population::fixed(100), ..filter(Some(RECOVERY)) };
    let (mut draws, mut workspace) = (Stream::new(1, 0), Workspace::new(Space::SE2));
    let (mut state, evidence) = filter.global_start(Space::SE2, &mut sensor, false, &mut draws).unwrap();
    assert_eq!(evidence, 0.0);
    let mut counts = vec![state.belief.particles.len()];
    for forward in [1e6, 0.0, 0.0] {
        let mut motion = ODOMETRY.by(Some([forward, 0.0, 0.0]));
        let report = filter.step(&mut state, &mut motion, &mut sensor, &mut draws, &mut workspace);
        assert_eq!(report.collapsed, forward > 0.0);
        assert!((state.belief.weights.linear().iter().sum::<f32>() - 1.0).abs() < 1e-5);
        counts.push(state.belief.particles.len());
    }
    assert_eq!(counts, [100, 110, 100, 100]);
}

const EITHER: [[f32; 3]; 2] = [[-100.0, 0.0, 0.0], [100.0, 0.0, 0.0]];

/// One in two poses is e times likelier. A tempering of 2 counts 0.8 of two places, and 2 around one; whether the robot is
/// elsewhere is decided by 0.8 in any case: by (1 + e^0.8) / 2 here, against the same on the map.
#[test]
fn readings_are_tempered_between_places() {
    let score = |pose: &[f32; 3]| if pose[0] > 0.0 { 1.0 } else { 0.0 };
    let filter = Filter {
        tempering: Tempering { near: 2.0, far: 0.8, one_place: 40.0 },
        population: Population::fixed(2),
        ..filter(Some(RECOVERY))
    };
    for (apart, tempering) in [(1.0, 0.8), (0.1, 2.0_f32)] {
        let poses = EITHER.map(|[x, y, heading]| [apart * x, y, heading]);
        let mut state = FilterState {
            kidnapped: 0.3,
            ..FilterState::new(Belief::new(Particles::from_states(Space::SE2, poses)))
        };
        let mut workspace = Workspace::new(Space::SE2);
        let mut sensor = Map { poses: &EITHER, score, jitter: [0.0; 3] };
        let report = filter.reweight(&mut state, &mut sensor, &mut workspace);
        let ratio = state.belief.weights.log()[1] - state.belief.weights.log()[0];
        assert!((ratio - tempering).abs() < 1e-6, "{ratio}");
        let expected = (0.5 + 0.5 * f64::from(tempering).exp()).ln();
        assert!((report.log_evidence - expected).abs() < 1e-6, "{report:?}");
        let far = (0.5 + 0.5 * f64::exp(0.8)).ln();
        assert!((state.kidnapped - RECOVERY.probability(0.3, far, far)).abs() < 1e-6, "{state:?}");
    }
}

/// Without a reading the robot may have been kidnapped, but nothing is injected.
#[test]
fn a_missing_reading_injects_nothing() {
    struct Blind;
    impl Sensor for Blind {
        fn log_likelihoods(&mut self, _: &Particles, _: &mut [f32]) -> Reading {
            Reading::Missing
        }
    }
    let mut state = FilterState {
        kidnapped: 0.9,
        ..FilterState::new(Belief::new(Particles::from_states(Space::SE2, EITHER)))
    };
    let filter = Filter { population: Population::fixed(2), ..filter(Some(RECOVERY)) };
    let mut draws = Stream::new(1, 0);
    let report = filter.step(&mut state, &mut Still, &mut Blind, &mut draws, &mut Workspace::new(Space::SE2));
    assert_eq!((report.injected, state.belief.particles.len()), (0, 2));
    assert!((state.kidnapped - 0.900_01).abs() < 1e-9);
}
