//! A learned range scan: an image becomes distances to walls, a map says what they would be, and few labels suffice.
//!
//! The network says for each column of an image how far the next wall of the *map* is, as a distribution: furniture is
//! seen but is not on the map, so the network learns to look past it, or to be unsure. The likelihood of a pose is that of
//! the distances that rays meet on the map from there. It is the paper's e = h(o) against ẽ = ĥ(s), with a ĥ that is
//! known. Between labels it learns by expectation maximisation over paths, as in mazes.

pub(super) mod bins;
mod calibration;
pub(super) mod camera;
mod follower;
pub(super) mod network;
mod online;
mod sensor;
mod shown;
mod through;
mod tracks;
mod training;
pub(super) mod updates;
pub(super) mod views;
mod walks;

use super::anchored::noise::{self, Noise};
use super::anchored::paths::without_path;
use super::anchored::store::{learned_of, paths_of, stored_learned, stored_paths};
use super::anchored::{Supervision, is_calibrated};
use super::learner::Learner;
use crate::error::Result;
use crate::learn::{
    AllRanks, EpochReport, Experiment, Method, Normalisation, ThroughFilter, Tracking, TrainingSet, alone,
};
use crate::methods::known_paths::{columns, labelled, sizes};
use crate::methods::shared_tracks::tracks;
use crate::online::{OnlineFilter, Smoothing, Start};
use crate::parameters::Named;
use crate::resample::ResamplerSettings;
use crate::smooth::chain::Bridge;
use crate::weights;
use bins::BINS;
use camera::Camera;
use driftless_core::{Filter, Particles};
use driftless_kernels::range_scan::ScanPlan;
use driftless_world::evaluation::Track;
use driftless_world::files::pfnet::{HouseMaps, METRES_PER_PIXEL};
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use network::Network;
use std::sync::Arc;
use updates::Workspaces;
use walks::Walk;

/// Adam's first rate, and the share of it that is left in the end.
const RATE: f64 = 2e-3;
const LEAST_RATE: f64 = 0.02;
/// Epochs between two draws of paths, and between two calibrations.
const ROUND: u64 = 5;
/// What a column's log-likelihood is multiplied by until it is calibrated.
const FIRST_TEMPERING: f64 = 0.02;
/// Least noise of the filter's motion, in mean steps and turns: particles that descend from one must part, and a start that
/// is told wrongly must be left behind. Chosen on validation houses: a third of it errs a quarter more.
const LEAST_NOISE: [f64; 2] = [0.15, 0.1];
/// A belief within this standard deviation, in centimetres, is around one place. One of 30 cm along either axis, which a
/// robot is told, has 42.
const ONE_PLACE: f64 = 50.0;
/// The least noise while the belief is wider.
const LEAST_NOISE_WIDE: [f64; 2] = [0.2, 0.36];
/// Tempering is multiplied by this while it is wider: images that err alike must not decide too soon.
const BETWEEN_PLACES: f64 = 0.4;
/// Up to so many times as many particles while it is wider.
const MORE_WHILE_WIDE: usize = 4;

/// The methods `driftless` and `driftless-supervised` in houses.
pub struct RangeScan {
    supervision: Supervision,
    learner: Learner<Network>,
    camera: Camera,
    normalisation: Normalisation,
    epochs: u64,
    updates: u64,
    /// Images of an update.
    batch: usize,
    /// What it is trained by through the filter at last, and what that counts.
    through: Option<(ThroughFilter, f64)>,
    seed: u64,
    tempering: f64,
    noise: Noise,
    /// M poses at each step of each episode, as drawn last; empty where nothing is known.
    paths: Vec<Vec<Vec<[f32; 3]>>>,
    effective_sample_size: f64,
    filter: Filter,
    /// Recomputed when missing.
    bridges: Option<Vec<Option<Bridge>>>,
    walks: Option<Vec<Walk>>,
    workspaces: Workspaces,
    ranks: AllRanks,
}

/// The first epochs learn from labels alone: a network that knows nothing could not say where paths are.
fn warm_up(epochs: u64) -> u64 {
    ROUND * (epochs / ROUND / 4).max(1)
}

