//! The record of an evaluation: a few kilobytes that are kept in a repository, and from which tables are made.
//!
//! A record holds what tables need of each test trajectory, rounded to five digits, and where it comes from: the
//! experiment with all its settings, the commands, the test file. `driftless evaluate` writes it as `record.json`.

mod fields;
mod metric;

pub use fields::{is_condition, told};
pub(crate) use metric::pooled;
pub use metric::{METRICS, Metric, Quantity};

use crate::path_picture::spread_steps;
use driftless_world::evaluation::{StepFigures, Thresholds};
use driftless_world::{About, Error, Evaluation, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The form that is read and written.
const FORMAT: u32 = 1;
/// Points of the error over time.
const POINTS: usize = 21;

/// Where figures come from, so that they can be made again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The version of Driftless.
    pub driftless: String,
    /// The built-in experiment: "house-driftless".
    pub experiment: String,
    /// What was typed to train and to evaluate, with names of files and no folders.
    pub commands: Vec<String>,
    /// Names the noise of the evaluation and the filter's random numbers.
    pub filter_seed: u64,
    /// Settings that are not those of the built-in experiment.
    pub changed: Vec<String>,
    /// All settings but method, world, label fraction and seed, as `house.images`; null is one that the method has no
    /// use for.
    pub settings: BTreeMap<String, Value>,
}

/// What tables need of each trajectory, in the order of the test file; null where all estimates are unusable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectories {
    /// √ of the mean squared position error over all steps, in units of length.
    pub rmse: Vec<Option<f64>>,
    /// The position error at the last step, in units of length.
    pub last: Vec<Option<f64>>,
    /// The distance at the last step in step sizes, heading included.
    pub last_scaled: Vec<Option<f64>>,
    /// 1 if the last quarter of steps was never lost, else 0.
    pub success: Vec<u8>,
}

/// The position error over time at a few steps, over all trajectories that reach them, in units of length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverTime {
    /// Which steps, from 0.
    pub step: Vec<usize>,
    /// The root of the mean square.
    pub rmse: Vec<Option<f64>>,
    /// The median.
    pub median: Vec<Option<f64>>,
}

/// One run on one test file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The form of the file.
    pub format: u32,
    /// What was evaluated, on what.
    pub about: About,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What "lost" and "localised" mean here.
    pub thresholds: Thresholds,
    /// Figures of each trajectory.
    pub trajectories: Trajectories,
    /// How soon a robot is found, and whether it is kept.
    pub over_time: OverTime,
}

impl Record {
    /// What is kept of an evaluation.
    pub fn of(evaluation: &Evaluation, provenance: Provenance) -> Self {
        let all = &evaluation.position_errors;
        let last =
            |errors: &Vec<Option<f32>>| errors.last().copied().flatten().map(|e| rounded(f64::from(e)));
        let steps = spread_steps(evaluation.steps.len(), POINTS);
        let at = |figure: &dyn Fn(&StepFigures) -> Option<f64>| {
            steps.iter().map(|&step| figure(&evaluation.steps[step]).map(rounded)).collect()
        };
        Self {
            format: FORMAT,
            about: evaluation.about.clone(),
            provenance,
            thresholds: evaluation.thresholds,
            trajectories: Trajectories {
                rmse: evaluation.rmse_of_each().into_iter().map(|value| value.map(rounded)).collect(),
                last: all.iter().map(last).collect(),
                last_scaled: evaluation.scaled_distances.iter().map(last).collect(),
                success: evaluation.success_of_each().into_iter().map(u8::from).collect(),
            },
            over_time: OverTime {
                rmse: at(&|step| step.position_rmse.map(|figure| figure.value)),
                median: at(&|step| step.position_quartiles.map(|quartiles| quartiles[1])),
                step: steps,
            },
        }
    }

    /// Number of trajectories.
    pub fn len(&self) -> usize {
        self.trajectories.rmse.len()
    }

    /// True if there is none, which no evaluation has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of `record.json`: a line for each part, so that changes can be read.
    pub fn to_json(&self) -> String {
        let Self { format, about, provenance, thresholds, trajectories, over_time } = self;
        let made = object(&[
            part("driftless", &provenance.driftless),
            part("experiment", &provenance.experiment),
            part("commands", &provenance.commands),
            part("filter_seed", &provenance.filter_seed),
            part("changed", &provenance.changed),
            part("settings", &provenance.settings),
        ]);
        let columns = object(&[
            part("rmse", &trajectories.rmse),
            part("last", &trajectories.last),
            part("last_scaled", &trajectories.last_scaled),
            part("success", &trajectories.success),
        ]);
        let over_time = object(&[
            part("step", &over_time.step),
            part("rmse", &over_time.rmse),
            part("median", &over_time.median),
        ]);
        object(&[
            part("format", format),
            part("about", about),
            format!("\"provenance\": {made}"),
            part("thresholds", thresholds),
            format!("\"trajectories\": {columns}"),
            format!("\"over_time\": {over_time}"),
        ]) + "\n"
    }

