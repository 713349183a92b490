//! What was made of a recording, in words, and what its numbers make suspicious.

use super::Recording;
use crate::files::track::relative;
use std::fmt::Write as _;

/// Distances beyond this are hardly metres: no room is so large.
const LARGE_RANGE: f32 = 200.0;
/// A robot's speed beyond this is hardly metres a second.
const LARGE_SPEED: f64 = 50.0;
/// Turns of more than this in a step are hardly radians.
const LARGE_TURN: f64 = 6.5;
/// Truth and odometry that differ by this factor have different units.
const OTHER_UNIT: f64 = 100.0;

impl Recording {
    /// A few lines on what was made, from where, and on what was strange.
    pub fn summary(&self) -> String {
        let count = self.steps().count();
        let steps = count.max(1) as f64;
        let labelled = self.steps().filter(|step| step.pose.is_some()).count() as f64;
        let mut text = format!(
            "{count} steps in {} episodes, {:.1} % of the steps labelled",
            self.episodes.len(),
            100.0 * labelled / steps
        );
        if self.odometry {
            let length: f64 = self.actions().flatten().map(|motion| motion[0].hypot(motion[1])).sum();
            let _ = write!(text, ", {length:.1} m by odometry");
        }
        if let Some(pause) = self.median_pause() {
            let _ = write!(text, ", a step every {pause:.2} s (median)");
        }
        text.push('\n');
        let width = self.steps().next().map_or(0, |step| step.readings.len());
        if width > 0 {
            let missing = self.steps().flat_map(|step| &step.readings).filter(|value| value.is_nan()).count();
            let what = if self.beam_angles.is_some() { "beams" } else { "readings" };
            let share = 100.0 * missing as f64 / (steps * width as f64);
            let _ = writeln!(text, "{width} {what} a step, {share:.1} % of them missing");
        }
        if let Some(camera) = &self.camera {
            let [height, width, channels] = camera.shape;
            let seen = self.steps().filter(|step| step.image.is_some()).count();
            let colours = if channels == 1 { "grey" } else { "colour" };
            let _ = writeln!(text, "{seen} {colours} images of {width} x {height} pixels");
        }
        let lines = self.taken.iter().map(|line| ("took", line.clone()));
        let notes = self.notes.iter().map(|line| ("note:", line.clone()));
        for (word, line) in
            lines.chain(notes).chain(self.suspicions().into_iter().map(|line| ("note:", line)))
        {
            let _ = writeln!(text, "{word} {line}");
        }
        text
    }

    /// Seconds from a step to the next, in the middle.
    fn median_pause(&self) -> Option<f64> {
        let pairs = self.episodes.iter().flat_map(|episode| episode.windows(2));
        median(pairs.map(|pair| pair[1].time - pair[0].time).collect())
    }

    /// Units that are not metres and radians, guessed from the numbers.
    pub fn suspicions(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut suspect = |what: &str, unit: &str| found.push(format!("{what}; {unit}"));
        let millimetres = "are these millimetres or centimetres? Metres are expected";
        if self.beam_angles.is_some() {
            let all = self.steps().flat_map(|step| &step.readings).filter(|range| range.is_finite());
            let ranges: Vec<f64> = all.step_by(7).map(|&range| f64::from(range)).collect();
            if let Some(middle) = median(ranges).filter(|&middle| middle > f64::from(LARGE_RANGE)) {
                suspect(&format!("half of the distances are above {middle:.0}"), millimetres);
            }
        }
        let moves: Vec<_> = self.actions().flatten().collect();
        if moves.iter().any(|action| action[2].abs() > LARGE_TURN) {
            suspect("a step turns by more than a full turn", "is that degrees? Radians are expected");
        }
        if self.steps().filter_map(|step| step.pose).any(|pose| pose[2].abs() > LARGE_TURN) {
            suspect("headings of poses are beyond a full turn", "are these degrees? Radians are expected");
        }
        let driven: f64 = moves.iter().map(|action| action[0].hypot(action[1])).sum();
        let spans = self.episodes.iter().map(|episode| episode[episode.len() - 1].time - episode[0].time);
        let seconds: f64 = spans.sum();
        if seconds > 0.0 && driven / seconds > LARGE_SPEED {
            suspect(&format!("odometry drives {:.0} m/s", driven / seconds), millimetres);
        }
        let (known, same) = self.compared();
        if known > 1.0 && same > 0.0 && (known / same > OTHER_UNIT || same / known > OTHER_UNIT) {
            let what = format!("where both are known, poses move {known:.3} m and odometry {same:.3} m");
            suspect(&what, "they have different units, or do not belong together");
        }
        found
    }

    /// Metres between labelled neighbours by their poses, and by odometry.
    fn compared(&self) -> (f64, f64) {
        let pairs = self.episodes.iter().flat_map(|episode| episode.windows(2));
        let both = pairs.filter_map(|pair| Some((pair[0].pose?, pair[1].pose?, pair[1].action?)));
        both.fold((0.0, 0.0), |(known, driven), (a, b, action)| {
            let [forward, left, _] = relative(a, b);
            (known + forward.hypot(left), driven + action[0].hypot(action[1]))
        })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
