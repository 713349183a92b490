//! Particle filter recurrent networks (Ma, Karkus, Hsu & Lee 2020): `pf-lstm` and `pf-gru`.
//!
//! Theirs are the cells, with batch normalisation by particle index, soft resampling at every step, the loss, RMSProp at 5e-4
//! and gradients clipped at a norm of 3. Ours are the encoders of what is seen (theirs knows a map of beacons), windows of
//! logs, a box of known poses in place of the map's, and that losses are of known poses alone.

mod follow;

use super::anchored::store::{find, named};
use super::following::{episode_seed, told as told_online};
use super::learner::{Learner, OnTensors};
use super::observed::Observed;
use super::own_log::reading_plan;
use super::shared_tracks::followers;
use super::tracking::in_batches;
use super::updates::{Figures, epoch_of, epoch_seed, fixed_lessons};
use super::windows::Windows;
use crate::baseline::{CellKind, ParticleRnn, ParticleUnits, Statistics, particles::UNITS};
use crate::batch::Batch;
use crate::draws::{DrawSizes, Draws};
use crate::error::{Error, Result};
use crate::learn::{
    AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, WorldKind, alone,
};
use crate::model::Encoder;
use crate::nets::{ConvPlan, ImageEncoder, ReadingEncoder, WithStart};
use crate::online::{OnlineFilter, Start as OnlineStart};
use crate::optimise::{Optimiser, Report, RmsProp, Rule};
use crate::parameters::{self, Init, Named, with_values};
use crate::resample::{Resampler, Scheme, Soft};
use crate::space::Space;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::{Start, Trajectory};
use follow::Remembering;
use std::sync::{Arc, OnceLock};

/// The authors' share of weights in what is resampled from.
const ALPHA: f64 = 0.5;
const RATE: f64 = 5e-4;
/// Longer gradients are shortened to this.
const LONGEST: f64 = 3.0;
/// Steps of a window of a log; the authors' trajectories have 80.
const WINDOW: usize = 50;
const MEAN: &str = "cell.running_mean";
const VARIANCE: &str = "cell.running_variance";

/// Makes a network with first weights on a device.
type Make<O> = Box<dyn Fn(&Device) -> ParticleRnn<O> + Send>;

/// The methods `pf-lstm` and `pf-gru`.
pub(super) struct PfRnn<O: Encoder> {
    experiment: Experiment,
    normalisation: Arc<Normalisation>,
    make: Make<O>,
    learner: Learner<OnTensors<ParticleRnn<O>>>,
    /// Of candidates, by which they are normalised in use.
    running: Statistics,
    resampler: Arc<dyn Resampler>,
    windows: Option<Windows>,
    /// The network without gradients, for robots online; made when missing.
    deployed: OnceLock<ParticleRnn<O>>,
    ranks: AllRanks,
}

/// One of them, not trained yet. It has as many particles as the experiment says, for ever: the network knows each.
pub(super) fn build(
    kind: CellKind,
    experiment: &Experiment,
    normalisation: &Normalisation,
) -> Result<Box<dyn Method>> {
    let (seed, particles, units) = (experiment.seed, experiment.particles, units(normalisation));
    let init = move |device: &Device| Init::new(Random::stream(seed, 0).bits(), device, DType::F32);
    if experiment.world == WorldKind::Maze {
        let plan = ConvPlan { keep: 1.0, ..ConvPlan::released(normalisation.pixels.shape()) };
        let make = move |device: &Device| {
            let mut init = init(device);
            let encoder = (ImageEncoder::new(plan.clone(), &mut init), plan.features);
            ParticleRnn::new(kind, encoder, particles, units.clone(), &mut init)
        };
        return Ok(Box::new(PfRnn::new(experiment, normalisation, Box::new(make))?));
    }
    let plan = reading_plan(experiment, normalisation, 1.0)?;
    let make = move |device: &Device| {
        let mut init = init(device);
        let seen = WithStart { seen: ReadingEncoder::new(plan.clone(), &mut init) };
        ParticleRnn::new(kind, (seen, WithStart::FEATURES), particles, units.clone(), &mut init)
    };
    Ok(Box::new(PfRnn::new(experiment, normalisation, Box::new(make))?))
}

/// The box of known poses, and the units of actions.
fn units(normalisation: &Normalisation) -> ParticleUnits {
    let Normalisation { low, high, action_std, .. } = normalisation;
    let size = |k: usize| if high[k] > low[k] { high[k] - low[k] } else { 1.0 };
    ParticleUnits { low: [low[0], low[1]], size: [size(0), size(1)], action_std: *action_std }
}