    /// Reads what [`Record::to_json`] wrote, and checks that its parts belong together.
    pub fn from_json(text: &str) -> Result<Self> {
        let record: Self = serde_json::from_str(text)
            .map_err(|error| Error::new(format!("is not a record of an evaluation: {error}")))?;
        record.check()?;
        Ok(record)
    }

    fn check(&self) -> Result<()> {
        if self.format != FORMAT {
            let problem = format!("must be {FORMAT}, not {}: the record is of another version", self.format);
            return Err(Error::new(problem).in_field("format"));
        }
        let Trajectories { rmse, last, last_scaled, success } = &self.trajectories;
        let lengths = [rmse.len(), last.len(), last_scaled.len(), success.len()];
        if rmse.is_empty() || lengths.iter().any(|length| *length != rmse.len()) {
            let problem = format!("columns of {lengths:?} trajectories do not belong together");
            return Err(Error::new(problem).in_field("trajectories"));
        }
        let OverTime { step, rmse, median } = &self.over_time;
        if step.len() != rmse.len() || step.len() != median.len() {
            let problem = "has columns of unequal lengths";
            return Err(Error::new(problem).in_field("over_time"));
        }
        Ok(())
    }
}

fn part(name: &str, value: &impl Serialize) -> String {
    let value = serde_json::to_string(value).expect("numbers, strings and lists can be written");
    format!("\"{name}\": {value}")
}

fn object(parts: &[String]) -> String {
    format!("{{\n{}\n}}", parts.join(",\n"))
}

/// Five digits: a table shows three or four, and a file of a hundred trajectories stays small.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::{Pose, Track};

    pub(super) fn record(errors: &[&[f64]]) -> Record {
        let at = |x: &f64| Pose::new(*x, 0.0, 0.0);
        let track =
            |errors: &&[f64]| Track::new(vec![at(&0.0); errors.len()], errors.iter().map(at).collect());
        let tracks: Vec<Track> = errors.iter().map(track).collect();
        let settings = BTreeMap::from([("house.images".to_owned(), Value::from("depth"))]);
        let provenance = Provenance { filter_seed: u64::MAX, settings, ..Provenance::default() };
        Record::of(&Evaluation::of(About::default(), [2.0; 3], &tracks).unwrap(), provenance)
    }

    /// √((9 + 16) / 2) = 3.53553…, and the second robot is lost in its last quarter.
    #[test]
    fn numbers_of_each_trajectory() {
        let record = record(&[&[3.0, 4.0], &[1.0, 200.0], &[f64::NAN, f64::NAN]]);
        let seen = &record.trajectories;
        assert_eq!(seen.rmse, [Some(3.5355), Some(141.42), None]);
        assert_eq!((&seen.last, &seen.success), (&vec![Some(4.0), Some(200.0), None], &vec![1, 0, 0]));
        assert_eq!(seen.last_scaled, [Some(2.0), Some(100.0), None]);
        assert_eq!(
            (&record.over_time.step, &record.over_time.median),
            (&vec![0, 1], &vec![Some(2.0), Some(102.0)])
        );
    }

    #[test]
    fn what_is_written_is_read_and_damage_is_named() {
        let record = record(&[&[3.0, 1e-7, 123_456.0], &[f64::NAN, f64::NAN, f64::NAN]]);
        let text = record.to_json();
        assert_eq!(Record::from_json(&text).unwrap(), record);
        assert!(text.lines().count() > 20, "{text}");
        let message =
            |from: &str, to: &str| Record::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(message("\"format\": 1", "\"format\": 7").starts_with("field format: must be 1, not 7"));
        assert!(
            message("\"success\": [0,0]", "\"success\": [0]").contains("[2, 2, 2, 1] trajectories do not")
        );
        assert!(message("\"filter_seed\"", "\"colour\"").contains("unknown field `colour`"));
        assert!(message("\"step\": [0,", "\"step\": [").contains("field over_time: has columns of unequal"));
    }

    #[test]
    fn five_digits_stay() {
        assert_eq!([123_456.7, 0.000_123_456_7, 0.0].map(rounded), [123_460.0, 0.000_123_46, 0.0]);
    }
}
