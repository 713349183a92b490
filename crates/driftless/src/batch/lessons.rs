//! Lessons become batches: plain numbers of episodes become tensors, images brought to the size of one.

use super::{Batch, Labels, PixelScale};
use crate::error::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_world::labels::Lesson;
use driftless_world::trajectory::Observations;

impl Batch<Tensor<3>> {
    /// Lessons whose observations are vectors, [B, T, V]. All must have as many steps.
    pub fn of_vectors(lessons: &[Lesson], device: &Device, precision: DType) -> Result<Self> {
        let width = |lesson: &Lesson| match lesson.observations() {
            Observations::Vectors(rows) => Some(rows.width()),
            Observations::Images(_) => None,
        };
        let steps = same(lessons, "steps", |lesson| Some(lesson.len()))?;
        let width = same(lessons, "numbers in an observation (vectors are wanted)", width)?;
        let mut values = Vec::with_capacity(lessons.len() * steps * width);
        for lesson in lessons {
            if let Observations::Vectors(rows) = lesson.observations() {
                values.extend_from_slice(rows.values());
            }
        }
        let data = TensorData::new(values, [lessons.len(), steps, width]);
        rest(lessons, Tensor::from_data(data, (device, precision)), device, precision)
    }
}

impl Batch<Tensor<5>> {
    /// Lessons whose observations are images, normalised and channels first, [B, T, C, H, W].
    pub fn of_images(
        lessons: &[Lesson],
        scale: &PixelScale,
        device: &Device,
        precision: DType,
    ) -> Result<Self> {
        let steps = same(lessons, "steps", |lesson| Some(lesson.len()))?;
        let [channels, height, width] = scale.shape();
        let mut values = Vec::with_capacity(lessons.len() * steps * channels * height * width);
        for (number, lesson) in lessons.iter().enumerate() {
            let Observations::Images(images) = lesson.observations() else {
                return Err(wrong(number, "has vectors where images are wanted".to_owned()));
            };
            scale.normalise(images, &mut values).map_err(|problem| wrong(number, problem))?;
        }
        let data = TensorData::new(values, [lessons.len(), steps, channels, height, width]);
        rest(lessons, Tensor::from_data(data, (device, precision)), device, precision)
    }
}

