//! A robot's own log: what its sensors measure is a map or a network, which is learned with the paths of the robot.
//!
//! Label-anchored expectation maximisation. Odometry is calibrated by the labels; labels and odometry make Gaussian
//! bridges; particles on them, weighted by what the sensors say, give paths (E-step); from the paths the map is made:
//! what a scanner's beams meet, where beacons and landmarks stand, and how exact readings are (M-step). The supervised
//! twin makes its map at labels alone, which is classical localisation on a map of the labelled scans.

mod anywhere;
mod beacons;
mod bound;
mod calibration;
mod coordinates;
mod fitting;
mod follower;
mod given;
mod mcl;
mod motion;
mod network;
mod odometry;
mod online;
mod range_scan;
mod registry;
mod scan;
mod sensor;
mod textbook_scan;
mod tracks;
mod walks;

pub use coordinates::{CoordinateEm, CoordinateOdometry};
pub(crate) use given::check as check_given;
pub use mcl::Mcl;
pub(super) use motion::Bias;
pub use odometry::RobotOdometry;
pub(crate) use registry::{Given, RegisteredSensor, SENSORS};
pub(super) use walks::Walk;

use super::anchored::Supervision;
use super::anchored::noise::{self, Known, Noise};
use super::anchored::paths::{Drawn, Evidence, Sizes, draw_paths};
use super::anchored::store::{find, learned_of, named, paths_of, stored_learned, stored_paths};
use super::known_paths::{columns, labelled, sizes};
use super::shared_tracks::tracks;
use crate::error::{Error, Result};
use crate::learn::{
    AllRanks, EpochReport, Experiment, Method, MotionKind, Normalisation, RobotSettings, Tracking,
    TrainingSet, alone,
};
use crate::online::{OnlineFilter, Smoothing, Start as OnlineStart};
use crate::parameters::Named;
use crate::resample::ResamplerSettings;
use crate::smooth::chain::Bridge;
use anywhere::Anywhere;
use driftless_core::{Filter, Particles, Stream};
use driftless_world::evaluation::{Surroundings, Track};
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Start, Trajectory};
use network::World;
use online::Shared;
use rayon::prelude::*;
use sensor::{Encoded, Model, Seen};
use std::sync::{Arc, OnceLock};

/// Particles on a bridge, and paths drawn of them.
const PATHS: Sizes = Sizes { particles: 200, paths: 16 };
/// How much more than in the filter readings may say of a path: labels and odometry on both sides hold it, and an error of
/// the map cannot carry it away. Maps alone; networks are sure of themselves too early.
const ON_PATHS: f64 = 10.0;
/// What log-likelihoods are multiplied by until it is calibrated.
const FIRST_TEMPERING: f64 = 0.1;
const BIAS: &str = "motion.bias";
const NOISE_FACTOR: &str = "filter.noise_factor";

/// What of the filter is calibrated on held-out labels.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tuning {
    /// What log-likelihoods are multiplied by.
    tempering: f64,
    /// What the motion's noise is multiplied by.
    noise: f64,
}

/// The method `driftless` or its supervised twin for a log of one's own, in the plane or of named coordinates.
pub(super) fn build(
    experiment: &Experiment,
    normalisation: &Normalisation,
    supervision: Supervision,
) -> Result<Box<dyn Method>> {
    if experiment.state.is_planar() {
        return Ok(Box::new(RobotEm::new(experiment, normalisation, supervision)?));
    }
    Ok(Box::new(CoordinateEm::new(experiment, normalisation, supervision)?))
}

/// Odometry alone, likewise.
pub(super) fn build_odometry(experiment: &Experiment) -> Box<dyn Method> {
    if experiment.state.is_planar() {
        return Box::new(RobotOdometry { frame: experiment.frame() });
    }
    Box::new(CoordinateOdometry::new(experiment))
}

/// The methods `driftless` and `driftless-supervised` for logs of one's own.
pub struct RobotEm {
    supervision: Supervision,
    models: Vec<Box<dyn Model>>,
    /// Whether one of them looks at images.
    sees: bool,
    settings: RobotSettings,
    frame: Frame,
    /// What actions mean.
    motion: MotionKind,
    normalisation: Normalisation,
    seed: u64,
    bias: Bias,
    noise: Noise,
    tuning: Tuning,
    /// M poses at each step of each episode, as drawn last; empty where nothing is known.
    paths: Vec<Vec<Vec<[f32; 3]>>>,
    effective_sample_size: f64,
    /// Whether a map or beacons are given, so that robots can be found without any label.
    has_given_map: bool,
    /// Whether there is no scan, whose beams err together: then readings need no tempering where none is learned.
    beacons_alone: bool,
    /// amcl's alphas, if odometry is neither calibrated nor its noise learned.
    textbook: Option<[f32; 4]>,
    filter: Filter,
    /// Which episodes networks are kept from.
    held_out: Vec<bool>,
    /// Made when missing.
    walks: Option<Vec<Walk>>,
    /// Numbers of an observation that sensors look at, at least.
    width: usize,
    /// What robots online share; made when missing.
    shared: OnceLock<Shared>,
    /// Where a robot may be, made when one may be anywhere.
    anywhere: OnceLock<Arc<Anywhere>>,
    ranks: AllRanks,
}

