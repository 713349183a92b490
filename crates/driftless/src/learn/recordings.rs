//! Recordings as a method is trained and examined with: of mazes, cropped, or of houses; with an experiment's noise.
//!
//! All that an experiment adds to a file is decided here, by the experiment, a seed and a purpose: whoever opens the
//! same file for the same purpose has the same episodes, on the command line and in a program.

mod house;
mod joined;
mod log;

pub(super) use joined::Joined;

use super::{Experiment, Source, WorldKind};
use crate::error::Result;
use driftless_world::evaluation::{Plan, Thresholds};
use driftless_world::files::FileKind;
use driftless_world::files::dpf::{Crop, DpfFile, DpfOptions};
use driftless_world::files::provenance::Provenance;
use driftless_world::maze::Layout;
use driftless_world::random::Random;
use driftless_world::{Dataset, Error, Pose, Trajectory};
use house::Houses;
use log::Logs;
pub(crate) use log::MOST_SIDE;
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
}

/// A file seen through an experiment's noise.
pub struct Recordings {
    path: PathBuf,
    file: Robots,
    seed: u64,
}

/// Where the robots were.
enum Robots {
    Maze(Box<DpfFile>),
    House(Box<Houses>),
    Own(Box<Logs>),
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
        check_kind(path, experiment.world)?;
        if experiment.world == WorldKind::House {
            let houses = Houses::open(path, steps, experiment, seed, purpose)?;
            return Ok(Self { path: path.to_path_buf(), file: Robots::House(Box::new(houses)), seed });
        }
        let seed = Random::stream(seed ^ 0x7265_636f_7264, purpose as u64).bits();
        if experiment.world == WorldKind::Robot {
            let file = Robots::Own(Box::new(Logs::open(path, experiment, seed, purpose)?));
            return Ok(Self { path: path.to_path_buf(), file, seed });
        }
        let options = DpfOptions {
            steps_per_episode: steps,
            odometry_noise: experiment.odometry_noise as f32,
            pixel_noise: experiment.pixel_noise as f32,
            crop: purpose.crop(experiment.crop),
            seed,
            ..DpfOptions::default()
        };
        let file = Robots::Maze(Box::new(DpfFile::open(path, options)?));
        Ok(Self { path: path.to_path_buf(), file, seed })
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many episodes.
    pub fn len(&self) -> usize {
        match &self.file {
            Robots::Maze(file) => file.len(),
            Robots::House(file) => file.len(),
            Robots::Own(file) => file.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Recorded steps of an episode, the first included.
    pub fn steps(&self) -> Result<usize> {
        Ok(match &self.file {
            Robots::Maze(file) => file.steps_per_episode(),
            Robots::House(file) => file.steps()?,
            Robots::Own(file) => file.get(0)?.len(),
        })
    }

    /// Height, width and channels of recorded images.
    pub fn image(&self) -> [usize; 3] {
        match &self.file {
            Robots::Maze(file) => file.image_shape(),
            Robots::House(file) => [56, 56, file.channels()],
            Robots::Own(file) => file.shape(),
        }
    }

    /// Episode `index` with the one noise that names itself.
    pub fn get(&self, index: usize) -> Result<Trajectory> {
        Ok(match &self.file {
            Robots::Maze(file) => file.get(index)?,
            Robots::House(file) => file.get(index)?,
            Robots::Own(file) => file.get(index)?,
        })
    }

    /// The images of the steps of an episode as the camera took them: height, width and RGB bytes of each.
    pub fn frames(&self, index: usize) -> Result<(usize, usize, Vec<Vec<u8>>)> {
        let (images, first) = match &self.file {
            // The first step only serves the first action.
            Robots::Maze(file) => (file.recording(index)?.images, 1),
            Robots::House(file) => match file.recorded(index)?.rgb {
                Some(images) => (images, 0),
                None => return Ok((0, 0, Vec::new())),
            },
            Robots::Own(_) => return Ok((0, 0, Vec::new())),
        };
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
        match &self.file {
            Robots::Maze(_) => "",
            Robots::House(_) => "cm",
            Robots::Own(file) => file.unit(),
        }
    }

    /// From where on a robot is lost: in houses PF-net's metre.
    pub fn thresholds(&self) -> Thresholds {
        match &self.file {
            Robots::Maze(_) => Thresholds::default(),
            Robots::House(_) => Thresholds { lost: 100.0, localised: 100.0 },
            Robots::Own(file) => Thresholds { lost: file.lost(), localised: file.lost() },
        }
    }

    /// The floor plan of an episode in a house.
    pub fn floor_plan(&self, index: usize) -> Result<Option<Plan>> {
        match &self.file {
            Robots::Maze(_) | Robots::Own(_) => Ok(None),
            Robots::House(file) => Ok(Some(Plan::of_house(&file.recorded(index)?.maps))),
        }
    }

    /// The maze they were made in, as far as the file or its name tell.
    pub fn maze(&self) -> Result<Option<Layout>> {
        let Robots::Maze(file) = &self.file else {
            return Ok(None);
        };
        let told = Provenance::parse(file.comment()).and_then(|provenance| provenance.maze);
        if told.is_some() {
            return Ok(told);
        }
        let poses = file.recording(0)?.poses;
        let path: Vec<Pose> = poses.iter().map(|[x, y, _]| Pose::new(*x, *y, 0.0)).collect();
        Ok(guess_maze(&self.path, &path))
    }

    /// The world's name: the file's own if nothing else is known.
    pub fn world(&self) -> Result<String> {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = match &self.file {
            Robots::Maze(file) => file,
            Robots::House(_) => return Ok("house".to_owned()),
            Robots::Own(_) => return Ok(stem()),
        };
        let told = Provenance::parse(file.comment()).and_then(|provenance| provenance.world);
        Ok(told.or(self.maze()?.map(|maze| maze.name().to_owned())).unwrap_or_else(stem))
    }

    /// Fails if steps or images are not as somebody (`whose`) needs them. Depth is never looked at.
    pub fn check(&self, steps: Option<usize>, [height, width]: [usize; 2], whose: &str) -> Result<()> {
        let wrong = |field: &str, problem: String| {
            Err(Error::new(problem).in_field(field).in_file(&self.path).into())
        };
        if matches!(self.file, Robots::House(_)) {
            // Images are brought to one size, and episodes may have any length.
            return Ok(());
        }
        if let Robots::Own(file) = &self.file {
            // Episodes may have any length here, too.
            let [own_height, own_width, _] = file.shape();
            let problem = format!(
                "has observations of {own_height} x {own_width} numbers, but {whose} of {height} x {width}; they must agree"
            );
            return if [own_height, own_width] == [height, width] {
                Ok(())
            } else {
                wrong("observations", problem)
            };
        }
        let own = self.steps()?;
        if let Some(wanted) = steps.filter(|steps| *steps != own) {
            return wrong(
                "pose",
                format!("has episodes of {own} steps, but {whose} of {wanted}; they must agree"),
            );
        }
        let [own_height, own_width, _] = self.image();
        if [own_height, own_width] != [height, width] {
            return wrong(
                "rgbd",
                format!(
                    "has images of {own_height} x {own_width}, but {whose} of {height} x {width}; they must agree"
                ),
            );
        }
        Ok(())
    }
}

/// Fails if a file is not of the kind that a world has.
fn check_kind(path: &Path, world: WorldKind) -> Result<()> {
    let kind = FileKind::of(path)?;
    let wrong = |advice: &str| Err(Error::new(format!("holds {kind}; {advice}")).in_file(path).into());
    match (kind, world) {
        (FileKind::Dpf, WorldKind::Maze)
        | (FileKind::Pfnet, WorldKind::House)
        | (FileKind::Log, WorldKind::Robot) => {}
        (FileKind::Log, WorldKind::Maze | WorldKind::House) => {
            return wrong("train from it without an experiment, or with robot-driftless or world=robot");
        }
        (_, WorldKind::Robot) => {
            return wrong(
                "this experiment is for a plain log; `driftless import` and docs/data-formats.md make one",
            );
        }
        (FileKind::Pfnet, WorldKind::Maze) => {
            return wrong("this experiment is for mazes: try house-sdpf, or world=house");
        }
        (_, WorldKind::Maze) => {
            return wrong(
                "methods learn from DPF's npz (pose, rgbd), as `driftless simulate maze1` makes it",
            );
        }
        (_, WorldKind::House) => {
            return wrong(
                "this experiment is for PF-net's tfrecords, as `driftless simulate house` makes them",
            );
        }
    }
    Ok(())
}

/// A draw changes crops and pixel noise, and means other ones under another seed.
impl Source for Recordings {
    fn episodes(&self) -> usize {
        self.len()
    }

    fn episode(&self, index: usize, draw: u64) -> Result<Trajectory> {
        Ok(match &self.file {
            Robots::Maze(file) => file.get_with(index, Random::stream(self.seed, draw).bits())?,
            Robots::House(file) => file.get(index)?,
            Robots::Own(file) => file.get(index)?,
        })
    }

    fn known(&self, index: usize) -> Result<Vec<bool>> {
        Ok(match &self.file {
            Robots::Maze(_) | Robots::Own(_) => {
                self.episode(index, 0)?.states.iter().map(|state| state.is_some()).collect()
            }
            Robots::House(file) => vec![true; file.steps_of(index)?],
        })
    }
}

/// The built-in maze that a DPF file without provenance comes from: told by its name, as DPF's
/// files are (nav01_train.npz), and only if a path stays inside.
pub fn guess_maze(file: &Path, path: &[Pose]) -> Option<Layout> {
    let name = file.file_name()?.to_string_lossy().to_lowercase();
    let number =
        (1..=3).find(|k| name.contains(&format!("nav0{k}")) || name.contains(&format!("maze{k}")))?;
    let layout = Layout::built_in(&format!("maze{number}"))?;
    let [width, height] = layout.extent();
    let inside = |pose: &Pose| (0.0..=width).contains(&pose.x) && (0.0..=height).contains(&pose.y);
    path.iter().all(inside).then_some(layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::PixelScale;
    use driftless_world::Observations;
    use driftless_world::files::dpf::DpfWriter;
    use driftless_world::files::{Overwrite, zip::Method};
    use driftless_world::maze::MazeWorld;
    use driftless_world::trajectory::{Images, Pixels};

    fn file(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("driftless-{name}-{}.npz", std::process::id()));
        let world = MazeWorld::new(Layout::built_in("maze2").unwrap(), 16, 16);
        let mut file = DpfWriter::create(&path, Overwrite::Replace, Method::Stored, "").unwrap();
        (0..2).for_each(|number| file.push(&world.episode(1, number, 9).into_recording()).unwrap());
        file.finish().unwrap();
        path
    }

    fn opened(path: &Path, seed: u64, purpose: Purpose) -> Recordings {
        let experiment = Experiment { crop: 12, ..Experiment::default() };
        Recordings::open(path, Some(9), &experiment, seed, purpose).unwrap()
    }

    #[test]
    fn seed_purpose_and_draw_name_the_noise() {
        let path = file("noise");
        let training = |seed, draw| opened(&path, seed, Purpose::Training).episode(1, draw).unwrap();
        let first = training(1, 0);
        assert_eq!(first, training(1, 0));
        let redrawn = training(1, 1);
        assert!(first.actions == redrawn.actions && first.observations != redrawn.observations);
        let reseeded = training(2, 0);
        assert!(first.actions != reseeded.actions && first.observations != reseeded.observations);
        let evaluated = [Purpose::Training, Purpose::Validation, Purpose::Evaluation]
            .map(|purpose| opened(&path, 1, purpose).get(1).unwrap());
        assert!(evaluated[0].actions != evaluated[1].actions && evaluated[0].actions != evaluated[2].actions);
        assert!(evaluated[1].actions != evaluated[2].actions && evaluated[0].states == evaluated[1].states);
        let Observations::Images(images) = &first.observations else { panic!("images were recorded") };
        assert_eq!((images.height, images.channels, images.len()), (12, 3, 8));
        std::fs::remove_file(path).unwrap();
    }

    /// What is evaluated is what a robot online sees: the middle of each image.
    #[test]
    fn evaluation_sees_the_middle_as_online_use_does() {
        let path = file("middle");
        let experiment = Experiment { crop: 12, pixel_noise: 0.0, ..Experiment::default() };
        let normalised = |purpose: Purpose| {
            let recordings = Recordings::open(&path, Some(9), &experiment, 1, purpose).unwrap();
            let Observations::Images(images) = recordings.get(1).unwrap().observations else {
                panic!("images were recorded")
            };
            let scale = PixelScale::measure([&images]).unwrap();
            let (height, width, frames) = recordings.frames(1).unwrap();
            let (mut seen, mut online, mut one) = (Vec::new(), Vec::new(), Vec::new());
            scale.normalise(&images, &mut seen).unwrap();
            for frame in &frames {
                let pixels = Pixels::Bytes(frame.clone());
                assert!(scale.normalise_middle(&Images { height, width, channels: 3, pixels }, 0, &mut one));
                online.append(&mut one);
            }
            (seen, online)
        };
        for purpose in [Purpose::Validation, Purpose::Evaluation] {
            let (seen, online) = normalised(purpose);
            assert!(seen == online, "{purpose:?}");
        }
        let (seen, online) = normalised(Purpose::Training);
        assert!(seen != online, "training sees any part");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn frames_are_as_recorded_and_belong_to_their_steps() {
        let path = file("frames");
        let recordings = opened(&path, 1, Purpose::Evaluation);
        let (height, width, frames) = recordings.frames(1).unwrap();
        assert_eq!((height, width, frames.len()), (16, 16, recordings.get(1).unwrap().len()));
        let Robots::Maze(file) = &recordings.file else { panic!("a maze was recorded") };
        let images = file.recording(1).unwrap().images;
        // The second of recorded images, red, green and blue of its second pixel, after one of depth.
        let pixel = |c: usize| images.pixels.get(images.stride() + images.channels + c) as u8;
        assert_eq!(frames[0][3..6], [pixel(0), pixel(1), pixel(2)]);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn mazes_are_told_by_names_only_if_paths_stay_inside() {
        let inside = [Pose::new(10.0, 20.0, 0.0)];
        assert_eq!(guess_maze(Path::new("nav02_train.npz"), &inside).unwrap().name(), "maze2");
        assert!(guess_maze(Path::new("nav02_train.npz"), &[Pose::new(-1.0, 20.0, 0.0)]).is_none());
        assert!(guess_maze(Path::new("kitchen.npz"), &inside).is_none());
    }
}
