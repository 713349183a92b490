//! All layouts of data files, one line each: how a file of it is told from others, opened and written.
//! Whatever inspects, shows, converts, trains or simulates finds its files here.

use super::csv::{self, CsvFile, CsvWriter};
use super::dpf::{self, DpfFile, DpfOptions, DpfWriter};
use super::glimpse::Glimpse;
use super::log::{LogFile, LogWriter};
use super::pfnet::{HouseEpisode, PfnetWriter, WalksInHouses};
use super::provenance::Provenance;
use super::zip::Method;
use super::{Overwrite, tfrecord};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::maze;
use crate::trajectory::Trajectory;
use Holds::{Drawing, Houses, Logs, Mazes};
use std::fmt;
use std::path::Path;

/// What is in a file, which decides who can learn from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Walks through one maze, with odometry in DPF's frame.
    Mazes,
    /// Walks through houses, each with its floor map.
    Houses,
    /// Anybody's recordings, as they are.
    Logs,
    /// No data: the drawing of a maze.
    Drawing,
}

/// A data file of any layout, as a trainer would see it.
pub trait DataFile: Dataset<Episode = Trajectory> + Send {
    /// The comment left by whoever wrote the file; empty if there is none.
    #[allow(clippy::unnecessary_literal_bound, reason = "files own theirs")]
    fn comment(&self) -> &str {
        ""
    }

    /// Unit of the positions, where the layout says it.
    fn unit(&self) -> &'static str {
        ""
    }

    /// What somebody should know who looks at the figures.
    fn note(&self) -> Option<String> {
        None
    }

    /// Bearings of a scan's beams in radians, if the file has them.
    fn beam_angles(&self) -> Option<&[f64]> {
        None
    }

    /// Episode `index` with its floor map, if it is a walk through a house.
    fn in_house(&self, _index: usize) -> Result<Option<HouseEpisode>> {
        Ok(None)
    }

    /// How the data were made, if the file says so.
    fn provenance(&self) -> Option<Provenance> {
        Provenance::parse(self.comment())
    }
}

/// How a file is read; only DPF's layout has anything to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Recorded steps of an episode, if not what the file says, or 100.
    pub steps_per_episode: Option<usize>,
    /// Whether depth channels are left out.
    pub rgb_only: bool,
}

/// How a file is written.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Whether it may take the place of another.
    pub overwrite: Overwrite,
    /// Whether arrays are compressed.
    pub compress: bool,
    /// How the data were made, where the layout has a place for it.
    pub comment: String,
    /// Bearings of a scan's beams in radians, likewise.
    pub beam_angles: Option<Vec<f64>>,
}

/// An episode on its way into a file.
#[expect(clippy::large_enum_variant, reason = "one at a time is alive, and most are plain")]
#[derive(Clone, Debug)]
pub enum Entry {
    /// As a trainer sees it.
    Plain(Trajectory),
    /// As DPF stores it.
    Maze(dpf::Recording),
    /// As PF-net stores it, already encoded.
    House(Vec<u8>),
}

impl Entry {
    /// The trajectory, for layouts that store nothing else.
    pub fn plain(&self) -> Result<&Trajectory> {
        match self {
            Self::Plain(trajectory) => Ok(trajectory),
            Self::Maze(_) | Self::House(_) => Err(Error::new("is of a kind that this layout does not store")),
        }
    }
}

/// A file being written. It appears under its name when finished.
pub trait DataWriter: Send {
    /// Appends an episode.
    fn push(&mut self, entry: &Entry) -> Result<()>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Opens a file.
pub type OpenFile = fn(&Path, &ReadOptions) -> Result<Box<dyn DataFile>>;
/// Begins a file.
pub type CreateFile = fn(&Path, &WriteOptions) -> Result<Box<dyn DataWriter>>;

/// A layout.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What `--to` and `--format` call it.
    pub id: &'static str,
    /// What it holds, for people.
    pub what: &'static str,
    /// What it holds, for programs.
    pub holds: Holds,
    /// Whether a file looks like one, by its content.
    pub is: fn(&Glimpse) -> bool,
    /// How names of its files end: a damaged file is best explained by the reader of what it claims to be.
    pub extensions: &'static [&'static str],
    /// Opens a file.
    pub open: OpenFile,
    /// Begins a file, if it can be written.
    pub create: Option<CreateFile>,
}

