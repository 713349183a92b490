//! What was evaluated: method, world, label share, seed and everything else a table has to say.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The circumstances of an evaluation or of a recorded episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The method, as experiments name it: "sdpf-released".
    pub method: String,
    /// The method, as legends show it: "SDPF (authors' code)".
    pub label: String,
    /// The world: "maze1".
    pub world: String,
    /// Share of the training steps whose true pose was known, 0..=1.
    pub label_fraction: f64,
    /// The seed of the training.
    pub seed: u64,
    /// Number of particles during the evaluation; 0 for methods without particles.
    pub particles: usize,
    /// Standard deviation of the factor N(1, σ²) on the odometry.
    pub odometry_noise: f64,
    /// The trajectories that were followed: a file's name or a simulator's seed.
    pub data: String,
    /// What tells the contents of that file from others, see [`crate::files::Fingerprint`]; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data_fingerprint: String,
    /// The unit of length, as written behind numbers; "units" if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

impl About {
    /// The unit of length in words.
    pub fn unit(&self) -> &str {
        if self.unit.is_empty() { "units" } else { &self.unit }
    }

    /// How many decimals lengths are shown with.
    pub fn decimals(&self) -> usize {
        length_decimals(self.unit())
    }

    /// Checks that all numbers are finite, as JSON cannot hold others.
    pub(super) fn check(&self) -> Result<()> {
        if self.label_fraction.is_finite() && self.odometry_noise.is_finite() {
            return Ok(());
        }
        let (share, noise) = (self.label_fraction, self.odometry_noise);
        let problem = format!("label fraction {share} and odometry noise {noise} must be finite");
        Err(Error::new(problem).in_field("about"))
    }
}

/// How many decimals lengths in a unit are shown with: millimetres where it is a metre, thousandths of deviations.
pub fn length_decimals(unit: &str) -> usize {
    if ["m", "deviations"].contains(&unit) { 3 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_missing_fields_are_refused() {
        let about = About { method: "sdpf".into(), label_fraction: 0.1, seed: u64::MAX, ..About::default() };
        let text = serde_json::to_string(&about).unwrap();
        assert_eq!(serde_json::from_str::<About>(&text).unwrap(), about);
        let more = text.replacen('{', "{\"colour\":1,", 1);
        assert!(
            serde_json::from_str::<About>(&more).unwrap_err().to_string().contains("unknown field `colour`")
        );
        let less = text.replacen("\"seed\":18446744073709551615,", "", 1);
        assert!(
            serde_json::from_str::<About>(&less).unwrap_err().to_string().contains("missing field `seed`")
        );
    }
}