impl RobotEm {
    /// Not trained yet.
    pub fn new(
        experiment: &Experiment,
        normalisation: &Normalisation,
        supervision: Supervision,
    ) -> Result<Self> {
        if experiment.sensor.is_empty() {
            return Err(Error::setting("sensor", "is missing: a robot needs at least one [[sensor]]"));
        }
        if experiment.label_fraction <= 0.0 && !experiment.has_given_map() {
            return Err(Error::setting(
                "label_fraction",
                "must be above 0: a map needs some known poses, unless it is given",
            ));
        }
        let world = World { normalisation, seed: experiment.seed, epochs: experiment.epochs };
        Ok(Self {
            supervision,
            models: experiment
                .sensor
                .iter()
                .map(|sensor| (sensor.kind.line().build)(sensor, &world))
                .collect(),
            sees: experiment.sensor.iter().any(|sensor| sensor.kind.sees()),
            settings: experiment.robot.clone(),
            frame: experiment.frame(),
            motion: experiment.motion.kind,
            normalisation: normalisation.clone(),
            seed: experiment.seed,
            bias: Bias::default(),
            noise: noise::first_noise(normalisation.step_size),
            tuning: Tuning { tempering: FIRST_TEMPERING, noise: 1.0 },
            paths: Vec::new(),
            effective_sample_size: 0.0,
            has_given_map: experiment.has_given_map(),
            beacons_alone: experiment.sensor.iter().all(|sensor| !sensor.beacons.is_empty()),
            textbook: None,
            filter: ResamplerSettings::apply(experiment.resampler.as_ref(), Filter::bootstrap(1))?,
            held_out: Vec::new(),
            walks: None,
            width: experiment.sensor.iter().map(|sensor| sensor.columns[1]).max().unwrap_or(0),
            shared: OnceLock::new(),
            anywhere: OnceLock::new(),
            ranks: alone(),
        })
    }

    /// Calibrates odometry and its noise by the labels; where there are none, on a given map, it is as usual.
    fn learn_motion(&mut self, walks: &[Walk]) -> Result<()> {
        if !walks.iter().any(Walk::has_label) {
            if self.has_given_map {
                if self.beacons_alone {
                    self.tuning.tempering = 1.0;
                }
                return Ok(());
            }
            return Err(Error::setting(
                "label_fraction",
                "left no pose known: a map needs some, unless it is given",
            ));
        }
        self.bias = Bias::fit(walks, self.frame, self.normalisation.step_size);
        let mut chains: Vec<&Walk> = walks.iter().filter(|walk| walk.has_label()).collect();
        chains.sort_by_key(|walk| std::cmp::Reverse(walk.labels.iter().flatten().count()));
        let chains: Vec<Known> = chains.iter().map(|walk| self.known(walk)).collect();
        self.noise = noise::learn(&chains, self.normalisation.step_size);
        Ok(())
    }

    /// Standard deviations of position and heading in a step whose odometry is missing.
    fn missing(&self) -> [f32; 2] {
        match self.motion {
            // The noise that is learned is then all that the robot may do.
            MotionKind::None => [0.0; 2],
            MotionKind::Odometry | MotionKind::Velocity => self.normalisation.missing_motion(),
        }
    }

    fn known(&self, walk: &Walk) -> Known {
        let actions = walk.actions.iter().map(|action| self.bias.corrected(action.map(f64::from)).to_vec());
        Known::new(self.frame, actions.collect(), &walk.labels).with_missing(self.missing())
    }

    /// The E-step: paths by labels, odometry and what the sensors say with what they learned so far, if anything.
    fn draw(&mut self, epoch: u64, walks: &[Walk]) {
        let draw = |(number, walk): (usize, &Walk)| -> Option<Drawn> {
            let mut draws = Stream::new(self.seed ^ epoch.rotate_left(32), number as u64);
            self.paths_along(walk, epoch > 1, PATHS, &mut draws)
        };
        let all: Vec<Option<Drawn>> = walks.par_iter().enumerate().map(draw).collect();
        let sizes: Vec<f64> = all.iter().flatten().map(|drawn| drawn.effective_sample_size).collect();
        self.effective_sample_size = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        self.paths = all.into_iter().map(|drawn| drawn.map_or_else(Vec::new, |drawn| drawn.poses)).collect();
    }

