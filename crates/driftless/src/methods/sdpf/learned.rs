//! The paper's SDPF without tensors for particles: the core's filter, moved and weighed by the kernels, and back by hand.
//!
//! The motion is learned, so losses reach the networks through poses as well as through weights. [`Course::loss`] says
//! the same with tensors, for all other choices, for numbers that are not finite, and for tests to compare with. Features
//! of readings other than images come from tensors in both cases: their encoders are of many kinds, and cost little
//! beside particles.

use super::{Choices, Learned, short};
use crate::batch::Batch;
use crate::error::Result;
use crate::learn::{Experiment, Lost, Ranks};
use crate::methods::filtering::{Believed, Course, Fused, FusedLoss};
use crate::methods::observed::Observed;
use crate::methods::updates::Figures;
use crate::model::{Measurement, Model, Observations, Transition, Wander};
use crate::objective::BlockStart;
use crate::online::{OnlineFilter, Start as OnlineStart};
use crate::ops::{Moved, MovedGradient};
use back::{Terms, way_back};
use burn::tensor::{DType, Device, Tensor};
use driftless_kernels::Cpu;
use driftless_kernels::ranks::map;
use driftless_kernels::rows::back_through_units;
use driftless_world::labels::Lesson;
use follow::{Memory, follow};
use frames::{Frames, Seen};
use material::Material;
use std::sync::Mutex;
use steps::Nets;

mod back;
mod follow;
mod frames;
mod material;
mod steps;

/// Groups of sequences, at most, whose gradients are added in order: results do not depend on the number of threads.
const GROUPS: usize = 8;

/// What the losses came to, and the derivatives by networks and by features.
type Found = ([f64; 3], MovedGradient, Vec<f32>);

/// What there is to know of a model of this kind.
pub(super) struct Parts<'a> {
    /// The networks that see particles.
    pub networks: Moved<'a>,
    /// What encodes images, if observations are images alone.
    pub frames: Option<Frames<'a>>,
    /// Standard deviations of the noise, and of steps whose action is missing, if these are known.
    pub noise: (&'a [f64], Option<&'a [f64]>),
    /// Whether observations that are missing say nothing; otherwise they are left to tensors.
    pub silence: bool,
}

/// The paper's losses and filter.
pub(super) struct ByKernels<M> {
    choices: Choices,
    experiment: Experiment,
    parts: fn(&M) -> Parts<'_>,
    memories: Mutex<Vec<Memory>>,
}

impl<M: Model> ByKernels<M>
where
    M::Measurement: Measurement<Cues = Tensor<3>>,
    Observations<M>: Observed,
{
    /// N_thres as a share of N, which only choices with one come here for.
    fn threshold(&self) -> f64 {
        self.choices.threshold.unwrap_or_default()
    }

    fn terms(&self, course: &Course<M>, material: &Material) -> Terms {
        let [sequences, steps, _] = material.sizes;
        let q = self.choices.pseudo_likelihood(&course.normalisation);
        let block = short::fitting(q.block, steps);
        let start = match q.start {
            BlockStart::Flat(log) | BlockStart::Carried(log) => log,
            BlockStart::Prior(_) => 0.0,
        };
        Terms {
            labels: self.choices.labels / material.known().max(1) as f64,
            scale: course.normalisation.step_size,
            paths: self.choices.paths / (sequences * (steps / block)) as f64,
            block,
            start,
        }
    }

    /// All sequences there and back: what came of them.
    fn learn(
        &self,
        nets: &Nets,
        material: &Material,
        terms: &Terms,
        ranks: &dyn Ranks,
    ) -> Result<Option<Found>> {
        let sequences = material.sizes[0];
        let size = sequences.div_ceil(GROUPS).max(1);
        let group = |number: usize| {
            let mut memory = self.memories.lock().expect("no thread has panicked").pop().unwrap_or_default();
            let mut sums = ([0.0; 3], MovedGradient::zeros(&nets.networks), Vec::new());
            let found = (number * size..sequences.min((number + 1) * size)).try_for_each(|k| {
                let followed = follow(nets, material, k, &mut memory)?;
                let said = way_back(nets, (material, k), terms, &followed, &mut memory, &mut sums);
                sums.0.iter_mut().zip(said).for_each(|(sum, part)| *sum += part);
                Some(())
            });
            self.memories.lock().expect("no thread has panicked").push(memory);
            found.map(|()| sums)
        };
        let groups = map(ranks, sequences.div_ceil(size), |number| Ok::<_, Lost>(group(number)))?;
        let mut all = ([0.0; 3], MovedGradient::zeros(&nets.networks), Vec::new());
        for group in groups {
            let Some((said, gradient, by_seen)) = group else { return Ok(None) };
            all.0.iter_mut().zip(said).for_each(|(sum, part)| *sum += part);
            all.1.add(&gradient);
            all.2.extend(by_seen);
        }
        let (units, lengths, width) = material.units();
        back_through_units(Cpu::best(), units, lengths, width, &mut all.2);
        Ok(Some(all))
    }

    /// What the losses came to, by name, as the tensors say it.
    fn figures(&self, said: [f64; 3], terms: &Terms, material: &Material) -> (f64, Figures) {
        let [squared, q, effective] = said;
        let [sequences, steps, _] = material.sizes;
        let known = material.known().max(1) as f64;
        let blocks = (sequences * (steps / terms.block)) as f64;
        let parts = [
            ("squared error", self.choices.labels, squared / known),
            ("pseudo-likelihood", self.choices.paths, -q / blocks),
        ];
        let value = parts.iter().map(|(_, weight, part)| weight * part).sum();
        let mut losses = vec![("loss", value)];
        losses.extend(parts.iter().filter(|part| part.1 > 0.0).map(|(name, _, part)| (*name, *part)));
        let effective_sample_size = Some(effective / (sequences * steps) as f64);
        (value, Figures { losses, effective_sample_size })
    }
}

