//! Recordings as a method is trained and examined with: of mazes, cropped, or of houses; with an experiment's noise.
//!
//! All that an experiment adds to a file is decided here, by the experiment, a seed and a purpose: whoever opens the
//! same file for the same purpose has the same episodes, on the command line and in a program.

mod house;
mod joined;
mod log;
mod maze;

pub(super) use joined::Joined;

use super::{Experiment, Source, WorldKind};
use crate::error::Result;
use driftless_world::evaluation::{Plan, Thresholds};
use driftless_world::files::dpf::Crop;
use driftless_world::files::{Format, Holds};
use driftless_world::maze::Layout;
use driftless_world::random::Random;
use driftless_world::{Error, Images, Trajectory};
use house::Houses;
use log::Logs;
pub(crate) use log::MOST_SIDE;
use maze::Mazes;
pub use maze::guess_maze;
use std::path::{Path, PathBuf};

/// What noise is drawn for; each has numbers of its own under the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To learn from.
    Training = 1,
    /// To choose the best weights with.
    Validation = 2,
    /// To evaluate the result.
    Evaluation = 3,
}

impl Purpose {
    /// Which part of an image is seen: any in training, so that more is learned from few images; otherwise the middle,
    /// which is what a robot online looks at ([`crate::online::Tracker::step`]).
    fn crop(self, side: usize) -> Crop {
        match self {
            Self::Training => Crop::Random(side),
            Self::Validation | Self::Evaluation => Crop::Centre(side),
        }
    }

    /// Names the noise of a file.
    fn seed(self, seed: u64) -> u64 {
        Random::stream(seed ^ 0x7265_636f_7264, self as u64).bits()
    }
}

/// What robots of one kind of world lived through, with the noise that an experiment adds to it.
trait Robots: Send + Sync {
    /// How many episodes.
    fn len(&self) -> usize;

    /// Recorded steps of an episode, the first included.
    fn steps(&self) -> Result<usize>;

    /// Height, width and channels of recorded images.
    fn image(&self) -> [usize; 3];

    /// An episode with the one noise that names itself.
    fn get(&self, index: usize) -> Result<Trajectory>;

    /// The same with other noise on what is seen, where there is some.
    fn redrawn(&self, index: usize, _draw: u64) -> Result<Trajectory> {
        self.get(index)
    }

    /// Which poses are recorded.
    fn known(&self, index: usize) -> Result<Vec<bool>> {
        Ok(self.redrawn(index, 0)?.states.iter().map(|state| state.is_some()).collect())
    }

    /// The images of an episode as the camera took them, and the first of its steps.
    fn images(&self, _index: usize) -> Result<Option<(Images, usize)>> {
        Ok(None)
    }

    /// The unit of length; nothing where it has no name.
    fn unit(&self) -> &str;

    /// From where on a robot is lost.
    fn thresholds(&self) -> Thresholds;

    /// The floor plan of an episode.
    fn floor_plan(&self, _index: usize) -> Result<Option<Plan>> {
        Ok(None)
    }

    /// The maze they were in, as far as the file or its name tell.
    fn maze(&self, _path: &Path) -> Result<Option<Layout>> {
        Ok(None)
    }

    /// The world's name, if it is not the file's.
    fn world(&self, _path: &Path) -> Result<Option<String>> {
        Ok(None)
    }

    /// What is wrong with a field, if steps and images are not as somebody (`whose`) needs them.
    fn differs(&self, steps: Option<usize>, size: [usize; 2], whose: &str) -> Result<Option<(&str, String)>>;
}

/// Opens a file for an experiment.
type Open = fn(&Path, Option<usize>, &Experiment, u64, Purpose) -> Result<Box<dyn Robots>>;

/// How the recordings of each kind of world are opened, what their files hold, and what others should do.
#[rustfmt::skip]
const KINDS: [(WorldKind, Holds, Open, &str); 3] = [
    (WorldKind::Maze, Holds::Mazes, |path, steps, experiment, seed, purpose| {
        Ok(Box::new(Mazes::open(path, steps, experiment, seed, purpose)?)) },
        "methods learn from DPF's npz (pose, rgbd), as `driftless simulate maze1` makes it"),
    (WorldKind::House, Holds::Houses, |path, steps, experiment, seed, purpose| {
        Ok(Box::new(Houses::open(path, steps, experiment, seed, purpose)?)) },
        "this experiment is for PF-net's tfrecords, as `driftless simulate house` makes them"),
    (WorldKind::Robot, Holds::Logs, |path, _, experiment, seed, purpose| {
        Ok(Box::new(Logs::open(path, experiment, seed, purpose)?)) },
        "this experiment is for a plain log; `driftless import` and docs/data-formats.md make one"),
];

