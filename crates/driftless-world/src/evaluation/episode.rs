//! One trajectory with everything a viewer wants to see: `episodes.json` of a run.

use super::about::About;
use super::cloud::{Cloud, Particle, text};
use super::coordinates::Coordinate;
use super::plan::Plan;
use super::predicted_scan::PredictedScan;
use crate::error::{Error, Result};
use crate::files::{Fingerprint, png_image};
use crate::pose::Pose;
use serde::{Deserialize, Serialize};

/// What happened at one step, as the filter's caller has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen<'a> {
    /// The true pose; NaN if it is not known.
    pub truth: Pose,
    /// The estimated pose.
    pub estimate: Pose,
    /// The belief; empty for a method without particles.
    pub particles: &'a [Particle],
    /// Rows, columns and RGB bytes of the camera's image.
    pub camera: Option<(usize, usize, &'a [u8])>,
    /// Log of the observation's evidence given the past.
    pub log_evidence: Option<f64>,
    /// What the image was believed to say of distances, if the method predicts them.
    pub scan: Option<&'a PredictedScan>,
    /// The state, where it is of named coordinates.
    pub state: Option<&'a StateStep>,
}

/// A state of named coordinates at a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateStep {
    /// The true one, if it is known.
    pub truth: Option<Vec<f64>>,
    /// The estimated one; none where that was not finite.
    pub estimate: Vec<Option<f64>>,
    /// Standard deviations of the belief; empty if there is none.
    pub deviation: Vec<f64>,
}

/// One step, rounded and packed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodeStep {
    /// The true x, y and heading; none if they are not known.
    pub truth: Option<[f32; 3]>,
    /// The estimated x, y and heading; none if that was not finite.
    pub estimate: Option<[f32; 3]>,
    /// The belief.
    pub particles: Cloud,
    /// The camera's image as a PNG file; empty if there is none.
    #[serde(with = "text")]
    pub camera: Vec<u8>,
    /// Log of the observation's evidence; none if unknown or not finite.
    pub log_evidence: Option<f64>,
    /// A predicted range scan, if the method has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<PredictedScan>,
    /// The state, where it is of named coordinates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateStep>,
}

/// A trajectory, the belief along it and the world around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// What a chooser shows: "test trajectory 12".
    pub title: String,
    /// Which filter followed it, and where.
    pub about: About,
    /// The world.
    pub plan: Plan,
    /// Named coordinates of states; poses are then the first two of them, and headings mean nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<Coordinate>,
    /// The steps.
    pub steps: Vec<EpisodeStep>,
}

impl Episode {
    /// An episode without steps; an error if the plan is no area or a number of `about` is not finite.
    pub fn new(title: impl Into<String>, about: About, plan: Plan) -> Result<Self> {
        about.check()?;
        plan.check()?;
        Ok(Self { title: title.into(), about, plan, coordinates: Vec::new(), steps: Vec::new() })
    }

    /// Adds a step. Errors: an image or a scan that is none.
    pub fn push(&mut self, seen: &Seen) -> Result<()> {
        let step = self.packed(seen);
        self.steps.push(step.map_err(|error| error.in_record(format_args!("step {}", self.steps.len())))?);
        Ok(())
    }

    fn packed(&self, seen: &Seen) -> Result<EpisodeStep> {
        let camera = match seen.camera {
            Some((height, width, rgb)) => {
                if Some(rgb.len()) != height.checked_mul(width).and_then(|pixels| pixels.checked_mul(3)) {
                    let problem = format!("{} bytes do not make {width} x {height} RGB pixels", rgb.len());
                    return Err(Error::new(problem).in_field("camera"));
                }
                png_image::encode_rgb8(height, width, rgb)?
            }
            None => Vec::new(),
        };
        if let Some(scan) = seen.scan {
            scan.check().map_err(|error| error.in_field("scan"))?;
        }
        Ok(EpisodeStep {
            truth: rounded(seen.truth),
            estimate: rounded(seen.estimate),
            particles: Cloud::pack(&self.plan, seen.particles),
            camera,
            log_evidence: seen.log_evidence.filter(|value| value.is_finite()),
            scan: seen.scan.cloned(),
            state: seen.state.cloned(),
        })
    }

    fn check(&self) -> Result<()> {
        self.plan.check()?;
        for (i, step) in self.steps.iter().enumerate() {
            let scan = step.scan.as_ref().map_or(Ok(()), PredictedScan::check);
            let state = step.state.as_ref().map_or(Ok(()), |state| state.check(self.coordinates.len()));
            let parts = step.particles.check().and(scan).and(state);
            parts.map_err(|error| error.in_record(format_args!("step {i}")))?;
        }
        Ok(())
    }
}

impl StateStep {
    fn check(&self, count: usize) -> Result<()> {
        let lengths = [self.truth.as_ref().map_or(count, Vec::len), self.estimate.len()];
        if lengths == [count; 2] && (self.deviation.is_empty() || self.deviation.len() == count) {
            return Ok(());
        }
        Err(Error::new(format!("does not have {count} numbers")).in_field("state"))
    }
}

/// The contents of `episodes.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episodes {
    /// The fingerprint of the `evaluation.json` they were recorded with; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evaluation: String,
    /// The episodes, the one to be shown first in front.
    pub episodes: Vec<Episode>,
}

impl Episodes {
    /// The text of `episodes.json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and lists can be written") + "\n"
    }

    /// Fails unless they were recorded with the evaluation whose text this is.
    pub fn check_pair(&self, evaluation: &str) -> Result<()> {
        if self.evaluation == fingerprint(evaluation) {
            return Ok(());
        }
        Err(Error::new("was not recorded with the evaluation.json beside it; run `driftless evaluate` again"))
    }

    /// Says that they were recorded with the evaluation whose text this is.
    pub fn record_with(&mut self, evaluation: &str) {
        self.evaluation = fingerprint(evaluation);
    }

    /// Reads what [`Episodes::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self> {
        let read: Self = serde_json::from_str(text)
            .map_err(|error| Error::new(format!("does not hold episodes: {error}")))?;
        for (i, episode) in read.episodes.iter().enumerate() {
            episode.check().map_err(|error| error.in_record(format_args!("episode {i}")))?;
        }
        Ok(read)
    }
}

fn fingerprint(text: &str) -> String {
    let mut seen = Fingerprint::default();
    seen.add(text.as_bytes());
    seen.to_string()
}

/// The pose in 32 bits, if all of it is finite there.
fn rounded(pose: Pose) -> Option<[f32; 3]> {
    let values = [pose.x, pose.y, pose.heading].map(|value| value as f32);
    values.iter().all(|value| value.is_finite()).then_some(values)
}
