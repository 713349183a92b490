//! How long runs take here, against what was planned: what time that is left is estimated by.

use super::manifest::Planned;
use super::state::{self, Done};
use driftless::methods::Learns;
use std::path::Path;

/// Seconds that were planned for runs that are done, and that they took here.
#[derive(Debug, Default)]
pub struct Known {
    planned: f64,
    took: f64,
}

impl Known {
    /// Of the notes of runs.
    pub fn of<'a>(out: &Path, runs: impl Iterator<Item = &'a Planned>) -> Self {
        let mut known = Self::default();
        for run in runs {
            if let Some(done) = state::done(out, run) {
                known.add(run, &done);
            }
        }
        known
    }

    /// What is not trained takes seconds, and says nothing of the others; nor does what was done in parts.
    pub fn add(&mut self, run: &Planned, done: &Done) {
        let trained = run.weights_of.is_none() && run.experiment.method.learns != Learns::Nothing;
        if trained && done.at_once {
            self.planned += run.seconds;
            self.took += done.seconds;
        }
    }

    /// Seconds here for each that is planned.
    pub fn pace(&self) -> f64 {
        if self.planned > 0.0 { self.took / self.planned } else { 1.0 }
    }
}