    /// Those of an episode, with what the sensors say if they look; none where nothing is known.
    fn paths_along(&self, walk: &Walk, looks: bool, sizes: Sizes, draws: &mut Stream) -> Option<Drawn> {
        let more = if self.has_network() { 1.0 } else { ON_PATHS };
        let tempering = (more * self.tuning.tempering).min(1.0) as f32;
        let bridge: Bridge = self.known(walk).smooth(self.noise)?.bridge().ok()?;
        let seen = || Seen { encoded: Encoded::new(&self.models, walk), tempering, memory: Vec::new() };
        let mut seen = looks.then(seen);
        let evidence = seen.as_mut().map(|seen| seen as &mut dyn Evidence);
        walk.has_label().then(|| draw_paths(&bridge, evidence, sizes, draws))
    }

    fn model_parameters(&self) -> Vec<Named> {
        self.models.iter().flat_map(|model| model.parameters()).collect()
    }

    /// Where a robot may be.
    fn anywhere(&self) -> &Arc<Anywhere> {
        let count = self.settings.global_poses;
        let made = || Arc::new(Anywhere::new(&self.models, &self.normalisation, count, self.seed));
        self.anywhere.get_or_init(made)
    }
}

impl Method for RobotEm {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        (self.shared, self.anywhere) = (OnceLock::new(), OnceLock::new());
        let walks = match self.walks.take() {
            Some(walks) => walks,
            None => walks::load(lessons)?,
        };
        for (number, walk) in walks.iter().enumerate() {
            self.check_images(walk).map_err(|error| error.in_record(format!("episode {number}")))?;
        }
        if epoch == 1 {
            self.models.iter_mut().try_for_each(|model| model.prepare())?;
            self.learn_motion(&walks)?;
        }
        self.held_out = fitting::held_out(&walks);
        if self.supervision == Supervision::BetweenLabels && (epoch > 1 || self.has_network()) {
            self.draw(epoch, &walks);
        }
        let (models, reports) = self.fitted(epoch, &walks);
        self.models = models;
        let surprise = self.calibrate(epoch, &walks);
        let report = self.report(&reports, surprise, &walks);
        self.walks = Some(walks);
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let is_told = |episode: &Trajectory| matches!(episode.start, Some(Start::About { .. }));
        let nowhere = Anywhere::new(&[], &self.normalisation, 1, self.seed);
        let anywhere = if episodes.iter().all(is_told) { &nowhere } else { &**self.anywhere() };
        let one = |number, episode: &Trajectory| self.track_one(anywhere, number, episode, how);
        tracks(&*self.ranks, episodes, how, one)
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.ranks = Arc::clone(ranks);
        false
    }

    fn online_filter(&self, particles: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(Some(self.robot_filter(particles, start)?))
    }

    fn known_paths(
        &self,
        episode: &Trajectory,
        particles: usize,
        how: Smoothing,
    ) -> Result<Option<Vec<Particles>>> {
        let Some(lesson) = labelled(episode)? else { return Ok(None) };
        let (walk, (sizes, mut draws)) = (Walk::new(&lesson), sizes(particles, how));
        self.check_images(&walk)?;
        Ok(columns(self.paths_along(&walk, true, sizes, &mut draws)))
    }

    fn surroundings(&self) -> Surroundings {
        let mut known = Surroundings::default();
        self.models.iter().for_each(|model| model.surroundings(&mut known));
        known
    }

    fn parameters(&self) -> Vec<Named> {
        let mut all = self.model_parameters();
        all.push(named(BIAS, self.bias.0.to_vec()));
        all.push(named(NOISE_FACTOR, vec![self.tuning.noise]));
        all.extend(stored_learned(self.tuning.tempering, self.noise));
        all
    }

    fn memory(&self) -> Vec<Named> {
        let mut all = stored_paths(&self.paths, self.effective_sample_size).to_vec();
        all.extend(self.models.iter().flat_map(|model| model.memory()));
        all
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        (self.shared, self.anywhere) = (OnceLock::new(), OnceLock::new());
        self.models.iter_mut().try_for_each(|model| model.restore(parameters, memory))?;
        (self.tuning.tempering, self.noise) = learned_of(parameters)?;
        self.tuning.noise = match find(parameters, NOISE_FACTOR)? {
            &[factor] if factor.is_finite() && factor > 0.0 => factor,
            _ => return Err(Error::setting(NOISE_FACTOR, "must be one number above 0")),
        };
        let bias = find(parameters, BIAS)?;
        self.bias = Bias(bias.try_into().map_err(|_| Error::setting(BIAS, "must have four numbers"))?);
        if let Some(memory) = memory {
            (self.paths, self.effective_sample_size) = paths_of(memory)?;
        }
        Ok(())
    }
}
