//! Episodes as they lie in a DPF file, and the loader's 32-bit arithmetic on their poses.

use super::DpfFile;
use crate::error::{Error, Result};
use crate::files::array::Array;
use crate::files::npy::Dtype;
use crate::pose::compose;
use crate::trajectory::{Images, Pixels};
use std::f32::consts::PI;
use std::ops::Range;

/// One episode as recorded, all steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// x, y and heading in *degrees*.
    pub poses: Vec<[f64; 3]>,
    /// Forward, sideways and turning speed (degrees); empty if the file has none.
    pub velocities: Vec<[f64; 3]>,
    /// What was seen, all channels.
    pub images: Images,
}

/// The numbers that the arrays of a file agree on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shapes {
    pub episodes: usize,
    pub steps: usize,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

impl Shapes {
    pub fn check(
        poses: &Array,
        velocities: Option<&Array>,
        images: &Array,
        (steps, with_depth): (usize, bool),
    ) -> Result<Self> {
        for array in [Some(poses), velocities].into_iter().flatten() {
            if array.shape().len() != 2 || array.shape()[1] != 3 {
                let problem = format!("has shape {:?}; (rows, 3) is expected", array.shape());
                return Err(Error::new(problem).in_field(array.name()));
            }
        }
        let &[rows, height, width, channels] = images.shape() else {
            let problem =
                format!("has shape {:?}; (rows, height, width, channels) is expected", images.shape());
            return Err(Error::new(problem).in_field("rgbd"));
        };
        if height == 0 || width == 0 || !(channels == 3 || channels == 4) {
            let problem = format!(
                "has images of {height} x {width} x {channels}; they must not be empty, and have 3 (RGB) or 4 (RGB + depth) channels"
            );
            return Err(Error::new(problem).in_field("rgbd"));
        }
        if with_depth && channels == 3 {
            return Err(Error::new("has no depth channel (3 channels); ask for RGB only").in_field("rgbd"));
        }
        for array in [Some(poses), velocities].into_iter().flatten() {
            if array.rows() != rows {
                let problem = format!("has {} rows, but rgbd has {rows}; they must agree", array.rows());
                return Err(Error::new(problem).in_field(array.name()));
            }
        }
        let (episodes, steps) = episodes(rows, steps)?;
        Ok(Self { episodes, steps, height, width, channels })
    }

    /// The file's rows that belong to an episode.
    pub fn rows(self, episode: usize) -> Range<usize> {
        assert!(episode < self.episodes, "episode {episode} of {}", self.episodes);
        episode * self.steps..(episode + 1) * self.steps
    }
}

fn episodes(rows: usize, steps: usize) -> Result<(usize, usize)> {
    if steps < 2 {
        return Err(Error::new(format!(
            "{steps} steps an episode are too few: the first is dropped; use --steps-per-episode 2 or more"
        )));
    }
    if rows == 0 {
        return Err(Error::new("holds no episode (0 rows)"));
    }
    if !rows.is_multiple_of(steps) {
        return Err(Error::new(format!(
            "{rows} rows are not a whole number of episodes of {steps} steps; set --steps-per-episode"
        )));
    }
    Ok((rows / steps, steps))
}

impl DpfFile {
    pub(super) fn recorded(&self, index: usize) -> Result<Recording> {
        let rows = self.shapes.rows(index);
        let velocities = match &self.velocities {
            Some(array) => poses(array, rows.clone())?,
            None => Vec::new(),
        };
        let images = self.images_of(pixels(&self.images, rows)?);
        Ok(Recording { poses: self.checked_poses(index)?, velocities, images })
    }

    pub(super) fn checked_poses(&self, index: usize) -> Result<Vec<[f64; 3]>> {
        let rows = self.shapes.rows(index);
        let poses = poses(&self.poses, rows.clone())?;
        check_finite(&poses, rows.start, self.shapes.steps)?;
        Ok(poses)
    }

    /// The images of the steps that are kept, without depth unless it is wanted.
    pub(super) fn kept_images(&self, index: usize) -> Result<Images> {
        let places = self.shuffle.as_ref().and_then(|shuffle| shuffle.images(index, self.shapes));
        let pixels = match places {
            None => {
                let rows = self.shapes.rows(index);
                pixels(&self.images, rows.start + 1..rows.end)?
            }
            Some(places) => {
                let images = places.into_iter().map(|row| pixels(&self.images, row..row + 1));
                joined(images.collect::<Result<_>>()?)
            }
        };
        let images = self.images_of(pixels);
        Ok(if self.options.depth || images.channels == 3 { images } else { without_depth(&images) })
    }

    fn images_of(&self, pixels: Pixels) -> Images {
        let Shapes { height, width, channels, .. } = self.shapes;
        Images { height, width, channels, pixels }
    }
}

pub(super) fn poses(array: &Array, rows: Range<usize>) -> Result<Vec<[f64; 3]>> {
    Ok(array.read_f64(rows)?.chunks_exact(3).map(|row| [row[0], row[1], row[2]]).collect())
}

