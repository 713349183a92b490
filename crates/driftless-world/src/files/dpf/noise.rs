//! DPF's test conditions: noisy odometry, cropped and noisy images, and inputs made meaningless.

use super::recording::Shapes;
use crate::error::{Error, Result};
use crate::random::Random;
use crate::trajectory::{Images, Pixels};

/// Which part of an image is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Crop {
    /// All of it.
    #[default]
    None,
    /// A square of this size in the middle.
    Centre(usize),
    /// A square of this size, anywhere, new for each image.
    Random(usize),
}

impl Crop {
    pub(super) fn check(self, height: usize, width: usize) -> Result<()> {
        match self {
            Self::Centre(size) | Self::Random(size) if size == 0 || size > height.min(width) => {
                let problem =
                    format!("a crop of {size} x {size} does not fit into images of {height} x {width}");
                Err(Error::new(problem).in_field("rgbd"))
            }
            _ => Ok(()),
        }
    }
}

/// Which inputs carry information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inputs {
    /// All.
    #[default]
    Both,
    /// Actions are shuffled over the data set (DPF's odomX): only images help.
    ShuffledActions,
    /// Images are shuffled over the data set (imgX): only odometry helps. DPF's released code
    /// shuffles *pixels* instead, by a reshape; here whole images change places.
    ShuffledImages,
}

/// Where each step's action or image comes from; drawn once for the whole data set.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    inputs: Inputs,
    places: Vec<usize>,
}

/// Sets the shuffle apart from the episodes' noise, whose streams are numbered from 0.
const SHUFFLE_STREAM: u64 = u64::MAX;

impl Shuffle {
    pub fn new(inputs: Inputs, steps: usize, seed: u64) -> Option<Self> {
        if inputs == Inputs::Both {
            return None;
        }
        let mut places: Vec<usize> = (0..steps).collect();
        Random::stream(seed, SHUFFLE_STREAM).shuffle(&mut places);
        Some(Self { inputs, places })
    }

    /// The file's rows whose actions an episode gets, if actions are shuffled.
    pub fn actions(&self, episode: usize, shapes: Shapes) -> Option<Vec<usize>> {
        (self.inputs == Inputs::ShuffledActions).then(|| self.rows(episode, shapes))
    }

    /// The file's rows whose images an episode gets, if images are shuffled.
    pub fn images(&self, episode: usize, shapes: Shapes) -> Option<Vec<usize>> {
        (self.inputs == Inputs::ShuffledImages).then(|| self.rows(episode, shapes))
    }

    fn rows(&self, episode: usize, shapes: Shapes) -> Vec<usize> {
        let kept = shapes.steps - 1;
        let places = &self.places[episode * kept..(episode + 1) * kept];
        // Every episode's first row is dropped.
        places.iter().map(|place| place / kept * shapes.steps + place % kept + 1).collect()
    }
}

/// Multiplies each number by N(1, std²).
pub(super) fn scale(actions: &mut [f32], std: f32, random: &mut Random) {
    if std > 0.0 {
        for value in actions {
            *value = (f64::from(*value) * (1.0 + f64::from(std) * random.normal())) as f32;
        }
    }
}

/// Adds N(0, std²) to each number; bytes become floats, as noise knows no limits at 0 and 255.
pub(super) fn add(images: &mut Images, std: f32, random: &mut Random) {
    if std > 0.0 {
        let noisy = (0..images.pixels.len())
            .map(|i| (f64::from(images.pixels.get(i)) + f64::from(std) * random.normal()) as f32);
        images.pixels = Pixels::Floats(noisy.collect());
    }
}

/// The crop of each image; random offsets are drawn row first, then column.
pub(super) fn cropped(images: Images, crop: Crop, random: &mut Random) -> Images {
    let (size, offsets): (usize, Vec<[usize; 2]>) = match crop {
        Crop::None => return images,
        Crop::Centre(size) => {
            (size, vec![[(images.height - size) / 2, (images.width - size) / 2]; images.len()])
        }
        Crop::Random(size) => {
            let mut offset = |length: usize| random.below(length - size + 1);
            (size, (0..images.len()).map(|_| [offset(images.height), offset(images.width)]).collect())
        }
    };
    let pixels = match &images.pixels {
        Pixels::Bytes(values) => Pixels::Bytes(squares(values, &images, size, &offsets)),
        Pixels::Floats(values) => Pixels::Floats(squares(values, &images, size, &offsets)),
    };
    Images { height: size, width: size, channels: images.channels, pixels }
}

