//! Observations of any kind, made of lessons by one way.

use crate::batch::{Batch, Readings, Scales};
use crate::error::Result;
use crate::learn::Normalisation;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::labels::Lesson;

/// What networks see of lessons: images in mazes, readings of a robot's own sensors.
pub trait Observed: Sized {
    /// Lessons of equally many steps, normalised.
    fn batch(
        lessons: &[Lesson],
        normalisation: &Normalisation,
        device: &Device,
        precision: DType,
    ) -> Result<Batch<Self>>;
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
}

impl Observed for Readings {
    fn batch(
        lessons: &[Lesson],
        normalisation: &Normalisation,
        device: &Device,
        precision: DType,
    ) -> Result<Batch<Self>> {
        let scales = Scales {
            readings: &normalisation.readings,
            pixels: &normalisation.pixels,
            poses: [normalisation.state_mean, normalisation.state_std],
        };
        Batch::of_readings(lessons, scales, device, precision)
    }
}
