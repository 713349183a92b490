//! What pixels are divided by before a network sees them.

use driftless_world::trajectory::{Images, Pixels};
use serde::{Deserialize, Serialize};

/// (o - mean) / std, with a mean for each pixel and channel and one standard deviation a channel: the
/// authors' normalisation, to be measured on training images alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PixelScale {
    height: usize,
    width: usize,
    /// [H, W, C], as in the data.
    mean: Vec<f32>,
    /// `[C]`.
    std: Vec<f32>,
}

impl PixelScale {
    /// Means and standard deviations of all images. The message of a failure says why: there are none,
    /// or not all are equally large. A channel that never varies is divided by 1.
    pub fn measure<'a>(
        stacks: impl IntoIterator<Item = &'a Images> + Clone,
    ) -> std::result::Result<Self, String> {
        let Some(first) = stacks.clone().into_iter().next() else {
            return Err("there are no images".to_owned());
        };
        let (stride, channels) = (first.stride(), first.channels);
        let (mut sums, mut count) = (vec![0.0_f64; stride], 0.0);
        for images in stacks.clone() {
            check(images, [channels, first.height, first.width])?;
            each(&images.pixels, |i, value| sums[i % stride] += value);
            count += images.len() as f64;
        }
        let mean: Vec<f64> = sums.iter().map(|sum| sum / f64::max(count, 1.0)).collect();
        let mut squares = vec![0.0_f64; channels];
        for images in stacks {
            each(&images.pixels, |i, value| squares[i % channels] += (value - mean[i % stride]).powi(2));
        }
        let pixels = count * (first.height * first.width) as f64;
        let spread = |sum: &f64| if *sum > 0.0 { (sum / pixels).sqrt() as f32 } else { 1.0 };
        Ok(Self {
            height: first.height,
            width: first.width,
            mean: mean.iter().map(|&mean| mean as f32).collect(),
            std: squares.iter().map(spread).collect(),
        })
    }

    /// For robots without a camera: one pixel that never varies.
    pub(crate) fn none() -> Self {
        Self { height: 1, width: 1, mean: vec![0.0], std: vec![1.0] }
    }

    /// Fails if sizes and numbers do not fit together, or nothing can be divided by them: for what was read.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let [channels, height, width] = self.shape();
        let numbers = height.checked_mul(width).and_then(|pixels| pixels.checked_mul(channels));
        if numbers != Some(self.mean.len()) || self.mean.is_empty() {
            let found = self.mean.len();
            return Err(format!("{found} means do not make images of {height} x {width} x {channels}"));
        }
        if !self.mean.iter().all(|x| x.is_finite()) || !self.std.iter().all(|x| x.is_finite() && *x > 0.0) {
            return Err("means must be finite, and deviations finite and above 0".to_owned());
        }
        Ok(())
    }

    /// Channels, height, width.
    pub fn shape(&self) -> [usize; 3] {
        [self.std.len(), self.height, self.width]
    }

    /// Says how images are of another size than those that were measured, if they are.
    pub(crate) fn check_images(&self, images: &Images) -> std::result::Result<(), String> {
        check(images, self.shape())
    }

    /// Adds the normalised images to `values`, each channels first.
    pub fn normalise(&self, images: &Images, values: &mut Vec<f32>) -> std::result::Result<(), String> {
        check(images, self.shape())?;
        (0..images.len()).for_each(|image| self.add_middle(images, image, values));
        Ok(())
    }

    /// The middle of one of some images, which may be larger or have more channels, normalised and channels first, in place
    /// of what was there. False, and nothing, if it is smaller.
    pub fn normalise_middle(&self, images: &Images, image: usize, values: &mut Vec<f32>) -> bool {
        let [channels, height, width] = self.shape();
        let fits = images.channels >= channels && images.height >= height && images.width >= width;
        values.clear();
        if fits && image < images.len() {
            self.add_middle(images, image, values);
        }
        !values.is_empty()
    }

    fn add_middle(&self, images: &Images, image: usize, values: &mut Vec<f32>) {
        let [channels, height, width] = self.shape();
        let first = image * images.stride();
        let (top, left) = ((images.height - height) / 2, (images.width - width) / 2);
        for channel in 0..channels {
            for place in 0..height * width {
                let (row, column) = (top + place / width, left + place % width);
                let pixel =
                    images.pixels.get(first + (row * images.width + column) * images.channels + channel);
                values.push((pixel - self.mean[place * channels + channel]) / self.std[channel]);
            }
        }
    }
}

