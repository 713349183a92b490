//! What published methods need to know of a robot's own log: which networks its sensors need, and how it moves.

use crate::error::{Error, Result};
use crate::learn::{Experiment, Normalisation};
use crate::model::Wander;
use crate::nets::ReadingPlan;
use crate::space::Space;

/// As many beams are convolved; fewer have dense layers.
const LEAST_BEAMS: usize = 16;
/// Columns of a log, at most: a layer has 256 weights for each.
const MOST_COLUMNS: usize = 1 << 16;

/// The networks of a log's sensors, of which dropout keeps a share; without any `[[sensor]]` all columns are one vector.
/// Images are looked at wherever there are any.
pub(super) fn reading_plan(
    experiment: &Experiment,
    normalisation: &Normalisation,
    keep: f64,
) -> Result<ReadingPlan> {
    let (width, image) = (normalisation.readings.width(), normalisation.pixels.shape());
    let image = (image != [1; 3]).then_some(image);
    let mut plan = ReadingPlan { image, keep, ..ReadingPlan::default() };
    // A camera has no columns.
    for sensor in experiment.sensor.iter().filter(|sensor| sensor.width() > 0) {
        let name = || format!("sensor `{}`", sensor.name);
        if sensor.columns[1] > width {
            let problem = format!("columns go up to {}, but the log has {width}", sensor.columns[1]);
            return Err(Error::setting(name(), problem));
        }
        if sensor.width() > MOST_COLUMNS {
            return Err(Error::setting(name(), format!("has more than {MOST_COLUMNS} columns")));
        }
        let is_scan = sensor.kind.line().has_beams && sensor.width() >= LEAST_BEAMS;
        if is_scan { &mut plan.scans } else { &mut plan.vectors }.push(sensor.columns);
    }
    if experiment.sensor.is_empty() && width > 0 {
        plan.vectors.push([0, width.min(MOST_COLUMNS)]);
    }
    if plan.scans.is_empty() && plan.vectors.is_empty() && plan.image.is_none() {
        return Err(Error::setting("sensor", "is missing: the log has neither numbers nor images"));
    }
    Ok(plan)
}

/// How far a robot may go in a step whose odometry is missing.
pub(super) fn wander(normalisation: &Normalisation) -> Wander {
    let [distance, turn] = normalisation.missing_motion().map(f64::from);
    Wander::new(vec![distance, distance, turn], Space::SE2)
}
