//! An experiment: which method learns what, from how many labels.

mod house;
mod method_name;
mod motion;
mod robot;
mod sensor;
mod sensor_kind;
mod state;

pub use house::{
    HouseBlockStart, HousePseudoLikelihood, HouseSettings, HouseStart, SeenImages, SeenMaps, ThroughFilter,
    ViewGeometry,
};
pub use method_name::MethodName;
pub use motion::{MotionFrame, MotionKind, MotionSettings};
pub use robot::{RobotSettings, RobotStart};
pub(super) use sensor::MOST_EXPECTED;
pub use sensor::{ScanModel, SensorEncoder, SensorSettings};
pub use sensor_kind::SensorKind;
pub use state::{StateKind, StateSettings};

use super::{Ablation, Unlabelled, UnlabelledWeights};
use crate::config;
use crate::error::{Error, Result};
use crate::methods::{Registered, methods_in};
use crate::resample::ResamplerSettings;
use crate::space::Space;
use driftless_world::pose::Frame;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where robots are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorldKind {
    /// In one maze, always the same.
    #[default]
    Maze,
    /// In houses with floor plans, others in every test.
    House,
    /// Wherever somebody's own robot is: a plain log.
    Robot,
}

/// As it is written in experiments.
impl fmt::Display for WorldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Maze => "maze",
            Self::House => "house",
            Self::Robot => "robot",
        })
    }
}

/// As many as `evaluate` takes. More are beyond any memory, and beyond what they could improve.
const MOST_PARTICLES: usize = 1_000_000;
const MOST_EPOCHS: u64 = 1_000_000_000;
/// What TOML can hold, in words.
const LARGEST: &str = "a whole number from 0 to 9223372036854775807";

/// Everything that names a run, but its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    /// Who learns.
    pub method: MethodName,
    /// Share of the steps whose pose is known.
    pub label_fraction: f64,
    /// Episodes to learn from, the first of the file; others may serve for validation.
    pub trajectories: usize,
    /// Most episodes to validate with after each epoch.
    pub validation_episodes: usize,
    /// Epochs from one validation to the next; the first and the last are always validated.
    #[serde(skip_serializing_if = "is_one")]
    pub validation_every: u64,
    /// Training ends where validation has not become better for so many epochs; 0: it never does.
    #[serde(skip_serializing_if = "is_default")]
    pub patience: u64,
    /// Particles in training and validation.
    pub particles: usize,
    /// Passes over the training episodes.
    pub epochs: u64,
    /// Episodes in an update.
    pub batch_size: usize,
    /// Names all random numbers, and which poses are known.
    pub seed: u64,
    /// Standard deviation of the factor by which odometry is multiplied.
    pub odometry_noise: f64,
    /// Standard deviation of the noise added to pixels, of 255.
    pub pixel_noise: f64,
    /// Side of the part cut out of each image: anywhere in training, in the middle otherwise.
    pub crop: usize,
    /// What is left out of the method `driftless` in mazes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ablation: Vec<Ablation>,
    /// What `driftless` in mazes learns from steps without a label.
    #[serde(skip_serializing_if = "is_paths")]
    pub unlabelled: Vec<Unlabelled>,
    /// Whether kernels by hand take the place of tensors where there are some: faster, the same but for rounding.
    #[serde(skip_serializing_if = "is_true")]
    pub kernels: bool,
    /// How particles are resampled; a method's own way without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resampler: Option<ResamplerSettings>,
    /// How much these objectives count.
    #[serde(skip_serializing_if = "is_default")]
    pub unlabelled_weights: UnlabelledWeights,
    /// Where robots are.
    #[serde(skip_serializing_if = "is_default")]
    pub world: WorldKind,
    /// Settings of experiments in houses.
    #[serde(skip_serializing_if = "is_default")]
    pub house: HouseSettings,
    /// Settings of experiments with logs of one's own.
    #[serde(skip_serializing_if = "is_default")]
    pub robot: RobotSettings,
    /// What of the robot is followed, for logs of one's own.
    #[serde(skip_serializing_if = "is_default")]
    pub state: StateSettings,
    /// How actions of such logs are written.
    #[serde(skip_serializing_if = "is_default")]
    pub motion: MotionSettings,
    /// The robot's sensors, for logs of one's own; none means what the log looks like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensor: Vec<SensorSettings>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_one(value: &u64) -> bool {
    *value == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_true(value: &bool) -> bool {
    *value
}

