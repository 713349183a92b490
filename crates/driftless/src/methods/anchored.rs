//! Learning between labels: soft labels from labels, odometry and images; a contrast; a sharp filter.
//!
//! Expectation maximisation over paths. What labels and odometry say of a path is a Gaussian bridge
//! ([`crate::smooth::chain`]); particles on it, weighted by what images say so far, give paths; a
//! contrastive network learns which images belong to their poses; and so on. The sharpness that the
//! filter is to believe in is calibrated on whole trajectories that the network has not seen.

mod calibration;
mod contrast;
mod noise;
mod paths;
mod sight;
mod store;
mod teaching;
mod tracker;
mod tracks;
mod under_way;

pub use teaching::Teaching;

use crate::error::{Error, Result};
use crate::learn::{Ablation, EpochReport, Experiment, Method, Scales, Tracking, TrainingSet};
use crate::online::UnderWay;
use crate::optimise::{Adam, Optimiser, Rule, Schedule};
use crate::parameters::Named;
use crate::smooth::chain::Bridge;
use burn::tensor::Device;
use driftless_world::evaluation::Track;
use driftless_world::pose::Pose;
use driftless_world::trajectory::{Rows, Trajectory};
use noise::Noise;
use rayon::prelude::*;
use sight::{Matcher, Sight};
use teaching::UPDATES;
use tracker::Tracker;

/// Adam's first rate, and the share of it that is left in the end.
const RATE: f64 = 1e-3;
const LEAST_RATE: f64 = 0.03;
/// Epochs between two draws of paths, and between two calibrations.
const ROUND: u64 = 5;
/// A robot is found when its position is known within so many mean steps; twice as many lose more robots.
const FOUND: f64 = 1.0;
/// What scores are multiplied by until it is calibrated.
const FIRST_TEMPER: f64 = 0.2;
/// Most particles, as long as the robot is not found: one for so many poses of the map.
const POSES_FOR_A_PARTICLE: usize = 5;
/// How far beyond known positions a robot may be, in their extent.
const MARGIN: f64 = 0.05;
/// Least noise of the filter's motion, in mean steps: particles that descend from one must part.
const LEAST_NOISE: f64 = 0.05;

/// The methods `driftless` and `driftless-supervised` in mazes.
///
/// Trajectories without any known pose are not learned from.
pub struct AnchoredEm {
    teaching: Teaching,
    ablation: Vec<Ablation>,
    matcher: Matcher,
    optimiser: Optimiser,
    scales: Scales,
    epochs: u64,
    particles: usize,
    seed: u64,
    temper: f64,
    noise: Noise,
    /// M poses at each step of each trajectory, as drawn last; empty where there is no label.
    drawn: Vec<Vec<Vec<[f64; 3]>>>,
    effective_sample_size: f64,
    /// Recomputed when missing.
    bridges: Option<Vec<Option<Bridge>>>,
}

impl AnchoredEm {
    /// A network with first weights, for data of these scales.
    pub fn new(experiment: &Experiment, scales: &Scales, teaching: Teaching) -> Result<Self> {
        if experiment.label_fraction <= 0.0 {
            let problem = "must be above 0: learning between labels needs some \
                           (the methods sdpf and sdpf-released need none)";
            return Err(Error::setting("label_fraction", problem));
        }
        let schedule = Schedule::Cosine { updates: experiment.epochs * UPDATES, least: LEAST_RATE };
        Ok(Self {
            teaching,
            ablation: experiment.ablation.clone(),
            matcher: sight::matcher(scales, experiment.seed, &Device::flex()),
            optimiser: Optimiser::new(Rule::Adam(Adam::default()), RATE).with_schedule(schedule),
            scales: scales.clone(),
            epochs: experiment.epochs,
            particles: experiment.particles,
            seed: experiment.seed,
            temper: if experiment.ablation.contains(&Ablation::Calibration) { 1.0 } else { FIRST_TEMPER },
            noise: noise::first_noise(scales.step_size),
            drawn: Vec::new(),
            effective_sample_size: 0.0,
            bridges: None,
        })
    }

    fn has(&self, part: Ablation) -> bool {
        !self.ablation.contains(&part)
    }

    fn bounds(&self) -> [[f64; 2]; 2] {
        let (low, high) = (self.scales.low, self.scales.high);
        let margin = MARGIN * (0..2).map(|k| high[k] - low[k]).fold(0.0, f64::max).max(1e-6);
        [[low[0] - margin, low[1] - margin], [high[0] + margin, high[1] + margin]]
    }

    fn tracker<'a>(&self, sight: &'a Sight, particles: usize, temper: f64) -> Tracker<'a> {
        let [position, heading, distance, turn] = self.noise;
        let least = self.scales.step_size.map(|step| LEAST_NOISE * step);
        let first = if self.has(Ablation::GlobalStart) { sight.map.len() / POSES_FOR_A_PARTICLE } else { 0 };
        Tracker {
            odometry: noise::odometry([position.max(least[0]), heading.max(least[2]), distance, turn]),
            map: &sight.map,
            jitter: sight.jitter(self.bounds()),
            bounds: self.bounds(),
            temper,
            population: [particles.max(first), particles],
            found: FOUND * self.scales.step_size[0],
            looks_first: self.has(Ablation::GlobalStart),
            recovers: self.has(Ablation::Recovery),
        }
    }
}

fn pose(state: &[f32]) -> Pose {
    Pose::new(f64::from(state[0]), f64::from(state[1]), f64::from(state[2]))
}

fn actions(rows: &Rows) -> Vec<[f64; 3]> {
    (0..rows.len()).map(|t| std::array::from_fn(|k| f64::from(rows.row(t)[k]))).collect()
}

impl Method for AnchoredEm {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.prepare(epoch, lessons)?;
        let fresh = teaching::load(lessons, if self.has(Ablation::FreshImages) { epoch } else { 0 })?;
        self.assign(epoch, &fresh)?;
        let mut report = self.update(epoch, &fresh)?;
        report.effective_sample_size =
            (self.teaching == Teaching::BetweenLabels).then_some(self.effective_sample_size);
        let due = epoch.is_multiple_of(ROUND) || epoch == self.epochs;
        if due && self.has(Ablation::Calibration) {
            self.calibrate(epoch, &fresh)?;
        }
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], tracking: Tracking) -> Result<Vec<Track>> {
        let sight = Sight::new(&self.matcher, &self.scales, self.bounds());
        let one = |(number, episode)| self.track_one(&sight, number, episode, tracking);
        episodes.par_iter().enumerate().map(one).collect()
    }

    fn under_way(&self, particles: usize, seed: u64) -> Option<Box<dyn UnderWay>> {
        Some(Box::new(self.go(particles, seed)))
    }

    fn parameters(&self) -> Vec<Named> {
        self.stored_parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.stored_memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.take_back(parameters, memory)
    }
}
