//! Direct regression: the pose of each image by itself, without a filter, learned at labelled steps.
//!
//! The image encoder of the maze experiments and two layers say position, cosine and sine of the heading (as PoseNet,
//! Kendall, Grimes & Cipolla 2015, in the plane), on the kernels. Crops and noise are redrawn every epoch. What one image
//! cannot tell is not known: places that look alike are averaged.

mod follow;

use super::anchored::training::load;
use super::anchored::{LEAST_RATE, RATE, sensor};
use super::learner::Learner;
use super::shared_tracks::tracks;
use super::updates::{Figures, Tally};
use crate::error::{Error, Result};
use crate::learn::{AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, alone};
use crate::nets::{Activation, ConvPlan, ImageEncoder, Mlp};
use crate::online::{OnlineFilter, Start};
use crate::ops::{chain, chain_gradient, image_gradients, image_net, load_chain, load_images};
use crate::optimise::{Adam, Optimiser, Rule, Schedule};
use crate::parameters::{self, Init, Named, Net};
use burn::module::Module;
use burn::tensor::{DType, Device};
use driftless_kernels::Cpu;
use driftless_kernels::recurrent::{Estimator, EstimatorGradient, EstimatorMemory, SequenceFrames};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use rayon::prelude::*;
use std::sync::Arc;

/// Units of the layer between features and what is said.
const HIDDEN: usize = 128;
/// Position, cosine and sine.
const SAID: usize = 4;
/// Images of an update, as "sequences" whose steps have nothing to do with each other: threads share the sequences.
const BATCH: [usize; 2] = [8, 8];

/// An image encoder and two layers, as they begin.
#[derive(Module, Debug)]
struct Network {
    encoder: ImageEncoder,
    head: Mlp,
}

impl Network {
    fn new(seed: u64, normalisation: &Normalisation) -> Self {
        let mut init = Init::new(Random::stream(seed, 0).bits(), &Device::flex(), DType::F32);
        // Fresh crops and noise are enough; with the filters' dropout it stayed at the mean pose for 700 updates.
        let plan = ConvPlan { keep: 1.0, ..ConvPlan::released(normalisation.pixels.shape()) };
        let features = plan.features;
        let encoder = ImageEncoder::new(plan, &mut init);
        Self { encoder, head: Mlp::new(features, &[HIDDEN, SAID], Activation::Linear, &mut init) }
    }
}

/// The method `regression`.
pub(super) struct Regression {
    normalisation: Normalisation,
    seed: u64,
    learner: Learner<Estimator>,
    /// Of the rate, over epochs: how many updates one has depends on the labels.
    schedule: Schedule,
    ranks: AllRanks,
}

/// Images whose pose is known.
#[derive(Default)]
struct Examples {
    pixels: Vec<f32>,
    /// What is to be said of each.
    targets: Vec<[f32; SAID]>,
}

impl Regression {
    /// For mazes; not trained yet.
    pub(super) fn new(experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let network = Network::new(experiment.seed, normalisation);
        let (frame_encoder, head) = (image_net(&network.encoder), chain(&network.head));
        let net = Estimator { frame_encoder, cells: Vec::new(), head };
        let optimiser = Optimiser::new(Rule::Adam(Adam::default()), RATE);
        Self {
            normalisation: normalisation.clone(),
            seed: experiment.seed,
            learner: Learner::new(net, parameters::values(&network), optimiser),
            schedule: Schedule::Cosine { updates: experiment.epochs, least: LEAST_RATE },
            ranks: alone(),
        }
    }

    /// What is to be said of a pose: normalised position, and the heading as a direction.
    fn target(&self, pose: &[f32]) -> [f32; SAID] {
        let Normalisation { state_mean: mean, state_std: std, .. } = &self.normalisation;
        let place = |k: usize| ((f64::from(pose[k]) - mean[k]) / std[k]) as f32;
        let (sin, cos) = pose[2].sin_cos();
        [place(0), place(1), cos, sin]
    }