fn is_paths(objectives: &[Unlabelled]) -> bool {
    objectives == [Unlabelled::Paths]
}

impl Default for Experiment {
    /// The paper's maze experiment, with ten per cent of noise on odometry.
    fn default() -> Self {
        Self {
            method: MethodName::default(),
            label_fraction: 0.1,
            trajectories: 100,
            validation_episodes: 50,
            validation_every: 1,
            patience: 0,
            particles: 100,
            epochs: 100,
            batch_size: 32,
            seed: 1,
            odometry_noise: 0.1,
            pixel_noise: 20.0,
            crop: 24,
            ablation: Vec::new(),
            unlabelled: vec![Unlabelled::Paths],
            kernels: true,
            resampler: None,
            unlabelled_weights: UnlabelledWeights::default(),
            world: WorldKind::Maze,
            house: HouseSettings::default(),
            robot: RobotSettings::default(),
            state: StateSettings::default(),
            motion: MotionSettings::default(),
            sensor: Vec::new(),
        }
    }
}

impl Experiment {
    /// Understands a text in TOML with some settings replaced, each `key=value`; words need no quotes.
    ///
    /// ```
    /// use driftless::learn::Experiment;
    /// let settings = ["label_fraction=0.25".into(), "method=lstm".into()];
    /// let experiment = Experiment::parse("method = 'dpf'", &settings)?;
    /// assert_eq!((experiment.method.id, experiment.label_fraction), ("lstm", 0.25));
    /// let error = Experiment::parse("", &["epohcs=1".into()]).unwrap_err();
    /// assert!(error.to_string().contains("did you mean `epochs`?"));
    /// let error = Experiment::parse("labels = 0.25", &[]).unwrap_err();
    /// assert!(error.to_string().contains("`labels` is now called `label_fraction`"));
    /// # Ok::<(), driftless::Error>(())
    /// ```
    pub fn parse(text: &str, replaced: &[String]) -> Result<Self> {
        // Parsed by itself first, so that errors have the lines of the text.
        config::parse::<Self>(text)?;
        let mut settings: toml::Table = config::parse(text)?;
        for setting in replaced {
            merge(&mut settings, replacement(setting)?);
        }
        let experiment: Self = config::parse(&settings.to_string())?;
        experiment.check()?;
        Ok(experiment)
    }

    /// The same with some settings replaced, each `key=value`.
    ///
    /// ```
    /// # use driftless::learn::Experiment;
    /// let noisy = Experiment::default().with(&["odometry_noise=0.2".into()])?;
    /// assert_eq!((noisy.odometry_noise, noisy.epochs), (0.2, Experiment::default().epochs));
    /// # Ok::<(), driftless::Error>(())
    /// ```
    pub fn with(&self, replaced: &[String]) -> Result<Self> {
        if replaced.is_empty() {
            return Ok(self.clone());
        }
        Self::parse(&self.to_toml()?, replaced)
    }

