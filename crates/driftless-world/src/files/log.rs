//! Our own plain npz layout for anybody's recordings.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `observations` | (M, D), (M, H, W) or (M, H, W, C) | a vector or an image a step; images uint8 or float |
//! | `images` | (M, H, W) or (M, H, W, C) uint8 | optional; a camera beside vectors of other sensors |
//! | `has_image` | (M,) bool or integers | optional; 0 at steps without an image |
//! | `actions` | (M, A) | optional; row t is the motion that led *into* step t; a row of NaN where it is missing |
//! | `poses` | (M, S) | optional; the true state, angles in radians; a row of NaN where unknown |
//! | `beam_angles` | (D,) | optional; bearings of a scan's beams in radians, left positive |
//! | `times` | (M,) | optional; seconds, rising within an episode |
//! | `lengths` | (E,) integers | optional; steps of each episode, in order; their sum is M |
//!
//! `numpy.savez("log.npz", observations=..., actions=..., poses=..., lengths=...)` writes one.

mod checks;
mod writer;

pub use writer::LogWriter;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::DataFile;
use crate::files::array::Array;
use crate::files::npy::Dtype;
use crate::files::npz::NpzFile;
use crate::files::source::Source;
use crate::trajectory::{Camera, Images, Labels, Observations, Pixels, Rows, Trajectory};
use checks::{angles, check_images, check_observations, finite, motions, readings, starts};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A recording in our layout, read episode by episode.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: Option<PathBuf>,
    observations: Array,
    actions: Option<Array>,
    poses: Option<Array>,
    beam_angles: Option<Vec<f64>>,
    times: Option<Array>,
    images: Option<Array>,
    has_image: Option<Array>,
    /// Row at which each episode starts, and the end.
    starts: Vec<usize>,
    comment: String,
}

impl LogFile {
    /// Opens a file and checks its arrays against each other.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = Self::from_source(Source::open(path)?).map_err(|error| error.in_file(path))?;
        file.path = Some(path.to_path_buf());
        Ok(file)
    }

    /// The same for bytes from anywhere.
    pub fn from_source(source: Source) -> Result<Self> {
        let npz = NpzFile::from_source(source)?;
        let optional = |name: &str| npz.contains(name).then(|| npz.array(name)).transpose();
        let observations = npz.array("observations")?;
        check_observations(&observations)?;
        let rows = observations.rows();
        let (actions, poses) = (optional("actions")?, optional("poses")?);
        for array in [&actions, &poses].into_iter().flatten() {
            if array.shape().len() != 2 || array.rows() != rows {
                let problem = format!("has shape {:?}, but ({rows}, width) is expected", array.shape());
                return Err(Error::new(problem).in_field(array.name()));
            }
        }
        let starts = match optional("lengths")? {
            Some(lengths) => starts(&lengths, rows)?,
            None => vec![0, rows],
        };
        let beam_angles = optional("beam_angles")?.map(|array| angles(&array, &observations)).transpose()?;
        let (times, has_image) = (optional("times")?, optional("has_image")?);
        for array in [&times, &has_image].into_iter().flatten() {
            if array.shape() != [rows] {
                let problem = format!("has shape {:?}, but ({rows},) is expected", array.shape());
                return Err(Error::new(problem).in_field(array.name()));
            }
        }
        let images = optional("images")?;
        images.as_ref().map_or(Ok(()), |images| check_images(images, &observations))?;
        let comment = npz.comment();
        Ok(Self {
            path: None,
            observations,
            actions,
            poses,
            beam_angles,
            times,
            images,
            has_image,
            starts,
            comment,
        })
    }

    fn trajectory(&self, rows: Range<usize>) -> Result<Trajectory> {
        let observations = self.observations(rows.clone())?;
        let actions = match &self.actions {
            Some(array) if array.row_len() > 0 => Rows::new(array.row_len(), motions(array, rows.clone())?)?,
            _ => Rows::default(),
        };
        let (times, camera) = (self.times(rows.clone())?, self.camera(rows.clone())?);
        Ok(Trajectory { times, camera, ..Trajectory::new(observations, actions, self.labels(rows)?)? })
    }

    fn times(&self, rows: Range<usize>) -> Result<Option<Vec<f64>>> {
        let Some(array) = &self.times else { return Ok(None) };
        let times = array.read_f64(rows)?;
        let wrong = |step: usize, problem: &str| {
            Err(Error::new(format!("is {} at step {step}{problem}", times[step])).in_field("times"))
        };
        if let Some(step) = times.iter().position(|time| !time.is_finite()) {
            return wrong(step, "; every step needs its seconds, or leave the array out");
        }
        if let Some(step) = (1..times.len()).find(|&t| times[t] < times[t - 1]) {
            return wrong(
                step,
                ", before the step before it; sort the steps, or begin an episode there (`lengths`)",
            );
        }
        Ok(Some(times))
    }

    fn camera(&self, rows: Range<usize>) -> Result<Option<Camera>> {
        let Some(array) = &self.images else { return Ok(None) };
        let known = match &self.has_image {
            Some(known) => known.read_i64(rows.clone())?.into_iter().map(|known| known != 0).collect(),
            None => vec![true; rows.len()],
        };
        let channels = array.shape().get(3).copied().unwrap_or(1);
        let (height, width) = (array.shape()[1], array.shape()[2]);
        let pixels = Pixels::Bytes(array.read_u8(rows)?);
        Ok(Some(Camera { images: Images { height, width, channels, pixels }, known }))
    }

    fn observations(&self, rows: Range<usize>) -> Result<Observations> {
        let array = &self.observations;
        let (height, width, channels) = match *array.shape() {
            [_, height, width] => (height, width, 1),
            [_, height, width, channels] => (height, width, channels),
            _ => return Ok(Observations::Vectors(Rows::new(array.row_len(), readings(array, rows)?)?)),
        };
        let pixels = if array.dtype() == Dtype::U8 {
            Pixels::Bytes(array.read_u8(rows)?)
        } else {
            Pixels::Floats(finite(array, rows)?)
        };
        Ok(Observations::Images(Images { height, width, channels, pixels }))
    }

    fn labels(&self, rows: Range<usize>) -> Result<Labels> {
        let mut labels = Labels::new(self.poses.as_ref().map_or(0, Array::row_len));
        let Some(array) = self.poses.as_ref().filter(|array| array.row_len() > 0) else {
            rows.for_each(|_| labels.push(None));
            return Ok(labels);
        };
        for (step, pose) in array.read_f32(rows)?.chunks_exact(array.row_len()).enumerate() {
            let unknown = pose.iter().filter(|value| value.is_nan()).count();
            let problem = if unknown > 0 && unknown < pose.len() {
                "is NaN in part; a step is labelled wholly or not at all"
            } else if pose.iter().any(|value| value.is_infinite()) {
                "holds an infinite number; use a row of NaN for an unknown pose"
            } else {
                labels.push((unknown == 0).then_some(pose));
                continue;
            };
            return Err(Error::new(format!("step {step} {problem}")).in_field("poses"));
        }
        Ok(labels)
    }
}

impl Dataset for LogFile {
    type Episode = Trajectory;

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn get(&self, index: usize) -> Result<Trajectory> {
        self.trajectory(self.starts[index]..self.starts[index + 1]).map_err(|error| {
            let error = error.in_record(format!("episode {index}"));
            match &self.path {
                Some(path) => error.in_file(path),
                None => error,
            }
        })
    }
}

impl DataFile for LogFile {
    fn comment(&self) -> &str {
        &self.comment
    }

    fn beam_angles(&self) -> Option<&[f64]> {
        self.beam_angles.as_deref()
    }
}
