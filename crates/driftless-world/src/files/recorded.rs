//! A drive taken over from a robot's own files, written as a plain log.

mod summary;

use crate::error::{Error, Result};
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::npy::{Dtype, Kind};
use crate::files::npz::NpzWriter;
use crate::files::spool::Spooled;
use crate::files::track::Pose;
use crate::files::zip::Method;
use std::path::Path;

/// One step of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Seconds, by the recording's own clock.
    pub time: f64,
    /// Readings, such as distances of beams; NaN where there is none.
    pub readings: Vec<f32>,
    /// Which of the camera's images belongs to it.
    pub image: Option<u64>,
    /// Motion into the step: forward, left, turn. Unknown in an episode's first step, and where odometry fails.
    pub action: Option<Pose>,
    /// Where the robot is, if somebody knows.
    pub pose: Option<Pose>,
}

/// The images of a drive, in a temporary file.
#[derive(Clone, Debug)]
pub struct Camera {
    /// Rows, columns and channels of each.
    pub shape: [usize; 3],
    /// Their bytes, one after another.
    pub images: Spooled,
}

/// Episodes of steps with equally many readings.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Bearing of each beam, left positive, if the readings are a scan.
    pub beam_angles: Option<Vec<f64>>,
    /// What the camera saw, if there is one.
    pub camera: Option<Camera>,
    /// Whether the robot has odometry; without it there are no actions.
    pub odometry: bool,
    /// Steps of each episode; none is empty.
    pub episodes: Vec<Vec<Step>>,
    /// Where everything came from, in words.
    pub taken: Vec<String>,
    /// What was strange, in words.
    pub notes: Vec<String>,
}

impl Recording {
    /// All steps in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.episodes.iter().flatten()
    }

    /// Motion into each step; zeros in an episode's first, nothing where it is unknown.
    pub fn actions(&self) -> impl Iterator<Item = Option<Pose>> {
        self.episodes.iter().flat_map(|episode| {
            let rest = episode.iter().skip(1).map(|step| step.action);
            std::iter::once(Some([0.0; 3])).chain(rest)
        })
    }

    /// Takes the last `share` of the steps away, as a recording of its own: to test by what was not learned from.
    pub fn split(&mut self, share: f64) -> Self {
        let steps = self.steps().count();
        let mut kept = steps - ((steps as f64 * share).round() as usize).min(steps);
        let mut rest = Self { episodes: Vec::new(), ..self.clone() };
        for mut episode in std::mem::take(&mut self.episodes) {
            let end = episode.split_off(kept.min(episode.len()));
            kept -= episode.len();
            self.episodes.extend((!episode.is_empty()).then_some(episode));
            rest.episodes.extend((!end.is_empty()).then_some(end));
        }
        rest
    }

    /// Writes the plain log; it appears when complete.
    pub fn write(&self, path: &Path, overwrite: Overwrite, comment: &str) -> Result<()> {
        self.write_unnamed(path, overwrite, comment).map_err(|error| error.in_file(path))
    }

    fn write_unnamed(&self, path: &Path, overwrite: Overwrite, comment: &str) -> Result<()> {
        let steps = self.steps().count();
        if steps == 0 {
            return Err(Error::new("was not written, because no step was found"));
        }
        let mut npz = NpzWriter::create(path, overwrite, Method::Deflated)?;
        self.write_observations(&mut npz, steps)?;
        let mut array = |name: &str, dtype, shape: &[usize], bytes: Vec<u8>| {
            npz.array(name, dtype, shape)?;
            npz.write(&bytes)?;
            npz.end()
        };
        if self.odometry {
            let actions = self.actions().flat_map(|action| action.unwrap_or([f64::NAN; 3]));
            let bytes = actions.flat_map(|part| (part as f32).to_le_bytes()).collect();
            array("actions", Dtype::F32, &[steps, 3], bytes)?;
        }
        let poses = self.steps().flat_map(|step| step.pose.unwrap_or([f64::NAN; 3]));
        array("poses", Dtype::F64, &[steps, 3], doubles(poses))?;
        let lengths = self.episodes.iter().flat_map(|episode| (episode.len() as i64).to_le_bytes());
        array("lengths", Dtype::I64, &[self.episodes.len()], lengths.collect())?;
        array("times", Dtype::F64, &[steps], doubles(self.steps().map(|step| step.time)))?;
        if let Some(angles) = &self.beam_angles {
            array("beam_angles", Dtype::F64, &[angles.len()], doubles(angles.iter().copied()))?;
        }
        npz.finish(comment)?.commit()
    }

    /// Readings, images, or readings and images beside them.
    fn write_observations(&self, npz: &mut NpzWriter<NewFile>, steps: usize) -> Result<()> {
        let width = self.steps().next().map_or(0, |step| step.readings.len());
        if width > 0 {
            npz.array("observations", Dtype::F32, &[steps, width])?;
            for step in self.steps() {
                npz.write(&step.readings.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
            }
            npz.end()?;
        }
        let Some(Camera { shape, images }) = &self.camera else { return Ok(()) };
        let size = shape.iter().product::<usize>();
        let name = if width > 0 { "images" } else { "observations" };
        npz.array(name, Dtype::U8, &[steps, shape[0], shape[1], shape[2]])?;
        for step in self.steps() {
            let image = step.image.map(|image| images.source().read_vec(image * size as u64, size as u64));
            npz.write(&image.transpose()?.unwrap_or_else(|| vec![0; size]))?;
        }
        npz.end()?;
        if width > 0 {
            npz.array("has_image", Dtype { kind: Kind::Bool, ..Dtype::U8 }, &[steps])?;
            npz.write(&self.steps().map(|step| u8::from(step.image.is_some())).collect::<Vec<u8>>())?;
            npz.end()?;
        }
        Ok(())
    }
}

/// Splits steps into episodes of at most `most`, ending one wherever `breaks` says so for two neighbours.
pub fn episodes(steps: Vec<Step>, most: usize, breaks: impl Fn(&Step, &Step) -> bool) -> Vec<Vec<Step>> {
    let mut episodes: Vec<Vec<Step>> = Vec::new();
    for step in steps {
        match episodes.last_mut() {
            Some(episode)
                if episode.len() < most && episode.last().is_some_and(|last| !breaks(last, &step)) =>
            {
                episode.push(step);
            }
            _ => episodes.push(vec![step]),
        }
    }
    episodes
}

fn doubles(values: impl Iterator<Item = f64>) -> Vec<u8> {
    values.flat_map(f64::to_le_bytes).collect()
}