/// Actions and labels, the same for all kinds of observations.
pub(super) fn rest<O>(
    lessons: &[Lesson],
    observations: O,
    device: &Device,
    precision: DType,
) -> Result<Batch<O>> {
    let steps = same(lessons, "steps", |lesson| Some(lesson.len()))?;
    let action = same(lessons, "numbers in an action (one action a step is wanted)", |lesson| {
        (lesson.actions().len() == lesson.len()).then_some(lesson.actions().width())
    })?;
    let state = same(lessons, "numbers in a state", |lesson| Some(lesson.labels().width()))?;
    let (mut actions, mut states, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for lesson in lessons {
        actions.extend_from_slice(lesson.actions().values());
        for label in lesson.labels().iter() {
            known.push(label.is_some());
            states.extend_from_slice(label.unwrap_or(&vec![0.0; state]));
        }
    }
    let batch = lessons.len();
    let tensor = |values, width| {
        Tensor::from_data(TensorData::new(values, [batch, steps, width]), (device, precision))
    };
    let known = Tensor::from_data(TensorData::new(known, [batch, steps]), device);
    Ok(Batch {
        observations,
        actions: tensor(actions, action),
        labels: Labels::new(tensor(states, state), known),
    })
}

/// A size that all lessons share.
pub(super) fn same(lessons: &[Lesson], what: &str, size: impl Fn(&Lesson) -> Option<usize>) -> Result<usize> {
    let first = lessons.first().ok_or_else(|| wrong(0, "is missing: a batch needs one".to_owned()))?;
    let expected = size(first);
    for (number, lesson) in lessons.iter().enumerate() {
        if size(lesson).is_none() || size(lesson) != expected {
            let tell = |size: Option<usize>| size.map_or("none".to_owned(), |size| size.to_string());
            let problem = format!("has {} {what}, lesson 0 has {}", tell(size(lesson)), tell(expected));
            return Err(wrong(number, problem));
        }
    }
    Ok(expected.unwrap_or(0))
}

pub(super) fn wrong(number: usize, problem: String) -> Error {
    Error::File(driftless_world::Error::new(problem).in_record(format!("lesson {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::LabelMean;
    use crate::testing::numbers;
    use driftless_world::labels::LabelBudget;
    use driftless_world::trajectory::{Images, Labels as States, Pixels, Rows, Trajectory};

    fn lesson(observations: Observations, steps: usize) -> Lesson {
        let count = |width: usize| (0..steps * width).map(|k| k as f32).collect();
        let states = States::all(Rows::new(3, count(3)).unwrap());
        let actions = Rows::new(2, count(2)).unwrap();
        let trajectory = Trajectory::new(observations, actions, states).unwrap();
        let plan = LabelBudget::new(1.0, 1).unwrap().plan([vec![true; steps]]);
        plan.lesson(0, trajectory).unwrap()
    }

    fn vectors(steps: usize, width: usize) -> Lesson {
        let values = (0..steps * width).map(|k| k as f32 * 0.5).collect();
        lesson(Observations::Vectors(Rows::new(width, values).unwrap()), steps)
    }

    #[test]
    fn vectors_actions_and_labels() {
        let device = Device::flex();
        let batch = Batch::of_vectors(&[vectors(2, 4), vectors(2, 4)], &device, DType::F64).unwrap();
        assert_eq!(batch.observations.dims(), [2, 2, 4]);
        assert_eq!(numbers(&batch.observations)[8..12], [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(numbers(&batch.actions), [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]);
        let last = batch.labels.mean(LabelMean::Known, |states| states.slice_dim(2, 2..3).squeeze_dim(2));
        assert_eq!((batch.labels.count(), numbers(&last)[0]), (4, 3.5));
    }

    /// Two images of 1 x 2 pixels and two channels; the mean is taken pixel by pixel, the spread by channel.
    #[test]
    fn images_are_normalised_channels_first() {
        let pixels = Pixels::Bytes(vec![10, 1, 20, 2, 30, 5, 40, 2]);
        let images = Images { height: 1, width: 2, channels: 2, pixels };
        let scale = PixelScale::measure([&images]).unwrap();
        let lesson = lesson(Observations::Images(images), 2);
        let batch = Batch::of_images(&[lesson], &scale, &Device::flex(), DType::F64).unwrap();
        assert_eq!(batch.observations.dims(), [1, 2, 2, 1, 2]);
        // Means (20, 3) and (30, 2); deviations ±10, ±10 in the first channel, ±2, 0 in the second.
        let second = 1.0 / 0.5_f64.sqrt();
        let expected = [-1.0, -1.0, -second, 0.0, 1.0, 1.0, second, 0.0];
        crate::testing::assert_close(&numbers(&batch.observations), &expected, 1e-6);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let device = Device::flex();
        let message = |lessons: &[Lesson]| {
            Batch::of_vectors(lessons, &device, DType::F32).map(|_| ()).unwrap_err().to_string()
        };
        let steps = message(&[vectors(2, 4), vectors(3, 4)]);
        assert!(steps.contains("lesson 1") && steps.contains("has 3 steps"), "{steps}");
        assert!(message(&[vectors(2, 4), vectors(2, 5)]).contains("5 numbers in an observation"));
        assert!(message(&[]).contains("needs one"));
        let images = Images { height: 1, width: 1, channels: 1, pixels: Pixels::Bytes(vec![1, 2]) };
        let scale = PixelScale::measure([&images]).unwrap();
        let other = Images { height: 2, width: 1, channels: 1, pixels: Pixels::Bytes(vec![1, 2, 3, 4]) };
        let lessons = [lesson(Observations::Images(other), 2)];
        let wrong = Batch::of_images(&lessons, &scale, &device, DType::F32).map(|_| ()).unwrap_err();
        assert!(wrong.to_string().contains("2 x 1"), "{wrong}");
        let wrong = Batch::of_images(&[vectors(2, 4)], &scale, &device, DType::F32).map(|_| ()).unwrap_err();
        assert!(wrong.to_string().contains("images are wanted"), "{wrong}");
    }
}
