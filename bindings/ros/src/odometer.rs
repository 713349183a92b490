//! Where odometry says the robot is, at any recent time.

use crate::clock::{Clock, Tick};
use driftless_world::files::track::{Pose, Track};
use std::collections::VecDeque;

/// Poses that are kept: ten seconds at 100 a second.
const KEPT: usize = 1000;
/// Seconds between two poses that may be bridged, as the importer has it.
const MOST_GAP: f64 = 1.0;

/// A pose of odometry, and which stretch of it: poses of different stretches say nothing of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// In odometry's own frame.
    pub pose: Pose,
    /// Counts jumps and restarts.
    pub stretch: u64,
}

/// What is known of a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// The robot was there.
    Known(Reading),
    /// Odometry has not come so far.
    Wait,
    /// It is not known, and will not be.
    Unknown,
}

/// What a pose was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// As expected, or late, twice, or of a new time.
    As(Tick),
    /// No robot gets there from the pose before: odometry was reset, or somebody carried the robot.
    Jump,
}

/// Recent poses.
#[derive(Clone, Debug, Default)]
pub struct Odometer {
    samples: VecDeque<(f64, Reading)>,
    stretch: u64,
    clock: Clock,
}

impl Odometer {
    /// Takes a pose.
    pub fn hear(&mut self, time: f64, pose: Pose) -> Heard {
        let tick = self.clock.tick(time);
        match tick {
            Tick::Late | Tick::Twice => return Heard::As(tick),
            Tick::Restart => {
                self.samples.clear();
                self.stretch += 1;
            }
            Tick::New => {}
        }
        let before = self.samples.back().map(|(time, before)| (*time, before.pose));
        let jump = before.is_some_and(|before| Track::new(vec![before, (time, pose)]).0.jumps() > 0);
        self.stretch += u64::from(jump);
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back((time, Reading { pose, stretch: self.stretch }));
        if jump { Heard::Jump } else { Heard::As(tick) }
    }

    /// Where the robot was.
    pub fn at(&self, time: f64) -> At {
        let after = self.samples.partition_point(|sample| sample.0 < time);
        let Some(&(end, b)) = self.samples.get(after) else { return At::Wait };
        if end == time {
            return At::Known(b);
        }
        let Some(&(start, a)) = after.checked_sub(1).and_then(|before| self.samples.get(before)) else {
            return At::Unknown;
        };
        let between = Track::new(vec![(start, a.pose), (end, b.pose)]).0.at(time, MOST_GAP);
        let same = a.stretch == b.stretch;
        between.filter(|_| same).map_or(At::Unknown, |pose| At::Known(Reading { pose, stretch: a.stretch }))
    }

    /// The time of the newest pose.
    pub fn newest(&self) -> Option<f64> {
        self.samples.back().map(|sample| sample.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn heard(samples: &[(f64, Pose)]) -> (Odometer, Vec<Heard>) {
        let mut odometer = Odometer::default();
        let told = samples.iter().map(|&(time, pose)| odometer.hear(time, pose)).collect();
        (odometer, told)
    }

    #[test]
    fn between_two_poses_and_across_half_a_turn() {
        let (odometer, _) = heard(&[(1.0, [0.0, 0.0, PI - 0.1]), (1.5, [1.0, 0.0, -PI + 0.1])]);
        let At::Known(reading) = odometer.at(1.25) else { panic!("it is known") };
        assert!((reading.pose[0] - 0.5).abs() < 1e-12 && (reading.pose[2].abs() - PI).abs() < 1e-9);
        assert_eq!((odometer.at(0.9), odometer.at(1.6)), (At::Unknown, At::Wait));
        assert_eq!(Odometer::default().at(0.0), At::Wait);
    }

    #[test]
    fn gaps_jumps_and_restarts_are_not_bridged() {
        let still = [0.0; 3];
        let (odometer, told) =
            heard(&[(1.0, still), (3.0, still), (3.1, [9.0, 0.0, 0.0]), (3.1, still), (2.0, still)]);
        assert_eq!(told[2..], [Heard::Jump, Heard::As(Tick::Twice), Heard::As(Tick::Late)]);
        assert_eq!((odometer.at(2.0), odometer.at(3.05)), (At::Unknown, At::Unknown));
        let stretch =
            |at: At| if let At::Known(reading) = at { reading.stretch } else { panic!("it is known") };
        assert_ne!(stretch(odometer.at(3.0)), stretch(odometer.at(3.1)));
        let (odometer, told) = heard(&[(100.0, still), (1.0, still)]);
        assert_eq!((told[1], odometer.at(100.0)), (Heard::As(Tick::Restart), At::Wait));
        assert_eq!(stretch(odometer.at(1.0)), 1);
    }

    #[test]
    fn memory_is_bounded() {
        let mut odometer = Odometer::default();
        for k in 0..5000 {
            odometer.hear(f64::from(k) * 0.01, [0.0; 3]);
        }
        assert_eq!((odometer.samples.len(), odometer.at(1.0)), (KEPT, At::Unknown));
    }
}
