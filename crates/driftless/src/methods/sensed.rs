//! Filters that see what a network says of each reading: the network on tensors, the filter in plain numbers with its own way
//! back, trained end to end.
//!
//! A [`SensedFilter`] says how wide the network's last layer is, what becomes of a belief at a step, and the gradient of a
//! window's loss by what was said and by the odometry's noise. The rest is the same for all: networks, windows, calibration
//! of the odometry, updates, robots online and in evaluation.

mod filter;
mod follow;

pub(super) use filter::{Gradient, Met, NOISE_SPEED, NOISES, SensedFilter};

use super::anchored::noise::{self, Known};
use super::anchored::store::{find, named};
use super::following;
use super::learner::{Learner, OnTensors};
use super::observed::Observed;
use super::own_log::reading_plan;
use super::robot::{Bias, Walk};
use super::shared_tracks::followers;
use super::tracking::in_batches;
use super::updates::{Figures, epoch_of, epoch_seed, fixed_lessons};
use super::windows::Windows;
use crate::batch::Batch;
use crate::dropout::Phase;
use crate::error::{Error, Result};
use crate::learn::{
    AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, WorldKind, alone,
};
use crate::model::{Encoder, Screen};
use crate::nets::{Activation, ConvPlan, ImageEncoder, Mlp, ReadingEncoder};
use crate::online::{OnlineFilter, Start as OnlineStart, seen_at};
use crate::optimise::Report;
use crate::parameters::{self, Init, Named, with_values};
use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::{Start, Trajectory};
use follow::Robot;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Features of an encoder, and units of the layer behind it.
const FEATURES: usize = 128;
const BIAS: &str = "motion.bias";
const NOISE: &str = "noise";

/// What is learned by gradients.
#[derive(Module, Debug)]
struct Sensing<O: Encoder> {
    encoder: O,
    head: Mlp,
    /// Logarithms of the odometry's noise.
    noise: Param<Tensor<1>>,
}

impl<O: Encoder> Sensing<O> {
    fn new(encoder: O, width: usize, init: &mut Init) -> Self {
        let head = Mlp::new(FEATURES, &[FEATURES, width], Activation::Linear, init);
        Self { encoder, head, noise: init.constant([NOISES], 0.0) }
    }

    /// What is said of observations, [B, T, ·].
    fn says(&self, observations: O::Input, phase: Phase) -> Tensor<3> {
        self.head.forward(self.encoder.encode(observations, phase))
    }
}

/// Makes a network with first weights on a device.
type Make<O> = Box<dyn Fn(&Device) -> Sensing<O> + Send>;

/// A method of one of these filters.
pub(super) struct SensedMethod<O: Encoder, F> {
    experiment: Experiment,
    normalisation: Arc<Normalisation>,
    filter: F,
    bias: Bias,
    make: Make<O>,
    learner: Learner<OnTensors<Sensing<O>>>,
    windows: Option<Windows>,
    /// The network without gradients, for robots online; made when missing.
    deployed: OnceLock<Sensing<O>>,
    ranks: AllRanks,
}

/// A filter with the networks that an experiment needs, not trained yet.
pub(super) fn build<F: SensedFilter>(
    filter: F,
    experiment: &Experiment,
    normalisation: &Normalisation,
) -> Result<Box<dyn Method>> {
    let (seed, width) = (experiment.seed, filter.width());
    let init = move |device: &Device| Init::new(Random::stream(seed, 0).bits(), device, DType::F32);
    if experiment.world == WorldKind::Maze {
        // As for `regression`: with the filters' dropout a pose is not learned.
        let plan = ConvPlan { keep: 1.0, ..ConvPlan::released(normalisation.pixels.shape()) };
        let make = move |device: &Device| {
            let mut init = init(device);
            Sensing::new(ImageEncoder::new(plan.clone(), &mut init), width, &mut init)
        };
        return Ok(Box::new(SensedMethod::new(filter, experiment, normalisation, Box::new(make))));
    }
    let plan = reading_plan(experiment, normalisation, 1.0)?;
    let make = move |device: &Device| {
        let mut init = init(device);
        Sensing::new(ReadingEncoder::new(plan.clone(), &mut init), width, &mut init)
    };
    Ok(Box::new(SensedMethod::new(filter, experiment, normalisation, Box::new(make))))
}

