//! TUM's trajectories: `timestamp x y z qx qy qz qw`, a file for each episode.

use super::{EstimateOptions, EstimateWriter, Estimated, cannot_write};
use crate::error::{Error, Result};
use crate::files::{NewFile, Overwrite};
use driftless_core::Belief;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files that are written at the end: a line has a hundred bytes.
pub(super) struct TumFiles {
    target: PathBuf,
    overwrite: Overwrite,
    /// Whether names have the episode's number.
    several: bool,
    files: Vec<(usize, PathBuf, String)>,
}

impl TumFiles {
    pub(super) fn create(target: &Path, options: EstimateOptions) -> Result<Self> {
        let EstimateOptions { overwrite, episodes, .. } = options;
        if episodes <= 1 {
            // Whether it can be written is known before any work is done.
            drop(NewFile::create(target, overwrite)?);
        }
        Ok(Self { target: target.to_path_buf(), overwrite, several: episodes > 1, files: Vec::new() })
    }

    /// `path.tum` of a single episode; `path-3.tum` of the fourth of several.
    fn begin(&mut self, episode: usize) -> Result<()> {
        let mut path = self.target.clone();
        if self.several {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let end = path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
            path.set_file_name(format!("{stem}-{episode}{end}"));
            if self.overwrite == Overwrite::Refuse && path.exists() {
                return Err(Error::new("already exists; use --force to replace it").in_file(path));
            }
        }
        self.files.push((episode, path, "# timestamp x y z qx qy qz qw\n".to_owned()));
        Ok(())
    }
}

impl EstimateWriter for TumFiles {
    fn push(&mut self, row: &Estimated, _: Option<&Belief>) -> Result<()> {
        if self.files.last().is_none_or(|(episode, ..)| *episode != row.episode) {
            self.begin(row.episode)?;
        }
        let (sine, cosine) = (0.5 * row.pose.heading).sin_cos();
        let (time, pose) = (row.clock(), row.pose);
        if let Some((.., text)) = self.files.last_mut() {
            // A String can always be written to.
            _ = writeln!(text, "{time} {} {} 0 0 0 {sine} {cosine}", pose.x, pose.y);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PathBuf>> {
        let mut written = Vec::with_capacity(self.files.len());
        for (_, path, text) in self.files {
            let mut file = NewFile::create(&path, self.overwrite)?;
            file.write_all(text.as_bytes()).map_err(cannot_write(&path))?;
            file.commit()?;
            written.push(path);
        }
        Ok(written)
    }
}
