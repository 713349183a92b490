//! How the motions of a robot's log are written: `[motion]` of experiments.

use super::state::{StateKind, StateSettings};
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Labels, Rows};
use driftless_world::{Error, Result, Trajectory};
use serde::{Deserialize, Serialize};

/// What actions mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MotionKind {
    /// How far the robot came since the step before.
    #[default]
    Odometry,
    /// How fast it went: multiplied by the seconds since the step before.
    Velocity,
    /// Nothing: the robot may have gone anywhere, not too far (a random walk).
    None,
}

/// Which way the numbers of an action point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MotionFrame {
    /// Forward and left of the robot.
    #[default]
    Robot,
    /// Along x and y of the world.
    World,
}

/// `[motion]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MotionSettings {
    /// What actions mean.
    pub kind: MotionKind,
    /// Which way they point.
    pub frame: MotionFrame,
}

impl MotionSettings {
    /// The frame of actions once they are read.
    pub(super) fn frame(self, state: StateKind) -> Frame {
        match (self.frame, state) {
            (MotionFrame::Robot, StateKind::Pose) => Frame::Robot,
            // What has no heading cannot turn its motion.
            _ => Frame::World,
        }
    }

    /// An episode as methods see it: in the plane, or of named coordinates.
    pub(in crate::learn) fn lived(self, state: &StateSettings, episode: Trajectory) -> Result<Trajectory> {
        if state.is_planar() {
            return self.planar(state.kind, episode);
        }
        let (count, names) = (state.coordinates.len(), state.coordinates.join(", "));
        let wrong = |field: &str, problem: String| Err(Error::new(problem).in_field(field));
        let (width, action) = (episode.states.width(), episode.actions.width());
        if width != count && width != 0 {
            let problem = format!("has {width} numbers a step, but state.coordinates names {count}: {names}");
            return wrong("poses", problem);
        }
        let has_actions = self.kind != MotionKind::None;
        if has_actions && action != count {
            let found =
                if action == 0 { "is missing".to_owned() } else { format!("has {action} numbers a step") };
            let problem = format!(
                "{found}, but {count} are needed, by how much each coordinate changes ({names}); set motion.kind=none if \
                 nothing says that"
            );
            return wrong("actions", problem);
        }
        let steps = episode.len();
        let mut changes = vec![f32::NAN; count * steps];
        for t in (0..steps).filter(|_| has_actions) {
            let seconds = self.seconds(&episode, t)?;
            let row = episode.actions.row(t).iter().map(|x| x * seconds);
            changes[count * t..].iter_mut().zip(row).for_each(|(to, x)| *to = x);
        }
        let mut states = Labels::new(count);
        for known in episode.states.iter() {
            states.push(known.map(|numbers| state.wrapped(numbers)).as_deref());
        }
        Ok(Trajectory { actions: Rows::new(count, changes)?, states, ..episode })
    }

    /// An episode whose actions are motions in the plane and whose states are poses; what is missing is NaN.
    fn planar(self, state: StateKind, episode: Trajectory) -> Result<Trajectory> {
        let wanted = if state == StateKind::Pose { 3 } else { 2 };
        let wrong = |field: &str, problem: String| Err(Error::new(problem).in_field(field));
        let (width, action) = (episode.states.width(), episode.actions.width());
        if width != wanted && width != 0 {
            return wrong("poses", poses_problem(state, width));
        }
        let has_actions = self.kind != MotionKind::None;
        if has_actions && action == 0 {
            return wrong(
                "actions",
                "is missing: set motion.kind=none if the robot has no odometry".to_owned(),
            );
        }
        if has_actions && action != wanted {
            let problem = format!(
                "has {action} numbers a step, but {wanted} are needed: forward, left and turn (`motion.frame = \"world\"`: \
                 along x, along y and turn; no turn where `state.kind = \"position\"`); set motion.kind=none \
                 if there is no odometry"
            );
            return wrong("actions", problem);
        }
        let steps = episode.len();
        let mut motions = vec![f32::NAN; 3 * steps];
        for t in (0..steps).filter(|_| has_actions) {
            let row = episode.actions.row(t);
            let seconds = self.seconds(&episode, t)?;
            motions[3 * t + 2] = if row[0].is_nan() { f32::NAN } else { 0.0 };
            (0..wanted).for_each(|k| motions[3 * t + k] = row[k] * seconds);
        }
        let mut states = Labels::new(3);
        for state in episode.states.iter() {
            states
                .push(state.map(|s| [s[0], s[1], s.get(2).copied().unwrap_or(0.0)]).as_ref().map(|s| &s[..]));
        }
        Ok(Trajectory { actions: Rows::new(3, motions)?, states, ..episode })
    }

