//! The losses of the released code with their gradients by hand, through the kernels.
//!
//! Poses are constants there, because gradients end where particles are drawn and odometry is given: the losses
//! depend on the networks through log l alone. [`Course::loss`] says the same with tensors, for all other choices and
//! for data that are not finite.

use super::{Choices, Given, PROCESS_NOISE};
use crate::batch::Batch;
use crate::dropout::Phase;
use crate::error::Result;
use crate::learn::Experiment;
use crate::methods::filtering::{ByHand, Course, LossByHand};
use crate::methods::updates::Figures;
use crate::model::Model;
use crate::nets::ImageDecoder;
use crate::objective::{Autoencoding, SECOND_RUN};
use crate::ops::Matched;
use burn::tensor::{DType, Device, Tensor};
use driftless_kernels::Cpu;
use driftless_kernels::scan::{First, Motion, Sequence};
use driftless_kernels::training::{self, Path, TracedWorkshop};
use driftless_world::labels::Lesson;
use released::{Released, Weights};

mod released;

/// Everything a batch needs on plain numbers.
struct Material {
    images: Vec<f32>,
    masks: [Option<Vec<f32>>; 2],
    first: Vec<[f32; 3]>,
    actions: Vec<[f32; 3]>,
    /// Sequence after sequence, step after step.
    noise: Vec<[f32; 3]>,
    offsets: Vec<f32>,
    labels: Vec<Option<[f32; 3]>>,
    sizes: [usize; 3],
}

/// The losses over lessons and their gradients; nothing if something is not finite.
pub(super) fn loss<M: Model>(
    matched: &Matched,
    course: &Course<M>,
    (choices, experiment): (&Choices, &Experiment),
    (lessons, seed): (&[Lesson], u64),
    shop: &mut TracedWorkshop,
) -> Result<Option<LossByHand>>
where
    M::Measurement: crate::model::Measurement<Observations = Tensor<5>>,
{
    let batch = Batch::of_images(lessons, &course.scales.pixels, &Device::flex(), DType::F32)?;
    let draws = course.draws(&batch, experiment.particles, seed).training();
    let first = triples(&course.prior.sample(&draws).states);
    let nets = matched.networks();
    let [sequences, steps, _] = batch.actions.dims();
    let mask = |phase: Phase| phase.masks(sequences, steps * nets.eyes.mask(), choices.keep);
    let material = Material {
        images: batch.observations.clone().try_into_vec_as::<f32>().expect("images are numbers"),
        masks: [mask(draws.phase), mask(draws.phase.split(SECOND_RUN))],
        first,
        actions: triples(&batch.actions),
        noise: by_sequence(draws.steps.iter().map(|draw| triples(&draw.noise)).collect(), sequences),
        offsets: offsets(&draws.steps.iter().map(|draw| &draw.uniforms[..]).collect::<Vec<_>>(), sequences),
        labels: lessons.iter().flat_map(known).collect(),
        sizes: [sequences, steps, experiment.particles],
    };
    if !material.is_finite() {
        return Ok(None);
    }
    let weights = Weights::of(choices, experiment, &course.scales, material.sizes);
    Ok(Some(material.learn(matched, &nets, choices, &weights, shop)))
}

impl Material {
    fn is_finite(&self) -> bool {
        let actions = self.actions.iter().flatten().all(|x| x.is_finite());
        actions && self.images.iter().all(|x| x.is_finite())
    }

