//! Maze recordings as DPF publishes them: an npz file with `pose`, `vel` and `rgbd`, episode after episode.
//!
//! [`DpfFile`] gives what DPF's own loader gives: 32-bit arithmetic, headings in radians wrapped to
//! [-π, π), actions from consecutive poses in the reflected frame, the first step dropped. Noise,
//! crops and shuffles are its test conditions; each is drawn from a seed and the episode's number,
//! so that the order of reading does not matter.

mod noise;
mod recording;
mod writer;

pub use noise::{Crop, Inputs};
pub use recording::Recording;
pub use writer::DpfWriter;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::DataFile;
use crate::files::array::Array;
use crate::files::npz::NpzFile;
use crate::files::provenance::Provenance;
use crate::files::source::Source;
use crate::random::Random;
use crate::trajectory::{Labels, Observations, Rows, Trajectory};
use noise::Shuffle;
use recording::{Shapes, motion, state};
use std::path::{Path, PathBuf};

/// How recordings become trajectories.
#[derive(Clone, Debug, PartialEq)]
pub struct DpfOptions {
    /// Recorded steps of an episode. If `None`, what the file's [`Provenance`] says, or else 100, as
    /// in DPF's data: the layout itself does not say.
    pub steps_per_episode: Option<usize>,
    /// Each number of an action is multiplied by N(1, this²). DPF's default condition has 0.1.
    pub odometry_noise: f32,
    /// Which part of an image is seen. DPF crops 32 × 32 to 24 × 24.
    pub crop: Crop,
    /// N(0, this²) is added to each number of an image. DPF's default condition has 20.
    pub pixel_noise: f32,
    /// Names the noise, the random crops and the shuffles.
    pub seed: u64,
    /// Keep the fourth channel, depth.
    pub depth: bool,
    /// Which inputs carry information.
    pub inputs: Inputs,
}

impl Default for DpfOptions {
    fn default() -> Self {
        Self {
            steps_per_episode: None,
            odometry_noise: 0.0,
            crop: Crop::None,
            pixel_noise: 0.0,
            seed: 0,
            depth: false,
            inputs: Inputs::Both,
        }
    }
}

/// A DPF-style file, read episode by episode.
#[derive(Clone, Debug)]
pub struct DpfFile {
    path: Option<PathBuf>,
    options: DpfOptions,
    shapes: Shapes,
    poses: Array,
    velocities: Option<Array>,
    images: Array,
    shuffle: Option<Shuffle>,
    comment: String,
}

impl DpfFile {
    /// Opens a file and checks its arrays against each other and the options.
    pub fn open(path: impl AsRef<Path>, options: DpfOptions) -> Result<Self> {
        let path = path.as_ref();
        let named = |error: Error| error.in_file(path);
        let mut file = Self::from_source(Source::open(path)?, options).map_err(named)?;
        file.path = Some(path.to_path_buf());
        Ok(file)
    }

    /// The same for bytes from anywhere.
    pub fn from_source(source: Source, options: DpfOptions) -> Result<Self> {
        let npz = NpzFile::from_source(source)?;
        let poses = npz.array("pose")?;
        let velocities = npz.contains("vel").then(|| npz.array("vel")).transpose()?;
        let images = npz.array("rgbd")?;
        let comment = npz.comment();
        let told = Provenance::parse(&comment).and_then(|provenance| provenance.steps);
        let steps = options.steps_per_episode.or(told).unwrap_or(100);
        let shapes = Shapes::check(&poses, velocities.as_ref(), &images, (steps, options.depth))?;
        options.crop.check(shapes.height, shapes.width)?;
        for (name, std) in [("odometry_noise", options.odometry_noise), ("pixel_noise", options.pixel_noise)]
        {
            if !(std.is_finite() && std >= 0.0) {
                return Err(Error::new(format!(
                    "the standard deviation {name} is {std}; it must be 0 or more"
                )));
            }
        }
        let shuffle = Shuffle::new(options.inputs, shapes.episodes * (shapes.steps - 1), options.seed);
        Ok(Self { path: None, options, shapes, poses, velocities, images, shuffle, comment })
    }

    /// The same file with its depth channel, if it has one.
    pub fn with_depth(mut self) -> Self {
        self.options.depth = self.shapes.channels == 4;
        self
    }

    /// Recorded steps of an episode, the first included.
    pub fn steps_per_episode(&self) -> usize {
        self.shapes.steps
    }

    /// Height, width and channels of the recorded images.
    pub fn image_shape(&self) -> [usize; 3] {
        [self.shapes.height, self.shapes.width, self.shapes.channels]
    }

    /// Episode `index` with crops and pixel noise named by `noise_seed`, to redraw them each epoch. The
    /// noise of the odometry stays that of the options' seed: a robot drives once, and a learner that saw
    /// its odometry with ever new noise could average the noise away.
    pub fn get_with(&self, index: usize, noise_seed: u64) -> Result<Trajectory> {
        self.trajectory(index, noise_seed).map_err(|error| self.named(error, index))
    }

    /// Episode `index` as it is in the file.
    pub fn recording(&self, index: usize) -> Result<Recording> {
        self.recorded(index).map_err(|error| self.named(error, index))
    }

    fn named(&self, error: Error, index: usize) -> Error {
        let error = error.in_record(format!("episode {index}"));
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    fn trajectory(&self, index: usize, noise_seed: u64) -> Result<Trajectory> {
        let poses = self.checked_poses(index)?;
        let mut random = Random::stream(self.options.seed, index as u64);
        let mut actions = self.actions(index, &poses)?;
        noise::scale(&mut actions, self.options.odometry_noise, &mut random);
        if noise_seed != self.options.seed {
            random = Random::stream(noise_seed, index as u64);
        }
        let mut images = self.kept_images(index)?;
        images = noise::cropped(images, self.options.crop, &mut random);
        noise::add(&mut images, self.options.pixel_noise, &mut random);
        let mut states = Labels::new(3);
        poses[1..].iter().for_each(|&pose| states.push(Some(&state(pose))));
        Trajectory::new(Observations::Images(images), Rows::new(3, actions)?, states)
    }

    /// The action into each step but the first; from anywhere in the data set if they are shuffled.
    fn actions(&self, index: usize, poses: &[[f64; 3]]) -> Result<Vec<f32>> {
        let Some(places) = self.shuffle.as_ref().and_then(|shuffle| shuffle.actions(index, self.shapes))
        else {
            return Ok(poses.windows(2).flat_map(|pair| motion(pair[0], pair[1])).collect());
        };
        let mut actions = Vec::with_capacity(places.len() * 3);
        for row in places {
            let pair = recording::poses(&self.poses, row - 1..row + 1)?;
            recording::check_finite(&pair, row - 1, self.shapes.steps)?;
            actions.extend(motion(pair[0], pair[1]));
        }
        Ok(actions)
    }
}

impl Dataset for DpfFile {
    type Episode = Trajectory;

    fn len(&self) -> usize {
        self.shapes.episodes
    }

    fn get(&self, index: usize) -> Result<Trajectory> {
        self.get_with(index, self.options.seed)
    }
}

impl DataFile for DpfFile {
    fn comment(&self) -> &str {
        &self.comment
    }

    fn unit(&self) -> &'static str {
        "units"
    }

    fn note(&self) -> Option<String> {
        Some(format!(
            "{} recorded steps an episode; as in DPF's loader the first only serves the first action, headings are \
             radians here and degrees in the file",
            self.steps_per_episode()
        ))
    }
}
