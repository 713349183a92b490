//! `driftless import`: weights that others have trained, and what robots recorded, as files of ours.

mod recordings;

use crate::args::{Import, ImportFrom, PfnetCheckpoint};
use crate::output::{aligned, bytes, grouped, print};
use anyhow::Result;
use driftless::parameters::Named;
use driftless::weights::pfnet_checkpoint::{Imported, KIND, import};
use driftless::weights::write_carefully;
use driftless_world::files::Overwrite;

/// Names of what was left out that are printed; the others are counted.
const MOST_NAMES: usize = 5;

/// Imports from where it is asked.
pub fn run(wanted: &Import) -> Result<()> {
    match &wanted.from {
        ImportFrom::PfnetCheckpoint(wanted) => pfnet_checkpoint(wanted),
        ImportFrom::Carmen(wanted) => recordings::carmen(wanted),
        ImportFrom::Tum(wanted) => recordings::tum(wanted),
        ImportFrom::Mcap(wanted) => recordings::mcap(wanted),
        ImportFrom::Csv(wanted) => recordings::csv(wanted),
    }
}

fn pfnet_checkpoint(wanted: &PfnetCheckpoint) -> Result<()> {
    let imported = import(&wanted.prefix)?;
    let overwrite = if wanted.force { Overwrite::Replace } else { Overwrite::Refuse };
    write_carefully(&wanted.out, KIND, &imported.tensors, overwrite)?;
    let size = std::fs::metadata(&wanted.out)?.len();
    let head = format!("{}: {}, {}", wanted.out.display(), counts(&imported), bytes(size));
    print(&format!("{}\n{head}\n{}\n", table(&imported.tensors), left_out(&imported.left_out)))
}

/// One row a tensor, with figures that can be compared with those of another program.
fn table(tensors: &[Named]) -> String {
    let mut rows = vec![["tensor", "shape", "sum", "L2 norm"].map(str::to_owned).to_vec()];
    for Named { name, shape, values, .. } in tensors {
        let sum: f64 = values.iter().sum();
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        rows.push(vec![name.clone(), format!("{shape:?}"), format!("{sum:.6}"), format!("{norm:.6}")]);
    }
    aligned(&rows)
}

fn counts(imported: &Imported) -> String {
    let numbers = imported.tensors.iter().map(|tensor| tensor.values.len()).sum();
    let channels = |count| format!("{count} {}", if count == 1 { "channel" } else { "channels" });
    format!(
        "{} tensors, {} numbers, maps of {}, images of {}",
        imported.tensors.len(),
        grouped(numbers),
        channels(imported.map_channels),
        channels(imported.observation_channels)
    )
}

fn left_out(names: &[String]) -> String {
    let more = if names.len() > MOST_NAMES { ", …" } else { "" };
    let some = names[..names.len().min(MOST_NAMES)].join(", ");
    match names.len() {
        0 => "nothing was left out".to_owned(),
        count => format!("{count} of the checkpoint's other tensors left out: {some}{more}"),
    }
}
