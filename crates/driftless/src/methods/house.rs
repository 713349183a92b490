//! Robots in houses never seen before: PF-net's filter, taught by known poses alone or with the paper's
//! pseudo-likelihood too.
//!
//! The network is Karkus, Hsu & Lee's, on kernels by hand; the filter is theirs, with the paper's noise. Beliefs are
//! carried from block to block, gradients end there (truncated back-propagation), and every block is an update.

mod filter;
mod network;
mod objective;
mod particles;
mod recurrent;
mod teaching;
mod walk;

use super::recorder::Recorder;
use super::updates::{Figures, Tally, epoch_seed, update_seed};
use crate::error::{Error, Result};
use crate::learn::{
    EpochReport, Experiment, HouseSettings, Likelihood, Method, MethodName, Scales, Tracking, TrainingSet,
};
use crate::optimise::{Optimiser, Report, RmsProp, Rule};
use crate::parameters::Named;
use driftless_kernels::pfnet::PfnetPlan;
use driftless_world::evaluation::Track;
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
pub use recurrent::HouseLstm;

use network::Network;
use objective::Terms;
use teaching::{Carried, Pool, Sums};
use walk::Walk;

/// What the optimiser's numbers are called among a method's memory.
const PREFIX: &str = "optimiser.";

/// PF-net's filter: SDPF if it learns from all steps, its supervised twin if from known poses alone.
pub struct PfnetFilter {
    experiment: Experiment,
    scales: Scales,
    network: Network,
    optimiser: Optimiser,
    pool: Pool,
}

impl PfnetFilter {
    /// Not taught yet.
    pub fn new(experiment: &Experiment, scales: &Scales) -> Self {
        let settings = &experiment.house;
        let [image_channels, _, _] = scales.pixels.shape();
        let plan = PfnetPlan { map_channels: settings.map_mode().channels(), image_channels };
        let network = Network::new(plan, &mut Random::stream(experiment.seed, 0));
        let optimiser = fresh(settings);
        let (experiment, scales) = (experiment.clone(), scales.clone());
        Self { experiment, scales, network, optimiser, pool: Pool::default() }
    }

    fn settings(&self) -> &HouseSettings {
        &self.experiment.house
    }

    /// λ₂ is 0 for the supervised twin.
    fn terms(&self, walks: usize) -> Terms {
        let settings = self.settings();
        let expected = self.experiment.labels * (walks * settings.block) as f64;
        let semi = self.experiment.method == MethodName::Sdpf;
        Terms {
            known: if expected > 0.0 { settings.known_weight / expected } else { 0.0 },
            pseudo: if semi { settings.pseudo_weight / walks as f64 } else { 0.0 },
            normalised: settings.likelihood == Likelihood::Normalised,
            softness: settings.resampling,
        }
    }

    /// All blocks of a batch, an update each.
    fn teach(&mut self, lessons: &[Lesson], seed: u64, tally: &mut Tally) -> Result<()> {
        let settings = self.settings().clone();
        let walks = lessons.iter().map(|lesson| Walk::new(lesson, &settings)).collect::<Result<Vec<_>>>()?;
        let mut carried = teaching::begin(&walks, self.experiment.particles, seed)?;
        let steps = walks.iter().map(Walk::len).min().unwrap_or(0).min(settings.steps);
        for number in 0..steps / settings.block {
            let (figures, report) = self.update(&walks, &mut carried, number * settings.block);
            tally.add(&figures, &report);
        }
        Ok(())
    }

    fn update(&mut self, walks: &[Walk], carried: &mut [Carried], from: usize) -> (Figures, Report) {
        let (terms, settings) = (self.terms(walks.len()), &self.experiment.house);
        let (sums, gradient) =
            teaching::block(&self.network, settings, terms, (walks, carried), from, &self.pool);
        let Sums { error, known, pseudo, effective } = sums;
        let loss = terms.known * error - terms.pseudo * pseudo + settings.l2 * self.network.half_square();
        let gradients = self.network.gradients(&gradient, settings.l2);
        let optimiser = &mut self.optimiser;
        let report = self.network.change(|values| optimiser.step_on(values, loss, gradients));
        let count = walks.len() as f64;
        let losses = vec![
            ("loss", loss),
            ("squared error", error / (known as f64).max(1.0)),
            ("pseudo-likelihood", pseudo / count),
        ];
        (Figures { losses, effective_sample_size: Some(effective / count) }, report)
    }
}

