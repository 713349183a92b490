//! The range scan as a sensor: columns say how far walls are, rays say how far they would be.

use super::camera::Camera;
use crate::methods::anchored::paths::Evidence;
use driftless_core::map::Walls;
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
    fn log_likelihood(&self, log: &[f32], pose: [f32; 3]) -> f32 {
        self.camera.log_likelihood(self.walls, log, pose, self.every)
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
        for score in log.iter_mut() {
            *score *= self.1;
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::{BINS, add_target, log_probabilities};
    use super::*;
    use driftless_core::{Particles, Space};

    /// A room of 6 m by 4 m with a pillar, in pixels of 2 cm; poses in centimetres.
    fn room() -> Walls {
        Walls::new(310, 210, |pixel| {
            let (x, y) = (pixel / 210, pixel % 210);
            !(5..305).contains(&x)
                || !(5..205).contains(&y)
                || ((150..170).contains(&x) && (90..110).contains(&y))
        })
    }

    /// What a network would say that knows the distances from a pose.
    fn scan_at(camera: &Camera, walls: &Walls, pose: [f32; 3]) -> Vec<f32> {
        let mut scan = vec![0.0; camera.columns() * BINS];
        camera.look(walls, pose, 1, |column, place| {
            let column = &mut scan[column * BINS..(column + 1) * BINS];
            add_target(place, 1.0, column);
            // Scores are logarithms.
            for p in column.iter_mut() {
                *p = p.max(1e-6).ln();
            }
            log_probabilities(column);
        });
        scan
    }

    fn likelihoods(sensor: &mut RangeSensor, poses: &[[f32; 3]]) -> Vec<f32> {
        let mut log = vec![0.0; poses.len()];
        let particles = Particles::from_states(Space::SE2, poses);
        assert_eq!(sensor.log_likelihoods(&particles, &mut log), Reading::Present);
        log
    }

    /// The pose that a scan was taken at explains it better than poses 30 cm or 15 degrees off, by all columns and by
    /// every second; a damaged image says nothing.
    #[test]
    fn the_true_pose_is_the_most_likely() {
        let (walls, camera) = (room(), Camera::new([56, 56], 28, 0.02, 2.0));
        let truth = [200.0, 120.0, 0.4];
        let scans = Scans { log: vec![Some(scan_at(&camera, &walls, truth)), None] };
        let mut poses = vec![truth];
        for turn in [-0.26, 0.26] {
            poses.push([truth[0], truth[1], truth[2] + turn]);
        }
        for [x, y] in [[30.0, 0.0], [-30.0, 0.0], [0.0, 30.0], [0.0, -30.0], [300.0, 150.0]] {
            poses.push([truth[0] + x, truth[1] + y, truth[2]]);
        }
        // Outside, and nowhere.
        poses.extend([[-500.0, 0.0, 0.0], [f32::NAN; 3]]);
        for every in [1, 2] {
            let mut sensor = RangeSensor { camera: &camera, walls: &walls, scans: &scans, t: 0, every };
            let log = likelihoods(&mut sensor, &poses);
            assert!(log[1..].iter().all(|other| *other < log[0] - 1.0 && other.is_finite()), "{log:?}");
        }
        let mut damaged = RangeSensor { camera: &camera, walls: &walls, scans: &scans, t: 1, every: 1 };
        let particles = Particles::from_states(Space::SE2, &poses);
        assert_eq!(damaged.log_likelihoods(&particles, &mut [0.0; 10]), Reading::Missing);
    }

    /// Depth along the axis of a wall straight ahead is the same in all columns, however long their rays are.
    #[test]
    fn a_wall_ahead_is_equally_deep_everywhere() {
        let (walls, camera) = (room(), Camera::new([56, 56], 28, 0.02, 2.0));
        // 1.1 m before the wall in the east, which is at x = 610 cm; columns look half a metre to either side.
        let mut places = Vec::new();
        camera.look(&walls, [500.0, 120.0, 0.0], 1, |_, place| places.push(place));
        let width = 100.0_f32.ln() / 39.0;
        let expected = (1.1_f32 / 0.15).ln() / width;
        assert_eq!(places.len(), 28);
        // A quarter of a pixel of 55 is 0.5 %, or 0.04 bins.
        assert!(places.iter().all(|place| (place - expected).abs() < 0.05), "{expected} {places:?}");
    }
}
