//! The methods there are: ours, and what everyone compares with, as published.
//!
//! [`AnchoredEm`] learns between labels: the preset `driftless`. [`sdpf`] holds the semi-supervised filter and its supervised twin, as the paper states them and as
//! the authors' code computes them; [`lstm`] the recurrent network.
//! [`Jonschkowski`] is the original differentiable particle filter, to which presets do not matter.
//!
//! The published ones see the crops and the noise that were drawn once before training, as in the authors' code (the
//! paper does not speak of it). Statistics are those of [`Scales`], which looks at known poses only; the
//! authors' code measures means, spreads, step sizes and the box on all training poses, hidden or not.

mod anchored;
pub(crate) mod cloud;
mod density;
mod filtering;
mod house;
mod jonschkowski;
mod learner;
pub mod lstm;
mod recorder;
pub mod sdpf;
mod tracking;
mod updates;

pub use anchored::{AnchoredEm, Teaching};
pub use house::{HouseLstm, PfnetFilter, Unlearned, UnlearnedMethod};
pub use jonschkowski::Jonschkowski;

use crate::error::{Error, Result};
use crate::learn::{Experiment, Method, MethodName, PresetName, Scales, WorldKind};

/// The method of an experiment, not taught yet.
pub fn build(experiment: &Experiment, scales: &Scales) -> Result<Box<dyn Method>> {
    for (key, value) in [("particles", experiment.particles), ("batch", experiment.batch)] {
        if value == 0 {
            return Err(Error::setting(key, "must be at least 1, not 0"));
        }
    }
    let labels = experiment.labels;
    if !(0.0..=1.0).contains(&labels) {
        return Err(Error::setting("labels", format!("must lie between 0 and 1, not {labels}")));
    }
    let from_labels =
        [MethodName::Dpf, MethodName::DpfJonschkowski, MethodName::Lstm].contains(&experiment.method);
    let between_labels = experiment.method == MethodName::Sdpf
        && experiment.preset == PresetName::Driftless
        && experiment.world == WorldKind::Maze;
    if labels == 0.0 && between_labels {
        return Err(Error::setting("labels", "must be above 0: learning between labels needs some"));
    }
    if labels == 0.0 && from_labels {
        return Err(Error::setting("labels", "must be above 0: this method learns from labels alone"));
    }
    if experiment.world == WorldKind::House {
        return in_house(experiment, scales);
    }
    match (experiment.method, experiment.preset) {
        (MethodName::Lstm, _) => Ok(Box::new(lstm::LstmMethod::new(experiment, scales))),
        (MethodName::Sdpf, PresetName::Driftless) => {
            Ok(Box::new(AnchoredEm::new(experiment, scales, Teaching::BetweenLabels)?))
        }
        (MethodName::Dpf, PresetName::Driftless) => {
            Ok(Box::new(AnchoredEm::new(experiment, scales, Teaching::LabelsAlone)?))
        }
        (MethodName::Sdpf | MethodName::Dpf, PresetName::Paper | PresetName::ReleasedCode) => {
            Ok(sdpf::build(experiment, scales))
        }
        (MethodName::DpfJonschkowski, _) => Ok(Box::new(Jonschkowski::new(experiment, scales))),
        (MethodName::Odometry | MethodName::Classical, _) => {
            Err(Error::setting("method", "is for houses: in a maze it would need a start or a map of ranges"))
        }
    }
}

/// The same where robots are in houses.
fn in_house(experiment: &Experiment, scales: &Scales) -> Result<Box<dyn Method>> {
    match experiment.method {
        MethodName::Sdpf | MethodName::Dpf => Ok(Box::new(PfnetFilter::new(experiment, scales)?)),
        MethodName::Lstm => Ok(Box::new(HouseLstm::new(experiment, scales))),
        MethodName::Odometry => Ok(Box::new(UnlearnedMethod::new(Unlearned::Odometry, experiment, scales))),
        MethodName::Classical => Ok(Box::new(UnlearnedMethod::new(Unlearned::Classical, experiment, scales))),
        MethodName::DpfJonschkowski => {
            let others = "sdpf, dpf, lstm, odometry and classical";
            Err(Error::setting(
                "method",
                format!("dpf-jonschkowski is for mazes; in houses there are {others}"),
            ))
        }
    }
}
