//! Any data file, opened by what it is, as a sequence of trajectories.

use crate::args::Reading;
use crate::usage::misused;
use anyhow::{Result, bail};
use driftless_world::files::csv::CsvFile;
use driftless_world::files::dpf::{DpfFile, DpfOptions};
use driftless_world::files::log::LogFile;
use driftless_world::files::pfnet::{HouseObservation, PfnetFile, PfnetOptions};
use driftless_world::files::provenance::Provenance;
use driftless_world::files::{FileKind, Source};
use driftless_world::maze::Layout;
use driftless_world::{Dataset, Error, Trajectory};
use std::path::Path;

/// An opened data file.
pub enum Data {
    /// DPF's layout.
    Dpf(Box<DpfFile>),
    /// The plain layout.
    Log(Box<LogFile>),
    /// PyDPF's tables.
    Csv(CsvFile),
    /// PF-net's records.
    Pfnet(PfnetFile),
}

impl Data {
    /// Opens a file; depth channels are kept.
    pub fn open(path: &Path, reading: &Reading) -> Result<Self> {
        let kind = FileKind::of(path)?;
        if reading.steps_per_episode.is_some() && kind != FileKind::Dpf {
            misused!("--steps-per-episode is for DPF files; {} holds {kind}", path.display());
        }
        Ok(match kind {
            FileKind::Dpf => Self::Dpf(Box::new(open_dpf(path, reading)?)),
            FileKind::Log => Self::Log(Box::new(LogFile::open(path)?)),
            FileKind::Csv => Self::Csv(CsvFile::open(path)?),
            FileKind::Pfnet => Self::Pfnet(PfnetFile::open(
                path,
                PfnetOptions { image_size: None, ..PfnetOptions::default() },
            )?),
            FileKind::Maze => bail!("{}: is the drawing of a maze, not data", path.display()),
        })
    }

    /// The same without the depth channel of a DPF file.
    pub fn without_depth(self) -> Result<Self> {
        match self {
            Self::Dpf(file) => Ok(Self::Dpf(Box::new(file.rgb_only()))),
            _ => misused!("--rgb-only is for DPF files"),
        }
    }

    /// Number of episodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Dpf(file) => file.len(),
            Self::Log(file) => file.len(),
            Self::Csv(file) => file.len(),
            Self::Pfnet(file) => file.len(),
        }
    }

    /// Episode `index`; of houses, what the camera saw in colour and depth as far as recorded.
    pub fn trajectory(&self, index: usize) -> driftless_world::Result<Trajectory> {
        match self {
            Self::Dpf(file) => file.get(index),
            Self::Log(file) => file.get(index),
            Self::Csv(file) => file.get(index),
            Self::Pfnet(file) => {
                let episode = file.get(index)?;
                let observation = match (&episode.rgb, &episode.depth) {
                    (Some(rgb), Some(depth)) if same_size(rgb, depth) => HouseObservation::RgbDepth,
                    (None, _) => HouseObservation::Depth,
                    _ => HouseObservation::Rgb,
                };
                episode.to_trajectory(observation)
            }
        }
    }

    /// How the data were made, if the file says so.
    pub fn provenance(&self) -> Option<Provenance> {
        match self {
            Self::Dpf(file) => Provenance::parse(file.comment()),
            Self::Log(file) => Provenance::parse(file.comment()),
            Self::Csv(_) | Self::Pfnet(_) => None,
        }
    }

    /// Unit of the positions, where the layout says it.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Dpf(_) => "units",
            Self::Pfnet(_) => "pixels",
            Self::Log(_) | Self::Csv(_) => "",
        }
    }
}

fn same_size(a: &driftless_world::Images, b: &driftless_world::Images) -> bool {
    (a.height, a.width) == (b.height, b.width)
}

/// Opens a DPF file with its depth channel, if it has one.
fn open_dpf(path: &Path, reading: &Reading) -> Result<DpfFile> {
    let options = DpfOptions { steps_per_episode: reading.steps_per_episode, ..DpfOptions::default() };
    Ok(DpfFile::open(path, options)?.with_depth())
}

/// A built-in maze by name, or a drawing from a file.
pub fn open_maze(name: &str) -> Result<Layout> {
    if let Some(layout) = Layout::built_in(name) {
        return Ok(layout);
    }
    let path = Path::new(name);
    if !path.exists() {
        misused!(
            "{name}: there is no such world; use maze1, maze2, maze3, house, or a file with a maze's drawing"
        );
    }
    read_drawing(path)
}

/// A maze's drawing from a file.
pub fn read_drawing(path: &Path) -> Result<Layout> {
    let named = |error: Error| error.in_file(path);
    let source = Source::open(path)?;
    // Far more than the largest maze that can be drawn needs.
    let text = source.read_text(1 << 22).map_err(named)?;
    Ok(text.parse::<Layout>().map_err(named)?)
}