/// The noise of odometry that makes labels most probable.
fn noise_of(walks: &[Walk], step: [f64; 3]) -> Noise {
    let mut chains: Vec<&Walk> = walks.iter().collect();
    // Those with most labels say most.
    chains.sort_by_key(|walk| std::cmp::Reverse(walk.labels.iter().flatten().count()));
    let chains: Vec<noise::Known> = chains.iter().map(|walk| walk.known.clone()).collect();
    noise::learn(&chains, step)
}

impl RangeScan {
    /// Not trained yet.
    pub fn new(
        experiment: &Experiment,
        normalisation: &Normalisation,
        supervision: Supervision,
    ) -> Result<Self> {
        let [channels, height, width] = normalisation.pixels.shape();
        let plan = ScanPlan { image: [height, width], channels, bins: BINS };
        let updates = experiment.house.updates;
        let all_updates = experiment.epochs.saturating_mul(updates);
        let first = Random::stream(experiment.seed, 0).bits();
        let mut learner = network::learner(plan, all_updates, &mut Random::new(first));
        let begun = &experiment.house.weights;
        if !begun.as_os_str().is_empty() {
            learner.set(&weights::read(begun, weights::WEIGHTS)?)?;
        }
        Ok(Self {
            supervision,
            learner,
            camera: Camera::new(plan.image, plan.columns(), METRES_PER_PIXEL, follower::UNITS_PER_PIXEL),
            normalisation: normalisation.clone(),
            epochs: experiment.epochs,
            updates,
            batch: experiment.batch_size,
            through: experiment
                .house
                .through_filter
                .map(|kind| (kind, experiment.house.through_weight.unwrap_or(through::WEIGHT))),
            seed: experiment.seed,
            tempering: FIRST_TEMPERING,
            noise: noise::first_noise(normalisation.step_size),
            paths: Vec::new(),
            effective_sample_size: 0.0,
            filter: ResamplerSettings::apply(experiment.resampler.as_ref(), Filter::bootstrap(1))?,
            bridges: None,
            walks: None,
            workspaces: Workspaces::default(),
            ranks: alone(),
        })
    }
}

impl Method for RangeScan {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        let walks = match self.walks.take() {
            Some(walks) => walks,
            None => walks::load(lessons)?,
        };
        self.prepare(epoch, &walks)?;
        self.assign(epoch, &walks)?;
        let mut report = self.update(epoch, &walks)?;
        report.effective_sample_size =
            (self.supervision == Supervision::BetweenLabels).then_some(self.effective_sample_size);
        report.without_path = without_path(&self.paths, walks.iter().map(Walk::has_label));
        if is_calibrated(epoch, self.epochs) {
            self.calibrate(epoch, &walks)?;
        }
        self.walks = Some(walks);
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        tracks(&*self.ranks, episodes, how, |number, episode| self.track_one(number, episode, how))
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        true
    }

    fn online_filter_in(
        &self,
        floor: &Arc<HouseMaps>,
        particles: usize,
        start: &Start,
    ) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(Box::new(self.online(floor, particles, start)?)))
    }

    fn known_paths(
        &self,
        episode: &Trajectory,
        particles: usize,
        how: Smoothing,
    ) -> Result<Option<Vec<Particles>>> {
        let Some(lesson) = labelled(episode)? else { return Ok(None) };
        let walk = Walk::new(&lesson, &mut walks::Houses::default())?;
        let Some(bridge) = walk.known.smooth(self.noise).and_then(|found| found.bridge().ok()) else {
            return Ok(None);
        };
        let (scans, (sizes, mut draws)) = (self.learner.net().scans(&walk.images)?, sizes(particles, how));
        Ok(columns(Some(self.paths_along((&walk, &scans), &bridge, sizes, &mut draws))))
    }

    fn parameters(&self) -> Vec<Named> {
        let mut all = self.learner.values().to_vec();
        all.extend(stored_learned(self.tempering, self.noise));
        all
    }

    fn memory(&self) -> Vec<Named> {
        let mut all = self.learner.memory();
        if self.supervision == Supervision::BetweenLabels {
            all.extend(stored_paths(&self.paths, self.effective_sample_size));
        }
        all
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.learner.restore(parameters, memory)?;
        (self.tempering, self.noise) = learned_of(parameters)?;
        (self.bridges, self.paths) = (None, Vec::new());
        let Some(memory) = memory else { return Ok(()) };
        if self.supervision == Supervision::BetweenLabels {
            (self.paths, self.effective_sample_size) = paths_of(memory)?;
        }
        Ok(())
    }
}
