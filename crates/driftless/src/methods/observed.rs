//! Observations of any kind, made of lessons by one way.

use crate::batch::{Batch, Readings, Scales};
use crate::error::Result;
use crate::learn::Normalisation;
use crate::online::Observation;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Images, Observations, Start};

/// What networks see of lessons: images in mazes, readings of a robot's own sensors.
pub trait Observed: Sized {
    /// Lessons of equally many steps, normalised.
    fn batch(
        lessons: &[Lesson],
        normalisation: &Normalisation,
        device: &Device,
        precision: DType,
    ) -> Result<Batch<Self>>;

    /// One step of one robot, which is told of its start at the first; and whether anything was seen.
    fn step(seen: &Observation, told: Option<Start>, normalisation: &Normalisation) -> (Self, bool);

    /// Says what of a lesson is of another size than what was learned from, if anything.
    fn check(lesson: &Lesson, normalisation: &Normalisation) -> std::result::Result<(), String>;

    /// Images as plain numbers, sequence after sequence, and how many sequences there are; if they are images alone.
    fn pixels(&self) -> Option<(Vec<f32>, usize)> {
        None
    }
}

impl Observed for Tensor<5> {
    fn batch(
        lessons: &[Lesson],
        normalisation: &Normalisation,
        device: &Device,
        precision: DType,
    ) -> Result<Batch<Self>> {
        Batch::of_images(lessons, &normalisation.pixels, device, precision)
    }

    /// The middle of the image; a step without one is NaN, which measurements know as lost.
    fn step(seen: &Observation, _: Option<Start>, normalisation: &Normalisation) -> (Self, bool) {
        let [channels, height, width] = normalisation.pixels.shape();
        let mut values = Vec::new();
        let middle =
            |(images, t): (&Images, usize)| normalisation.pixels.normalise_middle(images, t, &mut values);
        let saw = seen.image.is_some_and(middle);
        values.resize(channels * height * width, f32::NAN);
        let saw = saw && values.iter().all(|x| x.is_finite());
        let data = TensorData::new(values, [1, 1, channels, height, width]);
        (Tensor::from_data(data, (&Device::flex(), DType::F32)), saw)
    }

    fn check(lesson: &Lesson, normalisation: &Normalisation) -> std::result::Result<(), String> {
        match lesson.observations() {
            Observations::Images(images) => normalisation.pixels.check_images(images),
            Observations::Vectors(_) => Err("has vectors where images are wanted".to_owned()),
        }
    }

    fn pixels(&self) -> Option<(Vec<f32>, usize)> {
        Some((self.try_to_vec_as::<f32>().expect("images are numbers"), self.dims()[0]))
    }
}

impl Observed for Readings {
    fn batch(
        lessons: &[Lesson],
        normalisation: &Normalisation,
        device: &Device,
        precision: DType,
    ) -> Result<Batch<Self>> {
        Batch::of_readings(lessons, scales(normalisation), device, precision)
    }

    fn step(seen: &Observation, told: Option<Start>, normalisation: &Normalisation) -> (Self, bool) {
        Self::of_step(seen, told, scales(normalisation))
    }

    fn check(lesson: &Lesson, normalisation: &Normalisation) -> std::result::Result<(), String> {
        scales(normalisation).check(lesson)
    }
}

fn scales(normalisation: &Normalisation) -> Scales<'_> {
    Scales {
        readings: &normalisation.readings,
        pixels: &normalisation.pixels,
        poses: [normalisation.state_mean, normalisation.state_std],
    }
}
