//! TUM's trajectories: `timestamp x y z qx qy qz qw`, a file for each episode.

use super::{EstimateOptions, EstimateWriter, Estimated, cannot_write};
use crate::error::Result;
use crate::files::{NewFile, Overwrite};
use driftless_core::Belief;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file of the episode that goes on, and names of those that are written.
pub(super) struct TumFiles {
    target: PathBuf,
    overwrite: Overwrite,
    /// Whether names have the episode's number.
    several: bool,
    open: Option<(usize, PathBuf, NewFile)>,
    written: Vec<PathBuf>,
}

impl TumFiles {
    pub(super) fn create(target: &Path, options: EstimateOptions) -> Result<Self> {
        let (target, overwrite) = (target.to_path_buf(), options.overwrite);
        let mut files =
            Self { target, overwrite, several: options.episodes > 1, open: None, written: Vec::new() };
        if !files.several {
            files.begin(0)?;
        }
        Ok(files)
    }

    /// `path.tum` of a single episode; `path-3.tum` of the fourth of several.
    fn name(&self, episode: usize) -> PathBuf {
        if !self.several {
            return self.target.clone();
        }
        let stem = self.target.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let end = self.target.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
        self.target.with_file_name(format!("{stem}-{episode}{end}"))
    }

    fn begin(&mut self, episode: usize) -> Result<()> {
        self.complete()?;
        let path = self.name(episode);
        let mut file = NewFile::create(&path, self.overwrite)?;
        writeln!(file, "# timestamp x y z qx qy qz qw").map_err(cannot_write(&path))?;
        self.open = Some((episode, path, file));
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        if let Some((_, path, file)) = self.open.take() {
            file.commit()?;
            self.written.push(path);
        }
        Ok(())
    }
}

impl EstimateWriter for TumFiles {
    fn push(&mut self, row: &Estimated, _: Option<&Belief>) -> Result<()> {
        let is_open = self.open.as_ref().is_some_and(|(episode, ..)| *episode == row.episode);
        if self.several && !is_open {
            self.begin(row.episode)?;
        }
        let Some((_, path, file)) = &mut self.open else { return Ok(()) };
        let (sine, cosine) = (0.5 * row.pose.heading).sin_cos();
        let (time, pose) = (row.clock(), row.pose);
        writeln!(file, "{time} {} {} 0 0 0 {sine} {cosine}", pose.x, pose.y).map_err(cannot_write(path))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PathBuf>> {
        self.complete()?;
        Ok(self.written)
    }
}
