//! A small RGB image: a camera's frame, a depth map in grey, or a floor map.

use crate::colour::Rgb;
use driftless_world::{Error, Result};

/// What a number that is not a number looks like: a muted red that no grey image contains.
const NOT_A_NUMBER: Rgb = [200, 120, 120];

/// 8-bit RGB, row-major, the first row at the top. Its size always fits its pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Image {
    /// An image from `width * height` RGB triples.
    pub fn new(width: usize, height: usize, pixels: Vec<u8>) -> Result<Self> {
        check_size(width, height, 3, pixels.len())?;
        Ok(Self { width, height, pixels })
    }

    /// A grey image from one byte a pixel.
    pub fn from_grey(width: usize, height: usize, values: &[u8]) -> Result<Self> {
        check_size(width, height, 1, values.len())?;
        Ok(Self { width, height, pixels: values.iter().flat_map(|&value| [value; 3]).collect() })
    }

    /// A grey image from numbers: `low` is black, `high` is white, NaN is a muted red.
    pub fn from_values(width: usize, height: usize, values: &[f32], low: f32, high: f32) -> Result<Self> {
        check_size(width, height, 1, values.len())?;
        let grey = |&value: &f32| match unit_interval(value, low, high) {
            Some(unit) => [(unit * 255.0).round() as u8; 3],
            None => NOT_A_NUMBER,
        };
        Ok(Self { width, height, pixels: values.iter().flat_map(grey).collect() })
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// RGB triples, row after row.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The same image with its rows in the opposite order.
    pub fn upside_down(&self) -> Self {
        let pixels = self.pixels.chunks_exact(3 * self.width).rev().flatten().copied().collect();
        Self { pixels, ..*self }
    }
}

fn check_size(width: usize, height: usize, channels: usize, numbers: usize) -> Result<()> {
    if width == 0 || height == 0 {
        return Err(Error::new(format!("an image of {width} x {height} pixels shows nothing")));
    }
    let expected = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(channels));
    if expected != Some(numbers) {
        return Err(Error::new(format!(
            "{numbers} numbers do not make an image of {width} x {height} pixels with {channels} channels"
        )));
    }
    Ok(())
}

/// Where `value` lies between `low` and `high`, held within 0..=1; nothing for NaN.
fn unit_interval(value: f32, low: f32, high: f32) -> Option<f32> {
    if high > low {
        let unit = (value - low) / (high - low);
        (!unit.is_nan()).then(|| unit.clamp(0.0, 1.0))
    } else {
        // An empty range has no grey in between.
        (!value.is_nan()).then_some(if value > high { 1.0 } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_must_fit() {
        assert!(Image::new(2, 2, vec![0; 12]).is_ok());
        let error = Image::new(2, 2, vec![0; 11]).unwrap_err();
        assert!(error.to_string().contains("11 numbers do not make an image of 2 x 2"), "{error}");
        assert!(Image::new(0, 2, vec![]).is_err());
        assert!(Image::from_grey(usize::MAX, usize::MAX, &[0]).is_err());
    }

    #[test]
    fn values_become_grey_within_their_range() {
        let values = [0.0, 2.5, 5.0, 99.0, -1.0, f32::NAN];
        let image = Image::from_values(6, 1, &values, 0.0, 5.0).unwrap();
        let red: Vec<u8> = image.pixels().iter().step_by(3).copied().collect();
        assert_eq!(red, [0, 128, 255, 255, 0, NOT_A_NUMBER[0]]);
        assert!(Image::from_values(1, 1, &[f32::INFINITY], 0.0, 0.0).is_ok());
    }

    #[test]
    fn rows_can_be_reversed() {
        let image = Image::from_grey(1, 3, &[1, 2, 3]).unwrap();
        assert_eq!(image.upside_down(), Image::from_grey(1, 3, &[3, 2, 1]).unwrap());
    }
}
