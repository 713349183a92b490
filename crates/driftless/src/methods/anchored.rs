//! Learning between labels: soft labels from labels, odometry and images; a contrast; a sharp filter.
//!
//! Expectation maximisation over paths. What labels and odometry say of a path is a Gaussian bridge
//! ([`crate::smooth::chain`]); particles on it, weighted by what images say so far, give paths; a
//! contrastive network learns which images belong to their poses; and so on. The sharpness that the
//! filter is to believe in is calibrated on whole trajectories that the network has not seen.

mod blocks;
mod calibration;
mod contrast;
pub(super) mod noise;
mod objectives;
mod online;
pub(super) mod paths;
pub(super) mod sensor;
pub(super) mod store;
mod tracker;
mod tracks;
pub(super) mod training;
mod views;

pub use training::Supervision;

use super::learner::Learner;
use crate::error::{Error, Result};
use crate::learn::{
    Ablation, AllRanks, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, Unlabelled,
    alone,
};
use crate::methods::known_paths::{columns, labelled, sizes};
use crate::methods::shared_tracks::tracks;
use crate::online::{OnlineFilter, Smoothing, Start};
use crate::ops::FrameEncoder;
use crate::optimise::{Adam, Optimiser, Rule, Schedule};
use crate::parameters::{self, Named};
use crate::resample::ResamplerSettings;
use crate::smooth::chain::Bridge;
use burn::tensor::Device;
use driftless_core::filter::{Population, Recovery, Tempering};
use driftless_core::motion::Odometry;
use driftless_core::{Filter, Particles, Stream};
use driftless_world::evaluation::Track;
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use driftless_world::trajectory::{Rows, Trajectory};
use noise::Noise;
use objectives::Objectives;
use sensor::{ImageSensor, Matcher};
use std::sync::{Arc, OnceLock};
use tracker::Tracker;
use training::UPDATES;
use views::Views;

/// Adam's first rate, and the share of it that is left in the end.
pub(super) const RATE: f64 = 1e-3;
pub(super) const LEAST_RATE: f64 = 0.03;
/// Epochs between two draws of paths, and between two calibrations.
const ROUND: u64 = 5;
/// A robot is found when its position is known within so many mean steps; twice as many lose more robots.
const FOUND: f64 = 1.0;
/// What scores are multiplied by until it is calibrated.
const FIRST_TEMPERING: f64 = 0.2;
/// Most particles, as long as the robot is not found: one for so many poses of the map.
const POSES_FOR_A_PARTICLE: usize = 5;
/// How far beyond known positions a robot may be, in their extent.
const MARGIN: f64 = 0.05;
/// Least noise of the filter's motion, in mean steps and turns.
const LEAST_NOISE: [f64; 2] = [0.05; 2];
/// Bayes' rule for a robot that was carried off, or was never where it is believed to be.
const RECOVERY: Recovery = Recovery { kidnap_probability: 1e-4, most_injected: 0.1 };
/// Tempering is multiplied by this where images decide between places.
const BETWEEN_PLACES: f64 = 0.6;
/// A belief within so many times the standard deviation of a found robot is around one place.
const ONE_PLACE: f64 = 2.0;

/// The methods `driftless` and `driftless-supervised` in mazes.
///
/// Trajectories without any known pose are not learned from.
pub struct AnchoredEm {
    supervision: Supervision,
    /// Of a filter over unlabelled steps, beside the contrast.
    objectives: Objectives,
    ablation: Vec<Ablation>,
    learner: Learner<FrameEncoder>,
    normalisation: Normalisation,
    epochs: u64,
    particles: usize,
    seed: u64,
    tempering: f64,
    noise: Noise,
    /// M poses at each step of each trajectory, as drawn last; empty where there is no label.
    drawn: Vec<Vec<Vec<[f32; 3]>>>,
    effective_sample_size: f64,
    /// The filter of tracking, but for what depends on the episode.
    filter: Filter,
    /// Recomputed when missing.
    bridges: Option<Vec<Option<Bridge>>>,
    /// What robots online share: the network with its map of poses, made for the first of them.
    shared: OnceLock<Arc<ImageSensor>>,
    ranks: AllRanks,
}

