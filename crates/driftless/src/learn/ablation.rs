//! Parts of the method `driftless` that can be left out, to see what each is good for.

use serde::{Deserialize, Serialize};

/// One of the things that `driftless` does in mazes and others do not; an experiment leaves out those it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ablation {
    /// Paths between labels are drawn by images too; without it by labels and odometry alone.
    ImagesInPaths,
    /// Crops and noise of images are drawn anew in every epoch; without it once.
    FreshImages,
    /// The noise of odometry is learned; without it it is the paper's, 20 units and 0.5 rad a step.
    LearnedNoise,
    /// The tempering of likelihoods is calibrated on whole trajectories; without it they stay as the contrast
    /// makes them.
    Calibration,
    /// A track begins with many particles, drawn by the first image; without it with as many as it goes on with,
    /// drawn evenly.
    GlobalStart,
    /// Particles are drawn by the image when the belief explains it badly; without it never.
    Recovery,
}
