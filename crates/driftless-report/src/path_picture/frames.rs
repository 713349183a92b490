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
    /// Colours count from 0 to 255 and are held within; bytes of depth stay as they are, other
    /// depths are stretched between their least and their greatest.
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
        if channels == 1 {
            return Ok(Self { step, rgb: grey(images, &channel(0).collect::<Vec<f32>>())?, depth: None });
        }
        let byte = |value: f32| value.round() as u8;
        let colours = channel(0).zip(channel(1)).zip(channel(2));
        let rgb = colours.flat_map(|((r, g), b)| [byte(r), byte(g), byte(b)]).collect();
        let depth = if channels == 4 { Some(grey(images, &channel(3).collect::<Vec<f32>>())?) } else { None };
        Ok(Self { step, rgb: Image::new(width, height, rgb)?, depth })
    }
}

fn grey(images: &Images, values: &[f32]) -> Result<Image> {
    let (low, high) = match images.pixels {
        Pixels::Bytes(_) => (0.0, 255.0),
        Pixels::Floats(_) => {
            let finite = || values.iter().copied().filter(|value| value.is_finite());
            (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max))
        }
    };
    Image::from_values(images.width, images.height, values, low, high)
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
        assert_eq!(frame.depth.unwrap().pixels(), [11, 11, 11, 15, 15, 15]);
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
