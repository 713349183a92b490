//! Writes series with vector observations as one csv file.

use super::table::widths;
use crate::error::{Error, Result};
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::{DataWriter, Entry};
use crate::trajectory::{Observations, Trajectory};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A csv file being written. It appears under its name when finished.
pub struct CsvWriter {
    path: PathBuf,
    out: NewFile,
    series: usize,
    widths: Option<[usize; 3]>,
}

impl CsvWriter {
    /// Starts a file.
    pub fn create(path: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        let out = NewFile::create(&path, overwrite)?;
        Ok(Self { path: path.as_ref().to_path_buf(), out, series: 0, widths: None })
    }

    /// Appends a series; all must have the same widths. Images do not fit into a table.
    pub fn push(&mut self, trajectory: &Trajectory) -> Result<()> {
        let Observations::Vectors(observations) = &trajectory.observations else {
            return Err(Error::new("images cannot be written as csv; write npz").in_file(&self.path));
        };
        let widths = widths(trajectory);
        let mut text = String::new();
        match self.widths {
            None => text = header(widths),
            Some(first) if first == widths => {}
            Some(_) => {
                return Err(Error::new("all series of a file need the same widths").in_file(&self.path));
            }
        }
        self.widths = Some(widths);
        self.series += 1;
        for (t, state) in trajectory.states.iter().enumerate() {
            write!(text, "{}", self.series).expect("strings grow");
            match state {
                Some(state) => put(&mut text, state),
                None => text.extend(std::iter::repeat_n(',', widths[2])),
            }
            put(&mut text, observations.row(t));
            if widths[1] > 0 {
                put(&mut text, trajectory.actions.row(t));
            }
            text.push('\n');
        }
        let written = self.out.write_all(text.as_bytes());
        written.map_err(|source| Error::io("cannot write", source).in_file(&self.path))
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        if self.widths.is_none() {
            return Err(Error::new("a file without series was not written").in_file(&self.path));
        }
        self.out.commit()
    }
}

impl DataWriter for CsvWriter {
    fn push(&mut self, entry: &Entry) -> Result<()> {
        self.push(entry.plain()?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)
    }
}

fn header([observation, control, state]: [usize; 3]) -> String {
    let mut text = String::from("series_id");
    for (prefix, count) in [("state", state), ("observation", observation), ("control", control)] {
        for number in 1..=count {
            write!(text, ",{prefix}_{number}").expect("strings grow");
        }
    }
    text.push('\n');
    text
}

/// Rust prints the shortest text that reads back as the same number.
fn put(text: &mut String, values: &[f32]) {
    for value in values {
        write!(text, ",{value}").expect("strings grow");
    }
}
