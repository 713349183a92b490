//! DPF's recordings as methods are trained and examined with: cropped, with noise on pixels and odometry.

use super::{Purpose, Robots};
use crate::error::Result;
use crate::learn::Experiment;
use driftless_world::evaluation::Thresholds;
use driftless_world::files::DataFile;
use driftless_world::files::dpf::{DpfFile, DpfOptions};
use driftless_world::maze::Layout;
use driftless_world::random::Random;
use driftless_world::{Dataset, Images, Pose, Trajectory};
use std::path::Path;

/// A file of walks through a maze.
pub(super) struct Mazes {
    file: DpfFile,
    seed: u64,
}

impl Mazes {
    /// Opens a file; `steps` says how long episodes are where the file does not.
    pub fn open(
        path: &Path,
        steps: Option<usize>,
        experiment: &Experiment,
        seed: u64,
        purpose: Purpose,
    ) -> Result<Self> {
        let seed = purpose.seed(seed);
        let options = DpfOptions {
            steps_per_episode: steps,
            odometry_noise: experiment.odometry_noise as f32,
            pixel_noise: experiment.pixel_noise as f32,
            crop: purpose.crop(experiment.crop),
            seed,
            ..DpfOptions::default()
        };
        Ok(Self { file: DpfFile::open(path, options)?, seed })
    }
}

impl Robots for Mazes {
    fn len(&self) -> usize {
        self.file.len()
    }

    fn steps(&self) -> Result<usize> {
        Ok(self.file.steps_per_episode())
    }

    fn image(&self) -> [usize; 3] {
        self.file.image_shape()
    }

    fn get(&self, index: usize) -> Result<Trajectory> {
        Ok(self.file.get(index)?)
    }

    fn redrawn(&self, index: usize, draw: u64) -> Result<Trajectory> {
        Ok(self.file.get_with(index, Random::stream(self.seed, draw).bits())?)
    }

    /// The first step only serves the first action.
    fn images(&self, index: usize) -> Result<Option<(Images, usize)>> {
        Ok(Some((self.file.recording(index)?.images, 1)))
    }

    fn unit(&self) -> &'static str {
        ""
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds::default()
    }

    fn maze(&self, path: &Path) -> Result<Option<Layout>> {
        let told = self.file.provenance().and_then(|provenance| provenance.maze);
        if told.is_some() {
            return Ok(told);
        }
        let poses = self.file.recording(0)?.poses;
        let walk: Vec<Pose> = poses.iter().map(|[x, y, _]| Pose::new(*x, *y, 0.0)).collect();
        Ok(guess_maze(path, &walk))
    }

    fn world(&self, path: &Path) -> Result<Option<String>> {
        let told = self.file.provenance().and_then(|provenance| provenance.world);
        Ok(told.or(self.maze(path)?.map(|maze| maze.name().to_owned())))
    }

    fn differs(
        &self,
        steps: Option<usize>,
        [height, width]: [usize; 2],
        whose: &str,
    ) -> Result<Option<(&str, String)>> {
        let own = self.steps()?;
        if let Some(wanted) = steps.filter(|steps| *steps != own) {
            let problem = format!("has episodes of {own} steps, but {whose} of {wanted}; they must agree");
            return Ok(Some(("pose", problem)));
        }
        let [own_height, own_width, _] = self.image();
        let problem = format!(
            "has images of {own_height} x {own_width}, but {whose} of {height} x {width}; they must agree"
        );
        Ok(([own_height, own_width] != [height, width]).then_some(("rgbd", problem)))
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
