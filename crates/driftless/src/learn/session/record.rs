//! What is written down of an epoch: a line of `log.jsonl`, a row of `metrics.csv`.

use crate::learn::EpochReport;
use driftless_world::evaluation::Evaluation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Errors at the last steps of the validation episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// Mean of √ d², in step sizes: what the best weights have least of.
    pub distance: Option<f64>,
    /// √ mean d², in step sizes.
    pub rmse: Option<f64>,
    /// Episodes whose last estimate is nowhere; these are in neither mean.
    pub unusable: usize,
}

impl Validation {
    pub(super) fn of(evaluation: &Evaluation) -> Self {
        let last = &evaluation.last;
        Self {
            distance: last.scaled_distance.map(|figure| figure.value),
            rmse: last.scaled_rmse.map(|figure| figure.value),
            unusable: last.unusable,
        }
    }

    /// Fewer estimates that are nowhere, or as many and a smaller distance. Equal is not better: the
    /// earlier weights stay.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        let rank = |seen: &Self| (seen.unusable, seen.distance.unwrap_or(f64::INFINITY));
        rank(self) < rank(other)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// One epoch: a line of `log.jsonl`. Numbers that are not finite are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochRecord {
    /// Which, from 1.
    pub epoch: u64,
    /// Updates made since the first epoch.
    pub updates: u64,
    /// Updates of this epoch not made, because something was not finite.
    pub skipped: u64,
    /// Seconds of training so far, by the observer's clock.
    pub seconds: f64,
    /// The whole loss.
    pub loss: Option<f64>,
    /// Its parts, by name.
    pub losses: BTreeMap<String, Option<f64>>,
    /// Mean length of the gradient.
    pub gradient_norm: Option<f64>,
    /// Mean effective sample size in training, if there are particles.
    pub effective_sample_size: Option<f64>,
    /// Episodes with labels of which no path could be drawn.
    #[serde(default, skip_serializing_if = "is_none")]
    pub without_path: u64,
    /// Errors in validation, if there is any.
    pub validation: Option<Validation>,
    /// Whether these weights are the best so far.
    pub best: bool,
    /// Why learning failed here, if it did.
    pub diverged: Option<String>,
}

impl EpochRecord {
    /// What a report says, after the record of the epoch before.
    pub(super) fn of(report: &EpochReport, before: Option<&Self>) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let mut losses = report.losses.iter();
        Self {
            epoch: before.map_or(0, |before| before.epoch) + 1,
            updates: before.map_or(0, |before| before.updates) + report.updates,
            skipped: report.skipped,
            loss: losses.next().and_then(|(_, whole)| finite(*whole)),
            losses: losses.map(|(name, part)| (name.clone(), finite(*part))).collect(),
            gradient_norm: finite(report.gradient_norm),
            effective_sample_size: report.effective_sample_size.and_then(finite),
            without_path: report.without_path,
            ..Self::default()
        }
    }
}

/// The text of `log.jsonl`.
pub fn log(records: &[EpochRecord]) -> String {
    let line = |record| serde_json::to_string(record).expect("numbers and words can be written") + "\n";
    records.iter().map(line).collect()
}

/// The text of `metrics.csv`: a column for every part of a loss that any epoch has.
pub fn metrics(records: &[EpochRecord]) -> String {
    let parts: BTreeSet<&String> = records.iter().flat_map(|record| record.losses.keys()).collect();
    let mut text = "epoch,update,seconds,loss".to_owned();
    for part in &parts {
        let _ = write!(text, ",loss.{}", part.replace([',', '\n', '\r', '"'], "_"));
    }
    text += ",validation_distance,validation_rmse,effective_sample_size,gradient_norm,skipped\n";
    let field = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for record in records {
        let seen = record.validation;
        let part = |part: &&String| field(record.losses.get(*part).copied().flatten());
        let mut row =
            vec![record.epoch.to_string(), record.updates.to_string(), format!("{:.3}", record.seconds)];
        row.push(field(record.loss));
        row.extend(parts.iter().map(part));
        row.extend([seen.and_then(|seen| seen.distance), seen.and_then(|seen| seen.rmse)].map(field));
        row.extend([record.effective_sample_size, record.gradient_norm].map(field));
        row.push(record.skipped.to_string());
        text += &(row.join(",") + "\n");
    }
    text
}
