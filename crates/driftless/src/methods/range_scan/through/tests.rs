//! Training through the filter against differences, and against what theory says.

use super::super::camera::Camera;
use super::super::network::learner;
use super::super::updates::Workspaces;
use super::super::views::Lens;
use super::super::walks::House;
use super::*;
use crate::learn::Alone;
use crate::methods::anchored::noise::Known;
use crate::methods::learner::Learner;
use crate::methods::range_scan::network::Network;
use driftless_core::motion::HeadingNoise;
use driftless_kernels::range_scan::ScanPlan;
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::labels::LabelBudget;
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};
use std::sync::Arc;

const PLAN: ScanPlan = ScanPlan { image: [56, 56], channels: 3, bins: BINS };
/// In the middle of the room, in centimetres.
const POSE: [f32; 3] = [150.0, 120.0, 0.3];

/// A walk of four steps in a room of 6 m by 4 m; its poses at steps 1 and 3 are known.
fn walk() -> Walk {
    let (width, height) = (310, 210);
    let wall = (0..width * height).map(|pixel| {
        let (x, y) = (pixel / height, pixel % height);
        if (5..305).contains(&x) && (5..205).contains(&y) { 0 } else { 255 }
    });
    let size = width * height;
    let maps = Arc::new(HouseMaps {
        width,
        height,
        wall: wall.collect(),
        door: vec![0; size],
        room_type: vec![0; size],
        room_id: vec![1; size],
    });
    let label = |t: usize| [POSE[0] + 20.0 * t as f32, POSE[1] + 5.0, POSE[2]];
    let actions = vec![[20.0, 0.0, 0.0]; 4];
    let images =
        Images { height: 56, width: 56, channels: 3, pixels: Pixels::Bytes(vec![9; 4 * 56 * 56 * 3]) };
    let mut states = Labels::new(3);
    (0..4).for_each(|_| states.push(None));
    let rows = Rows::new(3, actions.concat()).unwrap();
    let episode = Trajectory::new(Observations::Images(images.clone()), rows, states).unwrap();
    let lesson = LabelBudget::new(0.0, 0).unwrap().plan([vec![false; 4]]).lesson(0, episode).unwrap();
    Walk {
        images,
        labels: (0..4).map(|t| (t % 2 == 1).then(|| label(t))).collect(),
        actions,
        start: Start::About { pose: POSE, spread: [30.0, 30.0, 0.5] },
        house: Arc::new(House::new(&maps)),
        known: Known::of(&lesson, Frame::Robot),
    }
}

struct Harness {
    walk: Walk,
    learner: Learner<Network>,
    camera: Camera,
    lens: Lens,
    workspaces: Workspaces,
}

impl Harness {
    fn new() -> Self {
        let walk = walk();
        let lens = Lens::of(&walk.images).unwrap();
        let learner = learner(PLAN, 1, &mut Random::new(1));
        let camera = Camera::new(PLAN.image, PLAN.columns(), 0.02, 2.0);
        Self { walk, learner, camera, lens, workspaces: Workspaces::default() }
    }

    fn trainer(&self) -> Trainer<'_> {
        let Self { learner, camera, lens, workspaces, .. } = self;
        Trainer { network: learner.net(), camera, lens, workspaces, ranks: &Alone }
    }

    fn through(&self, kind: ThroughFilter, spread: [f32; 3]) -> Through<'_> {
        Through {
            kind,
            weight: 1.0,
            tempering: 0.02,
            odometry: Odometry {
                frame: Frame::Robot,
                rest: [2.0, 0.02],
                share: [0.0; 2],
                scale: 0.0,
                heading_noise: HeadingNoise::After,
                missing: [2.0, 0.02],
            },
            spread,
            blocks: vec![Block { walk: &self.walk, first: 0, pose: POSE }],
        }
    }
}

/// Scores as a network may give them: all numbers of all columns of four images.
fn scores() -> Vec<f32> {
    let mut random = Random::new(7);
    (0..4 * PLAN.columns() * PLAN.width()).map(|_| (1.5 * random.normal()) as f32).collect()
}

