//! A robot's own log: what its sensors measure is a map or a network, which is learned with the paths of the robot.
//!
//! Label-anchored expectation maximisation. Odometry is calibrated by the labels; labels and odometry make Gaussian
//! bridges; particles on them, weighted by what the sensors say, give paths (E-step); from the paths the map is made:
//! what a scanner's beams meet, where beacons and landmarks stand, and how exact readings are (M-step). The supervised
//! twin makes its map at labels alone, which is classical localisation on a map of the labelled scans.

mod beacons;
mod calibration;
mod motion;
mod network;
mod odometry;
mod scan;
mod sensor;
mod tracks;
mod walks;

pub use odometry::RobotOdometry;

use super::anchored::Supervision;
use super::anchored::noise::{self, Known, Noise};
use super::anchored::paths::{Drawn, Evidence, Sizes, draw_paths};
use super::anchored::store::{find, learned_of, named, paths_of, stored_learned, stored_paths};
use crate::error::{Error, Result};
use crate::learn::{
    EpochReport, Experiment, Method, MotionKind, Normalisation, RobotSettings, SensorKind, Tracking, TrainingSet,
};
use crate::parameters::Named;
use crate::resample::ResamplerSettings;
use crate::smooth::chain::Bridge;
use driftless_core::{Filter, Stream};
use driftless_world::evaluation::Track;
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Start, Trajectory};
use motion::Bias;
use network::World;
use rayon::prelude::*;
use sensor::{Anywhere, Encoded, Example, Model, Seen, model_of};
use std::sync::OnceLock;
use walks::Walk;

/// Particles on a bridge, and paths drawn of them.
const PATHS: Sizes = Sizes { particles: 200, paths: 4 };
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

