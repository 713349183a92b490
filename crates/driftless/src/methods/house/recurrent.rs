//! The recurrent network that filters in houses are compared with: PF-net's two branches, an LSTM, one pose.
//!
//! The paper gives no design. Ours sees what a filter sees: the image, and the map as it looks from where the network
//! believes to be after the motion. Both branches' features go through a layer of 128 units; with the motion they
//! enter 256 LSTM units, which say how the pose is to be corrected, in the robot's own frame. The error is that of
//! PF-net at known poses; gradients run through poses and units for a block, but not through the view's place.

mod head;
mod rollout;

use super::super::shared_tracks::tracks;
use super::super::updates::{Figures, Tally, epoch_seed};
use super::network::Network;
use super::told;
use crate::error::{Error, Result};
use crate::learn::{AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, alone};
use crate::optimise::{Optimiser, Report};
use crate::parameters::{self, Init, Named};
use burn::tensor::{DType, Device};
use driftless_kernels::pfnet::PfnetPlan;
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use head::Head;
use rollout::{Carried, Rollout, estimates};
use std::sync::Arc;

use super::walk::{PIXELS_PER_UNIT, Walk};

/// What parameters of the LSTM and its layers begin with.
const HEAD: &str = "recurrent.";

/// An LSTM behind PF-net's branches.
pub struct HouseLstm {
    experiment: Experiment,
    network: Network,
    head: Head,
    optimiser: Optimiser,
    ranks: AllRanks,
}

impl HouseLstm {
    /// Not trained yet.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let [image_channels, _, _] = normalisation.pixels.shape();
        let plan = PfnetPlan { map_channels: experiment.house.map_mode().channels(), image_channels };
        let network = Network::branches(plan, &mut Random::stream(experiment.seed, 0));
        let mut init =
            Init::new(Random::stream(experiment.seed, 1).bits(), &Device::flex().autodiff(), DType::F32);
        let optimiser = super::fresh(&experiment.house);
        Self {
            experiment: experiment.clone(),
            network,
            head: Head::new(&mut init),
            optimiser,
            ranks: alone(),
        }
    }

    /// All blocks of a batch, an update each.
    fn train_batch(&mut self, lessons: &[Lesson], tally: &mut Tally) -> Result<()> {
        let settings = self.experiment.house.clone();
        let walks = lessons.iter().map(|lesson| Walk::new(lesson, &settings)).collect::<Result<Vec<_>>>()?;
        let mut carried = Carried::new(&walks)?;
        let steps = walks.iter().map(Walk::len).min().unwrap_or(0).min(settings.steps);
        for number in 0..steps / settings.block {
            let (figures, report) = self.update(&walks, &mut carried, number * settings.block);
            tally.add(&figures, &report);
        }
        Ok(())
    }

    fn update(&mut self, walks: &[Walk], carried: &mut Carried, from: usize) -> (Figures, Report) {
        let settings = &self.experiment.house;
        let labels = walks.iter().flat_map(|walk| &walk.labels[from..from + settings.block]);
        // A mean over the poses that are known.
        let labelled = (labels.flatten().count() as f64).max(1.0);
        let Rollout { error, known, gradients, head } =
            rollout::block(&self.network, &self.head, settings, (walks, carried), from, 1.0 / labelled);
        let loss = error / labelled + settings.l2 * self.network.half_square();
        let mut all = self.network.gradients(&gradients, settings.l2);
        all.extend(head.into_iter().map(with_prefix));
        let mut values = self.parameters();
        let report = self.optimiser.step_on(&mut values, loss, &all);
        if report.skipped.is_none() {
            self.take(&values).expect("they are its own");
        }
        let losses = vec![("loss", loss), ("squared error", error / (known as f64).max(1.0))];
        (Figures { losses, effective_sample_size: None }, report)
    }

    fn take(&mut self, values: &[Named]) -> Result<()> {
        self.network.set(values)?;
        let of_head: Vec<Named> = values.iter().filter_map(without_prefix).collect();
        for own in parameters::values(&self.head) {
            if !of_head.iter().any(|given| given.name == own.name && given.shape == own.shape) {
                let problem = driftless_world::Error::new("is missing, or has another shape");
                return Err(Error::File(problem.in_field(format!("{HEAD}{}", own.name))));
            }
        }
        self.head = parameters::with_values(self.head.clone(), &of_head);
        Ok(())
    }
}

fn with_prefix(part: Named) -> Named {
    Named { name: format!("{HEAD}{}", part.name), ..part }
}

fn without_prefix(part: &Named) -> Option<Named> {
    part.name.strip_prefix(HEAD).map(|name| Named { name: name.to_owned(), ..part.clone() })
}

impl Method for HouseLstm {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.optimiser.set_rate(self.experiment.house.learning_rate_of(epoch));
        let seed = epoch_seed(self.experiment.seed, epoch);
        let mut tally = Tally::default();
        for batch in super::batches(seed, lessons.len(), self.experiment.batch_size)? {
            self.train_batch(&lessons.lessons(&batch, epoch)?, &mut tally)?;
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let one = |number: usize, episode: &Trajectory| {
            let (lesson, truth) = told(number, episode)?;
            let walk = Walk::new(&lesson, &self.experiment.house)?;
            let poses = estimates(&self.network, &self.head, &self.experiment.house, &walk)?;
            let pose =
                |[x, y, heading]: [f64; 3]| Pose::new(x / PIXELS_PER_UNIT, y / PIXELS_PER_UNIT, heading);
            Ok(Track::new(truth, poses.into_iter().map(pose).collect()))
        };
        tracks(&*self.ranks, episodes, how, one)
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        false
    }

    fn parameters(&self) -> Vec<Named> {
        let head = parameters::values(&self.head).into_iter().map(with_prefix);
        self.network.values().iter().cloned().chain(head).collect()
    }

    fn memory(&self) -> Vec<Named> {
        super::optimiser_memory(&self.optimiser)
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.take(parameters)?;
        self.optimiser = super::fresh(&self.experiment.house).with_state(&super::optimiser_state(memory));
        Ok(())
    }
}
