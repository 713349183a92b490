//! A depth image as a scan: how far the walls are, by bearing.

use super::settings::CameraSettings;
use driftless_world::trajectory::{Images, Pixels};

/// What one beam met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A surface, so many metres away.
    Range(f64),
    /// Nothing as far as the camera sees.
    Beyond,
}

/// One beam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    /// Its direction in the robot's frame, forward and left, of length 1.
    pub direction: [f64; 2],
    /// What it met.
    pub reading: Reading,
}

impl Beam {
    /// Angle from straight ahead, counter-clockwise, in radians.
    pub fn bearing(&self) -> f64 {
        self.direction[1].atan2(self.direction[0])
    }
}

/// Ranges by bearing, from left to right. Columns without any reading have no beam.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeScan {
    /// The beams.
    pub beams: Vec<Beam>,
}

impl RangeScan {
    /// The scan of image `step`: `beams` of its columns, evenly spread, or all if there are fewer.
    ///
    /// The camera looks horizontally, and depth is measured along its axis. Of each column the farthest
    /// surface at and above the horizon counts. Floors and what is lower than the camera lie below the
    /// horizon; ceilings, lintels, and cupboards over which one can look, are nearer than the wall behind.
    /// What hides a wall up to the ceiling, or to the image's upper edge, is taken for it.
    ///
    /// Pixels that are not positive numbers are no readings.
    pub fn of(depth: &Images, step: usize, camera: &CameraSettings, beams: usize) -> Self {
        let beams = beams.min(depth.width);
        let column = |beam: usize| (2 * beam + 1) * depth.width / (2 * beams);
        let beam = |column: usize| {
            let slope = camera.slope(depth, column);
            let length = slope.hypot(1.0);
            let reading = match farthest(depth, step, column, camera)? {
                Reading::Range(depth) => Reading::Range(depth * length),
                Reading::Beyond => Reading::Beyond,
            };
            Some(Beam { direction: [1.0 / length, slope / length], reading })
        };
        Self { beams: (0..beams).map(column).filter_map(beam).collect() }
    }
}

impl CameraSettings {
    /// How far to the left a column's centre is seen, per unit of depth; pixels are square.
    fn slope(&self, images: &Images, column: usize) -> f64 {
        let pixel = 2.0 * (0.5 * self.field_of_view.to_radians()).tan() / images.height as f64;
        (0.5 * images.width as f64 - column as f64 - 0.5) * pixel
    }
}

/// The farthest depth of the upper half of a column, in metres along the camera's axis.
fn farthest(depth: &Images, step: usize, column: usize, camera: &CameraSettings) -> Option<Reading> {
    let saturated = if matches!(depth.pixels, Pixels::Bytes(_)) { 255.0 } else { f64::INFINITY };
    let mut found: Option<f64> = None;
    for row in 0..depth.height.div_ceil(2) {
        let pixel = step * depth.stride() + (row * depth.width + column) * depth.channels;
        let raw = f64::from(depth.pixels.get(pixel));
        if raw.is_nan() || raw <= 0.0 {
            continue;
        }
        let metres = (raw * camera.depth_unit + camera.depth_offset).max(0.0);
        if raw >= saturated || metres >= camera.farthest {
            return Some(Reading::Beyond);
        }
        found = Some(found.map_or(metres, |other| other.max(metres)));
    }
    found.map(Reading::Range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_4, PI};

    fn image(height: usize, width: usize, pixels: Vec<f32>) -> Images {
        Images { height, width, channels: 1, pixels: Pixels::Floats(pixels) }
    }

    #[test]
    fn bearings_by_hand() {
        // 90 degrees upright, two columns as wide as they are high: centres half way out, at tan = ½.
        let camera = CameraSettings { field_of_view: 90.0, depth_unit: 1.0, ..CameraSettings::default() };
        let scan = RangeScan::of(&image(2, 2, vec![2.0; 4]), 0, &camera, 9);
        let expected = 0.5_f64.atan();
        assert_eq!(scan.beams.len(), 2);
        for (beam, bearing) in scan.beams.iter().zip([expected, -expected]) {
            assert!((beam.bearing() - bearing).abs() < 1e-12, "{beam:?}");
            let Reading::Range(range) = beam.reading else { panic!("{beam:?}") };
            assert!((range - 2.0 * 1.25_f64.sqrt()).abs() < 1e-12);
        }
        // The leftmost of three columns of an image that is one high: tan = 2 * 1 / 1.
        let wide = RangeScan::of(&image(1, 3, vec![1.0; 3]), 0, &camera, 3);
        assert!((wide.beams[0].bearing() - 2.0_f64.atan()).abs() < 1e-12);
        // One beam is the middle column.
        let ahead = RangeScan::of(&image(1, 3, vec![1.0; 3]), 0, &camera, 1);
        assert!(ahead.beams.len() == 1 && ahead.beams[0].bearing().abs() < 1e-12 && FRAC_PI_4 < PI);
    }

    #[test]
    fn the_farthest_at_and_above_the_horizon_counts() {
        let camera = CameraSettings { depth_unit: 0.5, ..CameraSettings::default() };
        // Ceiling, wall, and furniture at the horizon in a middle row; a farther floor below does not count.
        let scan = |column: [f32; 5]| RangeScan::of(&image(5, 1, column.to_vec()), 0, &camera, 1);
        let reading = |column| scan(column).beams.first().map(|beam| beam.reading);
        assert_eq!(reading([2.0, 6.0, 4.0, 9.0, 9.0]), Some(Reading::Range(3.0)));
        assert_eq!(reading([2.0, 3.0, 7.0, 9.0, 9.0]), Some(Reading::Range(3.5)));
        assert_eq!(reading([f32::NAN, 0.0, -1.0, 9.0, 9.0]), None);
        assert_eq!(reading([0.0, 8.0, f32::NAN, 9.0, 9.0]), Some(Reading::Range(4.0)));
        assert_eq!(reading([1.0, f32::INFINITY, 1.0, 1.0, 1.0]), Some(Reading::Beyond));
        assert_eq!(reading([1.0, 50.0, 1.0, 1.0, 1.0]), Some(Reading::Beyond));
    }

    #[test]
    fn bytes_saturate_and_steps_follow_each_other() {
        let camera = CameraSettings { depth_offset: 0.05, ..CameraSettings::default() };
        let images = Images { height: 1, width: 1, channels: 1, pixels: Pixels::Bytes(vec![30, 255, 0]) };
        let reading = |step| RangeScan::of(&images, step, &camera, 1).beams.first().map(|beam| beam.reading);
        assert!(matches!(reading(0), Some(Reading::Range(r)) if (r - 3.05).abs() < 1e-6));
        assert_eq!((reading(1), reading(2)), (Some(Reading::Beyond), None));
        let far = CameraSettings { farthest: 1e9, ..camera };
        assert_eq!(RangeScan::of(&images, 1, &far, 1).beams[0].reading, Reading::Beyond);
    }
}
