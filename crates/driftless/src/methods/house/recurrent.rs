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
use super::network::{first_branches, gradients, half_square};
use super::told;
use crate::error::Result;
use crate::learn::{AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, alone};
use crate::methods::learner::Learner;
use crate::optimise::Report;
use crate::parameters::{self, Init, Named, Net};
use burn::tensor::{DType, Device};
use driftless_kernels::pfnet::{PfnetNet, PfnetPlan};
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
    learner: Learner<Networks>,
    ranks: AllRanks,
}

/// PF-net's branches on the kernels, and what follows them on tensors.
struct Networks {
    branches: PfnetNet,
    head: Head,
}

impl Net for Networks {
    fn load(&mut self, values: &[Named]) {
        self.branches.load(values);
        let of_head: Vec<Named> = values.iter().filter_map(without_prefix).collect();
        self.head = parameters::with_values(self.head.clone(), &of_head);
    }
}

impl HouseLstm {
    /// Not trained yet.
    pub fn new(experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let [image_channels, _, _] = normalisation.pixels.shape();
        let plan = PfnetPlan { map_channels: experiment.house.map_mode().channels(), image_channels };
        let mut values = first_branches(plan, &mut Random::stream(experiment.seed, 0));
        let mut init =
            Init::new(Random::stream(experiment.seed, 1).bits(), &Device::flex().autodiff(), DType::F32);
        let head = Head::new(&mut init);
        values.extend(parameters::values(&head).into_iter().map(with_prefix));
        let networks = Networks { branches: PfnetNet::new(plan), head };
        let learner = Learner::new(networks, values, super::optimiser(&experiment.house));
        Self { experiment: experiment.clone(), learner, ranks: alone() }
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
        let (settings, Networks { branches, head }) = (&self.experiment.house, self.learner.net());
        let labels = walks.iter().flat_map(|walk| &walk.labels[from..from + settings.block]);
        // A mean over the poses that are known.
        let labelled = (labels.flatten().count() as f64).max(1.0);
        let Rollout { error, known, gradients: by_branches, head: by_head } =
            rollout::block(branches, head, settings, (walks, carried), from, 1.0 / labelled);
        let loss = error / labelled + settings.l2 * half_square(self.learner.values());
        let mut all = gradients(self.learner.values(), branches, &by_branches, settings.l2);
        all.extend(by_head.into_iter().map(with_prefix));
        let report = self.learner.step_by(loss, &all);
        let losses = vec![("loss", loss), ("squared error", error / (known as f64).max(1.0))];
        (Figures { losses, effective_sample_size: None }, report)
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
        self.learner.set_rate(self.experiment.house.learning_rate_of(epoch));
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
            let Networks { branches, head } = self.learner.net();
            let poses = estimates(branches, head, &self.experiment.house, &walk)?;
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
        self.learner.values().to_vec()
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.learner.restore(parameters, memory)
    }
}
