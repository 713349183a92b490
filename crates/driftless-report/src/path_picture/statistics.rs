//! A path in numbers: how long it is, how large its steps and turns are, what is missing.

use super::has_place;
use driftless_world::Pose;
use driftless_world::pose::wrap;

/// Sums over the steps whose pose and predecessor are both known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Statistics {
    steps: usize,
    known: usize,
    outside: usize,
    moves: usize,
    length: f64,
    turns: usize,
    turned: f64,
}

impl Statistics {
    /// Counts; `outside` says which places are not on the map.
    pub(super) fn of(path: &[Option<Pose>], outside: impl Fn(&Pose) -> bool) -> Self {
        let mut sums = Self { steps: path.len(), ..Self::default() };
        for pose in path.iter().flatten().filter(|pose| has_place(pose)) {
            sums.known += 1;
            sums.outside += usize::from(outside(pose));
        }
        for pair in path.windows(2) {
            let [Some(from), Some(to)] = [pair[0].filter(has_place), pair[1].filter(has_place)] else {
                continue;
            };
            sums.moves += 1;
            sums.length += from.distance(to);
            let turn = wrap(to.heading - from.heading).abs();
            if turn.is_finite() {
                sums.turns += 1;
                sums.turned += turn;
            }
        }
        sums
    }

    /// One line, for example "100 steps · path 6120 units · mean step 61.8 units · mean turn 56°".
    pub(super) fn in_words(&self, unit: &str) -> String {
        let with_unit = |value: f64| format!("{} {unit}", in_digits(value)).trim_end().to_string();
        let mut parts = vec![if self.steps == 1 { "1 step".into() } else { format!("{} steps", self.steps) }];
        if self.known < self.steps {
            parts.push(format!("{} with a known position", self.known));
        }
        if self.moves > 0 {
            parts.push(format!("path {}", with_unit(self.length)));
            parts.push(format!("mean step {}", with_unit(self.length / self.moves as f64)));
        }
        if self.turns > 0 {
            parts.push(format!("mean turn {:.0}°", (self.turned / self.turns as f64).to_degrees()));
        }
        if self.outside > 0 {
            parts.push(format!("{} outside the map", self.outside));
        }
        parts.join(" · ")
    }
}

/// Three significant digits, or all of those before the point.
fn in_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e7).contains(&size) => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_known() {
        let path = [
            Some(Pose::new(0.0, 0.0, 3.0)),
            Some(Pose::new(3.0, 4.0, -3.0)),
            None,
            Some(Pose::new(9.0, 9.0, f64::NAN)),
            Some(Pose::new(9.0, 10.0, 0.0)),
            Some(Pose::new(f64::INFINITY, 0.0, 0.0)),
        ];
        let words = Statistics::of(&path, |pose| pose.y > 9.5).in_words("m");
        assert_eq!(
            words,
            "6 steps · 4 with a known position · path 6.00 m · mean step 3.00 m · mean turn 16° · 1 outside the map"
        );
        assert_eq!(Statistics::of(&path[..1], |_| false).in_words("m"), "1 step");
    }

    #[test]
    fn numbers_are_short() {
        let seen = [0.0, 0.5, 12.345, 6123.4, 1e9, 1e-5, f64::INFINITY].map(in_digits);
        assert_eq!(seen, ["0", "0.50", "12.3", "6123", "1.00e9", "1.00e-5", "inf"]);
    }
}
