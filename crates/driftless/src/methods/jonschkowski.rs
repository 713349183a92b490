//! The original differentiable particle filter of Jonschkowski, Rastogi & Brock (2018), staged training and all.
//!
//! Networks, filter, losses and constants are those of the authors' code: odometry is given and its noise
//! learned, a likelihood network with the floor 0.004, a proposer that keeps 15 % of its units, γ^t N
//! proposed particles with γ = 0.7 in training and use alike, gradients that stop at resampling, Adam with
//! 3e-4, 50 updates an epoch. The parts learn one after the other, then together:
//!
//! | stage | epochs | learns from | loss |
//! |---|---|---|---|
//! | motion | the first 10 % | pairs of neighbours, both labelled | density of moved particles, σ = 0.01 |
//! | measurement | 25 % | labelled steps | every image in every pose of the batch |
//! | proposer | 15 % | labelled steps, encoder held | density of proposed particles, σ = 0.2 |
//! | end to end | the rest | windows of 20 steps | density of the belief, σ = 0.2 |
//!
//! The authors had all labels, and trained each stage until its validation loss had not fallen for 200
//! epochs. What we decided, as only some steps are labelled and the number of epochs is given:
//!
//! - The stage is a function of the epoch and `epochs` alone. Below four epochs all are end to end.
//!   Each stage begins with a fresh optimiser and with the weights the one before ended with (the authors':
//!   its best).
//! - Without a pair of labelled neighbours the motion has nothing to learn from by itself: its epochs go to
//!   the measurement, whose loss is then reported as `measurement for want of pairs`, and its noise is
//!   learned end to end only.
//! - A batch of pairs or steps has none twice, for a step would otherwise be a wrong pose of its own image;
//!   fewer than `batch` are all used. 1 - l counts as 1e-7 at least. (The authors repeat.)
//! - Windows are drawn with repetition, labels or not, and the sum over their labelled steps is divided by
//!   all steps times the share of labels. A shortest trajectory below 20 steps sets the length of all.
//! - Encoder dropout is on in all stages that see images.
//!
//! In a robot's own log the networks are those of its sensors. A robot that is told where it starts has no proposed
//! particles, as in the authors' tracking; the proposer is learned all the same, for robots that are told nothing.
//! Windows are those of [`super::windows`].

mod examples;
mod losses;
mod networks;
mod stages;

use super::filtering::{Course, Make};
use super::learner::{Learner, OnTensors};
use super::observed::Observed;
use super::own_log::reading_plan;
use super::sdpf;
use super::updates::{Figures, Tally, epoch_seed, fixed_lessons, update_seed};
use super::windows::Windows;
use crate::batch::LabelMean;
use crate::error::{Error, Result};
use crate::filter::{Filter, Injection};
use crate::learn::{AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet};
use crate::model::Measurement;
use crate::objective::{KernelDensity, WeightedSum};
use crate::online::{OnlineFilter, Start as OnlineStart};
use crate::parameters::{Named, with_values};
use crate::resample::{Resampler, Scheme, Truncate};
use crate::space::Space;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use examples::{Examples, WINDOW};
use networks::{KEEP, Networks, OfImages, OfReadings, in_logs, in_mazes};
use stages::Stage;
use std::sync::{Arc, OnceLock};

/// Updates in an epoch.
const UPDATES: usize = 50;
/// γ: the share of particles that are proposed falls as γ^t.
const PROPOSE_RATIO: f64 = 0.7;
/// σ of the density of proposed particles and of beliefs, in step sizes.
const BANDWIDTH: f64 = 0.2;
/// σ of the density of moved particles, in step sizes.
const MOTION_BANDWIDTH: f64 = 0.01;

/// The method `dpf`, with a measurement that fits what robots see.
pub struct Jonschkowski<L: Measurement<Cues = Tensor<3>>> {
    experiment: Experiment,
    normalisation: Normalisation,
    course: Course<Networks<L>>,
    make: Make<Networks<L>>,
    learner: Learner<OnTensors<Networks<L>>>,
    /// What is learned from end to end in place of windows that begin anywhere.
    windows: Option<Windows>,
    /// The stage that the optimiser's memory is of.
    stage: Option<Stage>,
    /// The networks without gradients, for robots online; made when missing.
    deployed: OnceLock<Networks<L>>,
    ranks: AllRanks,
}

impl Jonschkowski<OfImages> {
    /// For mazes; not trained yet.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation) -> Result<Self> {
        let (seed, own) = (experiment.seed, normalisation.clone());
        Self::of(experiment, normalisation, Box::new(move |device| in_mazes(seed, &own, device)))
    }
}

impl Jonschkowski<OfReadings> {
    /// For a robot's own log; not trained yet.
    pub fn of_log(experiment: &Experiment, normalisation: &Normalisation) -> Result<Self> {
        let plan = reading_plan(experiment, normalisation, KEEP)?;
        let (seed, frame, own) = (experiment.seed, experiment.frame(), normalisation.clone());
        let make = move |device: &Device| in_logs(seed, &plan, frame, &own, device);
        Self::of(experiment, normalisation, Box::new(make))
    }
}