    fn learn(
        &self,
        matched: &Matched,
        nets: &training::Networks,
        choices: &Choices,
        weights: &Weights,
        shop: &mut TracedWorkshop,
    ) -> LossByHand {
        let [sequences, steps, count] = self.sizes;
        let part = |masks: &Option<Vec<f32>>, k: usize| {
            let size = steps * nets.eyes.mask();
            masks.as_ref().map(|masks| masks[k * size..][..size].to_vec())
        };
        let own: Vec<[Option<Vec<f32>>; 2]> =
            (0..sequences).map(|k| [part(&self.masks[0], k), part(&self.masks[1], k)]).collect();
        let pixels = steps * nets.eyes.pixels();
        let lesson = |k: usize| training::Lesson {
            images: &self.images[k * pixels..][..pixels],
            masks: own[k][0].as_deref(),
            sequence: Sequence {
                first: &self.first[k * count..][..count],
                actions: &self.actions[k * steps..][..steps],
                noise: &self.noise[k * steps * count..][..steps * count],
                offsets: &self.offsets[k * steps..][..steps],
                labels: &self.labels[k * steps..][..steps],
                seen: &[],
            },
        };
        let lessons: Vec<training::Lesson> = (0..sequences).map(lesson).collect();
        let second: Vec<Option<&[f32]>> = own.iter().map(|masks| masks[1].as_deref()).collect();
        let all = (sequences * pixels) as f64;
        let path = Path {
            motion: Motion { side: -1.0, noise: PROCESS_NOISE.map(|std| std as f32) },
            first: First::Stays,
            reconstruction: (choices.reconstruction / all) as f32,
        };
        let teacher = Released { weights, lessons: &lessons };
        let (said, squares, gradient) =
            nets.learn_from(Cpu::best(), &path, (&lessons, &second), &teacher, shop);
        let [density, q, effective] = said;
        let parts = [
            ("kernel density", choices.labels, density),
            ("pseudo-likelihood", choices.paths, q),
            ("reconstruction", choices.reconstruction, squares / all),
        ];
        let value = parts.iter().map(|(_, weight, part)| weight * part).sum();
        let mut losses = vec![("loss", value)];
        losses.extend(parts.iter().filter(|part| part.1 > 0.0).map(|(name, _, part)| (*name, *part)));
        let effective_sample_size = Some(effective / (sequences * steps) as f64);
        let figures = Figures { losses, effective_sample_size };
        LossByHand { value, gradients: matched.named(nets, &gradient), figures }
    }
}

/// [.., 3] as rows.
fn triples(tensor: &Tensor<3>) -> Vec<[f32; 3]> {
    let flat = tensor.try_to_vec_as::<f32>().expect("draws are numbers");
    flat.chunks_exact(3).map(|x| [x[0], x[1], x[2]]).collect()
}

/// Rows [T][B, N] in the order of sequences.
fn by_sequence(steps: Vec<Vec<[f32; 3]>>, sequences: usize) -> Vec<[f32; 3]> {
    let count = steps[0].len() / sequences;
    let own = |k: usize| steps.iter().flat_map(move |step| &step[k * count..][..count]);
    (0..sequences).flat_map(own).copied().collect()
}

/// The first uniform number of each sequence and step.
fn offsets(steps: &[&[f64]], sequences: usize) -> Vec<f32> {
    let own = |k: usize| steps.iter().map(move |numbers| numbers[k * numbers.len() / sequences] as f32);
    (0..sequences).flat_map(own).collect()
}

fn known(lesson: &Lesson) -> Vec<Option<[f32; 3]>> {
    let finite = |state: &[f32]| state.iter().all(|x| x.is_finite()).then(|| [state[0], state[1], state[2]]);
    lesson.labels().iter().map(|state| state.and_then(finite)).collect()
}

/// Whether the choices are those of the released code, which all this is about.
fn knows(choices: &Choices) -> bool {
    choices.threshold.is_none() && !choices.learned_motion && choices.kernel_density
}

/// For the filter with its autoencoder.
pub(super) fn autoencoding(
    choices: Choices,
    experiment: &Experiment,
) -> Option<ByHand<Autoencoding<Given, ImageDecoder>>> {
    let (experiment, mut shop) = (experiment.clone(), TracedWorkshop::default());
    let by_hand =
        move |model: &Autoencoding<Given, ImageDecoder>, course: &Course<_>, lessons: &[Lesson], seed| {
            let matched = Matched {
                measurement: ("model.measurement", &model.model.measurement),
                decoder: Some(("decoder", &model.decoder)),
            };
            loss(&matched, course, (&choices, &experiment), (lessons, seed), &mut shop)
        };
    knows(&choices).then(|| Box::new(by_hand) as ByHand<_>)
}

/// For the filter alone.
pub(super) fn alone(choices: Choices, experiment: &Experiment) -> Option<ByHand<Given>> {
    let (experiment, mut shop) = (experiment.clone(), TracedWorkshop::default());
    let by_hand = move |model: &Given, course: &Course<_>, lessons: &[Lesson], seed| {
        let matched = Matched { measurement: ("measurement", &model.measurement), decoder: None };
        loss(&matched, course, (&choices, &experiment), (lessons, seed), &mut shop)
    };
    knows(&choices).then(|| Box::new(by_hand) as ByHand<_>)
}

#[cfg(test)]
mod tests;
