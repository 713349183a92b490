//! `config.toml` of a run: everything that was decided, and where the data are.

use crate::learn::Experiment;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The contents of `config.toml`: an experiment with all its settings, and its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunConfig {
    /// What is learned.
    pub experiment: Experiment,
    /// From which files.
    pub data: DataFiles,
}

/// Where episodes come from, and what they are like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataFiles {
    /// Episodes to learn from.
    pub train: PathBuf,
    /// Episodes to validate with; if there is no such file, those of `train` that are not learned from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub valid: Option<PathBuf>,
    /// The world's name.
    pub world: String,
    /// Recorded steps of an episode.
    pub steps: usize,
    /// Height, width and channels of recorded images.
    pub image: [usize; 3],
}
