//! Settings of experiments with a robot's own logs: where it starts, and which sensors it has.

use crate::config;
use crate::error::{Error, Result};
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

/// What a sensor measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SensorKind {
    /// Distances along beams around the robot: a map of what they meet is learned.
    #[default]
    Scan,
    /// Distances to beacons, a column each: their places are learned.
    Ranges,
    /// Distance and bearing of landmarks, two columns each: their places are learned.
    Landmarks,
    /// Any numbers, such as signal strengths: a network learns which belong to which places.
    Vector,
    /// A camera's images, which have no columns: likewise.
    Image,
}

/// How `mcl` compares scans with a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanModel {
    /// By where beams end.
    #[default]
    LikelihoodField,
    /// By how far they should reach.
    Beam,
}

/// What turns a reading into a likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SensorEncoder {
    /// What is known of distances: a map of what beams meet, or places of beacons.
    Map,
    /// Two networks, of readings and of poses, whose features are compared.
    Network,
}

/// Columns that a network takes, at most.
const MOST_INPUTS: usize = 4096;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A sensor of a robot. What is not finite in its columns is missing, and says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SensorSettings {
    /// What it is called.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
    /// Its first column of the observations, and the one behind its last.
    pub columns: [usize; 2],
    /// Bearing of the first beam, left of the robot's heading.
    pub first_degrees: f64,
    /// Bearing of the last beam.
    pub last_degrees: f64,
    /// Distances from here on mean that nothing was met.
    pub reach: f64,
    /// Side of a cell of the map.
    pub cell: f64,
    /// Beams that are compared with the map, at most.
    pub beams: usize,
    /// A ROS map (`.yaml`) of what beams meet, instead of one that is learned.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub map: String,
    /// A file (csv or npz) of where beacons or landmarks stand, instead of places that are learned.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub beacons: String,
    /// How `mcl` compares scans with a map.
    #[serde(skip_serializing_if = "is_default")]
    pub model: ScanModel,
    /// What turns readings into likelihoods; without it, a map where there can be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<SensorEncoder>,
    /// Updates of a network in an epoch.
    pub updates: usize,
}

impl Default for SensorSettings {
    fn default() -> Self {
        Self {
            name: "sensor".to_owned(),
            kind: SensorKind::Scan,
            columns: [0, 0],
            first_degrees: -90.0,
            last_degrees: 90.0,
            reach: 1e9,
            cell: 0.05,
            beams: 60,
            map: String::new(),
            beacons: String::new(),
            model: ScanModel::default(),
            encoder: None,
            updates: 1000,
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

impl SensorSettings {
    /// Columns it has.
    pub fn width(&self) -> usize {
        self.columns[1].saturating_sub(self.columns[0])
    }

    /// Whether its map or its beacons are given, so that it needs no labels.
    pub fn is_given(&self) -> bool {
        !self.map.is_empty() || !self.beacons.is_empty()
    }

    /// What turns its readings into likelihoods.
    pub fn encoder(&self) -> SensorEncoder {
        let has_map = !matches!(self.kind, SensorKind::Vector | SensorKind::Image);
        self.encoder.unwrap_or(if has_map { SensorEncoder::Map } else { SensorEncoder::Network })
    }

    /// Fails if a setting is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |problem: &str| Err(Error::setting(format!("sensor `{}`", self.name), problem));
        if !self.map.is_empty() && self.kind != SensorKind::Scan {
            return wrong("map is for scans; beacons names a file of places");
        }
        if !self.beacons.is_empty() && !matches!(self.kind, SensorKind::Ranges | SensorKind::Landmarks) {
            return wrong("beacons is for ranges and landmarks; map names a ROS map of scans");
        }
        if self.is_given() && self.encoder() == SensorEncoder::Network {
            return wrong("a map is given, which a network cannot use: leave out one of map and encoder");
        }
        let positive = |x: f64| x.is_finite() && x > 0.0;
        match (self.kind, self.encoder()) {
            (SensorKind::Vector | SensorKind::Image, SensorEncoder::Map) => {
                return wrong("there are no maps of images or vectors: encoder must be network");
            }
            (SensorKind::Ranges | SensorKind::Landmarks, SensorEncoder::Network) => {
                return wrong("ranges and landmarks have places: for a network their kind must be vector");
            }
            _ => {}
        }
        if !(1..=1_000_000).contains(&self.updates) {
            return wrong("updates must be from 1 to 1000000");
        }
        if self.encoder() == SensorEncoder::Network && self.width() > MOST_INPUTS {
            return wrong("a network takes 4096 columns at most");
        }
        if self.kind == SensorKind::Image {
            return if self.width() == 0 { Ok(()) } else { wrong("images have no columns: leave them out") };
        }
        if self.width() == 0 || self.columns[1] > 1 << 20 {
            return wrong("columns must be [first, end] with at least one between them");
        }
        if self.kind == SensorKind::Landmarks && !self.width().is_multiple_of(2) {
            return wrong("landmarks have two columns each, distance and bearing");
        }
        if !positive(self.reach) || !positive(self.cell) || self.beams == 0 {
            return wrong("reach, cell and beams must be above 0");
        }
        if !self.first_degrees.is_finite() || !self.last_degrees.is_finite() {
            return wrong("first_degrees and last_degrees must be numbers");
        }
        Ok(())
    }
}
