//! The filter under way: microseconds a step, for few and for many particles.

use super::job::{MOTION, PIXELS};
use super::{Spread, seconds};
use driftless_kernels::online::{Online, Places, PoseTable};
use driftless_kernels::scan::PoseNet;
use driftless_kernels::training::Networks;
use driftless_kernels::uniform;
use serde::Serialize;

/// Nodes of the table along x, y and heading, over a maze of 1000 by 500 units.
const NODES: [usize; 3] = [101, 51, 36];
const MAZE: [[f32; 2]; 2] = [[0.0, 0.0], [1000.0, 500.0]];
/// Images that come again and again.
const IMAGES: usize = 64;
const ACTION: [f32; 3] = [5.0, 1.0, 0.1];

/// How long steps of so many particles take.
#[derive(Serialize)]
pub struct OnlineTimes {
    pub particles: usize,
    pub tabulated: bool,
    pub microseconds: Spread,
}

fn filter(nets: &Networks, places: Places, count: usize) -> (Online, Vec<f32>) {
    let images = (0..(IMAGES * PIXELS) as u64).map(|k| uniform(3, k)).collect();
    let near =
        |i: u64| [0, 1, 2].map(|k| [500.0, 250.0, 0.0][k] + MOTION.noise[k] * uniform(40 + k as u64, i));
    let first: Vec<[f32; 3]> = (0..count as u64).map(near).collect();
    (Online::new(nets.eyes.clone(), places, MOTION, &first, 5), images)
}

/// Means over rounds of some steps, as the contenders are timed.
pub fn times(nets: &Networks, count: usize, tabulated: bool) -> OnlineTimes {
    let places =
        if tabulated { Places::Tabulated(table(&nets.poses)) } else { Places::Exact(nets.poses.clone()) };
    let (mut online, images) = filter(nets, places, count);
    let steps = (2_000_000 / (count + 2000)).clamp(10, 300);
    let mut round = || {
        let all = seconds(|| {
            for image in images.chunks_exact(PIXELS).cycle().take(steps) {
                online.step(image, ACTION);
            }
        });
        1e6 * all / steps as f64
    };
    round();
    let microseconds = Spread::of((0..6).map(|_| round()).collect());
    OnlineTimes { particles: count, tabulated, microseconds }
}

fn table(poses: &PoseNet) -> PoseTable {
    PoseTable::new(poses.clone(), MAZE, NODES)
}

/// The spread of single steps: medians, percentiles and the worst of so many.
#[derive(Serialize)]
pub struct SingleSteps {
    pub particles: usize,
    pub steps: usize,
    pub p50: f64,
    pub p99: f64,
    pub worst: f64,
}

/// Times steps one by one.
pub fn single_steps(nets: &Networks, particles: usize, steps: usize) -> SingleSteps {
    let (mut online, images) = filter(nets, Places::Exact(nets.poses.clone()), particles);
    online.step(&images[..PIXELS], ACTION);
    let all = images.chunks_exact(PIXELS).cycle().take(steps);
    let mut times: Vec<f64> = all.map(|image| 1e6 * seconds(|| _ = online.step(image, ACTION))).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    SingleSteps { particles, steps, p50: at(0.5), p99: at(0.99), worst: at(1.0) }
}

/// How far cosines of the table are from the network's: the largest and the mean over poses all over the maze.
pub fn table_error(nets: &Networks) -> [f64; 2] {
    let width = nets.poses.layers.width();
    let mut seen: Vec<f32> = (0..width as u64).map(|k| uniform(8, k)).collect();
    let length = seen.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in &mut seen {
        *x /= length;
    }
    let pose = |i: u64| {
        let [x, y, turn] = [0, 1, 2].map(|k| uniform(60 + k, i));
        [MAZE[1][0] * x, MAZE[1][1] * y, std::f32::consts::TAU * (turn - 0.5)]
    };
    let poses: Vec<[f32; 3]> = (0..20_000).map(pose).collect();
    table(&nets.poses).error(&seen, &poses)
}
