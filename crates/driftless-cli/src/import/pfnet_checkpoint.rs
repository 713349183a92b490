//! `driftless import pfnet-checkpoint`: weights that PF-net's authors have trained.

use super::Importing;
use crate::output::{aligned, bytes, grouped, overwrite, print};
use anyhow::Result;
use clap::Args;
use driftless::parameters::Named;
use driftless::weights::pfnet_checkpoint::{Imported, KIND, import};
use driftless::weights::write_carefully;
use std::path::PathBuf;

/// Names of what was left out that are printed; the others are counted.
const MOST_NAMES: usize = 5;

/// Options of `import pfnet-checkpoint`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import pfnet-checkpoint rgb_model_trained.chk --out pfnet.safetensors
  driftless import pfnet-checkpoint log/final.chk.index --out mine.safetensors --force

PREFIX stands for two files: PREFIX.index and PREFIX.data-00000-of-00001. TensorFlow is not needed.
Prints the sum and the L2 norm of every tensor, to be compared with those of docs/pfnet-checkpoint.md.
Tensors that are not the network's, such as an optimiser's memory, are left out and counted.")]
pub struct PfnetCheckpoint {
    /// The checkpoint: its files' names up to .index or .data-…
    #[arg(value_name = "PREFIX")]
    prefix: PathBuf,

    /// The weights to write (safetensors)
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// Replace the file if it exists
    #[arg(long, short)]
    force: bool,
}

impl Importing for PfnetCheckpoint {
    fn run(&self) -> Result<()> {
        let imported = import(&self.prefix)?;
        write_carefully(&self.out, KIND, &imported.tensors, overwrite(self.force))?;
        let size = std::fs::metadata(&self.out)?.len();
        let head = format!("{}: {}, {}", self.out.display(), counts(&imported), bytes(size));
        print(&format!("{}\n{head}\n{}\n", table(&imported.tensors), left_out(&imported.left_out)))
    }
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