impl AnchoredEm {
    /// A network with first weights, for data of these normalisation.
    pub fn new(
        experiment: &Experiment,
        normalisation: &Normalisation,
        supervision: Supervision,
    ) -> Result<Self> {
        if experiment.label_fraction <= 0.0 {
            let problem = "must be above 0: learning between labels needs some \
                           (the methods sdpf and sdpf-released need none)";
            return Err(Error::setting("label_fraction", problem));
        }
        let schedule = Schedule::Cosine { updates: experiment.epochs * UPDATES, least: LEAST_RATE };
        let matcher = sensor::matcher(normalisation, weights_seed(experiment.seed), &Device::flex());
        let has_paths = experiment.unlabelled.contains(&Unlabelled::Paths);
        Ok(Self {
            supervision: if has_paths { supervision } else { Supervision::LabelsAlone },
            objectives: Objectives::of(experiment),
            ablation: experiment.ablation.clone(),
            learner: learner(&matcher, schedule),
            normalisation: normalisation.clone(),
            epochs: experiment.epochs,
            particles: experiment.particles,
            seed: experiment.seed,
            tempering: if experiment.ablation.contains(&Ablation::Calibration) {
                1.0
            } else {
                FIRST_TEMPERING
            },
            noise: noise::first_noise(normalisation.step_size),
            drawn: Vec::new(),
            effective_sample_size: 0.0,
            bridges: None,
            shared: OnceLock::new(),
            ranks: alone(),
            filter: ResamplerSettings::apply(experiment.resampler.as_ref(), Filter::bootstrap(1))?,
        })
    }

    fn has(&self, part: Ablation) -> bool {
        !self.ablation.contains(&part)
    }

    fn bounds(&self) -> [[f64; 2]; 2] {
        let (low, high) = (self.normalisation.low, self.normalisation.high);
        let margin = MARGIN * (0..2).map(|k| high[k] - low[k]).fold(0.0, f64::max).max(1e-6);
        [[low[0] - margin, low[1] - margin], [high[0] + margin, high[1] + margin]]
    }

    fn sensor(&self) -> ImageSensor {
        ImageSensor::new(self.learner.net(), &self.normalisation, self.bounds())
    }

    /// How the robot moves, and how exactly.
    fn odometry(&self) -> Odometry {
        noise::motion(self.noise, LEAST_NOISE, Frame::Reflected, &self.normalisation)
    }

    /// The filter of an episode whose random numbers are these.
    fn tracker(&self, sensor: &ImageSensor, particles: usize, tempering: f64, draws: Stream) -> Tracker {
        let looks_first = self.has(Ablation::GlobalStart);
        let most = if looks_first { sensor.map_size() / POSES_FOR_A_PARTICLE } else { 0 };
        let found = FOUND * self.normalisation.step_size[0];
        let filter = Filter {
            population: Population { least: particles.max(1), most: particles.max(most).max(1), found },
            tempering: Tempering {
                near: tempering as f32,
                far: (BETWEEN_PLACES * tempering) as f32,
                one_place: ONE_PLACE * found,
            },
            recovery: self.has(Ablation::Recovery).then_some(RECOVERY),
            ..self.filter.clone()
        };
        let views = Views::new(self.normalisation.step_size);
        Tracker::new(filter, self.odometry(), looks_first, views, draws)
    }
}

/// Whether the tempering is calibrated after this epoch: after the last, and, as it takes as long as several epochs and only
/// validation needs it before, after 5, 10, 20, 40, …
pub(super) fn is_calibrated(epoch: u64, epochs: u64) -> bool {
    epoch == epochs || (epoch.is_multiple_of(ROUND) && (epoch / ROUND).is_power_of_two())
}

/// A network of images and places that has not learned yet.
pub(super) fn learner(matcher: &Matcher, schedule: Schedule) -> Learner<FrameEncoder> {
    let optimiser = Optimiser::new(Rule::Adam(Adam::default()), RATE).with_schedule(schedule);
    Learner::new(FrameEncoder::of(matcher), parameters::values(matcher), optimiser)
}

/// Names the first weights: a stream of their own, as the seed's own one says which poses are known. Epochs have those
/// from 1 on.
fn weights_seed(seed: u64) -> u64 {
    Random::stream(seed, 0).bits()
}

fn pose(state: &[f32]) -> [f64; 3] {
    std::array::from_fn(|k| f64::from(state[k]))
}

/// The action into step t.
fn action(rows: &Rows, t: usize) -> [f32; 3] {
    std::array::from_fn(|k| rows.row(t)[k])
}

