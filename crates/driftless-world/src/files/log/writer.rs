//! Writes our npz layout as a stream, so that a recording may be larger than memory.

use crate::error::{Error, Result};
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::npy::Dtype;
use crate::files::npz::NpzWriter;
use crate::files::spool::Spool;
use crate::files::zip::Method;
use crate::files::{DataWriter, Entry};
use crate::trajectory::{Camera, Observations, Pixels, Trajectory};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A recording being written. It appears under its name when finished.
pub struct LogWriter {
    path: PathBuf,
    npz: NpzWriter<NewFile>,
    /// What follows the observations, in this order.
    spools: [(&'static str, Spool); 5],
    beam_angles: Option<Vec<f64>>,
    lengths: Vec<i64>,
    layout: Option<Layout>,
    comment: String,
}

/// What the first episode decided for all others.
#[derive(Clone, PartialEq)]
struct Layout {
    dtype: Dtype,
    observation: Vec<usize>,
    action: usize,
    state: usize,
    has_times: bool,
    camera: Option<Vec<usize>>,
}

impl Layout {
    fn of(trajectory: &Trajectory) -> Self {
        let (dtype, observation) = match &trajectory.observations {
            Observations::Vectors(rows) => (Dtype::F32, vec![rows.width()]),
            Observations::Images(images) => {
                let dtype = match images.pixels {
                    Pixels::Bytes(_) => Dtype::U8,
                    Pixels::Floats(_) => Dtype::F32,
                };
                (dtype, vec![images.height, images.width, images.channels])
            }
        };
        let (action, state) = (trajectory.actions.width(), trajectory.states.width());
        let camera = trajectory.camera.as_ref();
        let camera = camera.map(|Camera { images, .. }| vec![images.height, images.width, images.channels]);
        Self { dtype, observation, action, state, has_times: trajectory.times.is_some(), camera }
    }

    /// Type and shape of a row of an array, if there is one.
    fn row(&self, name: &str) -> Option<(Dtype, Vec<usize>)> {
        match name {
            "actions" => (self.action > 0).then(|| (Dtype::F32, vec![self.action])),
            "poses" => (self.state > 0).then(|| (Dtype::F32, vec![self.state])),
            "times" => self.has_times.then(|| (Dtype::F64, Vec::new())),
            "has_image" => self.camera.as_ref().map(|_| (Dtype::U8, Vec::new())),
            _ => self.camera.clone().map(|shape| (Dtype::U8, shape)),
        }
    }
}

impl LogWriter {
    /// Starts a file; `comment` says how the data were made.
    pub fn create(
        path: impl AsRef<Path>,
        overwrite: Overwrite,
        method: Method,
        comment: &str,
    ) -> Result<Self> {
        Ok(Self {
            path: path.as_ref().to_path_buf(),
            npz: NpzWriter::create(path, overwrite, method)?,
            spools: [
                ("actions", Spool::new()?),
                ("poses", Spool::new()?),
                ("times", Spool::new()?),
                ("has_image", Spool::new()?),
                ("images", Spool::new()?),
            ],
            beam_angles: None,
            lengths: Vec::new(),
            layout: None,
            comment: comment.to_owned(),
        })
    }

    /// With the bearings of a scan's beams, in radians.
    pub fn with_beam_angles(self, angles: Vec<f64>) -> Self {
        Self { beam_angles: Some(angles), ..self }
    }

    /// Appends an episode; all must have the same kinds and widths.
    pub fn push(&mut self, trajectory: &Trajectory) -> Result<()> {
        self.append(trajectory).map_err(|error| error.in_file(&self.path))
    }

    fn append(&mut self, trajectory: &Trajectory) -> Result<()> {
        let layout = Layout::of(trajectory);
        match &self.layout {
            None => self.npz.growing_array("observations", layout.dtype, &layout.observation)?,
            Some(first) if *first == layout => {}
            Some(_) => {
                return Err(Error::new(
                    "its observations, actions or states have another shape or type than those of the first episode",
                ));
            }
        }
        match &trajectory.observations {
            Observations::Vectors(rows) => self.npz.write(&bytes(rows.values()))?,
            Observations::Images(images) => match &images.pixels {
                Pixels::Bytes(values) => self.npz.write(values)?,
                Pixels::Floats(values) => self.npz.write(&bytes(values))?,
            },
        }
        self.layout = Some(layout);
        self.lengths.push(trajectory.len() as i64);
        for (name, spool) in &mut self.spools {
            let written = spool.write_all(&rows(trajectory, name));
            written.map_err(|source| Error::io("cannot write a temporary file", source))?;
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        let path = self.path.clone();
        self.complete().map_err(|error| error.in_file(path))
    }

    fn complete(mut self) -> Result<()> {
        let Some(layout) = self.layout else {
            return Err(Error::new("a file without episodes was not written"));
        };
        self.npz.end()?;
        for (name, spool) in self.spools {
            if let Some((dtype, shape)) = layout.row(name) {
                self.npz.growing_array(name, dtype, &shape)?;
                self.npz.write_spooled(&spool.finish()?)?;
                self.npz.end()?;
            }
        }
        if let Some(angles) = self.beam_angles {
            self.npz.array("beam_angles", Dtype::F64, &[angles.len()])?;
            self.npz.write(&wide_bytes(&angles))?;
            self.npz.end()?;
        }
        self.npz.array("lengths", Dtype::I64, &[self.lengths.len()])?;
        let lengths: Vec<u8> = self.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        self.npz.write(&lengths)?;
        self.npz.end()?;
        self.npz.finish(&self.comment)?.commit()
    }
}

impl DataWriter for LogWriter {
    fn push(&mut self, entry: &Entry) -> Result<()> {
        self.push(entry.plain()?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)
    }
}

/// What an episode adds to an array that follows the observations.
fn rows(trajectory: &Trajectory, name: &str) -> Vec<u8> {
    let camera = trajectory.camera.as_ref();
    match name {
        "actions" => bytes(trajectory.actions.values()),
        "poses" => {
            let unknown = vec![f32::NAN; trajectory.states.width()];
            trajectory.states.iter().flat_map(|state| bytes(state.unwrap_or(&unknown))).collect()
        }
        "times" => trajectory.times.as_deref().map_or_else(Vec::new, wide_bytes),
        "has_image" => {
            camera.map_or_else(Vec::new, |camera| camera.known.iter().map(|&x| u8::from(x)).collect())
        }
        _ => match camera.map(|camera| &camera.images.pixels) {
            Some(Pixels::Bytes(values)) => values.clone(),
            Some(Pixels::Floats(values)) => values.iter().map(|&x| x as u8).collect(),
            None => Vec::new(),
        },
    }
}

fn wide_bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
