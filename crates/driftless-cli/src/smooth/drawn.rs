//! Drawn paths as JSON lines, one of each path.

use anyhow::Result;
use driftless_core::Belief;
use driftless_world::files::{NewFile, Overwrite};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file of them, if it is wanted.
pub struct DrawnPaths(Option<(NewFile, PathBuf)>);

/// A line.
#[derive(Serialize)]
struct Line {
    episode: usize,
    path: usize,
    /// The step of the first state.
    first: usize,
    states: Vec<Vec<f32>>,
}

impl DrawnPaths {
    /// Fails early if it cannot be written.
    pub fn create(path: Option<&Path>, overwrite: Overwrite) -> Result<Self> {
        let open = |path: &Path| NewFile::create(path, overwrite).map(|file| (file, path.to_owned()));
        Ok(Self(path.map(open).transpose()?))
    }

    /// All paths of an episode from step `first` on; the m-th state of all steps is one.
    pub fn push(&mut self, episode: usize, first: usize, steps: &[Belief]) -> Result<()> {
        let Some((file, _)) = &mut self.0 else { return Ok(()) };
        let count = steps.first().map_or(0, |step| step.particles.len());
        for path in 0..count {
            let states = steps.iter().map(|step| step.particles.state(path).collect()).collect();
            serde_json::to_writer(&mut *file, &Line { episode, path, first, states })?;
            file.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Completes the file, and says which.
    pub fn finish(self) -> Result<Option<PathBuf>> {
        let Some((file, path)) = self.0 else { return Ok(None) };
        file.commit()?;
        Ok(Some(path))
    }
}
