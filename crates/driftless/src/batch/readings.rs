//! What a robot's own sensors say, as tensors: numbers with what is missing among them, images, or both.

use super::lessons::{rest, same, wrong};
use super::{Batch, PixelScale, ReadingScale};
use crate::error::Result;
use crate::model::Screen;
use crate::online::{Observation, seen_at};
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
        let mut numbers = Numbers::default();
        for (number, lesson) in lessons.iter().enumerate() {
            scales.check(lesson).map_err(|problem| wrong(number, problem))?;
            for t in 0..steps {
                let told = lesson.start().filter(|_| t == 0);
                numbers.step(&seen_at(lesson, t), told, scales);
            }
        }
        let observations = numbers.readings([lessons.len(), steps], scales, device, precision);
        rest(lessons, observations, device, precision)
    }
}

impl Readings {
    /// One step of one robot, which is told of its start at the first; and whether anything was measured.
    pub(crate) fn of_step(seen: &Observation, told: Option<Start>, scales: Scales<'_>) -> (Self, bool) {
        let mut numbers = Numbers::default();
        numbers.step(seen, told, scales);
        let readings = numbers.readings([1, 1], scales, &Device::flex(), DType::F32);
        let saw = !numbers.silent[0];
        (readings, saw)
    }
}

impl Scales<'_> {
    /// Whether there is a camera.
    fn has_camera(&self) -> bool {
        self.pixels.shape() != PixelScale::none().shape()
    }

    /// Says what of a lesson is of another size than what was learned from, if anything.
    pub(crate) fn check(&self, lesson: &Lesson) -> std::result::Result<(), String> {
        let width = self.readings.width();
        match lesson.observations() {
            Observations::Vectors(rows) if rows.width() != width => {
                let found = rows.width();
                return Err(format!("has {found} numbers in an observation, but {width} were learned from"));
            }
            Observations::Images(_) if width > 0 => {
                return Err("has images where vectors were learned from".to_owned());
            }
            _ => {}
        }
        let images = images_of(lesson).filter(|_| self.has_camera());
        images.map_or(Ok(()), |images| self.pixels.check_images(images))
    }
}

impl Numbers {
    /// Adds what was measured at a step. What is of another size than what was learned from is missing.
    fn step(&mut self, seen: &Observation, told: Option<Start>, scales: Scales<'_>) {
        let before = self.known.len();
        let readings = seen.readings.filter(|row| row.len() == scales.readings.width());
        for column in 0..scales.readings.width() {
            let normalised = readings.and_then(|row| scales.readings.normalised(column, row[column]));
            self.values.push(normalised.unwrap_or(0.0));
            self.known.push(f32::from(u8::from(normalised.is_some())));
        }
        let sees = scales.has_camera() && self.camera(seen.image, scales.pixels);
        self.told(told, scales.poses);
        self.silent.push(!sees && !self.known[before..].contains(&1.0));
    }

    /// Adds an image, or zeros; whether there is one.
    fn camera(&mut self, image: Option<(&Images, usize)>, scale: &PixelScale) -> bool {
        let there =
            image.is_some_and(|(images, t)| scale.normalise_moved(images, t, [0, 0], &mut self.pixels));
        if !there {
            self.pixels.resize(self.pixels.len() + scale.shape().iter().product::<usize>(), 0.0);
        }
        self.seen.push(f32::from(u8::from(there)));
        there
    }

    fn told(&mut self, start: Option<Start>, [mean, std]: [[f64; 3]; 2]) {
        let mut row = [0.0; 4];
        if let Some(Start::About { pose, .. }) = start {
            (0..3).for_each(|k| row[k] = ((f64::from(pose[k]) - mean[k]) / std[k]) as f32);
            row[3] = 1.0;
        }
        self.told.extend(row);
    }

    /// All of them as tensors of so many sequences and steps; what is silent stays.
    fn readings(
        &mut self,
        [batch, steps]: [usize; 2],
        scales: Scales<'_>,
        device: &Device,
        precision: DType,
    ) -> Readings {
        let tensor = |values: &mut Vec<f32>, width: usize| {
            let data = TensorData::new(std::mem::take(values), [batch, steps, width]);
            Tensor::<3>::from_data(data, (device, precision))
        };
        let [channels, height, side] = scales.pixels.shape();
        let images = scales.has_camera().then(|| {
            let shape = [batch, steps, channels, height, side];
            let pixels = TensorData::new(std::mem::take(&mut self.pixels), shape);
            (Tensor::from_data(pixels, (device, precision)), tensor(&mut self.seen, 1))
        });
        let width = scales.readings.width();
        Readings {
            values: tensor(&mut self.values, width),
            known: tensor(&mut self.known, width),
            images,
            told: tensor(&mut self.told, 4),
            silent: Tensor::from_data(TensorData::new(self.silent.clone(), [batch, steps]), device),
        }
    }
}

/// The images of a lesson, in whichever place they are.
pub(crate) fn images_of(lesson: &Lesson) -> Option<&Images> {
    match lesson.observations() {
        Observations::Images(images) => Some(images),
        Observations::Vectors(_) => lesson.camera().map(|camera| &camera.images),
    }
}