    /// As a file of experiments has it.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::setting("experiment", error.to_string()))
    }

    /// The line of the registry that its method has in its world, if it works there.
    pub fn registered(&self) -> Option<&'static Registered> {
        methods_in(self.world).find(|method| method.id == self.method.id)
    }

    /// Whether a sensor has its map or its beacons from a file, so that a robot can be found without any label.
    pub fn has_given_map(&self) -> bool {
        self.world == WorldKind::Robot && self.sensor.iter().any(SensorSettings::needs_no_labels)
    }

    /// What tables and legends call its method, with what it learns from unlabelled steps if that is not the usual.
    ///
    /// ```
    /// # use driftless::learn::Experiment;
    /// let named = |unlabelled: &str| Experiment::parse("", &[format!("unlabelled={unlabelled}")]).map(|e| (e.arm(), e.label()));
    /// let expected = ("driftless-paths-evidence".into(), "Driftless, labels + soft labels + evidence".into());
    /// assert_eq!(named("['paths', 'evidence']")?, expected);
    /// assert_eq!(named("[]")?, ("driftless-supervised".into(), "Driftless, labels only".into()));
    /// # Ok::<(), driftless::Error>(())
    /// ```
    pub fn label(&self) -> String {
        let usual = self.registered().map_or(self.method.id, |method| method.label);
        match &self.unlabelled[..] {
            [Unlabelled::Paths] => usual.to_owned(),
            [] => "Driftless, labels only".to_owned(),
            all => all.iter().fold("Driftless, labels".to_owned(), |label, one| label + " + " + one.label()),
        }
    }

    /// What records call its method: as it is named here, with what it learns from unlabelled steps if that is not the
    /// usual.
    pub fn arm(&self) -> String {
        match &self.unlabelled[..] {
            [Unlabelled::Paths] => self.method.id.to_owned(),
            [] => format!("{}-supervised", self.method.id),
            all => all.iter().fold(self.method.id.to_owned(), |name, one| name + "-" + one.name()),
        }
    }

    /// Particles that epochs are validated with.
    ///
    /// ```
    /// # use driftless::learn::Experiment;
    /// let text = "particles = 30\n[house]\nvalidation_particles = 100";
    /// let in_house = Experiment::parse(text, &["world=house".into()])?;
    /// assert_eq!(in_house.validation_particles(), 100);
    /// assert_eq!(Experiment::parse(text, &[])?.validation_particles(), 30);
    /// # Ok::<(), driftless::Error>(())
    /// ```
    pub fn validation_particles(&self) -> usize {
        let own = self.house.validation_particles;
        if self.world == WorldKind::House && own > 0 { own } else { self.particles }
    }

    /// Standard deviations of what is told of a first state of named coordinates.
    pub fn start_spread(&self) -> Vec<f64> {
        let (space, robot) = (self.state.space(), &self.robot);
        let usual = |k: usize| {
            if space.is_angle(k) { robot.start_degrees.to_radians() } else { robot.start_distance }
        };
        let told = |k: usize| self.state.start_spread.get(k).copied().unwrap_or_else(|| usual(k));
        (0..space.dimension()).map(told).collect()
    }

    /// The frame that actions are written in.
    pub fn frame(&self) -> Frame {
        match self.world {
            WorldKind::Maze => Frame::Reflected,
            WorldKind::House => Frame::Robot,
            WorldKind::Robot => self.motion.frame(self.state.kind),
        }
    }

    /// Fails if a setting is out of its range.
    pub fn check(&self) -> Result<()> {
        let share = (0.0..=1.0).contains(&self.label_fraction);
        config::check("label_fraction", self.label_fraction, share, "a share from 0 to 1")?;
        if let Some(resampler) = &self.resampler {
            resampler.build(Space::SE2).map_err(|error| error.under("resampler"))?;
        }
        let has_parts = self.world == WorldKind::Maze && self.method.id.starts_with("driftless");
        if !has_parts && !self.ablation.is_empty() {
            return Err(Error::setting("ablation", "is for driftless in mazes: others have no such parts"));
        }
        self.check_unlabelled()?;
        self.check_counts()?;
        self.house.check()?;
        self.robot.check()?;
        let own = self.state == StateSettings::default() && self.motion == MotionSettings::default();
        if self.world != WorldKind::Robot && !own {
            return Err(Error::setting("motion", "and state are for logs of one's own: world = \"robot\""));
        }
        self.state.check()?;
        let is_planar = self.state.is_planar();
        self.sensor
            .iter()
            .try_for_each(|sensor| sensor.check().and_then(|()| sensor.check_state(is_planar)))?;
        let twice =
            |(k, sensor): &(usize, &SensorSettings)| self.sensor[..*k].iter().any(|s| s.name == sensor.name);
        if let Some((_, sensor)) = self.sensor.iter().enumerate().find(twice) {
            return Err(Error::setting("sensor", format!("has two of the name `{}`", sensor.name)));
        }
        let share = (0.0..=10.0).contains(&self.odometry_noise);
        config::check("odometry_noise", self.odometry_noise, share, "a share from 0 to 10")?;
        let visible = (0.0..=1000.0).contains(&self.pixel_noise);
        config::check("pixel_noise", self.pixel_noise, visible, "from 0 to 1000, as pixels are from 0 to 255")
    }

    fn check_unlabelled(&self) -> Result<()> {
        let usual = is_paths(&self.unlabelled) && self.unlabelled_weights == UnlabelledWeights::default();
        let has_choice = self.world == WorldKind::Maze && self.method.id == "driftless";
        if !usual && !has_choice {
            return Err(Error::setting("unlabelled", "is for driftless in mazes: others have no choice"));
        }
        let twice = |(k, one): &(usize, &Unlabelled)| self.unlabelled[..*k].contains(one);
        if let Some((_, one)) = self.unlabelled.iter().enumerate().find(twice) {
            return Err(Error::setting("unlabelled", format!("has `{}` twice", one.name())));
        }
        self.unlabelled_weights.check()
    }

    fn check_counts(&self) -> Result<()> {
        let counts = [
            ("trajectories", self.trajectories),
            ("particles", self.particles),
            ("epochs", self.epochs as usize),
            ("validation_every", self.validation_every as usize),
            ("batch_size", self.batch_size),
            ("crop", self.crop),
        ];
        for (key, count) in counts {
            config::check(key, count, count > 0, "at least 1")?;
        }
        for (key, count) in [("particles", self.particles), ("particles", self.validation_particles())] {
            config::check(key, count, count <= MOST_PARTICLES, "at most 1000000")?;
        }
        config::check("epochs", self.epochs, self.epochs <= MOST_EPOCHS, "at most 1000000000")?;
        for (key, epochs) in [("validation_every", self.validation_every), ("patience", self.patience)] {
            config::check(key, epochs, epochs <= MOST_EPOCHS, "at most 1000000000")?;
        }
        config::check("seed", self.seed, i64::try_from(self.seed).is_ok(), LARGEST)
    }
}

/// Puts new values in the place of old ones, in tables of tables too.
fn merge(into: &mut toml::Table, new: toml::Table) {
    for (key, value) in new {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// `key=value` or `house.key=value` as a table, which an experiment has.
fn replacement(setting: &str) -> Result<toml::Table> {
    let wrong = |problem: String| Error::setting(setting, problem);
    let Some((key, value)) = setting.split_once('=') else {
        return Err(wrong("is not of the form key=value".to_owned()));
    };
    let (key, value) = (key.trim(), value.trim());
    let number = config::parse::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut one| one.remove("value"));
    if number.is_none() && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(format!("must be {LARGEST}")));
    }
    let value = number.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut names = key.rsplit('.');
    let inner = names.next().unwrap_or_default();
    let mut table = toml::Table::from_iter([(inner.to_owned(), value)]);
    for name in names {
        table = toml::Table::from_iter([(name.to_owned(), toml::Value::Table(table))]);
    }
    match config::parse::<Experiment>(&table.to_string()) {
        Ok(_) => Ok(table),
        Err(Error::Setting { problem, .. }) => Err(wrong(problem)),
        Err(other) => Err(other),
    }
}