impl PixelScale {
    /// Adds one of some images, normalised and channels first, moved by rows and columns with its edges carried on. False,
    /// and nothing, if it is of another size or not finite.
    pub(crate) fn normalise_moved(
        &self,
        images: &Images,
        number: usize,
        [down, right]: [isize; 2],
        values: &mut Vec<f32>,
    ) -> bool {
        let [channels, height, width] = self.shape();
        if check(images, self.shape()).is_err() || number >= images.len() {
            return false;
        }
        let (first, begun) = (number * images.stride(), values.len());
        let within = |at: usize, by: isize, size: usize| at.saturating_add_signed(by).min(size - 1);
        for channel in 0..channels {
            for place in 0..height * width {
                let row = within(place / width, down, height);
                let pixel = (row * width + within(place % width, right, width)) * channels + channel;
                let mean = self.mean[place * channels + channel];
                values.push((images.pixels.get(first + pixel) - mean) / self.std[channel]);
            }
        }
        let finite = values[begun..].iter().all(|x| x.is_finite());
        if !finite {
            values.truncate(begun);
        }
        finite
    }

    /// Whether it is for the middle of RGB images of this height and width, and complete.
    pub(crate) fn fits_into(&self, [height, width]: [usize; 2]) -> bool {
        let [channels, inner_height, inner_width] = self.shape();
        let complete = self.mean.len() == channels * inner_height * inner_width;
        complete && channels == 3 && inner_height <= height && inner_width <= width
    }
}

fn check(images: &Images, [channels, height, width]: [usize; 3]) -> std::result::Result<(), String> {
    if [images.channels, images.height, images.width] == [channels, height, width] {
        return Ok(());
    }
    Err(format!(
        "has images of {} x {} pixels and {} channels, but {height} x {width} and {channels} are wanted",
        images.height, images.width, images.channels
    ))
}

fn each(pixels: &Pixels, mut take: impl FnMut(usize, f64)) {
    match pixels {
        Pixels::Bytes(bytes) => bytes.iter().enumerate().for_each(|(i, &b)| take(i, f64::from(b))),
        Pixels::Floats(floats) => floats.iter().enumerate().for_each(|(i, &f)| take(i, f64::from(f))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The middle of a frame of 4 x 6 pixels, normalised, is what normalising the cut-out image gives.
    #[test]
    fn the_middle_of_a_frame() {
        let byte = |k: usize| (k * 37 % 251) as u8;
        let frame: Vec<u8> = (0..4 * 6 * 3).map(byte).collect();
        let rows = (1..3).flat_map(|row| frame[(row * 6 + 1) * 3..(row * 6 + 5) * 3].to_vec());
        let images = Images { height: 2, width: 4, channels: 3, pixels: Pixels::Bytes(rows.collect()) };
        let other = Images { pixels: Pixels::Bytes((100..124).map(byte).collect()), ..images.clone() };
        let scale = PixelScale::measure([&images, &other]).unwrap();
        let (mut expected, mut found) = (Vec::new(), vec![9.0]);
        scale.normalise(&images, &mut expected).unwrap();
        let frame = Images { height: 4, width: 6, channels: 3, pixels: Pixels::Bytes(frame) };
        assert!(scale.normalise_middle(&frame, 0, &mut found));
        assert_eq!(found, expected);
        let narrow = Images { height: 8, width: 3, ..frame };
        assert!(!scale.normalise_middle(&narrow, 0, &mut found) && found.is_empty());
        assert!(scale.fits_into([4, 6]) && scale.fits_into([2, 4]) && !scale.fits_into([2, 3]));
    }
}