/// The methods `driftless` and `driftless-supervised` for logs of one's own.
pub struct RobotEm {
    supervision: Supervision,
    models: Vec<Box<dyn Model>>,
    /// Whether one of them looks at images.
    sees: bool,
    settings: RobotSettings,
    frame: Frame,
    /// Standard deviations of position and heading in a step whose odometry is missing.
    missing: [f32; 2],
    normalisation: Normalisation,
    seed: u64,
    bias: Bias,
    noise: Noise,
    tuning: Tuning,
    /// M poses at each step of each episode, as drawn last; empty where nothing is known.
    paths: Vec<Vec<Vec<[f32; 3]>>>,
    effective_sample_size: f64,
    filter: Filter,
    /// Which episodes networks are kept from.
    held_out: Vec<bool>,
    /// Made when missing.
    walks: Option<Vec<Walk>>,
    /// Where a robot may be, made when one may be anywhere.
    anywhere: OnceLock<Anywhere>,
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
        if experiment.label_fraction <= 0.0 {
            return Err(Error::setting("label_fraction", "must be above 0: a map needs some known poses"));
        }
        let world = World { normalisation, seed: experiment.seed, epochs: experiment.epochs };
        Ok(Self {
            supervision,
            models: experiment.sensor.iter().map(|sensor| model_of(sensor, &world)).collect(),
            sees: experiment.sensor.iter().any(|sensor| sensor.kind == SensorKind::Image),
            settings: experiment.robot.clone(),
            frame: experiment.frame(),
            missing: match experiment.motion.kind {
                // The noise that is learned is then all that the robot may do.
                MotionKind::None => [0.0; 2],
                MotionKind::Odometry | MotionKind::Velocity => normalisation.missing_motion(),
            },
            normalisation: normalisation.clone(),
            seed: experiment.seed,
            bias: Bias::default(),
            noise: noise::first_noise(normalisation.step_size),
            tuning: Tuning { tempering: FIRST_TEMPERING, noise: 1.0 },
            paths: Vec::new(),
            effective_sample_size: 0.0,
            filter: ResamplerSettings::apply(experiment.resampler.as_ref(), Filter::bootstrap(1))?,
            held_out: Vec::new(),
            walks: None,
            anywhere: OnceLock::new(),
        })
    }

    /// Calibrates odometry and its noise by the labels.
    fn learn_motion(&mut self, walks: &[Walk]) -> Result<()> {
        if !walks.iter().any(Walk::has_label) {
            return Err(Error::setting("label_fraction", "left no pose known: a map needs some"));
        }
        self.bias = Bias::fit(walks, self.frame, self.normalisation.step_size);
        let mut chains: Vec<&Walk> = walks.iter().filter(|walk| walk.has_label()).collect();
        chains.sort_by_key(|walk| std::cmp::Reverse(walk.labels.iter().flatten().count()));
        let chains: Vec<Known> = chains.iter().map(|walk| self.known(walk)).collect();
        self.noise = noise::learn(&chains, self.normalisation.step_size);
        Ok(())
    }

    fn known(&self, walk: &Walk) -> Known {
        let actions = walk.actions.iter().map(|action| self.bias.corrected(action.map(f64::from)).to_vec());
        Known::new(self.frame, actions.collect(), &walk.labels).with_missing(self.missing)
    }

    /// The E-step: paths by labels, odometry and what the sensors say with what they learned so far, if anything.
    fn draw(&mut self, epoch: u64, walks: &[Walk]) {
        let draw = |(number, walk): (usize, &Walk)| -> Option<Drawn> {
            let bridge: Bridge = self.known(walk).smooth(self.noise)?.bridge().ok()?;
            let mut seen = (epoch > 1).then(|| Seen {
                encoded: Encoded::new(&self.models, walk),
                tempering: self.tuning.tempering as f32,
            });
            let evidence = seen.as_mut().map(|seen| seen as &mut dyn Evidence);
            let mut draws = Stream::new(self.seed ^ epoch.rotate_left(32), number as u64);
            walk.has_label().then(|| draw_paths(&bridge, evidence, PATHS, &mut draws))
        };
        let all: Vec<Option<Drawn>> = walks.par_iter().enumerate().map(draw).collect();
        let sizes: Vec<f64> = all.iter().flatten().map(|drawn| drawn.effective_sample_size).collect();
        self.effective_sample_size = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        self.paths = all.into_iter().map(|drawn| drawn.map_or_else(Vec::new, |drawn| drawn.poses)).collect();
    }

    /// What is learned from: readings, and the poses they may have been taken at; at labels alone if asked.
    fn examples<'a>(
        &'a self,
        walks: &'a [Walk],
        at_labels: bool,
        is_used: impl Fn(usize) -> bool,
    ) -> Vec<Example<'a>> {
        let mut examples = Vec::new();
        for (number, walk) in walks.iter().enumerate().filter(|(number, _)| is_used(*number)) {
            for (t, label) in walk.labels.iter().enumerate() {
                let drawn = self.paths.get(number).and_then(|path| path.get(t)).filter(|_| !at_labels);
                let poses = match (label, drawn) {
                    (Some(label), _) => std::slice::from_ref(label),
                    (None, Some(poses)) => poses,
                    (None, None) => continue,
                };
                examples.push(Example { seen: walk.at(t), poses });
            }
        }
        examples
    }

    /// The M-step. The first maps are made at labels, where nothing is in doubt; networks need more than those.
    fn fitted(&self, epoch: u64, walks: &[Walk]) -> (Vec<Box<dyn Model>>, Vec<EpochReport>) {
        let mut reports = Vec::new();
        let fit = |model: &Box<dyn Model>| {
            let mut model = model.fresh();
            let examples = if model.goes_on() {
                self.examples(walks, false, |number| !self.held_out[number])
            } else {
                self.examples(walks, epoch == 1, |_| true)
            };
            reports.extend(model.fit(epoch, &examples));
            model
        };
        (self.models.iter().map(fit).collect(), reports)
    }

    /// What maps of some episodes are, beside networks as they are.
    fn others(&self, epoch: u64, walks: &[Walk], is_used: impl Fn(usize) -> bool) -> Vec<Box<dyn Model>> {
        let mut models: Vec<Box<dyn Model>> = self.models.iter().map(|model| model.fresh()).collect();
        for model in models.iter_mut().filter(|model| !model.goes_on()) {
            model.fit(epoch, &self.examples(walks, epoch == 1, &is_used));
        }
        models
    }

    /// What an epoch came to: of several networks, the means.
    fn report(&self, reports: Vec<EpochReport>, surprise: Option<f64>, drawn: bool) -> EpochReport {
        let mean = |of: &dyn Fn(&EpochReport) -> f64| {
            reports.iter().map(of).sum::<f64>() / reports.len().max(1) as f64
        };
        let contrast = (!reports.is_empty())
            .then(|| mean(&|report| report.losses.first().map_or(0.0, |(_, loss)| *loss)));
        let losses = [("contrast", contrast), ("surprise at held-out labels", surprise)];
        EpochReport {
            losses: losses.iter().filter_map(|(name, loss)| Some(((*name).to_owned(), (*loss)?))).collect(),
            updates: if reports.is_empty() { 1 } else { reports.iter().map(|report| report.updates).sum() },
            skipped: reports.iter().map(|report| report.skipped).sum(),
            gradient_norm: mean(&|report| report.gradient_norm),
            effective_sample_size: drawn.then_some(self.effective_sample_size),
        }
    }

    fn has_network(&self) -> bool {
        self.models.iter().any(|model| model.goes_on())
    }

    /// Fails if images are not as large as those that are learned from.
    fn check_images(&self, walk: &Walk) -> driftless_world::Result<()> {
        let wanted = self.normalisation.pixels.shape();
        match walk.image_shape().filter(|found| self.sees && *found != wanted) {
            None => Ok(()),
            Some([channels, height, width]) => {
                let problem = format!(
                    "has images of {height} x {width} pixels and {channels} channels, as networks see them, but {} x {} and \
                     {} are wanted",
                    wanted[1], wanted[2], wanted[0]
                );
                Err(driftless_world::Error::new(problem).in_field("images"))
            }
        }
    }
}

