//! `driftless convert`: a data file in another layout, as a trainer would see it.

use crate::args::{Convert, Target};
use crate::data::Data;
use crate::interrupt;
use crate::output::{bytes, grouped, print};
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless_world::Trajectory;
use driftless_world::files::Overwrite;
use driftless_world::files::csv::CsvWriter;
use driftless_world::files::log::LogWriter;
use driftless_world::files::provenance::Provenance;
use driftless_world::files::zip::Method;

/// A file of the wanted layout being written.
enum Writer {
    Log(Box<LogWriter>),
    Csv(CsvWriter),
}

/// Reads episode after episode and writes it in the other layout.
pub fn run(wanted: &Convert) -> Result<()> {
    let mut data = Data::open(&wanted.file, &wanted.reading)?;
    if wanted.rgb_only {
        data = data.without_depth()?;
    }
    let overwrite = if wanted.force { Overwrite::Replace } else { Overwrite::Refuse };
    let mut writer = match wanted.to {
        Target::Log => {
            let method = if wanted.compress { Method::Deflated } else { Method::Stored };
            Writer::Log(Box::new(LogWriter::create(&wanted.out, overwrite, method, &comment(&data))?))
        }
        Target::Csv if wanted.compress => misused!("--compress is for npz files"),
        Target::Csv => Writer::Csv(CsvWriter::create(&wanted.out, overwrite)?),
    };
    let mut progress = Progress::new("convert", "episodes", data.len());
    for index in 0..data.len() {
        interrupt::check()?;
        let place = || format!("{}: episode {index}", wanted.file.display());
        writer.push(&data.trajectory(index)?).with_context(place)?;
        progress.advance(1);
    }
    writer.finish()?;
    progress.finish();
    let size = std::fs::metadata(&wanted.out)?.len();
    print(&format!("{}: {} episodes, {}\n", wanted.out.display(), grouped(data.len()), bytes(size)))
}

/// The origin stays known, but the number of steps has changed.
fn comment(data: &Data) -> String {
    let without_steps = |provenance| Provenance { steps: None, ..provenance };
    data.provenance().map(without_steps).map(|provenance| provenance.to_string()).unwrap_or_default()
}

impl Writer {
    fn push(&mut self, trajectory: &Trajectory) -> driftless_world::Result<()> {
        match self {
            Self::Log(writer) => writer.push(trajectory),
            Self::Csv(writer) => writer.push(trajectory),
        }
    }

    fn finish(self) -> driftless_world::Result<()> {
        match self {
            Self::Log(writer) => writer.finish(),
            Self::Csv(writer) => writer.finish(),
        }
    }
}
