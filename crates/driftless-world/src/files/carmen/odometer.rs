//! A CARMEN log's odometry, with the sign that some odometers lose.
//!
//! Some count distance as positive also when the robot drives backwards. The logged speed knows better: where it is
//! negative halfway between two scans, motion between them is taken backwards.

use crate::files::track::{Pose, composed, relative};

/// Speeds below this are backwards, in metres a second.
const BACKWARDS: f64 = -0.01;
/// A larger jump between two scans is a reset of the odometer, in metres.
const RESET: f64 = 2.0;

/// A robot's forward speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Seconds.
    pub time: f64,
    /// Metres a second.
    pub forward: f64,
}

/// Motion, scan after scan.
#[derive(Debug)]
pub struct Odometer {
    speeds: Vec<Speed>,
    last: Option<(f64, Pose)>,
    pose: Pose,
    turned: usize,
}

impl Odometer {
    /// At the origin.
    pub fn new(mut speeds: Vec<Speed>) -> Self {
        speeds.sort_by(|a, b| a.time.total_cmp(&b.time));
        Self { speeds, last: None, pose: [0.0; 3], turned: 0 }
    }

    /// Where the robot is, as seen from its first place.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// Goes on to what was logged at a time; true if that is a jump, which is not driven.
    pub fn drive(&mut self, time: f64, logged: Pose) -> bool {
        let Some((before, from)) = self.last.replace((time, logged)) else { return false };
        let mut motion = relative(from, logged);
        if motion[0].hypot(motion[1]) > RESET {
            return true;
        }
        let speed = self.speed(before.midpoint(time));
        if motion[0] > 0.0 && speed.is_some_and(|speed| speed < BACKWARDS) {
            motion = [-motion[0], -motion[1], motion[2]];
            self.turned += 1;
        }
        self.pose = composed(self.pose, motion);
        false
    }

    /// The speed at a time, between those before and after.
    fn speed(&self, time: f64) -> Option<f64> {
        let after = self.speeds.partition_point(|speed| speed.time < time);
        let end = self.speeds.get(after).or(self.speeds.last())?;
        let start = after.checked_sub(1).map_or(end, |before| &self.speeds[before]);
        let apart = end.time - start.time;
        let share = if apart > 0.0 { ((time - start.time) / apart).clamp(0.0, 1.0) } else { 0.0 };
        Some(start.forward + share * (end.forward - start.forward))
    }

    /// What was strange.
    pub fn notes(&self) -> Option<String> {
        (self.turned > 0).then(|| {
            format!(
                "at {} scans the odometer counted backward driving as forward; the logged speed gave the sign",
                self.turned
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_driving_goes_backwards() {
        let speeds = [(0.0, 1.0), (1.0, 1.0), (1.2, -1.0), (2.0, -1.0)];
        let speeds = speeds.map(|(time, forward)| Speed { time, forward });
        let mut odometer = Odometer::new(speeds.to_vec());
        // Counted as driven on: one metre forward, then half a metre, which was backwards.
        let driven = [(0.0, 5.0), (1.0, 6.0), (2.0, 6.5)].map(|(t, x)| odometer.drive(t, [x, 1.0, 0.0]));
        assert_eq!((driven, odometer.pose()), ([false; 3], [0.5, 0.0, 0.0]));
        // An odometer with the right sign is left alone, and a reset is no motion.
        assert!(!odometer.drive(2.0, [6.2, 1.0, 0.0]));
        assert!((odometer.pose()[0] - 0.2).abs() < 1e-12);
        assert!(odometer.drive(3.0, [0.0, 0.0, 0.0]));
        assert!(
            (odometer.pose()[0] - 0.2).abs() < 1e-12 && odometer.notes().unwrap().starts_with("at 1 scans")
        );
    }
}