/// Every so many episodes with labels networks are kept from one, to calibrate on.
const KEPT_FROM: usize = 6;
/// With fewer episodes than this nothing is held out, and the tempering stays what it was.
const LEAST_EPISODES: usize = 4;

/// Which episodes are held out: the last of each six that have labels, or of fewer.
fn held_out(walks: &[Walk]) -> Vec<bool> {
    let labelled: Vec<usize> = (0..walks.len()).filter(|number| walks[*number].has_label()).collect();
    let mut held = vec![false; walks.len()];
    if labelled.len() >= LEAST_EPISODES {
        let every = KEPT_FROM.min(labelled.len());
        labelled.iter().skip(every - 1).step_by(every).for_each(|&number| held[number] = true);
    }
    held
}

impl Method for RobotEm {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        let walks = match self.walks.take() {
            Some(walks) => walks,
            None => walks::load(lessons)?,
        };
        for (number, walk) in walks.iter().enumerate() {
            self.check_images(walk).map_err(|error| error.in_record(format!("episode {number}")))?;
        }
        if epoch == 1 {
            self.learn_motion(&walks)?;
        }
        self.held_out = held_out(&walks);
        self.anywhere = OnceLock::new();
        let drawn = self.supervision == Supervision::BetweenLabels && (epoch > 1 || self.has_network());
        if drawn {
            self.draw(epoch, &walks);
        }
        let (models, reports) = self.fitted(epoch, &walks);
        self.models = models;
        let surprise = self.calibrate(epoch, &walks);
        self.walks = Some(walks);
        Ok(self.report(reports, surprise, drawn))
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        let is_told = |episode: &Trajectory| matches!(episode.start, Some(Start::About { .. }));
        let anywhere = |count: usize| Anywhere::new(&self.models, &self.normalisation, count, self.seed);
        let nowhere = anywhere(1);
        let anywhere = if episodes.iter().all(is_told) {
            &nowhere
        } else {
            self.anywhere.get_or_init(|| anywhere(self.settings.global_poses))
        };
        let one = |(number, episode)| self.track_one(anywhere, number, episode, how);
        episodes.par_iter().enumerate().map(one).collect()
    }

    fn parameters(&self) -> Vec<Named> {
        let mut all: Vec<Named> = self.models.iter().flat_map(|model| model.parameters()).collect();
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
        self.models.iter_mut().try_for_each(|model| model.restore(parameters, memory))?;
        self.anywhere = OnceLock::new();
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