/// A file seen through an experiment's noise.
pub struct Recordings {
    path: PathBuf,
    robots: Box<dyn Robots>,
}

impl Recordings {
    /// Opens a file; `steps` says how long episodes are where the file does not.
    pub fn open(
        path: &Path,
        steps: Option<usize>,
        experiment: &Experiment,
        seed: u64,
        purpose: Purpose,
    ) -> Result<Self> {
        let (_, holds, open, advice) =
            KINDS.into_iter().find(|(world, ..)| *world == experiment.world).expect("every kind has a line");
        check_kind(path, experiment.world, holds, advice)?;
        let robots = open(path, steps, experiment, seed, purpose)?;
        Ok(Self { path: path.to_path_buf(), robots })
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many episodes.
    pub fn len(&self) -> usize {
        self.robots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Recorded steps of an episode, the first included.
    pub fn steps(&self) -> Result<usize> {
        self.robots.steps()
    }

    /// Height, width and channels of recorded images.
    pub fn image(&self) -> [usize; 3] {
        self.robots.image()
    }

    /// Episode `index` with the one noise that names itself.
    pub fn get(&self, index: usize) -> Result<Trajectory> {
        self.robots.get(index)
    }

    /// The images of the steps of an episode as the camera took them: height, width and RGB bytes of each.
    pub fn frames(&self, index: usize) -> Result<(usize, usize, Vec<Vec<u8>>)> {
        let Some((images, first)) = self.robots.images(index)? else { return Ok((0, 0, Vec::new())) };
        let byte = |i: usize| images.pixels.get(i).clamp(0.0, 255.0) as u8;
        let frame = |t: usize| {
            let first = t * images.stride();
            let pixels = (first..first + images.stride()).step_by(images.channels);
            pixels.flat_map(|pixel| [byte(pixel), byte(pixel + 1), byte(pixel + 2)]).collect()
        };
        Ok((images.height, images.width, (first..images.len()).map(frame).collect()))
    }

    /// The unit of length; nothing where it has no name.
    pub fn unit(&self) -> &str {
        self.robots.unit()
    }

    /// From where on a robot is lost: in houses PF-net's metre.
    pub fn thresholds(&self) -> Thresholds {
        self.robots.thresholds()
    }

    /// The floor plan of an episode in a house.
    pub fn floor_plan(&self, index: usize) -> Result<Option<Plan>> {
        self.robots.floor_plan(index)
    }

    /// The maze they were made in, as far as the file or its name tell.
    pub fn maze(&self) -> Result<Option<Layout>> {
        self.robots.maze(&self.path)
    }

    /// The world's name: the file's own if nothing else is known.
    pub fn world(&self) -> Result<String> {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(self.robots.world(&self.path)?.unwrap_or_else(stem))
    }

    /// Fails if steps or images are not as somebody (`whose`) needs them. Depth is never looked at.
    pub fn check(&self, steps: Option<usize>, size: [usize; 2], whose: &str) -> Result<()> {
        match self.robots.differs(steps, size, whose)? {
            None => Ok(()),
            Some((field, problem)) => Err(Error::new(problem).in_field(field).in_file(&self.path).into()),
        }
    }
}

/// Fails if a file does not hold what a world's methods learn from.
fn check_kind(path: &Path, world: WorldKind, holds: Holds, advice: &str) -> Result<()> {
    let kind = Format::of(path)?;
    let advice = match (kind.holds, world) {
        (found, _) if found == holds && !path.is_dir() => return Ok(()),
        (Holds::Logs, WorldKind::Robot) => "`driftless convert` makes one file of a folder",
        (Holds::Logs, _) => "train from it without an experiment, or with robot-driftless or world=robot",
        (Holds::Houses, WorldKind::Maze) => "this experiment is for mazes: try house-sdpf, or world=house",
        _ => advice,
    };
    Err(Error::new(format!("holds {kind}; {advice}")).in_file(path).into())
}

/// A draw changes crops and pixel noise, and means other ones under another seed.
impl Source for Recordings {
    fn episodes(&self) -> usize {
        self.len()
    }

    fn episode(&self, index: usize, draw: u64) -> Result<Trajectory> {
        self.robots.redrawn(index, draw)
    }

    fn known(&self, index: usize) -> Result<Vec<bool>> {
        self.robots.known(index)
    }
}

#[cfg(test)]
mod tests;
