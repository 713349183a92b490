//! `driftless convert`: a data file in another layout, as a trainer would see it.

use crate::args::Convert;
use crate::interrupt;
use crate::output::{bytes, grouped, overwrite, print};
use crate::progress::Progress;
use anyhow::{Context, Result};
use driftless_world::files::provenance::Provenance;
use driftless_world::files::{DataFile, Entry, Format, ReadOptions, WriteOptions};

/// Reads episode after episode and writes it in the other layout.
pub fn run(wanted: &Convert) -> Result<()> {
    let options = ReadOptions { rgb_only: wanted.rgb_only, ..wanted.reading.options() };
    let data = Format::of(&wanted.file)?.open(&wanted.file, &options)?;
    let create = wanted.to.create.context("a layout that can be written")?;
    let mut writer = create(
        &wanted.out,
        &WriteOptions {
            overwrite: overwrite(wanted.force),
            compress: wanted.compress,
            comment: comment(data.as_ref()),
            beam_angles: data.beam_angles().map(<[f64]>::to_vec),
        },
    )?;
    let mut progress = Progress::new("convert", "episodes", data.len());
    for index in 0..data.len() {
        interrupt::check()?;
        let place = || format!("{}: episode {index}", wanted.file.display());
        writer.push(&Entry::Plain(data.get(index)?)).with_context(place)?;
        progress.advance(1);
    }
    writer.finish()?;
    progress.finish();
    let size = std::fs::metadata(&wanted.out)?.len();
    print(&format!("{}: {} episodes, {}\n", wanted.out.display(), grouped(data.len()), bytes(size)))
}

/// The origin stays known, but the number of steps has changed.
fn comment(data: &dyn DataFile) -> String {
    let without_steps = |provenance| Provenance { steps: None, ..provenance };
    data.provenance().map(without_steps).map(|provenance| provenance.to_string()).unwrap_or_default()
}
