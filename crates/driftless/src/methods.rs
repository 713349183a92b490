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
pub use house::{HouseLstm, PfnetFilter};
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
    if labels == 0.0 && experiment.method != MethodName::Sdpf {
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
    }
}

/// The same where robots are in houses.
fn in_house(experiment: &Experiment, scales: &Scales) -> Result<Box<dyn Method>> {
    match experiment.method {
        MethodName::Sdpf | MethodName::Dpf => Ok(Box::new(PfnetFilter::new(experiment, scales))),
        MethodName::Lstm => Ok(Box::new(HouseLstm::new(experiment, scales))),
        other @ MethodName::DpfJonschkowski => Err(Error::setting(
            "method",
            format!("{other} is for mazes; in houses there are sdpf, dpf and lstm"),
        )),
    }
}
