//! Robots in houses never seen before: PF-net's filter, trained by known poses alone or with the paper's
//! pseudo-likelihood too.
//!
//! The network is Karkus, Hsu & Lee's, on fused kernels; the filter is the core's step with the paper's noise, in
//! training as in use. Beliefs are carried from block to block, gradients end there (truncated back-propagation), and
//! every block is an update.

pub(super) mod filter;
mod network;
mod objective;
pub(super) mod particles;
mod recurrent;
mod training;
#[cfg(test)]
mod twin;
mod unlearned;
mod updates;
pub(super) mod walk;

use super::learner::Learner;
use super::recorder::Recorder;
use super::shared_tracks::{followers, tracks, tracks_of_batches};
pub(super) use super::tracking::told;
use super::updates::{Figures, Tally, epoch_seed, update_seed};
use crate::error::{Error, Result};
use crate::learn::{
    AllRanks, EpochReport, Experiment, HouseSettings, Method, Normalisation, Tracking, TrainingSet, alone,
};
use crate::optimise::{Optimiser, RmsProp, Rule};
use crate::parameters::Named;
use crate::resample::ResamplerSettings;
use crate::weights::{self, pfnet_checkpoint};
use driftless_core::Filter;
use driftless_kernels::pfnet::{PfnetNet, PfnetPlan};
use driftless_world::evaluation::Track;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
pub use recurrent::HouseLstm;
pub use unlearned::{Unlearned, UnlearnedMethod};

pub(super) use particles::first;
pub(super) use walk::{PIXELS_PER_UNIT, in_pixels};

use network::first_weights;
use rayon::prelude::*;
use std::sync::Arc;
use training::Pool;
use walk::Walk;

/// How PF-net's filter is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Training {
    /// Along whole walks, by the squared error of the mean and the pseudo-likelihood: `sdpf`.
    Sdpf,
    /// Along whole walks, by the squared error alone, particles moved without noise: `pfnet`.
    Pfnet,
}

/// PF-net's filter, however it is trained.
pub struct PfnetFilter {
    training: Training,
    experiment: Experiment,
    /// The settings as training uses them.
    in_training: HouseSettings,
    normalisation: Normalisation,
    learner: Learner<PfnetNet>,
    pool: Pool,
    ranks: AllRanks,
}

impl PfnetFilter {
    /// Not trained yet. Fails if there are weights to begin with that do not fit.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation, training: Training) -> Result<Self> {
        let settings = &experiment.house;
        let [image_channels, _, _] = normalisation.pixels.shape();
        let plan = PfnetPlan { map_channels: settings.map_mode().channels(), image_channels };
        let weights = first_weights(plan, &mut Random::stream(experiment.seed, 0));
        let mut learner = Learner::new(PfnetNet::new(plan), weights, optimiser(settings));
        if !settings.weights.as_os_str().is_empty() {
            let imported = weights::read(&settings.weights, pfnet_checkpoint::KIND);
            learner.set(&imported.or_else(|_| weights::read(&settings.weights, weights::WEIGHTS))?)?;
        }
        let mut in_training = settings.clone();
        if training == Training::Pfnet {
            (in_training.noise_metres, in_training.noise_degrees) = (0.0, 0.0);
        }
        let (experiment, normalisation) = (experiment.clone(), normalisation.clone());
        Ok(Self {
            training,
            experiment,
            in_training,
            normalisation,
            learner,
            pool: Pool::default(),
            ranks: alone(),
        })
    }

    fn settings(&self) -> &HouseSettings {
        &self.experiment.house
    }
}

fn optimiser(settings: &HouseSettings) -> Optimiser {
    let rule = RmsProp { decay: settings.decay.min(1.0 - 1e-9), ..RmsProp::default() };
    Optimiser::new(Rule::RmsProp(rule), settings.learning_rate)
}

impl Method for PfnetFilter {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.learner.set_rate(self.settings().learning_rate_of(epoch));
        let seed = epoch_seed(self.experiment.seed, epoch);
        let mut tally = Tally::default();
        for (number, batch) in batches(seed, lessons.len(), self.experiment.batch_size)?.iter().enumerate() {
            let lessons = lessons.lessons(batch, epoch)?;
            let walks = lessons.par_iter().map(|lesson| Walk::new(lesson, self.settings()));
            let (walks, seed) = (walks.collect::<Result<Vec<_>>>()?, update_seed(seed, number));
            self.train_along(&walks, seed, &mut tally)?;
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let filter = Filter::bootstrap(how.particles);
        let filter = ResamplerSettings::apply(self.experiment.resampler.as_ref(), filter)?;
        let one = |number: usize, episode: &Trajectory| {
            let (lesson, truth) = told(number, episode)?;
            let walk = Walk::new(&lesson, self.settings())?;
            let mut recorder = Recorder::new(truth, number as u64, how, &self.normalisation);
            filter::follow(
                self.learner.net(),
                self.settings(),
                &walk,
                &filter,
                (how.seed, number as u64),
                |belief, log_evidence| recorder.step(belief, log_evidence),
            )?;
            Ok(recorder.track())
        };
        // Few particles are not worth sharing: threads take whole episodes then.
        if how.particles <= filter::TOGETHER {
            return tracks(&*self.ranks, episodes, how, one);
        }
        let numbers: Vec<usize> = (0..episodes.len()).collect();
        let each = |number: &usize| Ok(vec![one(*number, &episodes[*number])?]);
        tracks_of_batches(followers(&*self.ranks, how), &numbers, each)
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        true
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

/// The batches of an epoch: all trajectories once, in a new order; what does not fill a batch is left out.
pub(super) fn batches(seed: u64, lessons: usize, batch: usize) -> Result<Vec<Vec<usize>>> {
    if lessons == 0 {
        return Err(Error::setting("trajectories", "must be at least 1: there is nothing to learn from"));
    }
    let mut order: Vec<usize> = (0..lessons).collect();
    Random::stream(seed, 0).shuffle(&mut order);
    Ok(order.chunks_exact(batch.min(lessons)).map(<[usize]>::to_vec).collect())
}
