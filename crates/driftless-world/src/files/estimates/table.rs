//! Estimates as lines of text: csv with a header, or JSON objects.

use super::{EstimateOptions, EstimateWriter, Estimated, cannot_write};
use crate::error::{Error, Result};
use crate::files::NewFile;
use driftless_core::Belief;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Columns of a csv file.
const HEADER: &str = "episode,step,time,x,y,heading,cov_xx,cov_xy,cov_xh,cov_yy,cov_yh,cov_hh,\
                      effective_sample_size,particles,kidnapped,collapsed,saw,moved";

/// A file of lines.
pub(super) struct Table {
    path: PathBuf,
    file: NewFile,
    line: fn(&Estimated) -> Result<String>,
}

impl Table {
    pub(super) fn csv(path: &Path, options: EstimateOptions) -> Result<Self> {
        let mut file = NewFile::create(path, options.overwrite)?;
        writeln!(file, "{HEADER}").map_err(cannot_write(path))?;
        Ok(Self { path: path.to_path_buf(), file, line: cells })
    }

    pub(super) fn json_lines(path: &Path, options: EstimateOptions) -> Result<Self> {
        let file = NewFile::create(path, options.overwrite)?;
        Ok(Self { path: path.to_path_buf(), file, line: Estimated::to_json })
    }
}

impl Estimated {
    /// One line of JSON; what is NaN becomes null.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::new(format!("cannot be written as JSON: {error}")))
    }
}

/// A row of the table; a cell of what is not known is empty.
#[expect(clippy::unnecessary_wraps, reason = "a kind of line")]
fn cells(row: &Estimated) -> Result<String> {
    let (c, known) = (&row.covariance, |x: f64| (!x.is_nan()).then_some(x));
    let numbers = [
        row.time,
        known(row.pose.x),
        known(row.pose.y),
        known(row.pose.heading),
        known(c[0][0]),
        known(c[0][1]),
        known(c[0][2]),
        known(c[1][1]),
        known(c[1][2]),
        known(c[2][2]),
        known(row.effective_sample_size),
    ];
    let mut line = format!("{},{}", row.episode, row.step);
    let cell = |line: &mut String, x: Option<f64>| match x {
        // A String can always be written to.
        Some(x) => _ = write!(line, ",{x}"),
        None => line.push(','),
    };
    for x in numbers {
        cell(&mut line, x);
    }
    _ = write!(line, ",{}", row.particles);
    cell(&mut line, row.kidnapped);
    let told = [row.collapsed, row.saw, row.moved].map(u8::from);
    _ = write!(line, ",{},{},{}", told[0], told[1], told[2]);
    Ok(line)
}

impl EstimateWriter for Table {
    fn push(&mut self, row: &Estimated, _: Option<&Belief>) -> Result<()> {
        let line = (self.line)(row)?;
        writeln!(self.file, "{line}").map_err(cannot_write(&self.path))
    }

    fn finish(self: Box<Self>) -> Result<Vec<PathBuf>> {
        self.file.commit()?;
        Ok(vec![self.path])
    }
}
