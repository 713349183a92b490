//! The recurrent network that the papers compare with, trained from the same batches.

use super::filtering::Make;
use super::following;
use super::learner::{Learner, OnTensors};
use super::observed::Observed;
use super::own_log::reading_plan;
use super::tracking::{in_batches, poses};
use super::updates::{Figures, epoch_of, epoch_seed, fixed_lessons};
use super::windows::Windows;
use crate::baseline::{BaselineNormalisation, BaselinePlan, KernelWorkspace, RecurrentBaseline};
use crate::batch::{Batch, LabelMean};
use crate::dropout::Phase;
use crate::error::Result;
use crate::learn::{AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, alone};
use crate::model::Encoder;
use crate::nets::{ConvPlan, ImageEncoder, ReadingEncoder, WithStart};
use crate::online::{OnlineFilter, Start as OnlineStart};
use crate::optimise::Report;
use crate::parameters::{Init, Named, with_values};
use crate::space::Space;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::evaluation::Track;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use online::Remembering;
use std::sync::{Arc, OnceLock};

mod online;

/// Episodes tracked at once.
const AT_ONCE: usize = 32;

/// Steps of a window of a log; a robot is followed for longer than a filter's windows are.
const WINDOW: usize = 50;
/// The share of features that dropout keeps.
const KEEP: f64 = 0.3;

/// An encoder whose recurrent network the kernels can compute, perhaps.
pub trait Recurrent: Encoder {
    /// Whether robots are followed step by step, online and in evaluation; else as whole episodes, by the kernels.
    const STEP_BY_STEP: bool = false;

    /// The loss and its gradients without tensors.
    fn loss_by_kernels(
        _: &RecurrentBaseline<Self>,
        _: &Batch<Self::Input>,
        _: (LabelMean, Phase),
        _: &mut KernelWorkspace,
    ) -> Option<(f64, Vec<Named>)> {
        None
    }

    /// Estimates without tensors.
    fn estimates_by_kernels(
        _: &RecurrentBaseline<Self>,
        _: &Batch<Self::Input>,
        _: &mut KernelWorkspace,
    ) -> Option<Tensor<3>> {
        None
    }
}

impl Recurrent for ImageEncoder {
    fn loss_by_kernels(
        model: &RecurrentBaseline<Self>,
        batch: &Batch<Tensor<5>>,
        (over, phase): (LabelMean, Phase),
        workspace: &mut KernelWorkspace,
    ) -> Option<(f64, Vec<Named>)> {
        model.loss_by_kernels(batch, over, phase, workspace)
    }

    fn estimates_by_kernels(
        model: &RecurrentBaseline<Self>,
        batch: &Batch<Tensor<5>>,
        workspace: &mut KernelWorkspace,
    ) -> Option<Tensor<3>> {
        model.estimates_by_kernels(&batch.observations, &batch.actions, Phase::Evaluation, workspace)
    }
}

impl Recurrent for WithStart {
    const STEP_BY_STEP: bool = true;
}

/// Two layers of 512 LSTM units over features of what is seen and odometry, trained by the squared error in step
/// sizes at labelled steps, divided by the share of labels; Adam, 3e-4, nothing clipped. In mazes the first pose
/// is not told; in a robot's own log it is, if the robot is. It has no belief: tracks have estimates only.
pub struct LstmMethod<O: Recurrent> {
    experiment: Experiment,
    normalisation: Arc<Normalisation>,
    make: Make<RecurrentBaseline<O>>,
    learner: Learner<OnTensors<RecurrentBaseline<O>>>,
    workspace: KernelWorkspace,
    windows: Option<Windows>,
    /// The network without gradients, for robots online; made when missing.
    deployed: OnceLock<RecurrentBaseline<O>>,
    ranks: AllRanks,
}

impl LstmMethod<ImageEncoder> {
    /// For mazes; not trained yet.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let (seed, own) = (experiment.seed, normalisation.clone());
        let make = move |device: &Device| {
            let mut init = first(seed, device);
            let encoder = ImageEncoder::new(ConvPlan::released(own.pixels.shape()), &mut init);
            network(encoder, BaselinePlan::RELEASED, &own, &mut init)
        };
        Self::of(experiment, normalisation, Box::new(make))
    }
}

impl LstmMethod<WithStart> {
    /// For a robot's own log; not trained yet.
    pub fn of_log(experiment: &Experiment, normalisation: &Normalisation) -> Result<Self> {
        let plan = reading_plan(experiment, normalisation, KEEP)?;
        let (seed, own) = (experiment.seed, normalisation.clone());
        let make = move |device: &Device| {
            let mut init = first(seed, device);
            let encoder = WithStart { seen: ReadingEncoder::new(plan.clone(), &mut init) };
            let sizes = BaselinePlan { encoding: WithStart::FEATURES, ..BaselinePlan::RELEASED };
            network(encoder, sizes, &own, &mut init)
        };
        Ok(Self::of(experiment, normalisation, Box::new(make)))
    }
}

