//! A filter that learns from losses over whole rollouts, and tracks.

use super::learner::{Learner, OnTensors};
use super::observed::Observed;
use super::tracking::is_told;
use super::updates::{Figures, epoch_of, epoch_seed, fixed_lessons};
use super::windows::Windows;
use crate::batch::Batch;
use crate::draws::{DrawSizes, Draws};
use crate::error::Result;
use crate::filter::{Filter, Rollout};
use crate::learn::{
    AllRanks, EpochReport, Experiment, Method, Normalisation, Ranks, Tracking, TrainingSet, alone,
};
use crate::model::{Model, Observations};
use crate::objective::WeightedSum;
use crate::online::{OnlineFilter, Start as OnlineStart};
use crate::parameters::{Named, with_values};
use crate::prior::Prior;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Start, Trajectory};
use std::sync::{Arc, OnceLock};

/// A filter, what it learns from, and in which units: everything but the model.
pub(super) struct Course<M: Model> {
    pub filter: Arc<Filter>,
    /// The filter of robots that are told where they start, if it is another one.
    pub told: Option<Arc<Filter>>,
    /// Where robots start that are told nothing.
    pub prior: Prior,
    pub objective: WeightedSum<M>,
    pub normalisation: Arc<Normalisation>,
}

impl<M: Model> Course<M>
where
    Observations<M>: Observed,
{
    /// Filters lessons that are all told where they start, or none.
    pub(super) fn run(
        &self,
        model: &M,
        lessons: &[Lesson],
        batch: &Batch<Observations<M>>,
        draws: &Draws,
    ) -> Rollout<M> {
        let is_told = lessons.iter().any(|lesson| is_told(lesson.start()));
        let filter = self.told.as_ref().filter(|_| is_told).unwrap_or(&self.filter);
        filter.run(model, &self.start(lessons), &batch.observations, &batch.actions, draws)
    }

    /// Where the robots of lessons start, as far as they are told.
    pub(super) fn start(&self, lessons: &[Lesson]) -> Prior {
        let own = |lesson: &Lesson| match lesson.start() {
            Some(Start::About { pose, spread }) => {
                Prior::Normal { mean: pose.map(f64::from).to_vec(), std: spread.map(f64::from).to_vec() }
            }
            _ => self.prior.clone(),
        };
        let is_told = lessons.iter().any(|lesson| is_told(lesson.start()));
        if is_told { Prior::Each(lessons.iter().map(own).collect()) } else { self.prior.clone() }
    }

    /// All random numbers of a rollout over the batch.
    pub(super) fn draws(&self, batch: &Batch<Observations<M>>, particles: usize, seed: u64) -> Draws {
        let [sequences, steps, action] = batch.actions.dims();
        let uniforms = self.filter.resampler.uniforms(particles, 3);
        let sizes =
            DrawSizes { batch: sequences, steps, particles, state: 3, noise: action.max(3), uniforms };
        Draws::new(sizes, seed, &batch.actions.device(), batch.actions.dtype())
    }

    /// The weighted sum of losses over the lessons, `[1]`, and its figures; `seed` names everything random.
    pub(super) fn loss(
        &self,
        model: &M,
        lessons: &[Lesson],
        particles: usize,
        seed: u64,
    ) -> Result<(Tensor<1>, Figures)> {
        let device = Device::flex().autodiff();
        let batch = Observed::batch(lessons, &self.normalisation, &device, DType::F32)?;
        let rollout = self.run(model, lessons, &batch, &self.draws(&batch, particles, seed).training());
        let parts = self.objective.parts(model, &rollout, &batch);
        let weighted =
            self.objective.0.iter().zip(&parts).map(|((weight, _), (_, part))| part.clone() * *weight);
        let whole = weighted.reduce(|sum, part| sum + part).expect("a course has an objective");
        let mut losses = vec![("loss", number(&whole))];
        losses.extend(parts.iter().map(|(name, part)| (*name, number(part))));
        let sizes =
            rollout.beliefs.iter().map(|belief| belief.weights.effective_sample_size().detach().mean());
        let sizes: Vec<f64> = sizes.map(|mean| number(&mean)).collect();
        let effective_sample_size = Some(sizes.iter().sum::<f64>() / sizes.len() as f64);
        Ok((whole, Figures { losses, effective_sample_size }))
    }
}

fn number(tensor: &Tensor<1>) -> f64 {
    tensor.try_to_vec_as::<f64>().expect("a loss is a number")[0]
}

/// Makes a model with first weights on a device.
pub(super) type Make<M> = Box<dyn Fn(&Device) -> M + Send>;

/// A loss with its gradients, computed without tensors.
pub(super) struct FusedLoss {
    pub value: f64,
    pub gradients: Vec<Named>,
    pub figures: Figures,
}