impl<O: Encoder + Send + 'static, F: SensedFilter> SensedMethod<O, F>
where
    O::Input: Observed,
{
    fn new(filter: F, experiment: &Experiment, normalisation: &Normalisation, make: Make<O>) -> Self {
        let mut method = Self {
            experiment: experiment.clone(),
            normalisation: Arc::new(normalisation.clone()),
            filter,
            bias: Bias::default(),
            learner: Learner::of(make(&Device::flex().autodiff())),
            make,
            windows: Windows::of(experiment, F::WINDOW),
            deployed: OnceLock::new(),
            ranks: alone(),
        };
        method.set_noise(noise::first_noise(normalisation.step_size));
        method
    }

    fn deployed(&self) -> &Sensing<O> {
        self.deployed.get_or_init(|| with_values((self.make)(&Device::flex()), self.learner.values()))
    }

    fn noise(&self) -> [f64; NOISES] {
        let values = &self.learner.values().iter().find(|value| value.name == NOISE).expect("a noise").values;
        std::array::from_fn(|k| values[k])
    }

    fn set_noise(&mut self, noise: noise::Noise) {
        let mut values = self.learner.values().to_vec();
        let own = values.iter_mut().find(|value| value.name == NOISE).expect("a noise");
        own.values = noise.iter().map(|noise| noise.ln() / NOISE_SPEED).collect();
        self.learner.set(&values).expect("the learner's own parameters");
    }

    /// The odometry's bias, of robots with logs of their own, and what its noise is at first: by labels, as `driftless` does.
    fn calibrate(&mut self, lessons: &[Lesson]) {
        let step = self.normalisation.step_size;
        if self.experiment.world == WorldKind::Robot {
            let walks: Vec<Walk> = lessons.iter().map(Walk::new).collect();
            self.bias = Bias::fit(&walks, self.experiment.frame(), step);
        }
        let known = |lesson: &Lesson| {
            let actions = (0..lesson.len()).map(|t| {
                let row = lesson.actions().row(t);
                self.bias.corrected(std::array::from_fn(|k| f64::from(row[k]))).to_vec()
            });
            let labels: Vec<Option<[f32; 3]>> = lesson
                .labels()
                .iter()
                .map(|label| label.map(|row| std::array::from_fn(|k| row[k])))
                .collect();
            let missing = self.normalisation.missing_motion();
            Known::new(self.experiment.frame(), actions.collect(), &labels).with_missing(missing)
        };
        let chains: Vec<Known> = lessons.iter().map(known).collect();
        self.set_noise(noise::learn(&chains, step));
    }

    /// One update: the network forward on tensors, the filter with its gradient in 64 bits, and the network back from there.
    fn update(&mut self, lessons: &[Lesson], seed: u64) -> Result<(Figures, Report)> {
        let device = Device::flex().autodiff();
        let batch: Batch<O::Input> = Observed::batch(lessons, &self.normalisation, &device, DType::F32)?;
        let (observations, lost) = batch.observations.screen();
        let said = self.learner.model().says(observations, Phase::Training { seed });
        let [_, steps, width] = said.dims();
        let numbers = said.try_to_vec_as::<f64>().expect("what is said is numbers");
        let lost = lost.int().try_to_vec_as::<i32>().expect("flags are numbers");
        let (filter, bias, noise) = (&self.filter, self.bias, self.noise());
        let one = |(number, lesson): (usize, &Lesson)| {
            let own = number * steps..(number + 1) * steps;
            let met = met(bias, lesson, &lost[own.clone()]);
            let count = met.iter().filter(|met| met.label.is_some()).count();
            let said = &numbers[own.start * width..own.end * width];
            (filter.gradient(&filter.first(lesson.start()), said, &noise, &met), count)
        };
        let each: Vec<(Gradient, usize)> = lessons.par_iter().enumerate().map(one).collect();
        let share = 1.0 / each.iter().map(|(_, count)| count).sum::<usize>().max(1) as f64;
        let loss = [0, 1].map(|k| share * each.iter().map(|(found, _)| found.loss[k]).sum::<f64>());
        // A loss whose gradients by what was said are those found: Σ said · gradient.
        let by_said: Vec<f64> = each.iter().flat_map(|(found, _)| &found.said).map(|by| share * by).collect();
        let by_noise: Vec<f64> =
            (0..NOISES).map(|k| share * each.iter().map(|(found, _)| found.noise[k]).sum::<f64>()).collect();
        let by_said = Tensor::from_data(TensorData::new(by_said, said.dims()), (&device, DType::F32));
        let by_noise = Tensor::<1>::from_data(TensorData::new(by_noise, [NOISES]), (&device, DType::F32));
        let model = self.learner.model();
        let whole = (said * by_said).sum() + (model.noise.val() * by_noise).sum();
        let gradients = parameters::gradients(model, &whole.backward());
        let report = self.learner.step_by(loss[0] + loss[1], &gradients);
        let losses = vec![("loss", loss[0] + loss[1]), ("belief", loss[0]), ("readings", loss[1])];
        Ok((Figures { losses, effective_sample_size: None }, report))
    }

    /// A robot before its first step.
    fn robot(&self, start: Option<Start>) -> Robot<O, F> {
        Robot {
            network: self.deployed().clone(),
            filter: self.filter.clone(),
            bias: self.bias,
            noise: self.noise(),
            normalisation: Arc::clone(&self.normalisation),
            belief: self.filter.first(start),
            has_begun: false,
        }
    }
}

