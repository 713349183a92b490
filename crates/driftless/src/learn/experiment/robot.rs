//! Settings of experiments with a robot's own logs: where it starts, and what it is given.

use crate::config;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// What a robot is told of its first pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotStart {
    /// About where it is.
    #[default]
    Tracking,
    /// Nothing: it may be anywhere it was seen in training.
    Global,
}

/// Settings of logs of one's own; lengths are in the log's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobotSettings {
    /// What is known of the first pose.
    pub start: RobotStart,
    /// Standard deviation of the position it is told, along either axis.
    pub start_distance: f64,
    /// Standard deviation of the heading it is told.
    pub start_degrees: f64,
    /// A robot that is farther off is lost.
    pub lost: f64,
    /// Poses that the first reading is compared with where a robot may be anywhere.
    pub global_poses: usize,
    /// Most particles as long as it may be in several places.
    pub global_particles: usize,
    /// What the log's lengths are in, for tables.
    pub unit: String,
    /// A ROS map (`.yaml`) for scanners that name none of their own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub map: String,
    /// Places of beacons (csv or npz) for sensors of them that name none of their own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub beacons: String,
    /// Noise of odometry for `mcl`: α₁ to α₄ of amcl.
    #[serde(skip_serializing_if = "is_usual")]
    pub alphas: [f64; 4],
}

/// nav2's.
const ALPHAS: [f64; 4] = [0.2; 4];

fn is_usual(alphas: &[f64; 4]) -> bool {
    *alphas == ALPHAS
}

impl Default for RobotSettings {
    fn default() -> Self {
        Self {
            start: RobotStart::Tracking,
            start_distance: 0.3,
            start_degrees: 11.5,
            lost: 1.0,
            global_poses: 200_000,
            global_particles: 10_000,
            unit: "m".to_owned(),
            map: String::new(),
            beacons: String::new(),
            alphas: ALPHAS,
        }
    }
}

impl RobotSettings {
    /// Fails if a setting is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        for (key, value) in [
            ("robot.start_distance", self.start_distance),
            ("robot.start_degrees", self.start_degrees),
            ("robot.lost", self.lost),
        ] {
            config::check(key, value, positive(value), "a number above 0")?;
        }
        for (key, count) in
            [("robot.global_poses", self.global_poses), ("robot.global_particles", self.global_particles)]
        {
            config::check(key, count, (1..=10_000_000).contains(&count), "from 1 to 10000000")?;
        }
        let valid = self.alphas.iter().all(|alpha| (0.0..=100.0).contains(alpha));
        config::check("robot.alphas", format!("{:?}", self.alphas), valid, "four numbers from 0 to 100")
    }
}
