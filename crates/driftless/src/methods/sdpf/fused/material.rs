//! Lessons and draws as the kernels want them.

use crate::batch::Batch;
use crate::draws::{DrawSizes, Draws};
use crate::dropout::Phase;
use crate::error::Result;
use crate::methods::filtering::Course;
use crate::model::{Measurement, Model};
use crate::objective::SECOND_RUN;
use burn::tensor::{DType, Device, Tensor};
use driftless_kernels::scan::Sequence;
use driftless_kernels::training::{self, Networks};
use driftless_world::labels::Lesson;

/// Everything a batch needs on plain numbers.
pub(super) struct Material {
    pub(super) images: Vec<f32>,
    masks: [Option<Vec<f32>>; 2],
    first: Vec<[f32; 3]>,
    actions: Vec<[f32; 3]>,
    /// Sequence after sequence, step after step.
    noise: Vec<[f32; 3]>,
    offsets: Vec<f32>,
    labels: Vec<Option<[f32; 3]>>,
    /// Sequences, steps, particles.
    pub(super) sizes: [usize; 3],
}

impl Material {
    /// Of lessons, for so many particles; in training, with masks of so many numbers an image, of which a share is
    /// kept.
    pub(super) fn of<M: Model>(
        course: &Course<M>,
        lessons: &[Lesson],
        (particles, seed): (usize, u64),
        training: Option<(usize, f64)>,
    ) -> Result<Self>
    where
        M::Measurement: Measurement<Observations = Tensor<5>>,
    {
        let batch = Batch::of_images(lessons, &course.normalisation.pixels, &Device::flex(), DType::F32)?;
        let mut draws = course.draws(&batch, particles, seed);
        if training.is_some() {
            draws = draws.training();
        }
        let [sequences, steps, _] = batch.actions.dims();
        let mask =
            |phase: Phase| training.and_then(|(size, keep)| phase.masks(sequences, steps * size, keep));
        Ok(Self {
            masks: [mask(draws.phase), mask(draws.phase.split(SECOND_RUN))],
            first: triples(&course.prior.sample(&draws).states),
            actions: triples(&batch.actions),
            noise: by_sequence(
                &draws.steps.iter().map(|draw| triples(&draw.noise)).collect::<Vec<_>>(),
                sequences,
            ),
            offsets: offsets(
                &draws.steps.iter().map(|draw| &draw.uniforms[..]).collect::<Vec<_>>(),
                sequences,
            ),
            labels: lessons.iter().flat_map(known).collect(),
            sizes: [sequences, steps, particles],
            images: batch.observations.try_into_vec_as::<f32>().expect("images are numbers"),
        })
    }

    /// Known poses of one sequence.
    pub(super) fn labels(&self, k: usize) -> &[Option<[f32; 3]>] {
        let [_, steps, _] = self.sizes;
        &self.labels[k * steps..][..steps]
    }

    /// Noise of one sequence, step after step.
    pub(super) fn noise(&self, k: usize) -> &[[f32; 3]] {
        let [_, steps, count] = self.sizes;
        &self.noise[k * steps * count..][..steps * count]
    }

    /// Masks of one sequence, of so many numbers.
    pub(super) fn mask(&self, number: usize, k: usize, size: usize) -> Option<&[f32]> {
        self.masks[number].as_ref().map(|masks| &masks[k * size..][..size])
    }

    /// Sequences as the kernels want them.
    pub(super) fn lessons(&self, nets: &Networks) -> Vec<training::Lesson<'_>> {
        let [sequences, steps, count] = self.sizes;
        let pixels = steps * nets.frame_encoder.pixels();
        let lesson = |k: usize| training::Lesson {
            images: &self.images[k * pixels..][..pixels],
            masks: self.mask(0, k, steps * nets.frame_encoder.mask()),
            sequence: Sequence {
                first: &self.first[k * count..][..count],
                actions: &self.actions[k * steps..][..steps],
                noise: self.noise(k),
                offsets: &self.offsets[k * steps..][..steps],
                seen: &[],
            },
        };
        (0..sequences).map(lesson).collect()
    }

    /// Whether kernels can do with it.
    pub(super) fn is_finite(&self) -> bool {
        let actions = self.actions.iter().flatten().all(|x| x.is_finite());
        actions && self.images.iter().all(|x| x.is_finite())
    }
}

/// So many particles of a course's prior.
pub(super) fn first_particles<M: Model>(course: &Course<M>, particles: usize, seed: u64) -> Vec<[f32; 3]> {
    let sizes = DrawSizes { batch: 1, steps: 1, particles, state: 3, noise: 3, uniforms: 1 };
    triples(&course.prior.sample(&Draws::new(sizes, seed, &Device::flex(), DType::F32)).states)
}

/// [.., 3] as rows.
pub(in crate::methods::sdpf) fn triples(tensor: &Tensor<3>) -> Vec<[f32; 3]> {
    let flat = tensor.try_to_vec_as::<f32>().expect("draws are numbers");
    flat.chunks_exact(3).map(|x| [x[0], x[1], x[2]]).collect()
}

/// Rows [T][B, N] in the order of sequences.
pub(in crate::methods::sdpf) fn by_sequence(steps: &[Vec<[f32; 3]>], sequences: usize) -> Vec<[f32; 3]> {
    let count = steps[0].len() / sequences;
    let own = |k: usize| steps.iter().flat_map(move |step| &step[k * count..][..count]);
    (0..sequences).flat_map(own).copied().collect()
}

/// The first uniform number of each sequence and step.
fn offsets(steps: &[&[f64]], sequences: usize) -> Vec<f32> {
    let own = |k: usize| steps.iter().map(move |numbers| numbers[k * numbers.len() / sequences] as f32);
    (0..sequences).flat_map(own).collect()
}

pub(in crate::methods::sdpf) fn known(lesson: &Lesson) -> Vec<Option<[f32; 3]>> {
    let finite = |state: &[f32]| state.iter().all(|x| x.is_finite()).then(|| [state[0], state[1], state[2]]);
    lesson.labels().iter().map(|state| state.and_then(finite)).collect()
}
