//! Plain logs as methods are trained and examined with: with the odometry's own noise, and with what a robot is told of its
//! first pose.

use super::{Purpose, Robots};
use crate::batch::shrunk;
use crate::learn::{Experiment, MotionSettings, RobotSettings, RobotStart, StateKind, StateSettings};
use driftless_world::evaluation::Thresholds;
use driftless_world::files::{DataFile, Format, ReadOptions};
use driftless_world::random::Random;
use driftless_world::trajectory::{Camera, Coordinates, Images, Observations, Start};
use driftless_world::{Error, Result, Trajectory};
use std::path::Path;

/// The longer side of images as methods see them: larger ones are shrunk.
pub const MOST_SIDE: usize = 32;
/// Images that are larger are refused.
const LARGEST_SIDE: usize = 4096;

/// A file of a robot's own episodes.
pub struct Logs {
    file: Box<dyn DataFile>,
    settings: RobotSettings,
    /// Height, width and channels of an observation, as methods see it.
    shape: [usize; 3],
    state: StateSettings,
    /// Of named coordinates, what is told of the first state.
    start_spread: Vec<f64>,
    motion: MotionSettings,
    noise: f64,
    seed: u64,
    /// Whether robots are told where they start: in training labels are all that is known.
    told: bool,
}

impl Logs {
    /// Opens a file of planar poses, or of states of named coordinates.
    pub fn open(path: &Path, experiment: &Experiment, seed: u64, purpose: Purpose) -> Result<Self> {
        let seed = purpose.seed(seed);
        let file = Format::of(path)?.open(path, &ReadOptions::default())?;
        let first = file.get(0)?;
        let (state, motion) = (experiment.state.clone(), experiment.motion);
        motion.lived(&state, first.clone()).map_err(|error| error.in_file(path))?;
        let wrong = |field: &str, problem: String| Err(Error::new(problem).in_field(field).in_file(path));
        let (shape, width) = match &first.observations {
            Observations::Vectors(rows) => ([1, rows.width(), 1], rows.width()),
            Observations::Images(images) => (seen_shape(images).map_err(|e| e.in_file(path))?, 0),
        };
        if let Some(camera) = &first.camera {
            seen_shape(&camera.images).map_err(|error| error.in_file(path))?;
        }
        let has_images = width == 0 || first.camera.is_some();
        if !has_images && experiment.sensor.iter().any(|sensor| sensor.kind.sees()) {
            return wrong("images", "are missing: a sensor looks at images".to_owned());
        }
        let behind = experiment.sensor.iter().map(|sensor| sensor.columns[1]).max().unwrap_or(0);
        if behind > width {
            let problem = format!("has {width} columns, but a sensor's go up to {behind}");
            return wrong("observations", problem);
        }
        Ok(Self {
            shape,
            file,
            settings: experiment.robot.clone(),
            state,
            start_spread: experiment.start_spread(),
            motion,
            noise: experiment.odometry_noise,
            seed,
            told: purpose != Purpose::Training,
        })
    }

    /// An episode as the robot lives it.
    fn lived(&self, index: usize) -> Result<Trajectory> {
        let mut episode = self.motion.lived(&self.state, self.file.get(index)?)?;
        if let Observations::Images(images) = episode.observations {
            episode.observations = Observations::Images(shrunk(images, MOST_SIDE));
        }
        if let Some(camera) = episode.camera {
            episode.camera = Some(Camera { images: shrunk(camera.images, MOST_SIDE), ..camera });
        }
        let mut random = Random::stream(self.seed, index as u64);
        if self.noise > 0.0 {
            for number in episode.actions.values_mut() {
                *number *= (1.0 + self.noise * random.normal()) as f32;
            }
        }
        if !self.told {
            return Ok(episode);
        }
        let start = self.settings.start;
        // A robot can be told where it is from the first step on at which somebody knows it.
        let first = (0..episode.len()).find(|&t| episode.states.get(t).is_some());
        if let Some(first) = first.filter(|&first| first > 0 && start == RobotStart::Tracking) {
            episode = episode.from_step(first);
        }
        episode.start = Some(match (start, episode.states.get(0)) {
            (RobotStart::Tracking, Some(first)) if self.state.is_planar() => {
                self.told_pose(first, &mut random)
            }
            (RobotStart::Tracking, Some(first)) => self.told_state(first, &mut random)?,
            _ => Start::House,
        });
        Ok(episode)
    }

    /// About where a robot in the plane is.
    fn told_pose(&self, first: &[f32], random: &mut Random) -> Start {
        let RobotSettings { start_distance, start_degrees, .. } = self.settings;
        let turned = if self.state.kind == StateKind::Pose { start_degrees.to_radians() } else { 0.0 };
        let spread = [start_distance, start_distance, turned].map(|x| x as f32);
        let pose = std::array::from_fn(|k| first[k] + spread[k] * random.normal() as f32);
        Start::About { pose, spread }
    }

    /// About which state it is.
    fn told_state(&self, first: &[f32], random: &mut Random) -> Result<Start> {
        let about =
            first.iter().zip(&self.start_spread).map(|(&x, spread)| f64::from(x) + spread * random.normal());
        let [mean, spread] =
            [&about.collect::<Vec<_>>(), &self.start_spread].map(|numbers| Coordinates::new(numbers));
        let both = mean.zip(spread).map(|(mean, spread)| Start::State { mean, spread });
        both.ok_or_else(|| Error::new("has too many numbers a step").in_field("poses"))
    }
}

impl Robots for Logs {
    fn len(&self) -> usize {
        self.file.len()
    }

    /// Steps of the first episode.
    fn steps(&self) -> crate::Result<usize> {
        Ok(self.lived(0)?.len())
    }

    /// Of an observation, as methods see it; a vector has one line.
    fn image(&self) -> [usize; 3] {
        self.shape
    }

    fn get(&self, index: usize) -> crate::Result<Trajectory> {
        Ok(self.lived(index)?)
    }

    /// Of named coordinates, whose units differ, each is divided by its deviation.
    fn unit(&self) -> &str {
        if self.state.is_planar() { &self.settings.unit } else { "deviations" }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds { lost: self.settings.lost, localised: self.settings.lost }
    }

    /// Episodes may have any length.
    fn differs(
        &self,
        _: Option<usize>,
        [height, width]: [usize; 2],
        whose: &str,
    ) -> crate::Result<Option<(&str, String)>> {
        let [own_height, own_width, _] = self.shape;
        let problem = format!(
            "has observations of {own_height} x {own_width} numbers, but {whose} of {height} x {width}; they must agree"
        );
        Ok(([own_height, own_width] != [height, width]).then_some(("observations", problem)))
    }
}

/// Height, width and channels of images as methods see them. Fails if they are not what cameras make.
fn seen_shape(images: &Images) -> Result<[usize; 3]> {
    let Images { height, width, channels, .. } = *images;
    let problem = if height.max(width) > LARGEST_SIDE {
        format!("has images of {height} x {width}; {LARGEST_SIDE} is the longest side")
    } else if !matches!(channels, 1 | 3 | 4) {
        format!("has images of {channels} channels; 1, 3 and 4 are known")
    } else {
        let small = |size: usize| (size * MOST_SIDE).div_ceil(height.max(width)).min(size);
        return Ok([small(height), small(width), channels]);
    };
    Err(Error::new(problem).in_field("observations or images"))
}