impl Method for AnchoredEm {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.shared = OnceLock::new();
        self.prepare(epoch, lessons)?;
        let fresh = training::load(lessons, if self.has(Ablation::FreshImages) { epoch } else { 0 })?;
        self.assign(epoch, &fresh)?;
        let mut report = self.update(epoch, &fresh)?;
        if self.supervision == Supervision::BetweenLabels {
            report.effective_sample_size = Some(self.effective_sample_size);
        }
        report.without_path = paths::without_path(&self.drawn, fresh.iter().map(training::has_label));
        if is_calibrated(epoch, self.epochs) && self.has(Ablation::Calibration) {
            self.calibrate(epoch, &fresh)?;
        }
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], tracking: Tracking) -> Result<Vec<Track>> {
        let sensor = self.sensor();
        let one = |number, episode: &Trajectory| self.track_one(&sensor, number, episode, tracking);
        tracks(&*self.ranks, episodes, tracking, one)
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        true
    }

    fn online_filter(&self, particles: usize, start: &Start) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(Box::new(self.online_tracker(particles, start))))
    }

    fn known_paths(
        &self,
        episode: &Trajectory,
        particles: usize,
        how: Smoothing,
    ) -> Result<Option<Vec<Particles>>> {
        let Some(lesson) = labelled(episode)? else { return Ok(None) };
        let known = noise::Known::of(&lesson, Frame::Reflected);
        let Some(bridge) = known.smooth(self.noise).and_then(|found| found.bridge().ok()) else {
            return Ok(None);
        };
        let (sensor, (sizes, mut draws)) = (self.sensor(), sizes(particles, how));
        let drawn = self.paths_along(&lesson, &bridge, Some(&sensor), sizes, &mut draws)?;
        Ok(columns(Some(drawn)))
    }

    fn parameters(&self) -> Vec<Named> {
        self.stored_parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.stored_memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.shared = OnceLock::new();
        self.take_back(parameters, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::PixelScale;
    use driftless_core::{Belief, Particles, Space};
    use driftless_world::trajectory::{Images, Pixels};

    /// Of images of 24 x 24 pixels and a world of 9 units, in which steps and turns are of length 1.
    fn normalisation(image: &Images) -> Normalisation {
        Normalisation {
            pixels: PixelScale::measure([image]).unwrap(),
            readings: crate::batch::ReadingScale::default(),
            state_mean: [0.0; 3],
            state_std: [1.0; 3],
            action_std: [1.0; 3],
            step_size: [1.0; 3],
            low: [0.0; 3],
            high: [9.0; 3],
            coordinates: Vec::new(),
        }
    }

    fn image() -> Images {
        let pixels = Pixels::Bytes((0..24 * 24 * 3).map(|k| (k * 37 % 251) as u8).collect());
        Images { height: 24, width: 24, channels: 3, pixels }
    }

    /// Standing still, the same image is worth a fiftieth of itself; after a turn of more than three mean turns, all of it.
    #[test]
    fn the_same_view_counts_once() {
        let method =
            AnchoredEm::new(&Experiment::default(), &normalisation(&image()), Supervision::BetweenLabels)
                .unwrap();
        let sensor = method.sensor();
        let mut random = Random::new(2);
        let pixels: Vec<f32> = (0..24 * 24 * 3).map(|_| random.normal() as f32).collect();
        let evidence = |turn: f32| {
            let mut tracker = method.tracker(&sensor, 50, 0.2, Stream::new(1, 0));
            let poses = (0..50).map(|k| [0.1 * k as f32, 4.0, 0.1 * k as f32]);
            tracker.begin(Belief::new(Particles::from_states(Space::SE2, poses)));
            let mut frames = sensor.encode(&[&pixels[..]; 2].concat());
            tracker.step(frames.at(0), None);
            tracker.step(frames.at(1), Some([0.0, 0.0, turn])).log_evidence.abs()
        };
        let [still, turned] = [0.0, std::f32::consts::TAU].map(evidence);
        assert!(turned > 0.1 && still < 0.1 * turned, "{still} {turned}");
    }

    #[test]
    fn calibrated_seldom_and_at_last() {
        let due = |epochs| (1..=epochs).filter(|&epoch| is_calibrated(epoch, epochs)).collect::<Vec<_>>();
        assert_eq!((due(60), due(3)), (vec![5, 10, 20, 40, 60], vec![3]));
    }

    /// Which poses are known is drawn from the seed's own stream; first weights are not made of the same numbers.
    #[test]
    fn first_weights_have_a_stream_of_their_own() {
        let normalisation = normalisation(&image());
        let experiment = Experiment { seed: 5, ..Experiment::default() };
        let mut random = Random::new(experiment.seed);
        let drawn: Vec<f64> =
            std::iter::from_fn(|| Some(random.normal())).filter(|z| z.abs() <= 2.0).take(9).collect();
        // Weights are normal numbers times a size, in 32 bits.
        let shared = |all: &[Named]| {
            let close = |(a, b): (&f64, &f64)| (a * drawn[0] - b).abs() < 1e-5;
            all.iter().any(|named| {
                let scaled: Vec<f64> = named.values.iter().map(|w| w / named.values[0]).collect();
                scaled.len() >= 9 && scaled.iter().zip(&drawn).all(close)
            })
        };
        let of_seed = sensor::matcher(&normalisation, experiment.seed, &Device::flex());
        assert!(shared(&parameters::values(&of_seed)), "the seed itself would share them");
        let method = AnchoredEm::new(&experiment, &normalisation, Supervision::BetweenLabels).unwrap();
        assert!(!shared(&method.parameters()));
    }
}
