//! `driftless track`: where robots are, by a trained filter, from a log or as it happens.

pub mod batch;
mod line;
pub mod start;
mod stream;
pub mod summary;
mod trackers;

pub use line::{FIELDS, Line};
pub use trackers::{Asked, Trackers};

use crate::args;
use anyhow::Result;
use driftless::online::Estimate;
use driftless_world::files::estimates::{Estimated, EstimatedState};
use std::process::ExitCode;
use std::sync::Arc;

/// Follows the robots of a log, or of standard input.
pub fn run(wanted: &args::Track) -> Result<ExitCode> {
    match (&wanted.data, &wanted.out) {
        (Some(data), Some(out)) => batch::run(wanted, data, out).map(|()| ExitCode::SUCCESS),
        _ => stream::run(wanted),
    }
}

/// An estimate as it is written, with the names of its coordinates if it has some.
pub fn estimated(
    names: &Arc<[String]>,
    (episode, step): (usize, usize),
    time: Option<f64>,
    estimate: &Estimate,
) -> Estimated {
    let state = estimate.state.as_ref().map(|state| EstimatedState {
        names: Arc::clone(names),
        mean: state.mean.clone(),
        covariance: state.covariance.clone(),
    });
    Estimated {
        robot: None,
        episode,
        step,
        time,
        pose: estimate.pose,
        covariance: estimate.covariance,
        effective_sample_size: estimate.effective_sample_size,
        particles: estimate.particles,
        kidnapped: estimate.lost,
        collapsed: estimate.collapsed,
        saw: estimate.saw,
        moved: estimate.moved,
        state,
    }
}
