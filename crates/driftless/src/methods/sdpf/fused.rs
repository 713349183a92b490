//! The losses of the released code with their gradients by hand, through the kernels.
//!
//! Poses are constants there, because gradients end where particles are drawn and odometry is given: the losses
//! depend on the networks through log l alone. [`Course::loss`] says the same with tensors, for all other choices and
//! for data that are not finite.

use super::{Choices, Given, PROCESS_NOISE};
use crate::error::Result;
use crate::learn::{Experiment, Ranks};
use crate::methods::filtering::{Believed, Course, Fused, FusedLoss};
use crate::methods::prior::around;
use crate::methods::updates::Figures;
use crate::model::{Measurement, Model};
use crate::nets::ImageDecoder;
use crate::objective::Autoencoding;
use crate::online::{OnlineFilter, Place, Start};
use crate::ops::Matched;
use burn::tensor::Tensor;
use driftless_core::angles::wrapped;
use driftless_core::{Belief, IMPOSSIBLE, Particles, Space, Stream};
use driftless_kernels::Cpu;
use driftless_kernels::scan::{First, Motion, Trace};
use driftless_kernels::training::{Decoded, Networks, Path, Workspace};
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use material::{Material, first_particles};
use online_filter::FusedOnlineFilter;
use released::{Released, Weights};

pub(super) mod material;
mod online_filter;
mod released;

/// The stream of a seed that first particles about a pose are drawn from.
const FIRST_DRAWS: u64 = 0x6669_7273_7400;

/// Particles move by odometry and noise from the second step on.
const PATH: Path = Path {
    motion: Motion {
        side: -1.0,
        noise: [PROCESS_NOISE[0] as f32, PROCESS_NOISE[1] as f32, PROCESS_NOISE[2] as f32],
    },
    first: First::Stays,
};

impl Material {
    fn learn(
        &self,
        matched: &Matched,
        nets: &Networks,
        choices: &Choices,
        weights: &Weights,
        (ranks, workspace): (&dyn Ranks, &mut Workspace),
    ) -> Result<FusedLoss> {
        let [sequences, steps, _] = self.sizes;
        let lessons = self.lessons(nets);
        let second: Vec<Option<&[f32]>> =
            (0..sequences).map(|k| self.mask(1, k, steps * nets.frame_encoder.mask())).collect();
        let all = self.images.len() as f64;
        let decoded = if choices.reconstruction > 0.0 {
            Decoded::Through((choices.reconstruction / all) as f32, &second)
        } else {
            Decoded::Nothing
        };
        let sequence_loss = Released { weights, material: self };
        let (said, squares, gradient) =
            nets.learn_from(Cpu::best(), &PATH, (&lessons, decoded), &sequence_loss, ranks, workspace)?;
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
        Ok(FusedLoss { value, gradients: matched.named(nets, &gradient), figures })
    }

    /// What a filter believes at each step of each sequence.
    fn beliefs(&self, nets: &Networks) -> Vec<Vec<Believed>> {
        let [_, steps, count] = self.sizes;
        let traces = nets.follow(Cpu::best(), &PATH, &self.lessons(nets));
        let of = |trace: Trace| (0..steps).map(|t| believed(&trace, t, count)).collect();
        traces.into_iter().map(of).collect()
    }
}

fn believed(trace: &Trace, t: usize, count: usize) -> Believed {
    let own = t * count..(t + 1) * count;
    let [x, y, heading, ..] = trace.poses.each_ref().map(|column| &column[own.clone()]);
    let pose = |i: usize| [x[i], y[i], wrapped(heading[i])];
    let logs: Vec<f32> = trace.weights[own.clone()].iter().map(|weight| weight.ln()).collect();
    let likelihood: f64 = trace.log_likelihoods[own.clone()].iter().map(|&log| f64::from(log).exp()).sum();
    Believed {
        belief: Belief::weighted(Particles::from_states(Space::SE2, (0..count).map(pose)), &logs),
        // All particles had the same weight before they were seen; the first are not weighted.
        log_evidence: match (t, trace.collapsed[t]) {
            (0, _) => 0.0,
            (_, true) => IMPOSSIBLE,
            _ => (likelihood / count as f64).ln(),
        },
    }
}

