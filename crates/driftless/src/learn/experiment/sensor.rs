//! Settings of a robot's sensors: what they measure, and what is given to them.

use super::sensor_kind::SensorKind;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

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
    /// Of named coordinates: a reading that is expected of each state, a polynomial, and how exact it is.
    Gaussian,
}

/// Columns whose readings are expected, at most.
pub(in crate::learn) const MOST_EXPECTED: usize = 256;
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
    /// Bearing of the first beam, left of the robot's heading; of a range-scan, of the image's left edge.
    pub first_degrees: f64,
    /// Bearing of the last beam; of a range-scan, of the image's right edge.
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
            kind: SensorKind::default(),
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

impl SensorSettings {
    /// Columns it has.
    pub fn width(&self) -> usize {
        self.columns[1].saturating_sub(self.columns[0])
    }

    /// Whether its map or its beacons are given.
    pub fn is_given(&self) -> bool {
        !self.map.is_empty() || !self.beacons.is_empty()
    }

    /// Whether what is given is all that it needs: no label. A network learns from some.
    pub fn needs_no_labels(&self) -> bool {
        self.is_given() && self.encoder() == SensorEncoder::Map
    }

    /// What turns its readings into likelihoods.
    pub fn encoder(&self) -> SensorEncoder {
        self.encoder.unwrap_or(self.kind.line().encoders[0])
    }

    /// Fails if a setting is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |problem: &str| Err(Error::setting(format!("sensor `{}`", self.name), problem));
        self.check_model()?;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if self.kind.sees() {
            return if self.width() == 0 {
                self.check_view()
            } else {
                wrong("images have no columns: leave them out")
            };
        }
        if self.width() == 0 || self.columns[1] > 1 << 20 {
            return wrong("columns must be [first, end] with at least one between them");
        }
        if !self.width().is_multiple_of(self.kind.each()) {
            let (id, columns) = (self.kind.id(), self.kind.line().columns);
            return wrong(&format!("{id} have {} columns each, {}", columns.len(), columns.join(" and ")));
        }
        if !positive(self.reach) || !positive(self.cell) || self.beams == 0 {
            return wrong("reach, cell and beams must be above 0");
        }
        if !self.first_degrees.is_finite() || !self.last_degrees.is_finite() {
            return wrong("first_degrees and last_degrees must be numbers");
        }
        Ok(())
    }

    /// Fails unless a range scan knows its map, and where its image's edges are.
    fn check_view(&self) -> Result<()> {
        let wrong = |problem: &str| Err(Error::setting(format!("sensor `{}`", self.name), problem));
        if !self.kind.line().has_view {
            return Ok(());
        }
        let view = self.first_degrees - self.last_degrees;
        if !(1.0..=150.0).contains(&view) || self.first_degrees.abs() > 360.0 {
            return wrong(
                "a range-scan must be told the camera's field of view: first_degrees and last_degrees are the bearings of the \
                 image's left and right edge, such as 30 and -30, 1 to 150 degrees apart",
            );
        }
        if !(self.reach.is_finite() && self.reach > 0.0) {
            return wrong("reach must be above 0");
        }
        Ok(())
    }

    /// Fails if it is not for states of this kind.
    pub(super) fn check_state(&self, is_planar: bool) -> Result<()> {
        let wrong = |problem: &str| Err(Error::setting(format!("sensor `{}`", self.name), problem));
        if is_planar && self.encoder == Some(SensorEncoder::Gaussian) {
            return wrong("encoder gaussian is for states of named coordinates (state.coordinates)");
        }
        if !is_planar && !self.kind.is_of_coordinates() {
            return wrong(
                "scans, ranges and landmarks are for robots in the plane; of state.coordinates the kind must be vector or image",
            );
        }
        Ok(())
    }

    /// Fails if what is given, and what is learned, do not go together with what it measures.
    fn check_model(&self) -> Result<()> {
        let wrong = |problem: &str| Err(Error::setting(format!("sensor `{}`", self.name), problem));
        if !self.map.is_empty() && !self.kind.takes_map() {
            return wrong("map is for scans; beacons names a file of places");
        }
        if !self.beacons.is_empty() && !self.kind.takes_beacons() {
            return wrong("beacons is for ranges and landmarks; map names a ROS map of scans");
        }
        if self.is_given() && self.encoder() == SensorEncoder::Network && !self.kind.line().has_view {
            return wrong("a map is given, which a network cannot use: leave out one of map and encoder");
        }
        if !self.kind.line().encoders.contains(&self.encoder()) {
            return wrong(match self.encoder() {
                SensorEncoder::Map => "there are no maps of images or vectors: encoder must be network",
                SensorEncoder::Gaussian => "encoder gaussian is for vectors",
                SensorEncoder::Network => {
                    "ranges and landmarks have places: for a network their kind must be vector"
                }
            });
        }
        if !(1..=1_000_000).contains(&self.updates) {
            return wrong("updates must be from 1 to 1000000");
        }
        if self.encoder() == SensorEncoder::Network && self.width() > MOST_INPUTS {
            return wrong("a network takes 4096 columns at most");
        }
        if self.encoder() == SensorEncoder::Gaussian && self.width() > MOST_EXPECTED {
            return wrong("encoder gaussian takes 256 columns at most; encoder network takes more");
        }
        Ok(())
    }
}