fn squares<T: Copy>(values: &[T], images: &Images, size: usize, offsets: &[[usize; 2]]) -> Vec<T> {
    let channels = images.channels;
    let mut result = Vec::with_capacity(offsets.len() * size * size * channels);
    for (image, [top, left]) in values.chunks_exact(images.stride()).zip(offsets) {
        for row in *top..top + size {
            let start = (row * images.width + left) * channels;
            result.extend_from_slice(&image[start..start + size * channels]);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize, height: usize, width: usize) -> Images {
        let values = (0..count * height * width).map(|i| i as f32).collect();
        Images { height, width, channels: 1, pixels: Pixels::Floats(values) }
    }

    #[test]
    fn crops_take_the_right_square() {
        let images = numbered(2, 4, 5);
        let centre = cropped(images, Crop::Centre(2), &mut Random::new(0));
        // (4 - 2) / 2 = 1 down, (5 - 2) / 2 = 1 right.
        assert_eq!(centre.pixels, Pixels::Floats(vec![6., 7., 11., 12., 26., 27., 31., 32.]));
        assert!(Crop::Random(5).check(4, 5).is_err() && Crop::Centre(0).check(4, 5).is_err());
        assert!(Crop::Random(4).check(4, 5).is_ok());
    }

    /// Every offset of {0..8}² equally often: chi-square with 80 degrees of freedom.
    #[test]
    fn random_offsets_are_uniform() {
        let (count, cells) = (8100, 81);
        let crop = cropped(numbered(count, 32, 32), Crop::Random(24), &mut Random::new(3));
        let mut seen = vec![0_u32; cells];
        for i in 0..count {
            let corner = crop.pixels.get(i * 24 * 24) as usize - i * 32 * 32;
            seen[corner / 32 * 9 + corner % 32] += 1;
        }
        let expected = count as f64 / cells as f64;
        let chi: f64 = seen.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // Mean 80, standard deviation sqrt(160); five of them.
        assert!(chi < 80.0 + 5.0 * 160.0_f64.sqrt(), "{chi}");
    }

    #[test]
    fn noise_has_the_moments_it_claims() {
        let mut images = Images { pixels: Pixels::Bytes(vec![100; 40_000]), ..numbered(1, 200, 200) };
        add(&mut images, 20.0, &mut Random::new(1));
        let mut actions = vec![50.0; 40_000];
        scale(&mut actions, 0.1, &mut Random::new(2));
        let moments = |values: &mut dyn Iterator<Item = f32>| {
            let values: Vec<f64> = values.map(f64::from).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
        };
        // Five standard errors: std / 200 for the mean, std / 283 for the standard deviation.
        let (mean, std) = moments(&mut (0..40_000).map(|i| images.pixels.get(i)));
        assert!((mean - 100.0).abs() < 0.5 && (std - 20.0).abs() < 0.36, "{mean} {std}");
        let (mean, std) = moments(&mut actions.into_iter());
        assert!((mean - 50.0).abs() < 0.125 && (std - 5.0).abs() < 0.09, "{mean} {std}");
    }

    #[test]
    fn shuffles_use_every_kept_row_once() {
        let shapes = Shapes { episodes: 5, steps: 4, height: 1, width: 1, channels: 3 };
        let shuffle = Shuffle::new(Inputs::ShuffledImages, 15, 1).unwrap();
        assert!(shuffle.actions(0, shapes).is_none());
        let mut rows: Vec<usize> = (0..5).flat_map(|e| shuffle.images(e, shapes).unwrap()).collect();
        assert_ne!(rows[..3], [1, 2, 3]);
        rows.sort_unstable();
        assert_eq!(rows, (0..20).filter(|row| row % 4 != 0).collect::<Vec<_>>());
    }
}
