//! The camera's images at picked steps.

use crate::image::Image;
use driftless_world::{Error, Images, Pixels, Result};

/// A step that is shown as an image, and numbered on the map.
#[derive(Clone, Debug)]
pub struct FramePick {
    /// Which step of the path.
    pub step: usize,
    /// What the camera saw.
    pub rgb: Image,
    /// How far away it was, drawn below.
    pub depth: Option<Image>,
}

impl FramePick {
    /// Picks image `step` out of a stack of 1 (grey), 3 (RGB) or 4 (RGB and depth) channels.
    ///
    /// Colours, and grey bytes, count from 0 to 255. Depths, and grey numbers, are stretched between
    /// the least and the greatest of the **whole stack**: contrast is good, and the frames of an
    /// episode can be compared.
    pub fn from_images(images: &Images, step: usize) -> Result<Self> {
        Self::picked(images, step).map_err(|error| error.in_record(format_args!("step {step}")))
    }

    fn picked(images: &Images, step: usize) -> Result<Self> {
        let (width, height, channels) = (images.width, images.height, images.channels);
        if !matches!(channels, 1 | 3 | 4) {
            let problem = format!("images of {channels} channels cannot be shown, only of 1, 3 or 4");
            return Err(Error::new(problem));
        }
        if step >= images.len() {
            return Err(Error::new(format!("there are only {} images", images.len())));
        }
        let first = step * images.stride();
        let channel =
            |c: usize| (0..width * height).map(move |i| images.pixels.get(first + channels * i + c));
        let grey = |c: usize, [low, high]: [f32; 2]| {
            Image::from_values(width, height, &channel(c).collect::<Vec<f32>>(), low, high)
        };
        if channels == 1 {
            let is_bytes = matches!(images.pixels, Pixels::Bytes(_));
            let range = if is_bytes { [0.0, 255.0] } else { range_of(images, 0) };
            return Ok(Self { step, rgb: grey(0, range)?, depth: None });
        }
        let byte = |value: f32| value.round() as u8;
        let colours = channel(0).zip(channel(1)).zip(channel(2));
        let rgb = colours.flat_map(|((r, g), b)| [byte(r), byte(g), byte(b)]).collect();
        let depth = if channels == 4 { Some(grey(3, range_of(images, 3))?) } else { None };
        Ok(Self { step, rgb: Image::new(width, height, rgb)?, depth })
    }
}

/// The least and the greatest finite number of one channel in all images.
fn range_of(images: &Images, channel: usize) -> [f32; 2] {
    (channel..images.pixels.len())
        .step_by(images.channels)
        .map(|i| images.pixels.get(i))
        .filter(|value| value.is_finite())
        .fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

/// `count` different steps out of `steps`, evenly spread, the first and the last among them.
///
/// ```
/// use driftless_report::path_picture::spread_steps;
/// assert_eq!(spread_steps(100, 4), [0, 33, 66, 99]);
/// assert_eq!(spread_steps(2, 4), [0, 1]);
/// ```
pub fn spread_steps(steps: usize, count: usize) -> Vec<usize> {
    let count = count.min(steps);
    match count {
        0 => vec![],
        1 => vec![0],
        _ => (0..count).map(|i| i * (steps - 1) / (count - 1)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_taken_apart() {
        let pixels = Pixels::Bytes((0..24).collect());
        let images = Images { height: 1, width: 2, channels: 4, pixels };
        let frame = FramePick::from_images(&images, 1).unwrap();
        assert_eq!(frame.rgb.pixels(), [8, 9, 10, 12, 13, 14]);
        // Depths of the stack are 3, 7, 11, 15, 19, 23: here two and three fifths of the range.
        assert_eq!(frame.depth.unwrap().pixels(), [102, 102, 102, 153, 153, 153]);
        let camera = Images { height: 1, width: 2, channels: 1, pixels: Pixels::Bytes(vec![1, 2, 3, 4]) };
        assert_eq!(FramePick::from_images(&camera, 1).unwrap().rgb.pixels(), [3, 3, 3, 4, 4, 4]);
        let error = FramePick::from_images(&images, 3).unwrap_err();
        assert_eq!(error.to_string(), "step 3: there are only 3 images");
    }

    #[test]
    fn floats_are_held_or_stretched() {
        let pixels = Pixels::Floats(vec![-5.0, 127.6, 300.0, 2.0, f32::NAN, 0.0, 0.0, 6.0]);
        let frame = FramePick::from_images(&Images { height: 2, width: 1, channels: 4, pixels }, 0).unwrap();
        assert_eq!(frame.rgb.pixels(), [0, 128, 255, 0, 0, 0]);
        assert_eq!(frame.depth.unwrap().pixels(), [0, 0, 0, 255, 255, 255]);
        let nothing = Pixels::Floats(vec![f32::NAN; 2]);
        assert!(
            FramePick::from_images(&Images { height: 1, width: 2, channels: 1, pixels: nothing }, 0).is_ok()
        );
        let two = Images { height: 1, width: 1, channels: 2, pixels: Pixels::Bytes(vec![0; 2]) };
        assert!(FramePick::from_images(&two, 0).unwrap_err().to_string().contains("2 channels"));
    }

    #[test]
    fn spread_steps_are_different() {
        for steps in 1..30 {
            for count in 0..40 {
                let picks = spread_steps(steps, count);
                assert_eq!(picks.len(), count.min(steps));
                assert!(picks.windows(2).all(|pair| pair[0] < pair[1]) && picks.iter().all(|&p| p < steps));
            }
        }
    }
}
