//! How far estimates were off, where the log knows it.

use crate::output::aligned;
use driftless_world::Trajectory;
use driftless_world::evaluation::Coordinate;
use driftless_world::files::estimates::Estimated;
use driftless_world::pose::wrap;

/// Errors of all steps whose pose is known.
#[derive(Default)]
pub struct Errors {
    places: Vec<f64>,
    degrees: Vec<f64>,
    /// Named coordinates, and errors of each.
    coordinates: Vec<(Coordinate, Vec<f64>)>,
}

impl Errors {
    /// Of poses, or of these coordinates.
    pub fn new(coordinates: Vec<Coordinate>) -> Self {
        let coordinates = coordinates.into_iter().map(|coordinate| (coordinate, Vec::new())).collect();
        Self { coordinates, ..Self::default() }
    }

    /// Counts an estimate of an episode.
    pub fn push(&mut self, row: &Estimated, episode: &Trajectory) {
        if let (Some(state), Some(truth)) = (&row.state, episode.states.get(row.step)) {
            let both = state.mean.iter().zip(truth).zip(&mut self.coordinates);
            both.for_each(|((x, truth), (coordinate, errors))| {
                errors.push(coordinate.difference(*x, f64::from(*truth)).abs());
            });
            return;
        }
        let Some(&[x, y, heading]) = episode.states.get(row.step) else { return };
        let [x, y, heading] = [x, y, heading].map(f64::from);
        self.places.push((row.pose.x - x).hypot(row.pose.y - y));
        self.degrees.push(wrap(row.pose.heading - heading).abs().to_degrees());
    }

    /// A table; nothing where no pose was known.
    pub fn table(self, unit: &str) -> Option<String> {
        Self::compared([("", self)], unit)
    }

    /// The same of several at the same steps, by name, what belongs together below each other.
    pub fn compared<const N: usize>(all: [(&str, Self); N], unit: &str) -> Option<String> {
        let [(_, first), ..] = &all[..] else { return None };
        let count = first.coordinates.first().map_or(first.places.len(), |(_, errors)| errors.len());
        if count == 0 {
            return None;
        }
        let what = if first.coordinates.is_empty() { "poses" } else { "states" };
        let head = [&format!("at {count} known {what}"), "RMSE", "median", "95 %", "greatest"];
        let mut each: Vec<_> =
            all.into_iter().map(|(name, errors)| errors.rows(name, unit).into_iter()).collect();
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for _ in 0..each[0].len() {
            rows.extend(each.iter_mut().filter_map(Iterator::next));
        }
        Some(aligned(&rows))
    }

    /// Figures of each quantity, a row each, with a name before them if there is one.
    fn rows(mut self, name: &str, unit: &str) -> Vec<Vec<String>> {
        let unit = if unit.is_empty() { "units" } else { unit };
        let row = |what: String, values: &mut Vec<f64>, decimals: usize| {
            let rmse = (values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64).sqrt();
            values.sort_by(f64::total_cmp);
            let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
            let figures = [rmse, at(0.5), at(0.95), at(1.0)].map(|x| format!("{x:.decimals$}"));
            let what = if name.is_empty() { what } else { format!("{what}, {name}") };
            [vec![what], figures.to_vec()].concat()
        };
        if self.coordinates.is_empty() {
            return vec![
                row(format!("position error, {unit}"), &mut self.places, 3),
                row("heading error, degrees".to_owned(), &mut self.degrees, 2),
            ];
        }
        let each = self.coordinates.iter_mut();
        each.map(|(coordinate, errors)| row(format!("error of {}", coordinate.title()), errors, 4)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::estimated;
    use driftless::online::Estimate;
    use driftless_world::Pose;
    use driftless_world::trajectory::{Labels, Observations, Rows};

    /// Off by 3, 4 at one step and by 0 at another, the third is not known; headings across the half turn.
    #[test]
    fn errors_by_hand() {
        let seen = Observations::Vectors(Rows::new(1, vec![0.0; 3]).unwrap());
        let mut states = Labels::new(3);
        for state in [Some([1.0, 2.0, 3.1]), None, Some([0.0, 0.0, 0.0])] {
            states.push(state.as_ref().map(|state| &state[..]));
        }
        let episode = Trajectory::new(seen, Rows::default(), states).unwrap();
        let mut errors = Errors::default();
        let poses = [Pose::new(4.0, 6.0, -3.1), Pose::new(9.0, 9.0, 9.0), Pose::new(0.0, 0.0, 0.0)];
        for (step, pose) in poses.into_iter().enumerate() {
            let estimate = Estimate {
                pose,
                covariance: [[0.0; 3]; 3],
                effective_sample_size: 1.0,
                particles: 1,
                lost: None,
                collapsed: false,
                saw: true,
                moved: true,
                state: None,
            };
            errors.push(&estimated(&[].into(), (0, step), None, &estimate), &episode);
        }
        let table = errors.table("m").unwrap();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][..4], ["at", "2", "known", "poses"]);
        // √(25 / 2); of an even number the upper one is in the middle.
        assert_eq!(lines[1][3..], ["3.536", "5.000", "5.000", "5.000"]);
        // 2π - 6.2 rad = 4.77°.
        assert_eq!(lines[2][3..], ["3.37", "4.77", "4.77", "4.77"]);
        assert!(Errors::default().table("m").is_none());
    }
}