fn fresh(settings: &HouseSettings) -> Optimiser {
    let rule = RmsProp { decay: settings.decay.min(1.0 - 1e-9), ..RmsProp::default() };
    Optimiser::new(Rule::RmsProp(rule), settings.rate)
}

impl Method for PfnetFilter {
    fn name(&self) -> &'static str {
        "pfnet"
    }

    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.optimiser.set_rate(self.settings().rate_of(epoch));
        let seed = epoch_seed(self.experiment.seed, epoch);
        let mut tally = Tally::default();
        for (number, batch) in batches(seed, lessons.len(), self.experiment.batch)?.iter().enumerate() {
            self.teach(&lessons.lessons(batch, epoch)?, update_seed(seed, number), &mut tally)?;
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let one = |(number, episode): (usize, &Trajectory)| {
            let (lesson, truth) = told(number, episode)?;
            let walk = Walk::new(&lesson, self.settings())?;
            let mut random = Random::stream(how.seed, number as u64);
            let mut recorder = Recorder::new(truth, number as u64, how, &self.scales);
            filter::follow(
                &self.network,
                self.settings(),
                &walk,
                how.particles,
                &mut random,
                |cloud, seen| {
                    recorder.step(cloud.particles(), cloud.mean(), seen);
                },
            )?;
            Ok(recorder.track())
        };
        episodes.iter().enumerate().map(one).collect()
    }

    fn parameters(&self) -> Vec<Named> {
        self.network.values().to_vec()
    }

    fn memory(&self) -> Vec<Named> {
        let state = self.optimiser.state().into_iter();
        state.map(|part| Named { name: format!("{PREFIX}{}", part.name), ..part }).collect()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.network.set(parameters)?;
        self.optimiser = fresh(self.settings()).with_state(&optimiser_state(memory));
        Ok(())
    }
}

/// The optimiser's part of a method's memory.
fn optimiser_state(memory: Option<&[Named]>) -> Vec<Named> {
    let part = |part: &Named| {
        part.name.strip_prefix(PREFIX).map(|name| Named { name: name.to_owned(), ..part.clone() })
    };
    memory.unwrap_or_default().iter().filter_map(part).collect()
}

/// The batches of an epoch: all trajectories once, in a new order; what does not fill a batch is left out.
fn batches(seed: u64, lessons: usize, batch: usize) -> Result<Vec<Vec<usize>>> {
    if lessons == 0 {
        return Err(Error::setting("trajectories", "must be at least 1: there is nothing to learn from"));
    }
    let mut order: Vec<usize> = (0..lessons).collect();
    Random::stream(seed, 0).shuffle(&mut order);
    Ok(order.chunks_exact(batch.min(lessons)).map(<[usize]>::to_vec).collect())
}

/// An episode without its poses, but with what the robot is told of the first; and the poses.
fn told(number: usize, episode: &Trajectory) -> Result<(Lesson, Vec<Pose>)> {
    let wrong = |problem: &str| {
        Error::File(driftless_world::Error::new(problem).in_record(format!("episode {number}")))
    };
    let known: Vec<bool> = episode.states.iter().map(|state| state.is_some()).collect();
    if known.contains(&false) {
        return Err(wrong("a step without a pose cannot be evaluated"));
    }
    let pose = |row: &[f32]| Pose::new(f64::from(row[0]), f64::from(row[1]), f64::from(row[2]));
    let truth = episode.states.iter().flatten().map(pose).collect();
    Ok((LabelBudget::new(0.0, 0)?.plan([known]).lesson(0, episode.clone())?, truth))
}
