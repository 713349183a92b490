//! Writes DPF-style files as a stream, so that a data set may be larger than memory.

use super::Recording;
use crate::error::{Error, Result};
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::npy::Dtype;
use crate::files::npz::NpzWriter;
use crate::files::spool::Spool;
use crate::files::zip::Method;
use crate::files::{DataWriter, Entry};
use crate::trajectory::Pixels;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A DPF-style file being written. It appears under its name when finished.
///
/// Images go straight into the archive, whose array grows; poses and velocities, a hundredth of
/// the size, wait in temporary files, because a zip archive holds one array after another.
pub struct DpfWriter {
    path: PathBuf,
    npz: NpzWriter<NewFile>,
    poses: Spool,
    velocities: Spool,
    comment: String,
    started: Option<Started>,
}

/// What the first episode decided for all others.
#[derive(Clone, Copy, PartialEq)]
struct Started {
    steps: usize,
    /// Height, width and channels.
    image: [usize; 3],
    dtype: Dtype,
}

impl DpfWriter {
    /// Starts a file; `comment` says how the data were made, see [`crate::files::provenance`].
    pub fn create(
        path: impl AsRef<Path>,
        overwrite: Overwrite,
        method: Method,
        comment: &str,
    ) -> Result<Self> {
        Ok(Self {
            path: path.as_ref().to_path_buf(),
            npz: NpzWriter::create(path, overwrite, method)?,
            poses: Spool::new()?,
            velocities: Spool::new()?,
            comment: comment.to_owned(),
            started: None,
        })
    }

    /// Appends an episode; all must have the same number of steps and kind of pixels.
    pub fn push(&mut self, recording: &Recording) -> Result<()> {
        self.append(recording).map_err(|error| error.in_file(&self.path))
    }

    fn append(&mut self, recording: &Recording) -> Result<()> {
        let dtype = match recording.images.pixels {
            Pixels::Bytes(_) => Dtype::U8,
            Pixels::Floats(_) => Dtype::F32,
        };
        let images = &recording.images;
        let image = [images.height, images.width, images.channels];
        let this = Started { steps: recording.poses.len(), image, dtype };
        self.check(recording, this)?;
        if self.started.is_none() {
            self.npz.growing_array("rgbd", dtype, &image)?;
            self.started = Some(this);
        }
        match &recording.images.pixels {
            Pixels::Bytes(values) => self.npz.write(values)?,
            Pixels::Floats(values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                self.npz.write(&bytes)?;
            }
        }
        spool(&mut self.poses, &recording.poses)?;
        spool(&mut self.velocities, &recording.velocities)
    }

    fn check(&self, recording: &Recording, this: Started) -> Result<()> {
        let images = &recording.images;
        let steps = this.steps;
        let [height, width, channels] = this.image;
        if height == 0 || width == 0 || !(channels == 3 || channels == 4) {
            return Err(Error::new(format!(
                "images of {height} x {width} x {channels} cannot be written; 3 or 4 channels are expected"
            )));
        }
        if steps < 2 || recording.velocities.len() != steps || images.len() != steps {
            return Err(Error::new(format!(
                "{steps} poses, {} velocities and {} images do not make an episode of 2 steps or more",
                recording.velocities.len(),
                images.len()
            )));
        }
        if self.started.is_some_and(|first| first != this) {
            return Err(Error::new(
                "all episodes of a file need equally many steps and images of the same size and kind",
            ));
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        let path = self.path.clone();
        self.complete().map_err(|error| error.in_file(path))
    }

    fn complete(mut self) -> Result<()> {
        if self.started.is_none() {
            return Err(Error::new("a file without episodes was not written"));
        }
        self.npz.end()?;
        for (name, spool) in [("pose", self.poses), ("vel", self.velocities)] {
            self.npz.growing_array(name, Dtype::F64, &[3])?;
            self.npz.write_spooled(&spool.finish()?)?;
            self.npz.end()?;
        }
        self.npz.finish(&self.comment)?.commit()
    }
}

impl DataWriter for DpfWriter {
    fn push(&mut self, entry: &Entry) -> Result<()> {
        let Entry::Maze(recording) = entry else {
            return Err(Error::new("DPF's layout stores walks through mazes alone").in_file(&self.path));
        };
        self.push(recording)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)
    }
}

fn spool(to: &mut Spool, rows: &[[f64; 3]]) -> Result<()> {
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    to.write_all(&bytes).map_err(|source| Error::io("cannot write a temporary file", source))
}
