//! Images as the network sees them: scaled, and in training mirrored and in other colours.

use crate::error::{Error, Result};
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Pixels};

/// Colours are multiplied by up to e to the power of this, or divided.
const GAIN: f64 = 0.35;
/// Brightness moves by up to this, of a range from -1 to 1.
const SHIFT: f64 = 0.25;
/// Depth changes by up to this share from view to view.
const DEPTH_GAIN: f64 = 0.02;

/// How numbers of a pixel are scaled: x becomes factor x + shift, channel by channel.
#[derive(Clone, Debug)]
pub(in crate::methods) struct Lens {
    scale: Vec<[f32; 2]>,
    colours: usize,
}

/// How an image is changed.
pub(in crate::methods) struct View {
    mirrored: bool,
    /// Which channel each becomes, and its factor and shift.
    order: Vec<usize>,
    scale: Vec<[f32; 2]>,
}

impl Lens {
    /// For images of colours, of depth, or of both.
    pub(in crate::methods) fn of(images: &Images) -> Result<Self> {
        let colours = match images.channels {
            1 => 0,
            3 | 4 => 3,
            other => {
                let problem =
                    format!("{other} channels; 1 (depth), 3 (colours) or 4 (both) can be learned from");
                return Err(Error::File(driftless_world::Error::new(problem)));
            }
        };
        // Colours from -1 to 1; depth in decimetres from -1 to 1 within ten metres.
        let scale =
            |channel: usize| if channel < colours { [2.0 / 255.0, -1.0] } else { [2.0 / 100.0, -1.0] };
        Ok(Self { scale: (0..images.channels).map(scale).collect(), colours })
    }

    /// For images of a robot's camera: grey or in colours.
    pub(in crate::methods) fn of_camera(channels: usize) -> Self {
        Self { scale: vec![[2.0 / 255.0, -1.0]; channels], colours: channels }
    }

    /// An image as it is.
    pub(in crate::methods) fn plain(&self, images: &Images, step: usize, seen: &mut Vec<f32>) {
        let order = (0..self.scale.len()).collect();
        View { mirrored: false, order, scale: self.scale.clone() }.show(images, step, seen);
    }

    /// A view drawn at random.
    pub(in crate::methods) fn drawn(&self, random: &mut Random) -> View {
        let mut order: Vec<usize> = (0..self.scale.len()).collect();
        random.shuffle(&mut order[..self.colours]);
        let mut spread = |most: f64| most * (2.0 * random.unit() - 1.0);
        let (contrast, brightness) = (spread(GAIN).exp(), spread(SHIFT));
        let depth = 1.0 + DEPTH_GAIN * spread(1.0);
        let scale = self.scale.iter().enumerate().map(|(channel, [factor, shift])| {
            let [gain, moved] = if channel < self.colours {
                [contrast * spread(GAIN).exp(), brightness]
            } else {
                [depth, 0.0]
            };
            // Contrast is around the middle of the range, depth around 0.
            let middle = if channel < self.colours { *shift * gain as f32 + moved as f32 } else { *shift };
            [factor * gain as f32, middle]
        });
        let scale = scale.collect();
        View { mirrored: random.chance(0.5), order, scale }
    }
}

impl View {
    /// Adds what is seen of an image.
    pub(in crate::methods) fn show(&self, images: &Images, step: usize, seen: &mut Vec<f32>) {
        let (width, channels) = (images.width, images.channels);
        for row in 0..images.height {
            for column in 0..width {
                let column = if self.mirrored { width - 1 - column } else { column };
                let pixel = step * images.stride() + (row * width + column) * channels;
                for (channel, [factor, shift]) in self.scale.iter().enumerate() {
                    let from = pixel + self.order[channel];
                    let number = match &images.pixels {
                        Pixels::Bytes(bytes) => f32::from(bytes[from]),
                        Pixels::Floats(numbers) => numbers[from],
                    };
                    seen.push(factor * number + shift);
                }
            }
        }
    }

    /// The column of the scene that a column of the view shows, of so many.
    pub(in crate::methods) fn column(&self, column: usize, columns: usize) -> usize {
        if self.mirrored { columns - 1 - column } else { column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(channels: usize, bytes: &[u8]) -> Images {
        let width = bytes.len() / channels;
        Images { height: 1, width, channels, pixels: Pixels::Bytes(bytes.to_vec()) }
    }

    #[test]
    fn plain_images_by_hand() {
        let image = images(4, &[0, 255, 51, 50, 255, 0, 0, 100]);
        let mut seen = Vec::new();
        Lens::of(&image).unwrap().plain(&image, 0, &mut seen);
        let expected = [-1.0, 1.0, -0.6, 0.0, 1.0, -1.0, -1.0, 1.0];
        assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{seen:?}");
        assert!(Lens::of(&images(2, &[0, 1])).is_err());
    }

    /// Colours change places and sizes, all pixels alike; depth stays what it is within two per cent; half of the views
    /// are mirrored, and say so.
    #[test]
    fn views_keep_what_they_show() {
        let image = images(4, &[10, 20, 30, 40, 40, 30, 20, 80]);
        let lens = Lens::of(&image).unwrap();
        let mut random = Random::new(3);
        let mut mirrored = 0;
        for _ in 0..200 {
            let view = lens.drawn(&mut random);
            let mut seen = Vec::new();
            view.show(&image, 0, &mut seen);
            let depth = |pixel: usize| (seen[4 * pixel + 3] + 1.0) * 50.0;
            let first = view.column(0, 2);
            mirrored += first;
            assert!(
                (depth(first) / 40.0 - 1.0).abs() < 0.021 && (depth(1 - first) / 80.0 - 1.0).abs() < 0.021
            );
            // The first pixel is darker in two colours and brighter in one, whatever their order and gain.
            let brighter = (0..3).filter(|c| seen[4 * first + c] > seen[4 * (1 - first) + c]);
            assert_eq!(brighter.count(), 1, "{seen:?}");
        }
        assert!((60..140).contains(&mirrored), "{mirrored}");
    }
}