/// Does without tensors what a [`Course`] does with them, where it can.
pub(super) trait Fused<M: Model>: Send {
    /// [`Course::loss`] of lessons, which ranks share; a seed names everything random.
    fn loss(
        &mut self,
        model: &M,
        course: &Course<M>,
        lessons: &[Lesson],
        seed: u64,
        ranks: &dyn Ranks,
    ) -> Result<Option<FusedLoss>>;

    /// What a filter of so many particles believes at each step of lessons.
    fn beliefs(
        &self,
        model: &M,
        course: &Course<M>,
        lessons: &[Lesson],
        particles: usize,
        seed: u64,
    ) -> Result<Option<Vec<Vec<Believed>>>>;

    /// A filter for a robot online, if there is one.
    fn online_filter(
        &self,
        model: &M,
        course: &Course<M>,
        particles: usize,
        start: &OnlineStart,
    ) -> Option<Box<dyn OnlineFilter>>;
}

/// The belief of a step, and the log evidence of what was seen.
pub(super) struct Believed {
    pub belief: driftless_core::Belief,
    pub log_evidence: f64,
}

/// A filter trained by batches of whole trajectories.
pub(super) struct FilterMethod<M: Model> {
    experiment: Experiment,
    course: Course<M>,
    make: Make<M>,
    learner: Learner<OnTensors<M>>,
    fused: Option<Box<dyn Fused<M>>>,
    /// What is learned from in place of whole trajectories.
    windows: Option<Windows>,
    /// The model without gradients, for robots online; made when missing.
    deployed: OnceLock<M>,
    ranks: AllRanks,
}

impl<M: Model> FilterMethod<M> {
    pub(super) fn new(experiment: &Experiment, course: Course<M>, make: Make<M>) -> Self {
        let learner = Learner::of(make(&Device::flex().autodiff()));
        Self {
            experiment: experiment.clone(),
            course,
            make,
            learner,
            fused: None,
            windows: None,
            deployed: OnceLock::new(),
            ranks: alone(),
        }
    }

    /// Learns from windows.
    pub(super) fn windowed(self, windows: Option<Windows>) -> Self {
        Self { windows, ..self }
    }

    /// Trained without tensors where that is possible.
    pub(super) fn fused(self, fused: Option<Box<dyn Fused<M>>>) -> Self {
        Self { fused, ..self }
    }

    fn deployed(&self) -> &M {
        self.deployed.get_or_init(|| with_values((self.make)(&Device::flex()), self.learner.values()))
    }

    /// What an update is made of, by hand if possible.
    fn fused_loss(&mut self, lessons: &[Lesson], seed: u64) -> Result<Option<FusedLoss>> {
        let Some(fused) = &mut self.fused else { return Ok(None) };
        fused.loss(self.learner.model(), &self.course, lessons, seed, &*self.ranks)
    }
}

impl<M: Model + Send + 'static> Method for FilterMethod<M>
where
    Observations<M>: Observed,
{
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.deployed = OnceLock::new();
        let (whole, seed) = (fixed_lessons(lessons)?, epoch_seed(self.experiment.seed, epoch));
        let cut = self.windows.as_ref().map(|windows| windows.cut(whole, seed)).transpose()?;
        let lessons = cut.as_deref().unwrap_or(whole);
        epoch_of(lessons, seed, self.experiment.batch_size, |chosen, seed| {
            if let Some(found) = self.fused_loss(chosen, seed)? {
                let report = self.learner.step_by(found.value, &found.gradients);
                return Ok((found.figures, report));
            }
            let particles = self.experiment.particles;
            let (loss, figures) = self.course.loss(self.learner.model(), chosen, particles, seed)?;
            let report = self.learner.step(&loss);
            Ok((figures, report))
        })
    }

    fn track(&self, episodes: &[Trajectory], tracking: Tracking) -> Result<Vec<Track>> {
        self.course.track(self.deployed(), episodes, tracking, (self.fused.as_deref(), &*self.ranks))
    }

    /// Tensors are computed by all ranks alike.
    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        self.fused.is_some()
    }

    fn online_filter(&self, particles: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        let fused =
            |fused: &dyn Fused<M>| fused.online_filter(self.learner.model(), &self.course, particles, start);
        let own = || -> Box<dyn OnlineFilter> {
            Box::new(self.course.online(self.deployed().clone(), particles, start))
        };
        Ok(Some(self.fused.as_deref().and_then(fused).unwrap_or_else(own)))
    }

    fn parameters(&self) -> Vec<Named> {
        self.learner.values().to_vec()
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.deployed = OnceLock::new();
        self.learner.restore(parameters, memory)
    }
}