/// All that kernels are given, if they can do with it.
fn material<M: Model>(
    course: &Course<M>,
    lessons: &[Lesson],
    (batch, features): (&Batch<Observations<M>>, (Vec<f32>, usize)),
    (particles, seed): (usize, u64),
    silence: bool,
) -> Option<Material>
where
    Observations<M>: Observed,
{
    if batch.actions.dims()[2] != 3 {
        return None;
    }
    let draws = course.draws(batch, particles, seed);
    let material = Material::of(&course.start(lessons), lessons, (&batch.actions, features), &draws);
    material.is_usable(silence).then_some(material)
}

impl<M: Model> Fused<M> for ByKernels<M>
where
    M::Measurement: Measurement<Cues = Tensor<3>>,
    Observations<M>: Observed,
{
    fn loss(
        &mut self,
        model: &M,
        course: &Course<M>,
        lessons: &[Lesson],
        seed: u64,
        ranks: &dyn Ranks,
    ) -> Result<Option<FusedLoss>> {
        let device = Device::flex().autodiff();
        let batch = Observed::batch(lessons, &course.normalisation, &device, DType::F32)?;
        let particles = self.experiment.particles;
        let phase = course.draws(&batch, 1, seed).training().phase;
        let (parts, named) = ((self.parts)(model), (particles, seed));
        let seen = Seen::of(model, parts.frames, &batch.observations, phase);
        let features = seen.rows(ranks)?;
        let Some(material) = material(course, lessons, (&batch, features), named, parts.silence) else {
            return Ok(None);
        };
        let (nets, terms) = (Nets::of(&parts, self.threshold()), self.terms(course, &material));
        let Some((said, gradient, by_features)) = self.learn(&nets, &material, &terms, ranks)? else {
            return Ok(None);
        };
        let (value, figures) = self.figures(said, &terms, &material);
        let mut all = parts.networks.named(&nets.networks, &gradient);
        all.extend(seen.back(model, by_features, ranks)?);
        Ok(Some(FusedLoss { value, gradients: all, figures }))
    }

    /// Robots are followed as they are online, one at a time with random numbers of their own.
    fn beliefs(
        &self,
        _: &M,
        _: &Course<M>,
        _: &[Lesson],
        _: usize,
        _: u64,
    ) -> Result<Option<Vec<Vec<Believed>>>> {
        Ok(None)
    }

    fn online_filter(
        &self,
        _: &M,
        _: &Course<M>,
        _: usize,
        _: &OnlineStart,
    ) -> Option<Box<dyn OnlineFilter>> {
        None
    }
}

/// By kernels, if the choices are those of the paper.
pub(super) fn by_kernels<M: Model + 'static>(
    choices: Choices,
    experiment: &Experiment,
    parts: fn(&M) -> Parts<'_>,
) -> Option<Box<dyn Fused<M>>>
where
    M::Measurement: Measurement<Cues = Tensor<3>>,
    Observations<M>: Observed,
{
    let paper = choices.threshold.is_some() && choices.learned_motion && !choices.kernel_density;
    let published = paper && choices.reconstruction == 0.0 && experiment.resampler.is_none();
    let (experiment, memories) = (experiment.clone(), Mutex::default());
    (published && experiment.kernels)
        .then(|| Box::new(ByKernels { choices, experiment, parts, memories }) as Box<dyn Fused<M>>)
}

/// For mazes.
pub(super) fn in_mazes(choices: Choices, experiment: &Experiment) -> Option<Box<dyn Fused<Learned>>> {
    by_kernels(choices, experiment, maze_parts)
}

fn maze_parts(model: &Learned) -> Parts<'_> {
    Parts {
        networks: Moved {
            motion: ("transition.motion", &model.transition.motion),
            states: ("measurement.state", &model.measurement.state),
            epsilon: model.measurement.epsilon(),
        },
        frames: Some(("measurement.observation", &model.measurement.observation)),
        noise: (model.transition.std(), model.transition.wander().map(Wander::std)),
        silence: false,
    }
}

#[cfg(test)]
mod tests;
