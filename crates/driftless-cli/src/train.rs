//! `driftless train`: a method is trained in a folder that remembers everything, and can go on after any end.

mod ending;
mod experiments;
mod material;
mod memory;
mod watcher;

pub use experiments::{find as experiment, names as experiments, wanted as wanted_experiment};
pub use material::odometry;
pub use watcher::Watcher;

use crate::args::Train;
use crate::interrupt;
use crate::output::{complain, print};
use crate::ranks::Job;
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::learn::{
    AllRanks, EpochRecord, Experiment, Files, Gathered, Observer, Outcome, RunConfig, RunFolder, Session,
};
use driftless::methods::build;
use material::{introduce, introduce_ranks};
use std::path::Path;
use std::process::ExitCode;

/// How a session ended, and the best there is.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Epochs trained now; others may have been trained before.
    pub trained: u64,
    /// Updates made now.
    pub updates: u64,
    /// The epoch whose weights are kept, if there is one.
    pub best: Option<EpochRecord>,
}

/// Begins a run or goes on with one, and says how it ended.
pub fn run(wanted: &Train, job: &Job) -> Result<ExitCode> {
    interrupt::answer(if job.is_shared() {
        "asked to stop, or a rank was lost: stopping after this epoch if there is time; go on with --resume in any case"
    } else {
        "stopping after this epoch; press again to stop at once"
    });
    let ranks = job.ranks();
    let (folder, ended) = match (&wanted.resume, wanted.recordings.split_first(), &wanted.run) {
        (Some(folder), ..) => {
            (folder, run_again(folder, ranks, |config| Watcher::new(config.experiment.epochs))?)
        }
        (None, Some((train, _)), _) if wanted.dry_run => {
            let experiment = wanted_experiment(wanted.experiment.as_deref(), &wanted.settings, train, true)?;
            print(&experiment.to_toml()?)?;
            return Ok(ExitCode::SUCCESS);
        }
        (None, Some((train, more)), Some(run)) => {
            let experiment = wanted_experiment(wanted.experiment.as_deref(), &wanted.settings, train, true)?;
            let files = Files {
                train: train.clone(),
                more: more.to_vec(),
                valid: wanted.valid.clone(),
                steps: wanted.reading.steps_per_episode,
            };
            (run, run_new(&experiment, &files, (run, ranks), &mut Watcher::new(experiment.epochs))?)
        }
        _ => misused!("--train and --run are needed, or --resume alone"),
    };
    let code = ending::tell(folder, &ended)?;
    job.tell(ended.updates);
    Ok(code)
}

/// Trains an experiment from its first epoch on, in a new folder, by some ranks. What is learned from what is said on
/// standard error; all else is the observer's.
pub fn run_new(
    experiment: &Experiment,
    files: &Files,
    (folder, ranks): (&Path, &AllRanks),
    observer: &mut dyn Observer,
) -> Result<Ended> {
    if ranks.rank() == 0 {
        RunFolder::check_free(folder)?;
    }
    let gathered = Gathered::read(experiment, files)?;
    memory::check(experiment, &gathered)?;
    introduce(&gathered, experiment);
    let Gathered { material, data, .. } = gathered;
    let config = RunConfig::new(experiment.clone(), data);
    finish(Session::begin_among(ranks, folder, config, material, &build)?, ranks, observer)
}

/// Goes on with the run of a folder by some ranks, watched by who is made for its settings.
pub fn run_again<O: Observer>(
    folder: &Path,
    ranks: &AllRanks,
    watch: impl FnOnce(&RunConfig) -> O,
) -> Result<Ended> {
    let folder = RunFolder::open_among(folder, ranks)?;
    let config = folder.config()?;
    let told = || {
        format!("{}: its data cannot be read again (names are as they were typed)", folder.path().display())
    };
    let gathered = Gathered::again(&config).with_context(told)?;
    memory::check(&config.experiment, &gathered)?;
    introduce(&gathered, &config.experiment);
    let session = Session::resume(folder, gathered.material, &build)?;
    complain(&format!("going on after epoch {} of {}", session.epochs(), config.experiment.epochs));
    finish(session, ranks, &mut watch(&config))
}

fn finish(mut session: Session, ranks: &AllRanks, observer: &mut dyn Observer) -> Result<Ended> {
    introduce_ranks(ranks, &session);
    let updates = |session: &Session| session.records().last().map_or(0, |record| record.updates);
    let before = (session.epochs(), updates(&session));
    let outcome = session.run(observer)?;
    let (trained, updates) = (session.epochs() - before.0, updates(&session) - before.1);
    Ok(Ended { outcome, trained, updates, best: session.best().cloned() })
}
