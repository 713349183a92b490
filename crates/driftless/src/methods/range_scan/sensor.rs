//! The range scan as a sensor: columns say how far walls are, rays say how far they would be.

use super::bins::{BINS, interpolated};
use super::camera::Camera;
use driftless_core::map::Walls;
use crate::methods::anchored::paths::Evidence;
use driftless_core::{Particles, Reading, Sensor};
use rayon::prelude::*;

/// Particles that a thread looks at together, at least: fewer are not worth sharing.
const TOGETHER: usize = 512;

/// Scans of an episode: logarithms of probabilities by step, column and bin; none of a step whose image is damaged.
pub(super) struct Scans {
    pub(super) log: Vec<Option<Vec<f32>>>,
}

/// A scan on a map.
pub(super) struct RangeSensor<'a> {
    pub(super) camera: &'a Camera,
    pub(super) walls: &'a Walls,
    pub(super) scans: &'a Scans,
    /// The step.
    pub(super) t: usize,
    /// Every so many columns count; log-likelihoods are sums over these, times so many.
    pub(super) every: usize,
}

impl RangeSensor<'_> {
    /// Σ over columns of log p(distance on the map).
    fn log_likelihood(&self, log: &[f32], pose: [f32; 3]) -> f32 {
        let mut sum = 0.0;
        self.camera.look(self.walls, pose, self.every, |column, place| {
            sum += interpolated(&log[column * BINS..(column + 1) * BINS], place);
        });
        sum * self.every as f32
    }
}

impl Sensor for RangeSensor<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let Some(scan) = &self.scans.log[self.t] else { return Reading::Missing };
        let pose = |i: usize| [0, 1, 2].map(|k| particles.column(k)[i]);
        let sensor = &*self;
        log.par_chunks_mut(TOGETHER).enumerate().for_each(|(part, log)| {
            for (i, log) in log.iter_mut().enumerate() {
                *log = sensor.log_likelihood(scan, pose(part * TOGETHER + i));
            }
        });
        Reading::Present
    }
}

/// Scans to the power of a factor, as evidence along a path.
pub(super) struct Tempered<'a>(pub(super) RangeSensor<'a>, pub(super) f32);

impl Evidence for Tempered<'_> {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        self.0.t = t;
        let reading = self.0.log_likelihoods(poses, log);
        log.iter_mut().for_each(|score| *score *= self.1);
        reading
    }
}
