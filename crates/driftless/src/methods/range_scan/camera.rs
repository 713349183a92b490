//! The rays of an image's columns, and what a map says of them.

use super::bins::{BINS, Scale, interpolated, longest};
use driftless_core::map::{Rays, Walls};
use driftless_core::pose::compose;
use driftless_core::{Cpu, LANES};

/// Vertical field of view of the camera, as in House3D; pixels are square.
const FIELD_OF_VIEW: f64 = 60.0;

/// Rays through the columns of a scan.
#[derive(Clone)]
pub(in crate::methods) struct Camera {
    /// Ahead and to the left, of length 1.
    directions: Vec<[f32; 2]>,
    /// What each adds to places among the bins.
    shifts: Vec<f32>,
    /// Of each with the camera's axis.
    cosines: Vec<f32>,
    scale: Scale,
    /// Longest ray, in pixels.
    longest: f32,
    /// Where the map's corner is, in units of poses.
    origin: [f32; 2],
    units_per_pixel: f32,
    units_per_metre: f64,
}

impl Camera {
    /// For images of this height and width, seen in so many columns, on a map whose pixels have this size in metres and in
    /// units of poses.
    pub(in crate::methods) fn new(
        [height, width]: [usize; 2],
        columns: usize,
        metres: f64,
        units: f64,
    ) -> Self {
        let pixel = 2.0 * (0.5 * FIELD_OF_VIEW.to_radians()).tan() / height as f64;
        let slope = |column: usize| {
            // The middle of the columns of the image that it stands for.
            let middle = (column as f64 + 0.5) * width as f64 / columns as f64;
            (0.5 * width as f64 - middle) * pixel
        };
        Self::with_slopes(&(0..columns).map(slope).collect::<Vec<f64>>(), 0.0, metres, units)
    }

    /// For a camera whose image reaches from one bearing on the left to one on the right, in radians to the left of the
    /// robot's heading; on a map with a corner elsewhere.
    pub(in crate::methods) fn between(
        [left, right]: [f64; 2],
        columns: usize,
        (metres, units): (f64, f64),
        origin: [f64; 2],
    ) -> Self {
        let (edge, axis) = ((0.5 * (left - right)).tan(), f64::midpoint(left, right));
        let slope = |column: usize| edge * (1.0 - 2.0 * (column as f64 + 0.5) / columns as f64);
        let slopes: Vec<f64> = (0..columns).map(slope).collect();
        Self { origin: origin.map(|x| x as f32), ..Self::with_slopes(&slopes, axis, metres, units) }
    }

    /// Columns see along these slopes to the left of the camera's axis, which is turned by so much.
    fn with_slopes(slopes: &[f64], axis: f64, metres: f64, units: f64) -> Self {
        let (sine, cosine) = axis.sin_cos();
        let cosines: Vec<f64> = slopes.iter().map(|slope| 1.0 / slope.hypot(1.0)).collect();
        let direction = |(slope, ahead): (&f64, &f64)| {
            let left = slope / slope.hypot(1.0);
            compose([cosine, sine], [*ahead, left]).map(|x| x as f32)
        };
        Self {
            directions: slopes.iter().zip(&cosines).map(direction).collect(),
            shifts: cosines.iter().map(|cosine| Scale::shift(*cosine)).collect(),
            cosines: cosines.iter().map(|cosine| *cosine as f32).collect(),
            scale: Scale::new(metres),
            longest: longest(metres),
            origin: [0.0; 2],
            units_per_pixel: units as f32,
            units_per_metre: units / metres,
        }
    }

    /// Σ over every so many columns of log p(distance on the map), times so many.
    #[inline]
    pub(in crate::methods) fn log_likelihood(
        &self,
        walls: &Walls,
        log: &[f32],
        pose: [f32; 3],
        every: usize,
    ) -> f32 {
        let mut sum = 0.0;
        self.look(walls, pose, every, |column, place| {
            sum += interpolated(&log[column * BINS..(column + 1) * BINS], place);
        });
        sum * every as f32
    }

    /// How many.
    pub(in crate::methods) fn columns(&self) -> usize {
        self.directions.len()
    }

    /// The direction of a column from the heading, to the left, in radians.
    pub(in crate::methods) fn bearing(&self, column: usize) -> f32 {
        let [ahead, left] = self.directions[column];
        left.atan2(ahead)
    }

    /// How long a column's ray is to a place among the bins, in units of poses.
    pub(in crate::methods) fn length(&self, column: usize, place: f32) -> f32 {
        (Scale::metres(place) * self.units_per_metre) as f32 / self.cosines[column]
    }

    /// Calls `place(column, where its ray ends among the bins)` for every `every`-th column as seen from a pose. What
    /// leaves the map ends in the last bin.
    #[inline]
    pub(in crate::methods) fn look(
        &self,
        walls: &Walls,
        pose: [f32; 3],
        every: usize,
        mut place: impl FnMut(usize, f32),
    ) {
        let [x, y] = [0, 1].map(|k| (pose[k] - self.origin[k]) / self.units_per_pixel);
        let (sine, cosine) = pose[2].sin_cos();
        let columns = self.columns().div_ceil(every);
        for first in (0..columns).step_by(LANES) {
            // Columns beyond the last are the last once more.
            let column = |k: usize| ((first + k) * every).min(self.columns() - 1);
            let ray = |k: usize| compose([cosine, sine], self.directions[column(k)]);
            let rays = Rays {
                x: [x; LANES],
                y: [y; LANES],
                dx: std::array::from_fn(|k| ray(k)[0]),
                dy: std::array::from_fn(|k| ray(k)[1]),
            };
            let ranges = walls.ranges(Cpu::best(), &rays, self.longest);
            for (k, range) in ranges.iter().enumerate().take(columns - first) {
                place(column(k), self.scale.place(*range) + self.shifts[column(k)]);
            }
        }
    }
}
