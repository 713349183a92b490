//! The recurrent network that the papers compare with, trained from the same batches.

use super::learner::Learner;
use super::tracking::{in_batches, poses};
use super::updates::{Figures, Tally, batches, epoch_seed, fixed_lessons, update_seed};
use crate::baseline::{BaselineNormalisation, BaselinePlan, KernelWorkspace, RecurrentBaseline};
use crate::batch::{Batch, LabelMean};
use crate::dropout::Phase;
use crate::error::Result;
use crate::learn::{EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet};
use crate::nets::{ConvPlan, ImageEncoder};
use crate::optimise::Report;
use crate::parameters::{Init, Named, values, with_values};
use crate::space::Space;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;

/// Episodes tracked at once.
const AT_ONCE: usize = 32;

/// Two layers of 512 LSTM units over image features and odometry, trained by the squared error in step
/// sizes at labelled steps, divided by the share of labels; Adam, 3e-4, nothing clipped. The first pose
/// is not told. It has no belief: tracks have estimates only.
pub struct LstmMethod {
    experiment: Experiment,
    normalisation: Normalisation,
    learner: Learner<RecurrentBaseline<ImageEncoder>>,
    workspace: KernelWorkspace,
}

impl LstmMethod {
    /// Not trained yet.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let network = network(experiment.seed, normalisation, &Device::flex().autodiff());
        let learner = Learner::new(network);
        Self {
            experiment: experiment.clone(),
            normalisation: normalisation.clone(),
            learner,
            workspace: KernelWorkspace::default(),
        }
    }

    /// One update: on the kernels if the experiment wants them and they can, by tensors else.
    fn update(&mut self, batch: &Batch<Tensor<5>>, seed: u64) -> (f64, Report) {
        let (phase, share) = (Phase::Training { seed }, LabelMean::Share(self.experiment.label_fraction));
        let model = self.learner.model();
        if self.experiment.kernels
            && let Some((loss, gradients)) = model.loss_by_kernels(batch, share, phase, &mut self.workspace)
        {
            return (loss, self.learner.step_by(loss, gradients));
        }
        let loss = model.loss(batch, share, phase);
        (loss.try_to_vec_as::<f64>().expect("a loss is a number")[0], self.learner.step(&loss))
    }
}

fn network(seed: u64, normalisation: &Normalisation, device: &Device) -> RecurrentBaseline<ImageEncoder> {
    let mut init = Init::new(Random::stream(seed, 0).bits(), device, DType::F32);
    let encoder = ImageEncoder::new(ConvPlan::released(normalisation.pixels.shape()), &mut init);
    let units = BaselineNormalisation {
        space: Space::SE2,
        action_std: normalisation.action_std.to_vec(),
        state_mean: normalisation.state_mean.to_vec(),
        state_std: normalisation.state_std.to_vec(),
        step: normalisation.step_size.to_vec(),
    };
    RecurrentBaseline::new(encoder, BaselinePlan::RELEASED, units, &mut init)
}

impl Method for LstmMethod {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        let (lessons, seed) = (fixed_lessons(lessons)?, epoch_seed(self.experiment.seed, epoch));
        let device = Device::flex().autodiff();
        let mut tally = Tally::default();
        for (update, numbers) in batches(seed, lessons.len(), self.experiment.batch_size).iter().enumerate() {
            let chosen: Vec<Lesson> = numbers.iter().map(|&number| lessons[number].clone()).collect();
            let batch = Batch::of_images(&chosen, &self.normalisation.pixels, &device, DType::F32)?;
            let (loss, report) = self.update(&batch, update_seed(seed, update));
            let figures = Figures { losses: vec![("loss", loss)], effective_sample_size: None };
            tally.add(&figures, &report);
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], _: Tracking) -> Result<Vec<Track>> {
        let device = Device::flex();
        let fresh = network(self.experiment.seed, &self.normalisation, &device);
        let network = with_values(fresh, &values(self.learner.model()));
        let mut workspace = KernelWorkspace::default();
        in_batches(episodes, AT_ONCE, |_, lessons, truths| {
            let batch = Batch::of_images(lessons, &self.normalisation.pixels, &device, DType::F32)?;
            let (seen, actions, phase) = (&batch.observations, &batch.actions, Phase::Evaluation);
            let kernels = self.experiment.kernels;
            let said = kernels.then(|| network.estimates_by_kernels(seen, actions, phase, &mut workspace));
            let said = said.flatten().unwrap_or_else(|| network.estimates(seen, actions, phase));
            let said = Space::SE2.wrap(said).try_to_vec_as::<f64>().expect("estimates are numbers");
            let estimates = poses(&said);
            let steps = batch.actions.dims()[1];
            let pairs = truths.into_iter().zip(estimates.chunks_exact(steps));
            Ok(pairs.map(|(truth, estimate)| Track::new(truth, estimate.to_vec())).collect())
        })
    }

    fn parameters(&self) -> Vec<Named> {
        self.learner.parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.learner.restore(parameters, memory)
    }
}
