//! The logs that imports write, and the options that all of them have for it.

use crate::output::{overwrite, print};
use crate::usage::misused;
use anyhow::Result;
use clap::Args;
use driftless_world::files::NewFile;
use driftless_world::files::provenance::Provenance;
use driftless_world::files::recorded::Recording;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What all of them write.
#[derive(Args, Debug)]
pub struct Written {
    /// The log to write (npz)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// A second log, which gets the last part of the drive: to evaluate by what was not learned from
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,

    /// How much of the drive the second log gets
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    test_share: f64,

    /// Longest episode; longer drives are cut into several
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub episode_steps: usize,

    /// Replace the files if they exist
    #[arg(long, short)]
    force: bool,
}

impl Written {
    /// The file to write, with everything about it checked before the work begins.
    pub fn out(&self) -> Result<&Path> {
        let Some(out) = &self.out else { misused!("--out is needed: the log to write (npz)") };
        if self.test.is_some() && !(self.test_share > 0.0 && self.test_share < 1.0) {
            misused!("--test-share must lie between 0 and 1");
        }
        if self.test.as_ref() == Some(out) {
            misused!("--out and --test must be two files");
        }
        for file in [Some(out), self.test.as_ref()].into_iter().flatten() {
            // Asked now, so that nobody waits for an import that cannot be written.
            drop(NewFile::create(file, overwrite(self.force))?);
        }
        Ok(out)
    }

    /// Writes what was recorded, in two parts if that is asked for, and says what it is.
    pub fn write(&self, mut recording: Recording, from: &Path, out: &Path) -> Result<()> {
        let test = self.test.as_ref().map(|path| (path, recording.split(self.test_share)));
        if let Some((path, part)) = &test {
            write(part, from, path, self.force)?;
        }
        write(&recording, from, out, self.force)?;
        let mut text = format!("{}: {}", out.display(), recording.summary());
        if let Some((path, part)) = test {
            let (steps, episodes) = (part.steps().count(), part.episodes.len());
            let _ = writeln!(text, "{}: the last {steps} steps, in {episodes} episodes", path.display());
        }
        print(&text)
    }
}

/// A file's name without its folders.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn write(recording: &Recording, from: &Path, out: &Path, force: bool) -> Result<()> {
    let provenance = Provenance {
        made_by: format!("driftless {}", env!("CARGO_PKG_VERSION")),
        taken: std::iter::once(format!("a drive from {}", name(from)))
            .chain(recording.taken.clone())
            .collect(),
        ..Provenance::default()
    };
    Ok(recording.write(out, overwrite(force), &provenance.to_string())?)
}