/// The table.
#[rustfmt::skip]
pub const FORMATS: &[Format] = &[
    Format { id: "dpf", what: "maze recordings in DPF's layout (npz)", holds: Mazes,
        is: |file| file.has_arrays(&["rgbd", "pose"]), extensions: &[],
        open: open_dpf, create: Some(|path, options| {
            Ok(Box::new(DpfWriter::create(path, options.overwrite, method(options), &options.comment)?)) }) },
    Format { id: "log", what: "recordings in the plain layout (npz)", holds: Logs,
        is: |file| file.has_arrays(&["observations"]), extensions: &[],
        open: |path, _| Ok(Box::new(LogFile::open(path)?)), create: Some(create_log) },
    Format { id: "pfnet", what: "house records in PF-net's layout (tfrecords)", holds: Houses,
        is: |file| tfrecord::looks_like_records(&file.start), extensions: &["tfrecord", "tfrecords"],
        open: |path, _| Ok(Box::new(WalksInHouses::open(path)?)), create: Some(|path, options| {
            only_npz(options)?;
            Ok(Box::new(PfnetWriter::create(path, options.overwrite)?)) }) },
    Format { id: "csv", what: "tables in PyDPF's layout (csv)", holds: Logs,
        is: csv::looks_like_tables, extensions: &["csv"],
        open: |path, _| Ok(Box::new(CsvFile::open(path)?)), create: Some(|path, options| {
            only_npz(options)?;
            Ok(Box::new(CsvWriter::create(path, options.overwrite)?)) }) },
    Format { id: "maze", what: "the drawing of a maze", holds: Drawing,
        is: |file| maze::looks_like_drawing(file.text()), extensions: &["maze"],
        open: |path, _| Err(Error::new("is the drawing of a maze, not data").in_file(path)), create: None },
];

impl Format {
    /// Looks at a file or folder and says what it is.
    pub fn of(path: impl AsRef<Path>) -> Result<&'static Self> {
        Self::among(FORMATS, path)
    }

    /// The same for some layouts alone.
    pub fn among(formats: &[Self], path: impl AsRef<Path>) -> Result<&Self> {
        let path = path.as_ref();
        let named = |error: Error| error.in_file(path);
        let file = Glimpse::of(path).map_err(named)?;
        let told = path.extension().and_then(|extension| extension.to_str());
        let claims = |format: &&Self| told.is_some_and(|told| format.extensions.contains(&told));
        let found = formats.iter().find(|format| (format.is)(&file));
        found.or_else(|| formats.iter().find(claims).filter(|_| file.has_no_arrays())).ok_or_else(|| {
            let known: Vec<&str> = formats.iter().map(|format| format.what).collect();
            named(Error::new(format!("{}is none of the known kinds: {}", file.words(), known.join(", "))))
        })
    }

    /// A layout by its id.
    pub fn named(id: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.id == id)
    }

    /// Opens a file; depth channels are kept unless that is said.
    pub fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn DataFile>> {
        if *options != ReadOptions::default() && self.holds != Mazes {
            let option = if options.rgb_only { "--rgb-only" } else { "--steps-per-episode" };
            let (file, what) = (path.display(), self.what);
            return Err(Error::usage(format!("{option} is for DPF files; {file} holds {what}")));
        }
        (self.open)(path, options)
    }
}

/// Layouts are told apart by their ids.
impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

fn open_dpf(path: &Path, options: &ReadOptions) -> Result<Box<dyn DataFile>> {
    let wanted = DpfOptions { steps_per_episode: options.steps_per_episode, ..DpfOptions::default() };
    let file = DpfFile::open(path, wanted)?;
    Ok(Box::new(if options.rgb_only { file } else { file.with_depth() }))
}

fn create_log(path: &Path, options: &WriteOptions) -> Result<Box<dyn DataWriter>> {
    let writer = LogWriter::create(path, options.overwrite, method(options), &options.comment)?;
    Ok(Box::new(match &options.beam_angles {
        Some(angles) => writer.with_beam_angles(angles.clone()),
        None => writer,
    }))
}

fn method(options: &WriteOptions) -> Method {
    if options.compress { Method::Deflated } else { Method::Stored }
}

fn only_npz(options: &WriteOptions) -> Result<()> {
    if options.compress {
        return Err(Error::usage("--compress is for npz files; images in tfrecords are compressed anyway"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
