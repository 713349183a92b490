//! Whether columns of a log can be distances: those are never negative, change as far as a robot moves, and resemble each
//! other where beams do.

use super::LEAST_BEAMS;
use driftless_world::Trajectory;
use driftless_world::trajectory::Observations;

/// What distances to beacons change by, on average, for a unit of the robot's way. Of directions all around it is 2 / π; a
/// beacon in front or behind makes it 1, noise more, a robot that circles a beacon less.
const CHANGE: std::ops::RangeInclusive<f64> = 0.1..=2.0;
/// Beams beside each other differ by less than this share of what beams half a scan apart do.
const ALIKE: f64 = 0.7;
/// Steps between two readings of a column that are compared, at most.
const APART: usize = 20;
/// Comparisons that say something.
const LEAST: usize = 50;

/// Why columns of finite readings are no distances, if they seem to be none; actions tell the way if they are metric.
pub(super) fn why_no_distances(
    columns: &[Vec<f32>],
    episodes: &[Trajectory],
    is_metric: bool,
) -> Option<String> {
    if let Some(column) = columns.iter().position(|column| column.iter().any(|&x| x < 0.0)) {
        return Some(format!("column {column} has numbers below 0, which no distance is"));
    }
    if columns.len() >= LEAST_BEAMS {
        let share = neighbours(episodes).filter(|share| *share > ALIKE)?;
        return Some(format!(
            "columns beside each other differ by {share:.1} of what those far apart do: no beams of a scan"
        ));
    }
    let change = change(episodes).filter(|change| is_metric && !CHANGE.contains(change))?;
    Some(format!(
        "they change by {change:.2} for a unit of the robot's way: distances to beacons, by 0.6 or so"
    ))
}

/// How much columns change for a unit of the way, all of them together.
fn change(episodes: &[Trajectory]) -> Option<f64> {
    let (mut changes, mut way, mut count) = (0.0, 0.0, 0);
    for episode in episodes.iter().filter(|episode| episode.actions.width() >= 2) {
        let Observations::Vectors(rows) = &episode.observations else { continue };
        // Of each column: its last reading, how long ago that was, and the way since.
        let mut last: Vec<Option<(f32, usize, f64)>> = vec![None; rows.width()];
        for t in 0..episode.len() {
            let action = episode.actions.row(t);
            let moved = f64::from(action[0].hypot(action[1]));
            for (last, &x) in last.iter_mut().zip(rows.row(t)) {
                *last = last.map(|(x, steps, way)| (x, steps + 1, way + moved));
                if !x.is_finite() {
                    continue;
                }
                if let Some((before, steps, moved)) = *last
                    && steps <= APART
                    && moved.is_finite()
                {
                    (changes, way, count) = (changes + f64::from((x - before).abs()), way + moved, count + 1);
                }
                *last = Some((x, 0, 0.0));
            }
        }
    }
    (count >= LEAST && way > 0.0).then(|| changes / way)
}

/// How much columns differ from their neighbours, as a share of how much they differ from those half of all away.
fn neighbours(episodes: &[Trajectory]) -> Option<f64> {
    let (mut sums, mut count) = ([0.0; 2], 0);
    let rows = episodes.iter().filter_map(|episode| match &episode.observations {
        Observations::Vectors(rows) => Some((0..rows.len()).map(|t| rows.row(t))),
        Observations::Images(_) => None,
    });
    for row in rows.flatten() {
        for k in 0..row.len() {
            let differences =
                [1, row.len() / 2].map(|by| f64::from((row[k] - row[(k + by) % row.len()]).abs()));
            if differences.iter().all(|x| x.is_finite()) {
                (sums, count) = ([sums[0] + differences[0], sums[1] + differences[1]], count + 1);
            }
        }
    }
    (count >= LEAST && sums[1] > 0.0).then(|| sums[0] / sums[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::random::Random;
    use driftless_world::trajectory::{Labels, Rows};

    /// A robot that drives circles of 3 m around the origin, half a metre a step; a reading is made of its place.
    fn log(width: usize, reading: impl Fn([f64; 2], usize) -> f64) -> (Vec<Vec<f32>>, Vec<Trajectory>) {
        let (mut columns, mut rows) = (vec![Vec::new(); width], Vec::new());
        for t in 0..60 {
            let angle = f64::from(t) / 6.0;
            for (k, column) in columns.iter_mut().enumerate() {
                let x = reading([3.0 * angle.cos(), 3.0 * angle.sin()], k) as f32;
                column.push(x);
                rows.push(x);
            }
        }
        let actions = Rows::new(3, [0.5, 0.0, 1.0 / 6.0].repeat(60)).unwrap();
        let mut states = Labels::new(3);
        (0..60).for_each(|_| states.push(None));
        let observations = Observations::Vectors(Rows::new(width, rows).unwrap());
        (columns, vec![Trajectory::new(observations, actions, states).unwrap()])
    }

    fn is_distances(width: usize, reading: impl Fn([f64; 2], usize) -> f64) -> bool {
        let (columns, episodes) = log(width, reading);
        why_no_distances(&columns, &episodes, true).is_none()
    }

    #[test]
    fn distances_and_others() {
        let beacon = |[x, y]: [f64; 2], k: usize| (x - 4.0 * k as f64).hypot(y - 5.0);
        assert!(is_distances(4, beacon));
        assert!(!is_distances(4, |at, k| beacon(at, k) - 5.0), "below 0");
        assert!(!is_distances(4, |at, k| 0.01 * beacon(at, k)), "features");
        assert!(!is_distances(4, |at, k| 100.0 - 10.0 * beacon(at, k).ln() * 8.0), "per cent");
        // A scan of a round room around another middle, and the same beams in any order.
        let beam = |[x, y]: [f64; 2], k: usize| {
            let angle = k as f64 * 0.2;
            let (along, square) = (x * angle.cos() + y * angle.sin(), x * x + y * y);
            (along * along + 25.0 - square).sqrt() - along
        };
        assert!(is_distances(31, beam));
        let mut order: Vec<usize> = (0..31).collect();
        Random::new(1).shuffle(&mut order);
        assert!(!is_distances(31, |at, k| beam(at, order[k])), "no neighbours");
    }
}
