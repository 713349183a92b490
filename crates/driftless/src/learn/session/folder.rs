//! A run's folder: the names of its files, and how they are written and read.

use super::checkpoint::Checkpoint;
use super::lock::{LOCK, Lock};
use super::record::{self, EpochRecord};
use super::{RunConfig, problem};
use crate::error::{Error, Result};
use crate::learn::ranks::of_first;
use crate::learn::{AllRanks, Experiment, Method, Normalisation, alone};
use crate::parameters::Named;
use crate::weights;
use driftless_kernels::ranks::Message;
use driftless_world::files::{NewFile, Overwrite, Source};
use serde::Serialize;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CONFIG: &str = "config.toml";
const NORMALISATION: &str = "normalisation.json";
const LOG: &str = "log.jsonl";
const METRICS: &str = "metrics.csv";
const CHECKPOINT: &str = "checkpoint.safetensors";
const BEST: &str = "best.safetensors";
/// Far more than the log of a million epochs.
const MOST_TEXT_BYTES: u64 = 1 << 30;

/// The folder of a run that this process, and no other, works on; of several ranks the first alone does, and need
/// be the only one that sees it: others hear from it what is read.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    ranks: AllRanks,
    _lock: Option<Lock>,
}

impl RunFolder {
    /// Makes a folder, or takes an empty one, for a new run of some ranks.
    pub fn create(path: impl AsRef<Path>, ranks: &AllRanks) -> Result<Self> {
        let path = path.as_ref();
        if ranks.rank() > 0 {
            return Ok(Self::unseen(path, ranks));
        }
        let failed = |source| driftless_world::Error::io("cannot create the run", source).in_file(path);
        fs::create_dir_all(path).map_err(failed)?;
        Self::check_free(path)?;
        Self::locked(path, ranks)
    }

    /// Fails if there is a folder that holds something already. Makes none.
    pub fn check_free(path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let foreign = |name: &String| name != LOCK && !is_partial(name);
        if path.exists() && names(path)?.iter().any(foreign) {
            let what = "exists and is not empty; go on with its run by --resume, or choose another folder";
            return Err(problem(format!("{}: {what}", path.display())));
        }
        Ok(())
    }

    /// The folder of a run that has begun. What a killed process left half-written is removed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_among(path, &alone())
    }

    /// The same for some ranks.
    pub fn open_among(path: impl AsRef<Path>, ranks: &AllRanks) -> Result<Self> {
        let path = path.as_ref();
        if ranks.rank() > 0 {
            return Ok(Self::unseen(path, ranks));
        }
        if !path.join(CONFIG).is_file() {
            return Err(problem(format!("{}: holds no run: there is no {CONFIG}", path.display())));
        }
        Self::locked(path, ranks)
    }

    /// For a rank that reads and writes nothing.
    fn unseen(path: &Path, ranks: &AllRanks) -> Self {
        Self { path: path.to_path_buf(), ranks: Arc::clone(ranks), _lock: None }
    }

    fn locked(path: &Path, ranks: &AllRanks) -> Result<Self> {
        let folder = Self { _lock: Some(Lock::take(path)?), ..Self::unseen(path, ranks) };
        for name in names(path)?.iter().filter(|name| is_partial(name)) {
            // Nobody misses what cannot be removed.
            let _ = fs::remove_file(path.join(name));
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who works on the run.
    pub fn ranks(&self) -> &AllRanks {
        &self.ranks
    }

    /// What rank 0 reads, at all ranks.
    fn at_first<T: Message + Default>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        of_first(&*self.ranks, if self.is_first() { read()? } else { T::default() })
    }

    fn is_first(&self) -> bool {
        self.ranks.rank() == 0
    }

    /// The run's settings.
    pub fn config(&self) -> Result<RunConfig> {
        config_in(&self.path, self.at_first(|| read(&self.path, CONFIG))?)
    }

    /// The settings of the run in a folder that another process may be working on.
    pub fn config_of(path: impl AsRef<Path>) -> Result<RunConfig> {
        config_of(path.as_ref())
    }

    pub(super) fn write_config(&self, config: &RunConfig) -> Result<()> {
        self.write(CONFIG, self.settings(config)?.as_bytes())
    }

    /// The text of `config.toml`.
    pub(super) fn settings(&self, config: &RunConfig) -> Result<String> {
        toml_text(config).map_err(|error| error.in_file(self.path.join(CONFIG)))
    }

    /// Settings that are in range, and with which the run was trained so far.
    pub(super) fn check_config(&self, config: &RunConfig, checkpoint: Option<&Checkpoint>) -> Result<()> {
        let before = checkpoint.and_then(|checkpoint| checkpoint.settings.as_ref());
        let unchanged = || before.map_or(Ok(()), |before| config.check_unchanged(before));
        let checked = config.experiment.check().map_err(|error| error.under("experiment"));
        checked.and_then(|()| unchanged()).map_err(|error| error.in_file(self.path.join(CONFIG)))
    }

    /// Fails if the best weights, of this epoch, are not there or damaged.
    pub(super) fn check_best(&self, epoch: u64) -> Result<()> {
        if !self.is_first() || best_of(&self.path)?.is_some() {
            return Ok(());
        }
        let what = format!(
            "is missing: the best weights, of epoch {epoch}, are lost; put it back, or begin a new run"
        );
        Err(self.wrong(BEST, &what))
    }

    pub(super) fn normalisation(&self) -> Result<Option<Normalisation>> {
        normalisation_in(&self.path, self.at_first(|| read(&self.path, NORMALISATION))?)
    }

    pub(super) fn write_normalisation(&self, normalisation: &Normalisation) -> Result<()> {
        let text = serde_json::to_string(normalisation)
            .map_err(|error| self.wrong(NORMALISATION, &error.to_string()))?;
        self.write(NORMALISATION, (text + "\n").as_bytes())
    }

    /// The records of epochs 1 to `last`; later ones were not completed.
    pub(super) fn records(&self, last: u64) -> Result<Vec<EpochRecord>> {
        let text = self.at_first(|| read(&self.path, LOG))?.unwrap_or_default();
        let line = |(number, line): (usize, &str)| {
            let damaged = |error| self.wrong(LOG, &format!("line {}: {error}", number + 1));
            serde_json::from_str::<EpochRecord>(line).map_err(damaged)
        };
        let records: Vec<EpochRecord> =
            text.lines().take(last as usize).enumerate().map(line).collect::<Result<_>>()?;
        if !records.iter().map(|record| record.epoch).eq(1..=last) {
            return Err(self.wrong(LOG, &format!("does not hold the epochs 1 to {last} of the checkpoint")));
        }
        Ok(records)
    }

    pub(super) fn write_records(&self, records: &[EpochRecord]) -> Result<()> {
        self.write(LOG, record::log(records).as_bytes())?;
        self.write(METRICS, record::metrics(records).as_bytes())
    }

    pub(super) fn checkpoint(&self) -> Result<Option<Checkpoint>> {
        let path = self.path.join(CHECKPOINT);
        self.at_first(|| if path.exists() { Checkpoint::read(&path).map(Some) } else { Ok(None) })
    }

    pub(super) fn restore(&self, checkpoint: &Checkpoint, method: &mut dyn Method) -> Result<()> {
        checkpoint.restore(method).map_err(|error| match error {
            Error::File(error) => Error::File(error.in_file(self.path.join(CHECKPOINT))),
            other => other.in_file(self.path.join(CHECKPOINT)),
        })
    }

    pub(super) fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        if self.is_first() { checkpoint.write(&self.path.join(CHECKPOINT)) } else { Ok(()) }
    }

    /// Weights, after the settings that made them: where weights are, settings are too.
    pub(super) fn write_best(&self, parameters: &[Named], experiment: &Experiment) -> Result<()> {
        if !self.is_first() {
            return Ok(());
        }
        self.write("best.toml", toml_text(experiment)?.as_bytes())?;
        weights::write(self.path.join(BEST), weights::WEIGHTS, parameters)
    }

    pub(super) fn wrong(&self, file: &str, what: &str) -> Error {
        driftless_world::Error::new(what).in_file(self.path.join(file)).into()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if !self.is_first() {
            return Ok(());
        }
        let path = self.path.join(name);
        let mut file = NewFile::create(&path, Overwrite::Replace)?;
        let written = file.write_all(bytes);
        written.map_err(|source| driftless_world::Error::io("cannot write", source).in_file(&path))?;
        Ok(file.commit()?)
    }
}