/// Poses that 32-bit arithmetic can hold; `first` is the row of the first one.
pub(super) fn check_finite(poses: &[[f64; 3]], first: usize, steps: usize) -> Result<()> {
    for (at, pose) in poses.iter().enumerate() {
        // Differences of two such numbers and their products with a sine stay finite.
        if let Some(bad) = pose.iter().find(|value| value.is_nan() || value.abs() > 1e30) {
            let (episode, step) = ((first + at) / steps, (first + at) % steps);
            let problem = format!(
                "holds {bad:e} at step {step} (row {}); poses must be finite (and below 1e30)",
                first + at
            );
            return Err(Error::new(problem).in_field("pose").in_record(format!("episode {episode}")));
        }
    }
    Ok(())
}

fn pixels(array: &Array, rows: Range<usize>) -> Result<Pixels> {
    if array.dtype() == Dtype::U8 {
        return Ok(Pixels::Bytes(array.read_u8(rows)?));
    }
    let first = rows.start;
    let values = array.read_f32(rows)?;
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let problem =
            format!("holds {} in row {}; pixels must be finite", values[at], first + at / array.row_len());
        return Err(Error::new(problem).in_field("rgbd"));
    }
    Ok(Pixels::Floats(values))
}

fn joined(parts: Vec<Pixels>) -> Pixels {
    let (mut bytes, mut floats) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Pixels::Bytes(values) => bytes.extend(values),
            Pixels::Floats(values) => floats.extend(values),
        }
    }
    // All parts come from one array, so one of the two is empty.
    if floats.is_empty() { Pixels::Bytes(bytes) } else { Pixels::Floats(floats) }
}

fn without_depth(images: &Images) -> Images {
    fn rgb<T: Copy>(values: &[T]) -> Vec<T> {
        values.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }
    let pixels = match &images.pixels {
        Pixels::Bytes(values) => Pixels::Bytes(rgb(values)),
        Pixels::Floats(values) => Pixels::Floats(rgb(values)),
    };
    Images { height: images.height, width: images.width, channels: 3, pixels }
}

/// `((θ - π) mod 2π) - π` in 32 bits, to the last bit as numpy computes it.
///
/// The result stays below π: near the seam the remainder is a multiple of π's last place, half of
/// 2π's, and the tie when 2π is added to it rounds down (2π is odd in its last place).
fn wrap(angle: f32) -> f32 {
    (angle - PI).rem_euclid(2.0 * PI) - PI
}

/// A recorded pose as the loader keeps it: 32 bits, radians, wrapped.
pub(super) fn state(pose: [f64; 3]) -> [f32; 3] {
    let [x, y, degrees] = pose.map(|value| value as f32);
    [x, y, wrap(degrees * (std::f64::consts::PI / 180.0) as f32)]
}

/// The motion between two recorded poses in DPF's reflected frame.
pub(super) fn motion(from: [f64; 3], to: [f64; 3]) -> [f32; 3] {
    let ([x0, y0, heading], [x1, y1, next]) = (state(from), state(to));
    let (s, c) = heading.sin_cos();
    let [forward, left] = compose([c, -s], [x1 - x0, y1 - y0]);
    [forward, -left, wrap(next - heading)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::{Frame, Pose};

    #[test]
    fn motion_agrees_with_the_64_bit_one() {
        for i in 0..1000 {
            let pose =
                |k: i32| [f64::from(k * 37 % 1000), f64::from(k * 53 % 500), f64::from(k * 71 % 720 - 360)];
            let exact = |p: [f64; 3]| Pose::new(p[0], p[1], p[2].to_radians());
            let (from, to) = (pose(i), pose(i + 1));
            let expected = exact(from).motion_to(exact(to), Frame::Reflected);
            let got = motion(from, to);
            // Lengths below 1200 with sines good to 4e-7 (heading up to 2π in 32 bits).
            assert!((f64::from(got[0]) - expected[0]).abs() < 1e-3, "{from:?} {to:?}");
            assert!((f64::from(got[1]) - expected[1]).abs() < 1e-3, "{from:?} {to:?}");
            let turn = crate::pose::wrap(f64::from(got[2]) - expected[2]);
            assert!(turn.abs() < 3e-6, "{from:?} {to:?}");
        }
    }

    #[test]
    fn headings_stay_in_the_half_open_interval() {
        for degrees in [180.0, -180.0, 179.999_999, 540.0, -540.0, 359.999_99, 0.0] {
            let heading = state([0.0, 0.0, degrees])[2];
            assert!((-PI..PI).contains(&heading), "{degrees}: {heading}");
        }
        assert!((state([0.0, 0.0, 90.0])[2] - PI / 2.0).abs() < 1e-6);
        for turns in -20_i16..=20 {
            let (mut below, mut above) = (PI * f32::from(turns), PI * f32::from(turns));
            for _ in 0..2000 {
                assert!((-PI..PI).contains(&wrap(below)), "{below}");
                assert!((-PI..PI).contains(&wrap(above)), "{above}");
                (below, above) = (below.next_down(), above.next_up());
            }
        }
    }

    #[test]
    fn episodes_must_be_whole() {
        assert_eq!(episodes(200, 100).unwrap(), (2, 100));
        let error = episodes(250, 100).unwrap_err().to_string();
        assert!(error.contains("250 rows") && error.contains("--steps-per-episode"), "{error}");
        assert!(episodes(0, 100).is_err());
        assert!(episodes(100, 1).is_err());
        assert!(episodes(100, 0).is_err());
    }
}
