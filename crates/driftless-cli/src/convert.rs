//! `driftless convert`: a data file in another layout, as a trainer would see it.

use crate::args::{Convert, Format};
use crate::data::Data;
use crate::output::{bytes, grouped, print};
use crate::progress::Progress;
use anyhow::{Result, bail};
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
    let data = Data::open(&wanted.file, &wanted.reading)?;
    let overwrite = if wanted.force { Overwrite::Replace } else { Overwrite::Refuse };
    let mut writer = match wanted.to {
        Format::Log => {
            let method = if wanted.compress { Method::Deflated } else { Method::Stored };
            Writer::Log(Box::new(LogWriter::create(&wanted.out, overwrite, method, &comment(&data))?))
        }
        Format::Csv => Writer::Csv(CsvWriter::create(&wanted.out, overwrite)?),
        Format::Dpf | Format::Pfnet => {
            bail!(
                "--to: data can be converted to log or csv; dpf and pfnet are written by `driftless simulate`"
            )
        }
    };
    let mut progress = Progress::new("convert", "episodes", data.len());
    for index in 0..data.len() {
        writer.push(&data.trajectory(index)?)?;
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
