//! `driftless import`: all that can be taken over from others, one line each, as files of ours.

mod carmen;
mod csv;
mod listing;
mod mcap;
mod pfnet_checkpoint;
mod tum;
mod written;

use anyhow::Result;
use carmen::Carmen;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use csv::Csv;
use mcap::Mcap;
use pfnet_checkpoint::PfnetCheckpoint;
use tum::Tum;

/// Options of `import`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import pfnet-checkpoint rgb_model_trained.chk --out pfnet.safetensors
  driftless import carmen intel.clf.bz2 --poses intel-corrected.log.gz --out intel.npz
  driftless import mcap drive.mcap --list
  driftless import mcap drive.mcap --out drive.npz --test unseen.npz")]
pub struct Import {
    /// What to take over
    #[command(subcommand)]
    from: Chosen,
}

/// Something to take over: its options, and what is done with them.
trait Importing: Args {
    /// Imports.
    fn run(&self) -> Result<()>;
}

/// A line of the table.
struct Importer {
    id: &'static str,
    what: &'static str,
    options: fn(Command) -> Command,
    run: fn(&ArgMatches) -> Result<()>,
}

const fn importer<I: Importing>(id: &'static str, what: &'static str) -> Importer {
    Importer { id, what, options: I::augment_args, run: |typed| I::from_arg_matches(typed)?.run() }
}

/// The table.
const IMPORTERS: [Importer; 5] = [
    importer::<PfnetCheckpoint>("pfnet-checkpoint", "PF-net's weights, from a checkpoint of TensorFlow"),
    importer::<Carmen>("carmen", "A robot's laser scans and odometry, from a CARMEN log"),
    importer::<Tum>("tum", "True poses for a log, from a trajectory in TUM's format"),
    importer::<Mcap>("mcap", "A robot's drive, from an MCAP bag of ROS 1 or ROS 2"),
    importer::<Csv>("csv", "A robot's drive, from a table with names of your own"),
];

/// What was typed.
#[derive(Clone, Debug)]
struct Chosen {
    id: String,
    typed: ArgMatches,
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (id, typed) = matches
            .subcommand()
            .ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))?;
        Ok(Self { id: id.to_owned(), typed: typed.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: Command) -> Command {
        let add = |command: Command, importer: &Importer| {
            command.subcommand((importer.options)(Command::new(importer.id)).about(importer.what))
        };
        IMPORTERS.iter().fold(command, add)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        IMPORTERS.iter().any(|importer| importer.id == name)
    }
}

/// Imports from where it is asked.
pub fn run(wanted: &Import) -> Result<()> {
    let Chosen { id, typed } = &wanted.from;
    let importer = IMPORTERS.iter().find(|importer| importer.id == id).expect("clap knows no others");
    (importer.run)(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/data-formats.md` shows how each recording is imported.
    #[test]
    fn the_documentation_has_all_imports() {
        let page = include_str!("../../../docs/data-formats.md");
        for importer in IMPORTERS.iter().filter(|importer| importer.id != "pfnet-checkpoint") {
            assert!(page.contains(&format!("| `import {} ", importer.id)), "{}", importer.id);
        }
    }
}