/// The released code's losses and filter, for models that have these networks.
struct Hand<M> {
    choices: Choices,
    experiment: Experiment,
    workspace: Workspace,
    networks: fn(&M) -> Matched<'_>,
}

impl<M: Model> Fused<M> for Hand<M>
where
    M::Measurement: Measurement<Observations = Tensor<5>>,
{
    fn loss(
        &mut self,
        model: &M,
        course: &Course<M>,
        lessons: &[Lesson],
        seed: u64,
        ranks: &dyn Ranks,
    ) -> Result<Option<FusedLoss>> {
        let matched = (self.networks)(model);
        let nets = matched.networks();
        let masks = Some((nets.frame_encoder.mask(), self.choices.keep));
        let material = Material::of(course, lessons, (self.experiment.particles, seed), masks)?;
        if !material.is_finite() {
            return Ok(None);
        }
        let weights = Weights::of(&self.choices, &self.experiment, &course.normalisation, material.sizes);
        let shared = (ranks, &mut self.workspace);
        material.learn(&matched, &nets, &self.choices, &weights, shared).map(Some)
    }

    fn beliefs(
        &self,
        model: &M,
        course: &Course<M>,
        lessons: &[Lesson],
        particles: usize,
        seed: u64,
    ) -> Result<Option<Vec<Vec<Believed>>>> {
        let material = Material::of(course, lessons, (particles, seed), None)?;
        Ok(material.is_finite().then(|| material.beliefs(&(self.networks)(model).networks())))
    }

    fn online_filter(
        &self,
        model: &M,
        course: &Course<M>,
        particles: usize,
        start: &Start,
    ) -> Option<Box<dyn OnlineFilter>> {
        let nets = (self.networks)(model).networks();
        let seed =
            if start.episode == 0 { start.seed } else { Random::stream(start.seed, start.episode).bits() };
        let first = match start.place {
            Place::Anywhere | Place::Room(_) | Place::State { .. } => {
                first_particles(course, particles, seed)
            }
            Place::About { pose, spread } => {
                let [pose, spread] = [pose, spread].map(|numbers| numbers.map(|x| x as f32));
                let told = around(pose, spread, particles, &mut Stream::new(seed, FIRST_DRAWS));
                (0..particles).map(|i| [0, 1, 2].map(|k| told.column(k)[i])).collect()
            }
        };
        Some(Box::new(FusedOnlineFilter::new(
            nets,
            &course.normalisation.pixels,
            &first,
            PATH.motion,
            course.normalisation.missing_motion(),
            seed,
        )))
    }
}

/// By hand, if the choices are those of the released code, which all this is about.
fn hand<M: Model + 'static>(
    choices: Choices,
    experiment: &Experiment,
    networks: fn(&M) -> Matched<'_>,
) -> Option<Box<dyn Fused<M>>>
where
    M::Measurement: Measurement<Observations = Tensor<5>>,
{
    let released = choices.threshold.is_none() && !choices.learned_motion && choices.kernel_density;
    let (experiment, workspace) = (experiment.clone(), Workspace::default());
    (released && experiment.kernels && experiment.resampler.is_none())
        .then(|| Box::new(Hand { choices, experiment, workspace, networks }) as Box<dyn Fused<M>>)
}

/// For the filter with its autoencoder.
pub(super) fn autoencoding(
    choices: Choices,
    experiment: &Experiment,
) -> Option<Box<dyn Fused<Autoencoding<Given, ImageDecoder>>>> {
    hand(choices, experiment, |model: &Autoencoding<Given, ImageDecoder>| Matched {
        measurement: ("model.measurement", &model.model.measurement),
        decoder: Some(("decoder", &model.decoder)),
    })
}

/// For the filter alone.
pub(super) fn alone(choices: Choices, experiment: &Experiment) -> Option<Box<dyn Fused<Given>>> {
    hand(choices, experiment, |model: &Given| Matched {
        measurement: ("measurement", &model.measurement),
        decoder: None,
    })
}

#[cfg(test)]
mod tests;
