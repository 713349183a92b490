//! Writes our npz layout as a stream, so that a recording may be larger than memory.

use crate::error::{Error, Result};
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::npy::Dtype;
use crate::files::npz::NpzWriter;
use crate::files::spool::Spool;
use crate::files::zip::Method;
use crate::trajectory::{Observations, Pixels, Trajectory};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A recording being written. It appears under its name when finished.
pub struct LogWriter {
    path: PathBuf,
    npz: NpzWriter<NewFile>,
    actions: Spool,
    poses: Spool,
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
        Self { dtype, observation, action, state }
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
            actions: Spool::new()?,
            poses: Spool::new()?,
            lengths: Vec::new(),
            layout: None,
            comment: comment.to_owned(),
        })
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
        let unknown = vec![f32::NAN; layout.state];
        let poses: Vec<f32> =
            trajectory.states.iter().flat_map(|state| state.unwrap_or(&unknown).to_vec()).collect();
        self.layout = Some(layout);
        self.lengths.push(trajectory.len() as i64);
        let written = self.actions.write_all(&bytes(trajectory.actions.values()));
        written
            .and_then(|()| self.poses.write_all(&bytes(&poses)))
            .map_err(|source| Error::io("cannot write a temporary file", source))
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
        for (name, spool, width) in
            [("actions", self.actions, layout.action), ("poses", self.poses, layout.state)]
        {
            if width > 0 {
                self.npz.growing_array(name, Dtype::F32, &[width])?;
                self.npz.write_spooled(&spool.finish()?)?;
                self.npz.end()?;
            }
        }
        self.npz.array("lengths", Dtype::I64, &[self.lengths.len()])?;
        let lengths: Vec<u8> = self.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        self.npz.write(&lengths)?;
        self.npz.end()?;
        self.npz.finish(&self.comment)?.commit()
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
