//! Estimates as lines of text: csv with a header, or JSON objects.

use super::{EstimateOptions, EstimateWriter, Estimated, EstimatedState, cannot_write};
use crate::error::{Error, Result};
use crate::files::NewFile;
use crate::pose::Pose;
use driftless_core::Belief;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Columns of a csv file.
const HEADER: &str = "episode,step,time,x,y,heading,cov_xx,cov_xy,cov_xh,cov_yy,cov_yh,cov_hh,\
                      effective_sample_size,particles,kidnapped,collapsed,saw,moved";

/// Columns that rows of named coordinates begin and end with.
const STATE_COLUMNS: [&str; 10] = [
    "episode",
    "step",
    "time",
    "robot",
    "effective_sample_size",
    "particles",
    "kidnapped",
    "collapsed",
    "saw",
    "moved",
];

/// Whether a coordinate would be mistaken for another column.
pub(super) fn is_taken(name: &str) -> bool {
    STATE_COLUMNS.contains(&name) || name.starts_with("cov_")
}

/// A file of lines.
pub(super) struct Table {
    path: PathBuf,
    file: NewFile,
    line: fn(&Estimated) -> Result<String>,
    /// Whether a header is still to come.
    headless: bool,
}

impl Table {
    pub(super) fn csv(path: &Path, options: EstimateOptions) -> Result<Self> {
        let file = NewFile::create(path, options.overwrite)?;
        Ok(Self { path: path.to_path_buf(), file, line: cells, headless: true })
    }

    pub(super) fn json_lines(path: &Path, options: EstimateOptions) -> Result<Self> {
        let file = NewFile::create(path, options.overwrite)?;
        Ok(Self { path: path.to_path_buf(), file, line: Estimated::to_json, headless: false })
    }

    /// The header of a table, which the first row decides.
    fn head(&mut self, state: Option<&EstimatedState>) -> Result<()> {
        if std::mem::replace(&mut self.headless, false) {
            let header = state.map_or_else(|| HEADER.to_owned(), EstimatedState::header);
            writeln!(self.file, "{header}").map_err(cannot_write(&self.path))?;
        }
        Ok(())
    }
}

impl EstimatedState {
    /// Names of the columns of a table: coordinates, and the upper half of their covariance.
    fn header(&self) -> String {
        let pairs = self.upper().map(|(i, j)| format!("cov_{}_{}", self.names[i], self.names[j]));
        let columns: Vec<String> = self.names.iter().cloned().chain(pairs).collect();
        let end = "effective_sample_size,particles,kidnapped,collapsed,saw,moved";
        format!("episode,step,time,{},{end}", columns.join(","))
    }

    fn upper(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = self.names.len();
        (0..count).flat_map(move |i| (i..count).map(move |j| (i, j)))
    }
}

/// An estimate of named coordinates as an object.
#[derive(Serialize)]
struct StateLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    robot: Option<&'a str>,
    episode: usize,
    step: usize,
    time: Option<f64>,
    #[serde(serialize_with = "by_name")]
    state: &'a EstimatedState,
    covariance: Vec<&'a [f64]>,
    effective_sample_size: f64,
    particles: usize,
    kidnapped: Option<f64>,
    collapsed: bool,
    saw: bool,
    moved: bool,
}

/// Coordinates by name, in their order.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn by_name<S: Serializer>(state: &&EstimatedState, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(state.names.iter().zip(&state.mean))
}

impl Estimated {
    /// One line of JSON; what is NaN becomes null.
    pub fn to_json(&self) -> Result<String> {
        let text = match &self.state {
            None => serde_json::to_string(self),
            Some(state) => serde_json::to_string(&self.state_line(state)),
        };
        text.map_err(|error| Error::new(format!("cannot be written as JSON: {error}")))
    }

    fn state_line<'a>(&'a self, state: &'a EstimatedState) -> StateLine<'a> {
        StateLine {
            robot: self.robot.as_deref(),
            episode: self.episode,
            step: self.step,
            time: self.time,
            state,
            covariance: state.covariance.chunks_exact(state.mean.len().max(1)).collect(),
            effective_sample_size: self.effective_sample_size,
            particles: self.particles,
            kidnapped: self.kidnapped,
            collapsed: self.collapsed,
            saw: self.saw,
            moved: self.moved,
        }
    }

    /// What is estimated, and the upper half of its covariance.
    fn numbers(&self) -> Vec<f64> {
        let Some(state) = &self.state else {
            let (Pose { x, y, heading }, c) = (self.pose, &self.covariance);
            return vec![x, y, heading, c[0][0], c[0][1], c[0][2], c[1][1], c[1][2], c[2][2]];
        };
        let size = state.mean.len();
        let covariance = state.upper().map(|(i, j)| state.covariance[size * i + j]);
        state.mean.iter().copied().chain(covariance).collect()
    }
}

/// A row of the table; a cell of what is not known is empty.
#[expect(clippy::unnecessary_wraps, reason = "a kind of line")]
fn cells(row: &Estimated) -> Result<String> {
    let known = |x: f64| (!x.is_nan()).then_some(x);
    let mut line = format!("{},{}", row.episode, row.step);
    let cell = |line: &mut String, x: Option<f64>| match x {
        // A String can always be written to.
        Some(x) => _ = write!(line, ",{x}"),
        None => line.push(','),
    };
    cell(&mut line, row.time);
    for x in row.numbers().into_iter().chain([row.effective_sample_size]) {
        cell(&mut line, known(x));
    }
    _ = write!(line, ",{}", row.particles);
    cell(&mut line, row.kidnapped);
    let told = [row.collapsed, row.saw, row.moved].map(u8::from);
    _ = write!(line, ",{},{},{}", told[0], told[1], told[2]);
    Ok(line)
}

impl EstimateWriter for Table {
    fn push(&mut self, row: &Estimated, _: Option<&Belief>) -> Result<()> {
        self.head(row.state.as_ref())?;
        let line = (self.line)(row)?;
        writeln!(self.file, "{line}").map_err(cannot_write(&self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PathBuf>> {
        self.head(None)?;
        self.file.commit()?;
        Ok(vec![self.path])
    }
}