/// The losses that are compared, and the derivatives by scores.
fn found(harness: &Harness, through: &Through, scores: &[f32], seed: u64) -> (f64, Vec<f32>) {
    let mut by = scores.to_vec();
    let view = harness.lens.drawn(&mut Random::new(3));
    let loss = through.loss(&harness.trainer(), (&through.blocks[0], &view), 1.0, seed, &mut by);
    (loss, by)
}

/// Along random directions the derivative is that of central differences. Both losses are sums of a few numbers near 1 in
/// 64 bits, whose likelihoods and weights have 32: with a step of 0.03 each, 4e-6 of noise.
#[test]
fn derivatives_are_those_of_differences() {
    let harness = Harness::new();
    for kind in [ThroughFilter::Density, ThroughFilter::Evidence] {
        let through = harness.through(kind, [10.0, 10.0, 0.1]);
        let scores = scores();
        let (loss, by) = found(&harness, &through, &scores, 5);
        assert!(loss.is_finite() && by.iter().all(|x| x.is_finite()));
        for direction in 0..4_u64 {
            let mut random = Random::new(20 + direction);
            let way: Vec<f32> = scores.iter().map(|_| random.normal() as f32).collect();
            let step = 0.03;
            let at = |sign: f32| -> f64 {
                let moved: Vec<f32> = scores.iter().zip(&way).map(|(x, d)| x + sign * step * d).collect();
                found(&harness, &through, &moved, 5).0
            };
            let difference = (at(1.0) - at(-1.0)) / f64::from(2.0 * step);
            let slope: f64 = by.iter().zip(&way).map(|(by, d)| f64::from(by * d)).sum();
            let size: f64 = by.iter().map(|by| f64::from(by * by)).sum::<f64>().sqrt();
            assert!(size > 1e-3, "{kind:?}: a gradient of {size} shows nothing");
            assert!((difference - slope).abs() < 2e-4 + 0.01 * size, "{kind:?}: {difference} {slope} {size}");
        }
    }
}

/// The same number for all bins of a column changes no probability: derivatives of each column add up to nothing.
#[test]
fn only_differences_of_scores_count() {
    let harness = Harness::new();
    let (_, by) = found(&harness, &harness.through(ThroughFilter::Evidence, [10.0, 10.0, 0.1]), &scores(), 2);
    for column in by.chunks_exact(PLAN.width()) {
        let (sum, size) = (column.iter().sum::<f32>(), column.iter().map(|x| x.abs()).sum::<f32>());
        assert!(sum.abs() <= 1e-5 * size.max(1e-3), "{sum} {size}");
    }
}

/// A scan without an opinion weighs no particle: the evidence is that of one bin in each column, and the density that of
/// particles of equal weight.
#[test]
fn a_scan_without_an_opinion() {
    let harness = Harness::new();
    let through = harness.through(ThroughFilter::Evidence, [10.0, 10.0, 0.1]);
    let flat = vec![0.0; scores().len()];
    let (loss, by) = found(&harness, &through, &flat, 4);
    let expected = f64::from(through.tempering) * PLAN.columns() as f64 * (BINS as f64).ln();
    // Of 32 bits: 28 logarithms near 3.7.
    assert!((loss - expected).abs() < 1e-4, "{loss} {expected}");
    // More evidence is to be had where particles see walls.
    assert!(by.iter().any(|x| x.abs() > 1e-4));
    let density = harness.through(ThroughFilter::Density, [0.0; 3]);
    // All particles begin at the pose, and move by little: the labels are half a kernel off.
    let (loss, _) = found(&harness, &density, &flat, 4);
    assert!((0.1..0.6).contains(&loss), "{loss}");
}

/// Following the derivative makes both losses smaller.
#[test]
fn descent_goes_down() {
    let harness = Harness::new();
    for kind in [ThroughFilter::Density, ThroughFilter::Evidence] {
        let (through, mut scores) = (harness.through(kind, [20.0, 20.0, 0.2]), scores());
        let (first, _) = found(&harness, &through, &scores, 9);
        for _ in 0..30 {
            let (_, by) = found(&harness, &through, &scores, 9);
            scores.iter_mut().zip(by).for_each(|(x, by)| *x -= 20.0 * by);
        }
        let (last, _) = found(&harness, &through, &scores, 9);
        assert!(last < first - 0.05, "{kind:?}: {first} {last}");
    }
}