/// The settings of the run in a folder.
pub fn config_of(folder: &Path) -> Result<RunConfig> {
    config_in(folder, read(folder, CONFIG)?)
}

fn config_in(folder: &Path, text: Option<String>) -> Result<RunConfig> {
    let missing = || problem(format!("{}: holds no run: there is no {CONFIG}", folder.display()));
    let text = text.ok_or_else(missing)?;
    RunConfig::parse(&text).map_err(|error| error.in_file(folder.join(CONFIG)))
}

/// The normalisation of the run in a folder, once they are measured.
pub fn normalisation_of(folder: &Path) -> Result<Option<Normalisation>> {
    normalisation_in(folder, read(folder, NORMALISATION)?)
}

fn normalisation_in(folder: &Path, text: Option<String>) -> Result<Option<Normalisation>> {
    let wrong =
        |error: serde_json::Error| driftless_world::Error::new(format!("holds no normalisation: {error}"));
    let understood = |text: String| {
        let normalisation: Normalisation = serde_json::from_str(&text).map_err(wrong)?;
        normalisation.check()?;
        Ok(normalisation)
    };
    text.map(understood)
        .transpose()
        .map_err(|error: driftless_world::Error| error.in_file(folder.join(NORMALISATION)).into())
}

/// The best weights of the run in a folder, if an epoch is done.
pub fn best_of(folder: &Path) -> Result<Option<Vec<Named>>> {
    let path = folder.join(BEST);
    if path.exists() { weights::read(&path, weights::WEIGHTS).map(Some) } else { Ok(None) }
}

fn read(folder: &Path, name: &str) -> Result<Option<String>> {
    let path = folder.join(name);
    match Source::open(&path).and_then(|source| source.read_text(MOST_TEXT_BYTES)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.io_kind() == Some(ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error.in_file(path).into()),
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let failed = |source| driftless_world::Error::io("cannot read", source).in_file(folder);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    Ok(entries.map(name).collect::<std::io::Result<_>>().map_err(failed)?)
}

/// Files being written are called so by [`NewFile`].
fn is_partial(name: &str) -> bool {
    name.starts_with('.') && name.contains(".partial-")
}

fn toml_text(settings: &impl Serialize) -> Result<String> {
    toml::to_string_pretty(settings)
        .map_err(|error| Error::setting("", format!("cannot be written as TOML: {error}")))
}