impl<O: Recurrent> LstmMethod<O> {
    fn of(experiment: &Experiment, normalisation: &Normalisation, make: Make<RecurrentBaseline<O>>) -> Self {
        Self {
            experiment: experiment.clone(),
            normalisation: Arc::new(normalisation.clone()),
            learner: Learner::of(make(&Device::flex().autodiff())),
            make,
            workspace: KernelWorkspace::default(),
            windows: Windows::of(experiment, WINDOW),
            deployed: OnceLock::new(),
            ranks: alone(),
        }
    }

    fn deployed(&self) -> &RecurrentBaseline<O> {
        self.deployed.get_or_init(|| with_values((self.make)(&Device::flex()), self.learner.values()))
    }

    /// One update: on the kernels if the experiment wants them and they can, by tensors else.
    fn update(&mut self, batch: &Batch<O::Input>, seed: u64) -> (f64, Report) {
        let (phase, share) = (Phase::Training { seed }, LabelMean::Share(self.experiment.label_fraction));
        let model = self.learner.model();
        if self.experiment.kernels
            && let Some((loss, gradients)) =
                O::loss_by_kernels(model, batch, (share, phase), &mut self.workspace)
        {
            return (loss, self.learner.step_by(loss, &gradients));
        }
        let loss = model.loss(batch, share, phase);
        (loss.try_to_vec_as::<f64>().expect("a loss is a number")[0], self.learner.step(&loss))
    }
}

fn first(seed: u64, device: &Device) -> Init {
    Init::new(Random::stream(seed, 0).bits(), device, DType::F32)
}

fn network<O: Encoder>(
    encoder: O,
    plan: BaselinePlan,
    normalisation: &Normalisation,
    init: &mut Init,
) -> RecurrentBaseline<O> {
    let units = BaselineNormalisation {
        space: Space::SE2,
        action_std: normalisation.action_std.to_vec(),
        state_mean: normalisation.state_mean.to_vec(),
        state_std: normalisation.state_std.to_vec(),
        step: normalisation.step_size.to_vec(),
    };
    RecurrentBaseline::new(encoder, plan, units, init)
}

impl<O: Recurrent + Send + 'static> Method for LstmMethod<O>
where
    O::Input: Observed,
{
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.deployed = OnceLock::new();
        let (whole, seed) = (fixed_lessons(lessons)?, epoch_seed(self.experiment.seed, epoch));
        let cut = self.windows.as_ref().map(|windows| windows.cut(whole, seed)).transpose()?;
        let lessons = cut.as_deref().unwrap_or(whole);
        let device = Device::flex().autodiff();
        epoch_of(lessons, seed, self.experiment.batch_size, |chosen, seed| {
            let batch = Observed::batch(chosen, &self.normalisation, &device, DType::F32)?;
            let (loss, report) = self.update(&batch, seed);
            Ok((Figures { losses: vec![("loss", loss)], effective_sample_size: None }, report))
        })
    }

    fn track(&self, episodes: &[Trajectory], _: Tracking) -> Result<Vec<Track>> {
        if O::STEP_BY_STEP {
            return self.follow(episodes);
        }
        let (device, network) = (Device::flex(), self.deployed());
        let mut workspace = KernelWorkspace::default();
        in_batches(&*self.ranks, episodes, AT_ONCE, |_, lessons, truths| {
            let batch = O::Input::batch(lessons, &self.normalisation, &device, DType::F32)?;
            let (seen, actions, phase) = (&batch.observations, &batch.actions, Phase::Evaluation);
            let kernels = self.experiment.kernels;
            let said = kernels.then(|| O::estimates_by_kernels(network, &batch, &mut workspace));
            let said = said.flatten().unwrap_or_else(|| network.estimates(seen, actions, phase));
            let said = Space::SE2.wrap(said).try_to_vec_as::<f64>().expect("estimates are numbers");
            let estimates = poses(&said);
            let steps = batch.actions.dims()[1];
            let pairs = truths.into_iter().zip(estimates.chunks_exact(steps));
            Ok(pairs.map(|(truth, estimate)| Track::new(truth, estimate.to_vec())).collect())
        })
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        false
    }

    fn online_filter(&self, _: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        let robot =
            || Remembering::new(self.deployed().clone(), &self.normalisation, following::told(start.place));
        Ok(O::STEP_BY_STEP.then(|| Box::new(robot()) as Box<dyn OnlineFilter>))
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
