//! `config.toml` of a run: everything that was decided, and where the data are.

use crate::config;
use crate::error::{Error, Result};
use crate::learn::Experiment;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The contents of `config.toml`: an experiment with all its settings, and its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The form of a run's files, [`RunConfig::FORMAT`].
    pub format: u32,
    /// What is learned.
    pub experiment: Experiment,
    /// From which files.
    pub data: DataFiles,
}

/// Settings that may change while a run is interrupted: how long it goes on, and where its files are now, whose
/// contents are compared instead.
const MAY_CHANGE: [&str; 4] = ["experiment.epochs", "data.train", "data.more", "data.valid"];

/// What every form of the file has, if its version wrote it.
#[derive(Deserialize)]
struct Head {
    format: Option<u32>,
}

impl RunConfig {
    /// The form that this version reads and writes. Version 0.1 wrote no number, and had other names of methods and
    /// settings.
    pub const FORMAT: u32 = 2;

    /// An experiment on data, in the form of this version.
    pub fn new(experiment: Experiment, data: DataFiles) -> Self {
        Self { format: Self::FORMAT, experiment, data }
    }

    /// The text of `config.toml`.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|error| Error::setting("", format!("cannot be written as TOML: {error}")))
    }

    /// Understands the text of a `config.toml`; one of another version is refused with a word on what to do.
    pub fn parse(text: &str) -> Result<Self> {
        Self::check_format(text)?;
        config::parse(text)
    }

    /// Fails if the text of a `config.toml` is of another version.
    pub fn check_format(text: &str) -> Result<()> {
        // What is no TOML at all has no version; whoever parses it says where it is wrong.
        let Ok(head) = config::parse::<Head>(text) else { return Ok(()) };
        match head.format {
            Some(Self::FORMAT) => Ok(()),
            None => Err(Error::setting(
                "format",
                "is missing: the run is of version 0.1, whose methods and settings had other names; train again \
                 with the new ones (`driftless train --help`), or use version 0.1",
            )),
            Some(other) => Err(Error::setting(
                "format",
                format!("must be {}, not {other}: the run is of a later version; use that", Self::FORMAT),
            )),
        }
    }

    /// Fails if a setting is not what it was in the text of those that the run was trained with so far.
    pub(super) fn check_unchanged(&self, before: &str) -> Result<()> {
        let before = table(&Self::parse(before)?)?;
        let changed = changes(&before, &table(self)?, "");
        let Some((key, old, new)) = changed.into_iter().find(|(key, ..)| !MAY_CHANGE.contains(&key.as_str()))
        else {
            return Ok(());
        };
        let problem = format!(
            "is {new}, but the run was trained with {old}; put that back, or begin a new run (only {} may change)",
            MAY_CHANGE.join(", ")
        );
        Err(Error::setting(key, problem))
    }
}

/// Settings that two runs do not have in common: keys, what the first has, what the second has.
pub fn changes_of(first: &RunConfig, second: &RunConfig) -> Result<Vec<(String, String, String)>> {
    Ok(changes(&table(first)?, &table(second)?, ""))
}

fn table(config: &RunConfig) -> Result<toml::Table> {
    toml::Table::try_from(config)
        .map_err(|error| Error::setting("", format!("cannot be written as TOML: {error}")))
}

/// Keys that differ, with their old and new values.
fn changes(old: &toml::Table, new: &toml::Table, outer: &str) -> Vec<(String, String, String)> {
    let told = |value: Option<&toml::Value>| value.map_or("not set".to_owned(), ToString::to_string);
    let mut keys: Vec<&String> = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))).collect();
    keys.sort();
    let mut all = Vec::new();
    for key in keys {
        let name = if outer.is_empty() { key.clone() } else { format!("{outer}.{key}") };
        match (old.get(key), new.get(key)) {
            (Some(toml::Value::Table(old)), Some(toml::Value::Table(new))) => {
                all.extend(changes(old, new, &name));
            }
            (old, new) if old != new => all.push((name, told(old), told(new))),
            _ => {}
        }
    }
    all
}

/// Where episodes come from, and what they are like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFiles {
    /// Episodes to learn from.
    pub train: PathBuf,
    /// Files whose episodes follow those of `train`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub more: Vec<PathBuf>,
    /// Episodes to validate with; if there is no such file, those of `train` that are not learned from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub valid: Option<PathBuf>,
    /// What tells the contents of `train` from others, see [`driftless_world::files::Fingerprint`].
    pub train_fingerprint: String,
    /// The same of each of `more`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub more_fingerprints: Vec<String>,
    /// The same of `valid`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub valid_fingerprint: String,
    /// The world's name.
    pub world: String,
    /// Recorded steps of an episode.
    pub steps: usize,
    /// Height, width and channels of recorded images.
    pub image: [usize; 3],
}
