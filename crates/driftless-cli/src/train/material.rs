//! What a run learns from, in words.

use crate::output::{complain, grouped};
use driftless::learn::{AllRanks, Experiment, Gathered, Session};

/// Says what is learned from what, and warns.
pub fn introduce(gathered: &Gathered, experiment: &Experiment) {
    let (known, all) = gathered.material.training.labels();
    let Experiment { epochs, seed, .. } = experiment;
    complain(&format!("{}, seed {seed}, epochs: {epochs}", experiment.label()));
    let others = match gathered.data.more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    complain(&format!(
        "  learns from {} trajectories of {}{others} ({}), {} of {} poses known, {}",
        gathered.material.training.len(),
        gathered.data.train.display(),
        gathered.data.world,
        grouped(known),
        grouped(all),
        odometry(experiment.odometry_noise)
    ));
    if !gathered.material.validation.is_empty() {
        let file = gathered.data.valid.as_ref().unwrap_or(&gathered.data.train);
        let count = gathered.material.validation.len();
        complain(&format!("  validated with {count} other trajectories of {}", file.display()));
    }
    for warning in &gathered.warnings {
        complain(&format!("warning: {warning}"));
    }
}

/// Says what ranks share, if there are several.
pub fn introduce_ranks(ranks: &AllRanks, session: &Session) {
    let (size, method) = (ranks.size(), session.config().experiment.method.id);
    match (size, session.shares_updates()) {
        (1, _) => {}
        (_, true) => complain(&format!("  {size} ranks share updates and validation")),
        (_, false) => complain(&format!(
            "note: {size} ranks share validation alone: updates of {method} are not divided, and each rank computes all of them"
        )),
    }
}

/// The noise of the odometry in words.
pub fn odometry(noise: f64) -> String {
    if noise == 0.0 { "exact odometry".to_owned() } else { format!("odometry noise {noise}") }
}