    /// All labelled images; one that is not finite says nothing.
    fn examples(&self, lessons: &[Lesson]) -> Result<Examples> {
        let stride: usize = self.normalisation.pixels.shape().iter().product();
        let of = |lesson: &Lesson| -> Result<Examples> {
            let (images, mut own) =
                (sensor::images(lesson, &self.normalisation.pixels)?, Examples::default());
            for (image, label) in images.chunks_exact(stride).zip(lesson.labels().iter()) {
                let known = label.filter(|pose| pose.iter().chain(image).all(|x| x.is_finite()));
                if let Some(pose) = known {
                    own.pixels.extend_from_slice(image);
                    own.targets.push(self.target(pose));
                }
            }
            Ok(own)
        };
        let mut all = Examples::default();
        for own in lessons.par_iter().map(of).collect::<Result<Vec<_>>>()? {
            all.pixels.extend(own.pixels);
            all.targets.extend(own.targets);
        }
        if all.targets.is_empty() {
            let problem = "left no pose known: this method learns from labels alone; raise the share";
            return Err(Error::setting("label_fraction", problem));
        }
        Ok(all)
    }
}

impl Net for Estimator {
    fn load(&mut self, values: &[Named]) {
        load_images(&mut self.frame_encoder, "encoder", values);
        load_chain(&mut self.head, "head", values);
    }
}

/// By all parameters, in the order of the fields.
fn gradients(net: &Estimator, by: &EstimatorGradient) -> Vec<Named> {
    let mut all = image_gradients("encoder", &net.frame_encoder, &by.frame_encoder);
    all.extend(chain_gradient("head", &net.head, &by.head));
    all
}

/// Room of updates, used again from one to the next.
#[derive(Default)]
struct Workspace {
    images: Vec<f32>,
    targets: Vec<[f32; SAID]>,
    by_said: Vec<f32>,
    memory: EstimatorMemory,
    gradient: EstimatorGradient,
}

impl Workspace {
    /// Some images, drawn at random.
    fn draw(&mut self, all: &Examples, random: &mut Random) {
        self.images.clear();
        self.targets.clear();
        let stride = all.pixels.len() / all.targets.len();
        for _ in 0..BATCH[0] * BATCH[1] {
            let number = random.below(all.targets.len());
            self.images.extend_from_slice(&all.pixels[number * stride..][..stride]);
            self.targets.push(all.targets[number]);
        }
    }

    /// (1 / n) Σᵢ |said(imageᵢ) - targetᵢ|², and its gradient.
    fn loss(&mut self, net: &Estimator) -> f64 {
        let Self { images, targets, by_said, memory, gradient } = self;
        let [steps, sequences] = BATCH;
        let (cpu, width) = (Cpu::best(), net.head.width());
        let seen = SequenceFrames { images, masks: None, beside: &[], sizes: BATCH };
        net.forward(cpu, &seen, memory);
        by_said.clear();
        by_said.resize(memory.said().len(), 0.0);
        let (count, mut loss) = (targets.len() as f64, 0.0);
        let rows = memory.said().chunks_exact(width).zip(by_said.chunks_exact_mut(width)).enumerate();
        for (row, (said, by)) in rows {
            // Images go sequence after sequence, rows step after step.
            let target = targets[row % sequences * steps + row / sequences];
            for ((said, target), by) in said.iter().zip(target).zip(by) {
                let error = f64::from(said - target);
                loss += error * error / count;
                *by = (2.0 * error / count) as f32;
            }
        }
        net.backward(cpu, &seen, by_said, memory, gradient);
        loss
    }
}

impl Method for Regression {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        let all = self.examples(&load(lessons, epoch)?)?;
        let mut random = Random::stream(self.seed, epoch);
        let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
        self.learner.set_rate(RATE * self.schedule.factor(epoch - 1));
        // One pass: with the same crops and noise several times, they were learned by heart instead of the maze.
        for _ in 0..all.targets.len().div_ceil(BATCH[0] * BATCH[1]) {
            workspace.draw(&all, &mut random);
            let loss = workspace.loss(self.learner.net());
            let step = self.learner.step_by(loss, &gradients(self.learner.net(), &workspace.gradient));
            tally.add(&Figures { losses: vec![("loss", loss)], effective_sample_size: None }, &step);
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        tracks(&*self.ranks, episodes, how, |number, episode| self.follow(number, episode))
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        false
    }

    fn online_filter(&self, _: usize, _: &Start) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(Box::new(self.robot())))
    }

    fn parameters(&self) -> Vec<Named> {
        self.learner.values().to_vec()
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.learner.restore(parameters, memory)
    }
}

#[cfg(test)]
mod tests;
