//! One trajectory as a filter saw it.

use super::cloud::Particle;
use super::coordinates::States;
use super::errors::{Compared, Errors, is_place, is_usable};
use super::predicted_scan::PredictedScan;
use crate::error::{Error, Result};
use crate::pose::Pose;

/// Truth and estimate of T steps, and what the belief was like, if the method has one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// The true poses, T; one that is not known is [`Track::UNKNOWN`].
    pub truth: Vec<Pose>,
    /// The estimated poses, T; an estimate may be NaN, and is then counted, not hidden.
    pub estimate: Vec<Pose>,
    /// 1 / Σ w² at each step, T.
    pub effective_sample_size: Option<Vec<f64>>,
    /// Log density of the true pose under the belief, T.
    pub log_density: Option<Vec<f64>>,
    /// Whether the truth lay in the belief's 90 % region, T.
    pub covered: Option<Vec<bool>>,
    /// Log evidence of each observation given the past, T.
    pub log_evidence: Option<Vec<f64>>,
    /// The beliefs themselves, T, if they were asked for.
    pub clouds: Option<Vec<Vec<Particle>>>,
    /// The range scans that were predicted, T, if they were asked for; none where an image said nothing.
    pub scans: Option<Vec<Option<PredictedScan>>>,
    /// States of named coordinates. Errors are theirs then, and poses only what a picture shows of them: the first two.
    pub states: Option<States>,
}

impl Track {
    /// A true pose that nobody knows: such steps are followed, and not evaluated.
    pub const UNKNOWN: Pose = Pose::new(f64::NAN, f64::NAN, f64::NAN);

    /// A track of a method without a belief, such as an LSTM.
    pub fn new(truth: Vec<Pose>, estimate: Vec<Pose>) -> Self {
        Self { truth, estimate, ..Self::default() }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.truth.len()
    }

    /// True if there is no step.
    pub fn is_empty(&self) -> bool {
        self.truth.is_empty()
    }

    /// Checks that all parts have the same number of steps, at least one, and that truths are finite or unknown, not all.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_empty() {
            return Err(Error::new("has no steps"));
        }
        let lengths = [
            ("estimate", Some(self.estimate.len())),
            ("effective_sample_size", self.effective_sample_size.as_ref().map(Vec::len)),
            ("log_density", self.log_density.as_ref().map(Vec::len)),
            ("covered", self.covered.as_ref().map(Vec::len)),
            ("log_evidence", self.log_evidence.as_ref().map(Vec::len)),
            ("clouds", self.clouds.as_ref().map(Vec::len)),
            ("scans", self.scans.as_ref().map(Vec::len)),
            ("states", self.states.as_ref().map(|states| states.estimate.len().min(states.truth.len()))),
        ];
        for (name, length) in lengths {
            if let Some(length) = length.filter(|length| *length != self.len()) {
                let problem = format!("has {length} steps, the truth has {}", self.len());
                return Err(Error::new(problem).in_field(name));
            }
        }
        if let Some(step) = self.truth.iter().position(|pose| !is_place(pose) && !is_unknown(pose)) {
            return Err(Error::new(format!("is not a place at step {step}")).in_field("truth"));
        }
        if self.truth.iter().all(is_unknown) {
            return Err(Error::new("is not known at any step").in_field("truth"));
        }
        Ok(())
    }

    /// Steps whose true pose is known, in order.
    pub(super) fn compared(&self, step_sizes: [f64; 3]) -> Vec<Compared> {
        let known = self.truth.iter().zip(&self.estimate).enumerate().filter(|(_, (t, _))| !is_unknown(t));
        let compared = |(step, (truth, estimate)): (usize, (&Pose, &Pose))| Compared {
            step,
            errors: Errors::of(*truth, *estimate, step_sizes),
        };
        known.map(compared).collect()
    }

    /// How many log densities and effective sample sizes are not finite or beyond ±10⁹, at steps with a known pose.
    pub(super) fn unusable_beliefs(&self) -> usize {
        let unusable = |values: &Vec<f64>| {
            let known = values.iter().zip(&self.truth).filter(|(_, truth)| !is_unknown(truth));
            known.filter(|(value, _)| !is_usable(**value)).count()
        };
        self.effective_sample_size.iter().chain(&self.log_density).map(unusable).sum()
    }
}

fn is_unknown(pose: &Pose) -> bool {
    pose.x.is_nan() && pose.y.is_nan() && pose.heading.is_nan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_must_belong_together() {
        let poses = vec![Pose::default(); 3];
        let message = |track: Track| track.check().unwrap_err().to_string();
        assert_eq!(message(Track::default()), "has no steps");
        let short = Track::new(poses.clone(), poses[..2].to_vec());
        assert_eq!(message(short), "field estimate: has 2 steps, the truth has 3");
        let long = Track { covered: Some(vec![true; 4]), ..Track::new(poses.clone(), poses.clone()) };
        assert_eq!(message(long), "field covered: has 4 steps, the truth has 3");
        let mut nowhere = Track::new(poses.clone(), poses);
        nowhere.truth[1].y = f64::NAN;
        assert_eq!(message(nowhere), "field truth: is not a place at step 1");
        let unknown = Track::new(vec![Track::UNKNOWN; 2], vec![Pose::default(); 2]);
        assert_eq!(message(unknown), "field truth: is not known at any step");
    }
}