    /// What an action is multiplied by.
    fn seconds(self, episode: &Trajectory, t: usize) -> Result<f32> {
        if self.kind != MotionKind::Velocity {
            return Ok(1.0);
        }
        let Some(times) = &episode.times else {
            let problem = "is missing: `motion.kind = \"velocity\"` needs the seconds of every step";
            return Err(Error::new(problem).in_field("times"));
        };
        Ok(if t == 0 { 0.0 } else { (times[t] - times[t - 1]) as f32 })
    }
}

fn poses_problem(state: StateKind, width: usize) -> String {
    match (state, width) {
        (StateKind::Pose, 2) => {
            "has 2 numbers a step, but x, y and heading in radians are needed; set state.kind=position if the robot has no \
             heading"
                .to_owned()
        }
        (StateKind::Pose, _) => {
            format!(
                "has {width} numbers a step, but three are needed: x, y and heading in radians; other states need names: \
                 state.coordinates"
            )
        }
        (StateKind::Position, _) => format!("has {width} numbers a step, but two are needed: x and y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::trajectory::Observations;

    fn episode(actions: &[f32], width: usize, states: usize) -> Trajectory {
        let seen = Observations::Vectors(Rows::new(1, vec![0.0; 3]).unwrap());
        let mut labels = Labels::new(states);
        (0..3).for_each(|t| labels.push((t != 1).then_some(&[1.0, 2.0, 3.0][..states])));
        let actions = Rows::new(width, actions.to_vec()).unwrap();
        Trajectory { times: Some(vec![5.0, 5.5, 7.5]), ..Trajectory::new(seen, actions, labels).unwrap() }
    }

    #[test]
    fn velocities_are_multiplied_by_seconds() {
        let motion = MotionSettings { kind: MotionKind::Velocity, ..MotionSettings::default() };
        let nan = f32::NAN;
        let given = episode(&[9.0, 9.0, 9.0, 2.0, 0.0, 0.4, nan, nan, nan], 3, 3);
        let found = motion.planar(StateKind::Pose, given.clone()).unwrap();
        assert_eq!(found.actions.row(1), [1.0, 0.0, 0.2]);
        assert!(found.actions.row(2).iter().all(|x| x.is_nan()));
        let without = Trajectory { times: None, ..given };
        assert!(
            motion
                .planar(StateKind::Pose, without)
                .unwrap_err()
                .to_string()
                .contains("field times: is missing")
        );
    }

    #[test]
    fn positions_are_poses_that_look_along_x() {
        let motion = MotionSettings::default();
        let found =
            motion.planar(StateKind::Position, episode(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0], 2, 2)).unwrap();
        assert_eq!(found.actions.row(2), [3.0, 4.0, 0.0]);
        assert_eq!((found.states.get(0), found.states.get(1)), (Some(&[1.0, 2.0, 0.0][..]), None));
        assert_eq!(motion.frame(StateKind::Position), Frame::World);
        let error = motion.planar(StateKind::Pose, episode(&[0.0; 6], 2, 2)).unwrap_err().to_string();
        assert!(error.contains("state.kind=position"), "{error}");
    }

    #[test]
    fn a_robot_without_odometry() {
        let motion = MotionSettings::default();
        let error = motion.planar(StateKind::Pose, episode(&[], 0, 3)).unwrap_err().to_string();
        assert!(error.contains("field actions: is missing: set motion.kind=none"), "{error}");
        let none = MotionSettings { kind: MotionKind::None, ..motion };
        let found = none.planar(StateKind::Pose, episode(&[], 0, 3)).unwrap();
        assert!(found.actions.values().len() == 9 && found.actions.values().iter().all(|x| x.is_nan()));
        let error = motion.planar(StateKind::Pose, episode(&[0.0; 6], 2, 3)).unwrap_err().to_string();
        assert!(error.contains("field actions: has 2 numbers"), "{error}");
    }
}
