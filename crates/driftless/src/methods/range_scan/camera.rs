//! The rays of an image's columns, and what a map says of them.

use super::bins::{LONGEST, Scale};
use driftless_core::map::{Rays, Walls};
use driftless_core::{Cpu, LANES};

/// Vertical field of view of the camera, as in House3D; pixels are square.
const FIELD_OF_VIEW: f64 = 60.0;

/// Rays through the columns of a scan.
pub(super) struct Camera {
    /// Ahead and to the left, of length 1.
    directions: Vec<[f32; 2]>,
    /// What each adds to places among the bins.
    shifts: Vec<f32>,
    scale: Scale,
    units_per_pixel: f32,
}

impl Camera {
    /// For images of this height and width, seen in so many columns, on a map whose pixels have this size in metres and in
    /// units of poses.
    pub(super) fn new([height, width]: [usize; 2], columns: usize, metres: f64, units: f64) -> Self {
        let pixel = 2.0 * (0.5 * FIELD_OF_VIEW.to_radians()).tan() / height as f64;
        let slope = |column: usize| {
            // The middle of the columns of the image that it stands for.
            let middle = (column as f64 + 0.5) * width as f64 / columns as f64;
            (0.5 * width as f64 - middle) * pixel
        };
        let lengths: Vec<(f64, f64)> = (0..columns).map(|c| (slope(c), slope(c).hypot(1.0))).collect();
        Self {
            directions: lengths
                .iter()
                .map(|(slope, length)| [(1.0 / length) as f32, (slope / length) as f32])
                .collect(),
            shifts: lengths.iter().map(|(_, length)| Scale::shift(1.0 / length)).collect(),
            scale: Scale::new(metres),
            units_per_pixel: units as f32,
        }
    }

    /// How many.
    pub(super) fn columns(&self) -> usize {
        self.directions.len()
    }

    /// Calls `place(column, where its ray ends among the bins)` for every `every`-th column as seen from a pose. What
    /// leaves the map ends in the last bin.
    #[inline]
    pub(super) fn look(
        &self,
        walls: &Walls,
        pose: [f32; 3],
        every: usize,
        mut place: impl FnMut(usize, f32),
    ) {
        let [x, y] = [pose[0] / self.units_per_pixel, pose[1] / self.units_per_pixel];
        let (sine, cosine) = pose[2].sin_cos();
        let columns = self.columns().div_ceil(every);
        for first in (0..columns).step_by(LANES) {
            // Columns beyond the last are the last once more.
            let column = |k: usize| ((first + k) * every).min(self.columns() - 1);
            let ray = |k: usize| self.directions[column(k)];
            let rays = Rays {
                x: [x; LANES],
                y: [y; LANES],
                dx: std::array::from_fn(|k| cosine * ray(k)[0] - sine * ray(k)[1]),
                dy: std::array::from_fn(|k| sine * ray(k)[0] + cosine * ray(k)[1]),
            };
            let ranges = walls.ranges(Cpu::best(), &rays, LONGEST);
            for (k, range) in ranges.iter().enumerate().take(columns - first) {
                place(column(k), self.scale.place(*range) + self.shifts[column(k)]);
            }
        }
    }
}
