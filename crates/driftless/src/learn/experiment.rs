//! An experiment: which method learns what, from how many labels.

use serde::{Deserialize, Serialize};

/// Who learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodName {
    /// The semi-supervised filter.
    Sdpf,
    /// Its supervised twin: the same filter and networks, taught by labels alone.
    Dpf,
    /// The original of Jonschkowski, Rastogi & Brock, with its likelihood network, action sampler,
    /// proposer and staged training.
    DpfJonschkowski,
    /// A recurrent network without a filter.
    Lstm,
}

/// Whose choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PresetName {
    /// The best we know.
    Driftless,
    /// As the paper states it.
    Paper,
    /// As the authors' code computes it.
    ReleasedCode,
}

/// Everything that names a run, but its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Experiment {
    /// Who learns.
    pub method: MethodName,
    /// Whose choices.
    pub preset: PresetName,
    /// Share of the steps whose pose is known.
    pub labels: f64,
    /// Episodes to learn from, the first of the file; others may serve for validation.
    pub trajectories: usize,
    /// Particles in training and validation.
    pub particles: usize,
    /// Passes over the training episodes.
    pub epochs: u64,
    /// Episodes in an update.
    pub batch: usize,
    /// Names all random numbers, and which poses are known.
    pub seed: u64,
    /// Standard deviation of the factor by which odometry is multiplied.
    pub odometry_noise: f64,
    /// Standard deviation of the noise added to pixels, of 255.
    pub pixel_noise: f64,
    /// Side of the part cut out of each image, at a random place.
    pub crop: usize,
}

impl Default for Experiment {
    /// The paper's maze experiment, with ten per cent of noise on odometry.
    fn default() -> Self {
        Self {
            method: MethodName::Sdpf,
            preset: PresetName::Driftless,
            labels: 0.1,
            trajectories: 100,
            particles: 100,
            epochs: 100,
            batch: 32,
            seed: 1,
            odometry_noise: 0.1,
            pixel_noise: 20.0,
            crop: 24,
        }
    }
}