impl<O: Encoder + Send + 'static, F: SensedFilter> Method for SensedMethod<O, F>
where
    O::Input: Observed,
{
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.deployed = OnceLock::new();
        let (whole, seed) = (fixed_lessons(lessons)?, epoch_seed(self.experiment.seed, epoch));
        if epoch == 1 {
            self.calibrate(whole);
        }
        let cut = self.windows.as_ref().map(|windows| windows.cut(whole, seed)).transpose()?;
        let lessons = cut.as_deref().unwrap_or(whole);
        epoch_of(lessons, seed, self.experiment.batch_size, |chosen, seed| self.update(chosen, seed))
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let ranks = followers(&*self.ranks, how);
        let share = episodes.len().div_ceil(ranks.size());
        in_batches(ranks, episodes, share, |first, lessons, truths| self.follow(first, lessons, truths, how))
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        false
    }

    fn online_filter(&self, _: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(Box::new(self.robot(following::told(start.place)))))
    }

    fn parameters(&self) -> Vec<Named> {
        let mut all = self.learner.values().to_vec();
        all.push(named(BIAS, self.bias.0.to_vec()));
        all
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.deployed = OnceLock::new();
        let bias = find(parameters, BIAS)?;
        self.bias = Bias(bias.try_into().map_err(|_| Error::setting(BIAS, "must have four numbers"))?);
        self.learner.restore(parameters, memory)
    }
}

/// What is met at each step of a lesson.
fn met(bias: Bias, lesson: &Lesson, lost: &[i32]) -> Vec<Met> {
    let label = |row: &[f32]| -> [f64; 3] { std::array::from_fn(|k| f64::from(row[k])) };
    let at = |t: usize| Met {
        is_first: t == 0,
        action: seen_at(lesson, t).action.map(|action| bias.corrected(action)),
        saw: lost[t] == 0,
        label: lesson.labels().get(t).map(label).filter(|pose| pose.iter().all(|x| x.is_finite())),
    };
    (0..lesson.len()).map(at).collect()
}
