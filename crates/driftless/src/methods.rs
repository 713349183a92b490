//! The methods there are: ours, and what everyone compares with, as published.
//!
//! [`METHODS`] lists them. [`AnchoredEm`] learns between labels: `driftless`. [`sdpf`] holds the semi-supervised
//! filter as the paper states it and as the authors' code computes it; [`lstm`] the recurrent network;
//! [`Jonschkowski`] is the original differentiable particle filter, `dpf`. In houses ours is
//! [`RangeScan`], and published filters are [`PfnetFilter`]; for a robot's own log it is [`RobotEm`], beside [`Mcl`].
//!
//! The published ones see the crops and the noise that were drawn once before training, as in the authors' code (the
//! paper does not speak of it). Statistics are those of [`Normalisation`], which looks at known poses only; the
//! authors' code measures means, spreads, step sizes and the box on all training poses, hidden or not.

mod anchored;
mod filtering;
mod following;
mod histogram;
mod house;
mod jonschkowski;
mod kalman;
mod known_paths;
mod learner;
pub mod lstm;
mod observed;
mod own_log;
mod pf_rnn;
mod prior;
mod range_scan;
mod recorder;
mod registry;
mod regression;
mod replayed;
mod robot;
pub mod sdpf;
mod sensed;
mod shared_tracks;
mod tensor_density;
mod trace_loss;
mod tracking;
mod updates;
mod windows;

pub use anchored::{AnchoredEm, Supervision};
pub use house::{HouseLstm, PfnetFilter, Training, Unlearned, UnlearnedMethod};
pub use jonschkowski::Jonschkowski;
pub use range_scan::RangeScan;
pub use registry::{BuildMethod, Learns, METHODS, Registered, methods_in};
pub use replayed::Replayed;
pub use robot::{CoordinateEm, CoordinateOdometry, Mcl, RobotEm, RobotOdometry};
pub(crate) use robot::{Given, RegisteredSensor, SENSORS, check_given};

use crate::error::{Error, Result};
use crate::learn::{Experiment, Method, Normalisation};

/// Methods that follow states of named coordinates, too.
const OF_COORDINATES: [&str; 3] = ["driftless", "driftless-supervised", "odometry"];

/// Whether the method of an experiment follows states such as the experiment's.
pub fn follows(experiment: &Experiment) -> bool {
    experiment.state.is_planar() || OF_COORDINATES.contains(&experiment.method.id)
}

/// The method of an experiment, not trained yet.
pub fn build(experiment: &Experiment, normalisation: &Normalisation) -> Result<Box<dyn Method>> {
    experiment.check()?;
    let (method, world) = (experiment.method, experiment.world);
    let needs_labels = method.learns == Learns::FromLabels && !experiment.has_given_map();
    if experiment.label_fraction == 0.0 && needs_labels {
        return Err(Error::setting(
            "label_fraction",
            "must be above 0: this method learns from labels alone",
        ));
    }
    let Some(build) = experiment.registered().and_then(|method| method.build_in(world)) else {
        let works: Vec<String> = method.worlds().map(|world| format!("{world}s")).collect();
        let others: Vec<&str> = methods_in(world).map(|other| other.id).collect();
        let (id, works, others) = (method.id, works.join(" and "), others.join(", "));
        return Err(Error::setting("method", format!("{id} is for {works}; in {world}s there are {others}")));
    };
    if !follows(experiment) {
        let (id, works) = (method.id, OF_COORDINATES.join(", "));
        let problem = format!("{id} follows poses in the plane; with state.coordinates there are {works}");
        return Err(Error::setting("method", problem));
    }
    if experiment.resampler.is_some()
        && ["ekf", "histogram", "lstm", "odometry", "regression", "ukf"].contains(&method.id)
    {
        return Err(Error::setting(
            "resampler",
            format!("is for filters: {} has no particles to resample", method.id),
        ));
    }
    build(experiment, normalisation)
}
