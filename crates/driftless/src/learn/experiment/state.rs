//! What of a robot is followed: `[state]` of experiments.

use crate::config;
use crate::error::{Error, Result};
use driftless_core::Space;
use driftless_core::angles::wrapped;
use driftless_world::files::estimates::EstimatedState;
use driftless_world::trajectory::MOST_COORDINATES;
use serde::{Deserialize, Serialize};

/// What of the robot is followed, if it moves in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateKind {
    /// x, y and heading.
    #[default]
    Pose,
    /// x and y of something that has no heading, or none that matters: a pose that always looks along x.
    Position,
}

/// `[state]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StateSettings {
    /// What is followed in the plane.
    pub kind: StateKind,
    /// Names of the coordinates, in the order of the log's `poses`; none: the state is planar, as `kind` says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<String>,
    /// Which of them are angles in radians.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub angles: Vec<String>,
    /// Standard deviations of what is told of the first state, one for each coordinate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub start_spread: Vec<f64>,
}

/// Letters of a name, at most.
const LONGEST: usize = 40;

impl StateSettings {
    /// Whether it is a pose or a position in the plane.
    pub fn is_planar(&self) -> bool {
        self.coordinates.is_empty()
    }

    /// Where its states are.
    ///
    /// ```
    /// use driftless::learn::Experiment;
    /// let named = ["world=robot", "state.coordinates=['angle', 'speed']", "state.angles=['angle']"];
    /// let space = Experiment::parse("", &named.map(String::from))?.state.space();
    /// assert_eq!((space.dimension(), space.is_angle(0), space.is_angle(1)), (2, true, false));
    /// # Ok::<(), driftless::Error>(())
    /// ```
    pub fn space(&self) -> Space {
        if self.is_planar() {
            return Space::SE2;
        }
        let all = Space::linear(self.coordinates.len());
        let angles = self.coordinates.iter().enumerate().filter(|(_, name)| self.angles.contains(name));
        angles.fold(all, |space, (k, _)| space.with_angle(k))
    }

    /// A state with its angles within half a turn.
    pub(super) fn wrapped(&self, state: &[f32]) -> Vec<f32> {
        let space = self.space();
        state.iter().enumerate().map(|(k, &x)| if space.is_angle(k) { wrapped(x) } else { x }).collect()
    }

    /// Fails if a setting is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |key: &str, problem: String| Err(Error::setting(format!("state.{key}"), problem));
        let names = &self.coordinates;
        if names.len() > MOST_COORDINATES {
            return wrong("coordinates", format!("names {}; {MOST_COORDINATES} are the most", names.len()));
        }
        for (k, name) in names.iter().enumerate() {
            let is_odd = |c: char| c.is_control() || [',', '"', '=', ';'].contains(&c);
            if name.trim() != name
                || name.is_empty()
                || name.chars().count() > LONGEST
                || name.contains(is_odd)
            {
                let problem =
                    format!("{name:?} must be 1 to {LONGEST} letters, without comma, quote, = and ;");
                return wrong("coordinates", problem);
            }
            if names[..k].contains(name) {
                return wrong("coordinates", format!("has two of the name `{name}`"));
            }
            if EstimatedState::is_taken(name) {
                let problem = format!("`{name}` is a column of estimates already; call it something else");
                return wrong("coordinates", problem);
            }
        }
        // Without names, angles may be of those that a log's description gives: s0, s1, and so on.
        let unknown = self.angles.iter().find(|name| !names.is_empty() && !names.contains(name));
        if let Some(name) = unknown {
            return wrong("angles", format!("`{name}` is none of the coordinates: {}", names.join(", ")));
        }
        if names.is_empty() && !self.start_spread.is_empty() {
            return wrong("start_spread", "goes with state.coordinates".to_owned());
        }
        let fits = self.start_spread.is_empty() || self.start_spread.len() == names.len();
        let valid = fits && self.start_spread.iter().all(|x| x.is_finite() && *x > 0.0);
        let shown = format!("{:?}", self.start_spread);
        config::check("state.start_spread", shown, valid, "a number above 0 for each coordinate")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(coordinates: &[&str], angles: &[&str]) -> StateSettings {
        let [coordinates, angles] =
            [coordinates, angles].map(|all| all.iter().map(ToString::to_string).collect());
        StateSettings { coordinates, angles, ..StateSettings::default() }
    }

    #[test]
    fn what_is_wrong_with_names_is_said() {
        assert!(named(&["shoulder", "elbow"], &["elbow"]).check().is_ok());
        assert!(named(&[], &["s1"]).check().is_ok(), "a description gives the names");
        for (settings, problem) in [
            (named(&["a", "b", "a"], &[]), "has two of the name `a`"),
            (named(&["a"], &["b"]), "state.angles: `b` is none of the coordinates: a"),
            (named(&["a,b"], &[]), "without comma"),
            (named(&[" a"], &[]), "1 to 40 letters"),
            (named(&["time"], &[]), "is a column of estimates already"),
            (named(&["cov_x"], &[]), "is a column of estimates already"),
            (named(&["a", "b", "c", "d", "e", "f", "g", "h", "i"], &[]), "names 9; 8 are the most"),
            (StateSettings { start_spread: vec![1.0], ..named(&["a", "b"], &[]) }, "for each coordinate"),
            (StateSettings { start_spread: vec![0.0], ..named(&["a"], &[]) }, "above 0"),
            (StateSettings { start_spread: vec![1.0], ..named(&[], &[]) }, "goes with state.coordinates"),
        ] {
            let found = settings.check().unwrap_err().to_string();
            assert!(found.contains(problem), "{found}");
        }
    }

    #[test]
    fn angles_are_wrapped() {
        let state = named(&["level", "turn"], &["turn"]).wrapped(&[4.0, 4.0]);
        assert!(state[0] == 4.0 && (state[1] - (4.0 - std::f32::consts::TAU)).abs() < 1e-6);
    }
}
