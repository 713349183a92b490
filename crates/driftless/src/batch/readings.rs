//! What a robot's own sensors say, as tensors: numbers with what is missing among them, images, or both.

use super::lessons::{rest, same, wrong};
use super::{Batch, PixelScale, ReadingScale};
use crate::error::Result;
use crate::model::Screen;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Images, Observations, Start};

/// Readings of B sequences of T steps.
#[derive(Clone, Debug)]
pub struct Readings {
    /// Normalised numbers, [B, T, V]; 0 where missing.
    pub values: Tensor<3>,
    /// 1 where there is a number, else 0, [B, T, V].
    pub known: Tensor<3>,
    /// Normalised images, [B, T, C, H, W], and 1 where there is one, else 0, [B, T, 1]; if there is a camera.
    pub images: Option<(Tensor<5>, Tensor<3>)>,
    /// The pose that a robot was told at the first step, normalised, and 1 behind it; zeros elsewhere. [B, T, 4]
    pub told: Tensor<3>,
    silent: Tensor<2, Bool>,
}

impl Screen for Readings {
    /// A step is lost if no sensor says anything.
    fn screen(self) -> (Self, Tensor<2, Bool>) {
        let silent = self.silent.clone();
        (self, silent)
    }
}

/// How readings and poses are brought to the size of one.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'a> {
    /// For numbers.
    pub readings: &'a ReadingScale,
    /// For images.
    pub pixels: &'a PixelScale,
    /// Mean and standard deviation of poses.
    pub poses: [[f64; 3]; 2],
}

/// A batch in the making, as plain numbers.
#[derive(Default)]
struct Numbers {
    values: Vec<f32>,
    known: Vec<f32>,
    pixels: Vec<f32>,
    seen: Vec<f32>,
    told: Vec<f32>,
    silent: Vec<bool>,
}

impl Batch<Readings> {
    /// Lessons whose observations are vectors, images, or vectors with a camera beside them. What is not finite is
    /// missing. All must have as many steps.
    pub fn of_readings(
        lessons: &[Lesson],
        scales: Scales<'_>,
        device: &Device,
        precision: DType,
    ) -> Result<Self> {
        let steps = same(lessons, "steps", |lesson| Some(lesson.len()))?;
        let has_camera = lessons.iter().any(|lesson| images_of(lesson).is_some());
        let mut numbers = Numbers::default();
        for (number, lesson) in lessons.iter().enumerate() {
            numbers.vectors(lesson, scales.readings).map_err(|problem| wrong(number, problem))?;
            if has_camera {
                numbers.camera(lesson, scales.pixels).map_err(|problem| wrong(number, problem))?;
            }
            numbers.told(lesson, scales.poses);
        }
        numbers.find_silence(lessons.len() * steps, scales.readings.width());
        let (batch, width) = (lessons.len(), scales.readings.width());
        let tensor = |values: Vec<f32>, width: usize| {
            Tensor::<3>::from_data(TensorData::new(values, [batch, steps, width]), (device, precision))
        };
        let [channels, height, side] = scales.pixels.shape();
        let shape = [batch, steps, channels, height, side];
        let pixels = TensorData::new(numbers.pixels, if has_camera { shape } else { [0; 5] });
        let observations = Readings {
            values: tensor(numbers.values, width),
            known: tensor(numbers.known, width),
            images: has_camera
                .then(|| (Tensor::from_data(pixels, (device, precision)), tensor(numbers.seen, 1))),
            told: tensor(numbers.told, 4),
            silent: Tensor::from_data(TensorData::new(numbers.silent, [batch, steps]), device),
        };
        rest(lessons, observations, device, precision)
    }
}

impl Numbers {
    fn vectors(&mut self, lesson: &Lesson, scale: &ReadingScale) -> std::result::Result<(), String> {
        let width = scale.width();
        match lesson.observations() {
            Observations::Vectors(rows) if rows.width() == width => {
                for (i, &reading) in rows.values().iter().enumerate() {
                    let normalised = scale.normalised(i % width.max(1), reading);
                    self.values.push(normalised.unwrap_or(0.0));
                    self.known.push(f32::from(u8::from(normalised.is_some())));
                }
            }
            Observations::Images(_) if width == 0 => {}
            Observations::Vectors(rows) => {
                let found = rows.width();
                return Err(format!("has {found} numbers in an observation, but {width} were learned from"));
            }
            Observations::Images(_) => return Err("has images where vectors were learned from".to_owned()),
        }
        Ok(())
    }

    fn camera(&mut self, lesson: &Lesson, scale: &PixelScale) -> std::result::Result<(), String> {
        let size: usize = scale.shape().iter().product();
        let before = self.pixels.len();
        match images_of(lesson) {
            Some(images) => scale.normalise(images, &mut self.pixels)?,
            None => self.pixels.resize(before + lesson.len() * size, 0.0),
        }
        for (t, image) in self.pixels[before..].chunks_exact_mut(size).enumerate() {
            let there = images_of(lesson).is_some() && lesson.camera().is_none_or(|camera| camera.known[t]);
            let there = there && image.iter().all(|x| x.is_finite());
            if !there {
                image.fill(0.0);
            }
            self.seen.push(f32::from(u8::from(there)));
        }
        Ok(())
    }

    fn told(&mut self, lesson: &Lesson, [mean, std]: [[f64; 3]; 2]) {
        let before = self.told.len();
        self.told.resize(before + 4 * lesson.len(), 0.0);
        if let Some(Start::About { pose, .. }) = lesson.start() {
            for k in 0..3 {
                self.told[before + k] = ((f64::from(pose[k]) - mean[k]) / std[k]) as f32;
            }
            self.told[before + 3] = 1.0;
        }
    }

    fn find_silence(&mut self, steps: usize, width: usize) {
        let measured = |t: usize| self.known[t * width..(t + 1) * width].contains(&1.0);
        let seen = |t: usize| self.seen.get(t).is_some_and(|&there| there > 0.0);
        self.silent = (0..steps).map(|t| !measured(t) && !seen(t)).collect();
    }
}

/// The images of a lesson, in whichever place they are.
pub(crate) fn images_of(lesson: &Lesson) -> Option<&Images> {
    match lesson.observations() {
        Observations::Images(images) => Some(images),
        Observations::Vectors(_) => lesson.camera().map(|camera| &camera.images),
    }
}
