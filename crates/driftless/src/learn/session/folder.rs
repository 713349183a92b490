//! A run's folder: the names of its files, and how they are written and read.

use super::checkpoint::Checkpoint;
use super::lock::{LOCK, Lock};
use super::record::{self, EpochRecord};
use super::{RunConfig, problem};
use crate::error::{Error, Result};
use crate::learn::{Experiment, Scales};
use crate::parameters::Named;
use crate::weights;
use driftless_world::files::{NewFile, Overwrite};
use serde::Serialize;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.toml";
const SCALES: &str = "scales.json";
const LOG: &str = "log.jsonl";
const METRICS: &str = "metrics.csv";
const CHECKPOINT: &str = "checkpoint.safetensors";
const BEST: &str = "best.safetensors";

/// The folder of a run that this process, and no other, works on.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: Lock,
}

impl RunFolder {
    /// Makes a folder, or takes an empty one, for a new run.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |source| driftless_world::Error::io("cannot create the run", source).in_file(path);
        fs::create_dir_all(path).map_err(failed)?;
        let foreign = |name: &String| name != LOCK && !is_partial(name);
        if names(path)?.iter().any(foreign) {
            let what = "exists and is not empty; go on with its run by --resume, or choose another folder";
            return Err(problem(format!("{}: {what}", path.display())));
        }
        Self::locked(path)
    }

    /// The folder of a run that has begun. What a killed process left half-written is removed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if !path.join(CONFIG).is_file() {
            return Err(problem(format!("{}: holds no run: there is no {CONFIG}", path.display())));
        }
        Self::locked(path)
    }

    fn locked(path: &Path) -> Result<Self> {
        let folder = Self { _lock: Lock::take(path)?, path: path.to_path_buf() };
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

    /// The run's settings.
    pub fn config(&self) -> Result<RunConfig> {
        config_of(&self.path)
    }

    pub(super) fn write_config(&self, config: &RunConfig) -> Result<()> {
        self.write(
            CONFIG,
            toml_text(config).map_err(|error| error.in_file(self.path.join(CONFIG)))?.as_bytes(),
        )
    }

    pub(super) fn scales(&self) -> Result<Option<Scales>> {
        scales_of(&self.path)
    }

    pub(super) fn write_scales(&self, scales: &Scales) -> Result<()> {
        let text = serde_json::to_string(scales).map_err(|error| self.wrong(SCALES, &error.to_string()))?;
        self.write(SCALES, (text + "\n").as_bytes())
    }

    /// The records of epochs 1 to `last`; later ones were not completed.
    pub(super) fn records(&self, last: u64) -> Result<Vec<EpochRecord>> {
        let text = read(&self.path, LOG)?.unwrap_or_default();
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
        if path.exists() { Checkpoint::read(&path).map(Some) } else { Ok(None) }
    }

    pub(super) fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.write(&self.path.join(CHECKPOINT))
    }

    /// Weights, after the settings that made them: where weights are, settings are too.
    pub(super) fn write_best(&self, parameters: &[Named], experiment: &Experiment) -> Result<()> {
        self.write("best.toml", toml_text(experiment)?.as_bytes())?;
        weights::write(self.path.join(BEST), weights::WEIGHTS, parameters)
    }

    pub(super) fn wrong(&self, file: &str, what: &str) -> Error {
        driftless_world::Error::new(what).in_file(self.path.join(file)).into()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        let mut file = NewFile::create(&path, Overwrite::Replace)?;
        let written = file.write_all(bytes);
        written.map_err(|source| driftless_world::Error::io("cannot write", source).in_file(&path))?;
        Ok(file.commit()?)
    }
}

/// The settings of the run in a folder.
pub fn config_of(folder: &Path) -> Result<RunConfig> {
    let missing = || problem(format!("{}: holds no run: there is no {CONFIG}", folder.display()));
    let text = read(folder, CONFIG)?.ok_or_else(missing)?;
    RunConfig::parse(&text).map_err(|error| error.in_file(folder.join(CONFIG)))
}

/// The scales of the run in a folder, once they are measured.
pub fn scales_of(folder: &Path) -> Result<Option<Scales>> {
    let wrong = |error: serde_json::Error| {
        driftless_world::Error::new(format!("holds no scales: {error}")).in_file(folder.join(SCALES)).into()
    };
    read(folder, SCALES)?.map(|text| serde_json::from_str(&text).map_err(wrong)).transpose()
}

/// The best weights of the run in a folder, if an epoch is done.
pub fn best_of(folder: &Path) -> Result<Option<Vec<Named>>> {
    let path = folder.join(BEST);
    if path.exists() { weights::read(&path, weights::WEIGHTS).map(Some) } else { Ok(None) }
}

fn read(folder: &Path, name: &str) -> Result<Option<String>> {
    match fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(driftless_world::Error::io("cannot read", error).in_file(folder.join(name)).into()),
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
