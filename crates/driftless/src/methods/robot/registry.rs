//! All kinds of sensors of a robot's own log, one line each: what experiments call them, what their columns are, what can be
//! given to them, and which models learn them. Settings, descriptions of logs and methods read this table.

use super::beacons::Beacons;
use super::coordinates::{Expected, State};
use super::network::{Beams, Network, Numbers, Pictures, World};
use super::range_scan::RangeScan;
use super::scan::Scan;
use super::sensor::Model;
use super::textbook_scan::TextbookScan;
use crate::learn::SensorEncoder::{self, Gaussian, Map, Network as OfNetwork};
use crate::learn::SensorSettings;

/// What can be given to a sensor, so that it need not be learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A ROS map of what beams meet.
    Map,
    /// A file of where beacons or landmarks stand.
    Beacons,
}

/// Makes a model of a robot in the plane, of settings whose encoder is one of the kind's.
type Build = fn(&SensorSettings, &World) -> Box<dyn Model>;
/// The same as textbooks have it, for `mcl`.
type Textbook = fn(&SensorSettings) -> Box<dyn Model>;
/// Makes a model of a state of named coordinates.
type BuildState = fn(&SensorSettings, &World) -> Box<dyn Model<State>>;

/// A kind of sensor that experiments can name.
pub(crate) struct RegisteredSensor {
    /// What experiments call it.
    pub(crate) id: &'static str,
    /// What its columns are, of each thing that it sees; images have none.
    pub(crate) columns: &'static [&'static str],
    /// Whether columns that lie side by side look side by side.
    pub(crate) has_beams: bool,
    /// Whether it must know its field of view.
    pub(crate) has_view: bool,
    /// What can be given to it.
    pub(crate) given: Option<Given>,
    /// What can turn its readings into likelihoods; the first does unless another one is named.
    pub(crate) encoders: &'static [SensorEncoder],
    pub(super) build: Build,
    pub(super) textbook: Option<Textbook>,
    pub(super) build_state: Option<BuildState>,
}

impl RegisteredSensor {
    /// Whether textbooks have a model of it.
    pub(crate) fn has_textbook(&self) -> bool {
        self.textbook.is_some()
    }

    /// Whether it measures states of named coordinates.
    pub(crate) fn is_of_coordinates(&self) -> bool {
        self.build_state.is_some()
    }
}

/// The table; the first is what sensors are that name none.
#[rustfmt::skip]
pub(crate) static SENSORS: &[RegisteredSensor] = &[
    // Distances along beams around the robot: a map of what they meet is learned, or a network as of a vector.
    RegisteredSensor { id: "scan", columns: &["distance"], has_beams: true, given: Some(Given::Map), encoders: &[Map, OfNetwork],
        build: |s, w| match s.encoder() {
            Map => Box::new(Scan::new(s)),
            _ => Box::new(Network::new(Beams::new(s), s, w)),
        },
        textbook: Some(|s| Box::new(TextbookScan::new(s))), ..NONE },
    // Distances to beacons, a column each: their places are learned.
    RegisteredSensor { id: "ranges", columns: &["distance"], given: Some(Given::Beacons), encoders: &[Map],
        build: |s, _| Box::new(Beacons::new(s)), textbook: Some(|s| Box::new(Beacons::uncalibrated(s))), ..NONE },
    // Distance and bearing of landmarks: their places are learned.
    RegisteredSensor { id: "landmarks", columns: &["distance", "bearing"], given: Some(Given::Beacons), encoders: &[Map],
        build: |s, _| Box::new(Beacons::new(s)), textbook: Some(|s| Box::new(Beacons::uncalibrated(s))), ..NONE },
    // Any numbers, such as signal strengths: a network learns which belong to which places.
    RegisteredSensor { id: "vector", columns: &["number"], encoders: &[OfNetwork, Gaussian],
        build_state: Some(|s, w| match s.encoder() {
            Gaussian => Box::new(Expected::new(s, w.normalisation)),
            _ => Box::new(Network::new(Numbers::new(s), s, w)),
        }), ..NONE },
    // A camera's images: likewise.
    RegisteredSensor { id: "image", columns: &[], encoders: &[OfNetwork],
        build: |s, w| Box::new(Network::new(Pictures::new(w), s, w)),
        build_state: Some(|s, w| Box::new(Network::new(Pictures::new(w), s, w))), ..NONE },
    // The same on a map that is given: a network learns how far the next wall is in each column of an image.
    RegisteredSensor { id: "range-scan", columns: &[], has_view: true, given: Some(Given::Map), encoders: &[OfNetwork],
        build: |s, w| Box::new(RangeScan::new(s, w)), ..NONE },
];

/// What a line leaves out: numbers for a network.
const NONE: RegisteredSensor = RegisteredSensor {
    id: "",
    columns: &[],
    has_beams: false,
    has_view: false,
    given: None,
    encoders: &[],
    build: |settings, world| Box::new(Network::new(Numbers::new(settings), settings, world)),
    textbook: None,
    build_state: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A kind that nobody is told of is of no use; one without an encoder, or with two of a name, is a slip.
    #[test]
    fn kinds_are_documented() {
        let page = include_str!("../../../../../docs/own-robot.md");
        for (number, kind) in SENSORS.iter().enumerate() {
            assert!(page.contains(kind.id) && !kind.encoders.is_empty(), "{}", kind.id);
            assert!(SENSORS[..number].iter().all(|other| other.id != kind.id), "{}", kind.id);
        }
    }
}
