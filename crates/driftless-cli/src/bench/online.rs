//! Online steps: microseconds a step, for few and for many particles.

use super::job::{MOTION, PIXELS};
use super::{Spread, seconds};
use driftless_kernels::online::Online;
use driftless_kernels::training::Networks;
use driftless_kernels::uniform;
use serde::Serialize;

/// Images that come again and again.
const IMAGES: usize = 64;
const ACTION: Option<[f32; 3]> = Some([5.0, 1.0, 0.1]);

/// How long steps of so many particles take.
#[derive(Serialize)]
pub struct OnlineTimes {
    pub particles: usize,
    pub microseconds: Spread,
}

fn filter(nets: &Networks, count: usize) -> (Online, Vec<f32>) {
    let images = (0..(IMAGES * PIXELS) as u64).map(|k| uniform(3, k)).collect();
    let near =
        |i: u64| [0, 1, 2].map(|k| [500.0, 250.0, 0.0][k] + MOTION.noise[k] * uniform(40 + k as u64, i));
    let first: Vec<[f32; 3]> = (0..count as u64).map(near).collect();
    let missing = [MOTION.noise[0], MOTION.noise[2]];
    (Online::new((nets.frame_encoder.clone(), nets.poses.clone()), MOTION, missing, &first, 5), images)
}

/// Means over rounds of some steps, as the contenders are timed.
pub fn times(nets: &Networks, count: usize) -> OnlineTimes {
    let (mut online, images) = filter(nets, count);
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
    OnlineTimes { particles: count, microseconds }
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
    let (mut online, images) = filter(nets, particles);
    online.step(&images[..PIXELS], ACTION);
    let all = images.chunks_exact(PIXELS).cycle().take(steps);
    let mut times: Vec<f64> = all.map(|image| 1e6 * seconds(|| _ = online.step(image, ACTION))).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    SingleSteps { particles, steps, p50: at(0.5), p99: at(0.99), worst: at(1.0) }
}