impl<L: Measurement<Cues = Tensor<3>>> Jonschkowski<L>
where
    L::Observations: Observed,
{
    fn of(experiment: &Experiment, normalisation: &Normalisation, make: Make<Networks<L>>) -> Result<Self> {
        let alone = || Ok::<Filter, Error>(Filter::new(Space::SE2, resampler(experiment)?));
        let objective =
            WeightedSum(vec![(1.0, Box::new(density(BANDWIDTH, experiment, normalisation)) as _)]);
        let course = Course {
            filter: Arc::new(alone()?.injecting(Injection::new(PROPOSE_RATIO))),
            told: Some(Arc::new(alone()?)),
            // Never drawn from: without a told pose all first particles are proposed.
            prior: sdpf::prior(normalisation),
            objective,
            normalisation: Arc::new(normalisation.clone()),
        };
        Ok(Self {
            experiment: experiment.clone(),
            normalisation: normalisation.clone(),
            course,
            learner: Learner::of(make(&Device::flex().autodiff())),
            make,
            windows: Windows::of(experiment, WINDOW),
            stage: None,
            deployed: OnceLock::new(),
            ranks: crate::learn::alone(),
        })
    }

    fn deployed(&self) -> &Networks<L> {
        self.deployed.get_or_init(|| with_values((self.make)(&Device::flex()), self.learner.values()))
    }

    /// The loss of one update, `[1]`, and its figures; `seed` names everything random.
    fn loss(&self, stage: Stage, examples: &Examples, seed: u64) -> Result<(Tensor<1>, Figures)> {
        let Experiment { batch_size: count, particles, .. } = self.experiment;
        let mut random = Random::new(seed);
        let chosen = match stage {
            Stage::Motion => examples.pairs(count, &mut random)?,
            Stage::Measurement | Stage::Proposer => examples.singles(count, &mut random)?,
            Stage::EndToEnd => {
                let windows = examples.windows(count, &mut random)?;
                return self.course.loss(self.learner.model(), &windows, particles, random.bits());
            }
        };
        let loss = self.loss_of_part(stage, &chosen, random.bits())?;
        let value = loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
        let name = match stage {
            Stage::Motion => "motion",
            Stage::Proposer => "proposer",
            _ if examples.has_pairs() => "measurement",
            _ => "measurement for want of pairs",
        };
        Ok((loss, Figures { losses: vec![("loss", value), (name, value)], effective_sample_size: None }))
    }

    /// The loss of a stage that runs no filter.
    fn loss_of_part(&self, stage: Stage, chosen: &[Lesson], seed: u64) -> Result<Tensor<1>> {
        let device = Device::flex().autodiff();
        let batch = Observed::batch(chosen, &self.normalisation, &device, DType::F32)?;
        let draws = self.course.draws(&batch, self.experiment.particles, seed).training();
        let (model, density) =
            (self.learner.model(), |bandwidth| density(bandwidth, &self.experiment, &self.normalisation));
        Ok(match stage {
            Stage::Motion => {
                losses::motion(model, &batch, draws.steps[1].noise.clone(), &density(MOTION_BANDWIDTH))
            }
            Stage::Proposer => losses::proposer(model, &batch, &draws, &density(BANDWIDTH)),
            _ => losses::measurement(model, &batch, &draws),
        })
    }
}

/// As an experiment says, or as published; no gradient goes through a scheme.
fn resampler(experiment: &Experiment) -> Result<Box<dyn Resampler>> {
    Ok(match &experiment.resampler {
        Some(settings) if !settings.is_scheme() => settings.differentiable(Space::SE2)?,
        Some(settings) => Box::new(Truncate(settings.differentiable(Space::SE2)?)),
        None => Box::new(Truncate(Box::new(Scheme::Systematic))),
    })
}

fn density(bandwidth: f64, experiment: &Experiment, normalisation: &Normalisation) -> KernelDensity {
    let over = LabelMean::Share(experiment.label_fraction);
    KernelDensity { scale: normalisation.step_size.to_vec(), bandwidth, over }
}

impl<L: Measurement<Cues = Tensor<3>> + 'static> Method for Jonschkowski<L>
where
    L::Observations: Observed,
{
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.deployed = OnceLock::new();
        let seed = epoch_seed(self.experiment.seed, epoch);
        let lessons = fixed_lessons(lessons)?;
        let windows = self.windows.as_ref().map(|windows| windows.cut(lessons, seed)).transpose()?;
        let examples = Examples::new(lessons.to_vec())?.with_windows(windows.unwrap_or_default());
        let stage = Stage::of(epoch, self.experiment.epochs, examples.has_pairs());
        if self.stage != Some(stage) {
            self.learner.forget();
            self.stage = Some(stage);
        }
        let mut tally = Tally::default();
        for update in 0..UPDATES {
            let (loss, figures) = self.loss(stage, &examples, update_seed(seed, update))?;
            tally.add(&figures, &self.learner.step(&loss));
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], tracking: Tracking) -> Result<Vec<Track>> {
        self.course.track(self.deployed(), episodes, tracking, (None, &*self.ranks))
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        false
    }

    fn online_filter(&self, particles: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(Box::new(self.course.online(self.deployed().clone(), particles, start))))
    }

    fn parameters(&self) -> Vec<Named> {
        self.learner.values().to_vec()
    }

    fn memory(&self) -> Vec<Named> {
        self.stage.map(Stage::memory).into_iter().chain(self.learner.memory()).collect()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        let stage = Stage::remembered(memory.unwrap_or_default())?;
        self.deployed = OnceLock::new();
        self.learner.restore(parameters, memory)?;
        self.stage = stage;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