impl<O: Encoder + Send + 'static> PfRnn<O>
where
    O::Input: Observed,
{
    fn new(experiment: &Experiment, normalisation: &Normalisation, make: Make<O>) -> Result<Self> {
        let resampler: Arc<dyn Resampler> = match &experiment.resampler {
            Some(settings) => Arc::from(settings.differentiable(Space::LINEAR)?),
            None => Arc::new(Soft::new(ALPHA, Scheme::Multinomial)),
        };
        // PyTorch's RMSProp adds 1e-8 to the root, this one its square to what the root is taken of.
        let rule = RmsProp { decay: 0.99, momentum: 0.0, epsilon: 1e-16, start: 0.0 };
        let model = make(&Device::flex().autodiff());
        let optimiser = Optimiser::new(Rule::RmsProp(rule), RATE);
        Ok(Self {
            experiment: experiment.clone(),
            normalisation: Arc::new(normalisation.clone()),
            running: Statistics::first(model.cell.particles()),
            learner: Learner::taught_by(model, optimiser),
            make,
            resampler,
            windows: Windows::of(experiment, WINDOW),
            deployed: OnceLock::new(),
            ranks: alone(),
        })
    }

    fn deployed(&self) -> &ParticleRnn<O> {
        self.deployed.get_or_init(|| with_values((self.make)(&Device::flex()), self.learner.values()))
    }

    /// How many numbers a rollout of so many sequences and steps draws.
    fn sizes(&self, model: &ParticleRnn<O>, [batch, steps]: [usize; 2]) -> DrawSizes {
        let particles = model.cell.particles();
        let uniforms = self.resampler.uniforms(particles, model.cell.state());
        DrawSizes { batch, steps, particles, state: model.cell.state(), noise: UNITS, uniforms }
    }

    /// One update, by gradients that are no longer than they may be.
    fn update(&mut self, lessons: &[Lesson], seed: u64) -> Result<(Figures, Report)> {
        let device = Device::flex().autodiff();
        let batch: Batch<O::Input> = Observed::batch(lessons, &self.normalisation, &device, DType::F32)?;
        let model = self.learner.model();
        let sizes = self.sizes(model, [lessons.len(), batch.actions.dims()[1]]);
        let draws = Draws::new(sizes, seed, &device, DType::F32).training();
        let rollout = model.run(&batch, &draws, &*self.resampler);
        let losses = model.losses(&rollout, &batch.labels);
        let whole = ParticleRnn::<O>::loss(&losses);
        let mut gradients = parameters::gradients(model, &whole.backward());
        shorten(&mut gradients);
        let number = |loss: &Tensor<1>| loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
        let parts = [&whole, &losses[0], &losses[1]].map(number);
        let report = self.learner.step_by(parts[0], &gradients);
        if report.skipped.is_none() {
            rollout.statistics.iter().for_each(|found| self.running.follow(found));
        }
        let losses = vec![("loss", parts[0]), ("estimate", parts[1]), ("particles", parts[2])];
        Ok((Figures { losses, effective_sample_size: None }, report))
    }

    /// A robot before its first step; the seed names its random numbers.
    fn robot(&self, start: Option<Start>, seed: u64) -> Remembering<O> {
        let network = self.deployed().clone();
        let sizes = self.sizes(&network, [1, 1]);
        Remembering::new(network, (&self.running, &self.normalisation), &self.resampler, start, (sizes, seed))
    }
}

/// To the longest length that they may have together.
fn shorten(gradients: &mut [Named]) {
    let numbers = || gradients.iter().flat_map(|gradient| &gradient.values);
    let length = numbers().map(|x| x * x).sum::<f64>().sqrt();
    if length > LONGEST {
        let factor = LONGEST / length;
        gradients.iter_mut().flat_map(|gradient| &mut gradient.values).for_each(|x| *x *= factor);
    }
}

impl<O: Encoder + Send + 'static> Method for PfRnn<O>
where
    O::Input: Observed,
{
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.deployed = OnceLock::new();
        let (whole, seed) = (fixed_lessons(lessons)?, epoch_seed(self.experiment.seed, epoch));
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
        let seed = episode_seed(start.seed, start.episode);
        Ok(Some(Box::new(self.robot(told_online(start.place), seed))))
    }

    fn parameters(&self) -> Vec<Named> {
        let mut all = self.learner.values().to_vec();
        all.push(named(MEAN, self.running.mean.clone()));
        all.push(named(VARIANCE, self.running.variance.clone()));
        all
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.deployed = OnceLock::new();
        let found = |name: &str| -> Result<Vec<f64>> {
            let values = find(parameters, name)?;
            let wanted = self.running.mean.len();
            if values.len() != wanted || !values.iter().all(|x| x.is_finite()) {
                return Err(Error::setting(name, format!("must have {wanted} finite numbers")));
            }
            Ok(values.to_vec())
        };
        self.running = Statistics { mean: found(MEAN)?, variance: found(VARIANCE)? };
        self.learner.restore(parameters, memory)
    }
}
