//! A kind of sensor as experiments name it: a line of the registry.

use crate::methods::{Given, RegisteredSensor, SENSORS};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What a sensor measures, by the name that experiments use.
///
/// ```
/// use driftless::learn::SensorKind;
/// let names: Vec<&str> = SensorKind::all().map(SensorKind::id).collect();
/// assert_eq!(names, ["scan", "ranges", "landmarks", "vector", "image", "range-scan"]);
/// assert!(SensorKind::named("image").sees() && SensorKind::default().id() == "scan");
/// ```
#[derive(Clone, Copy)]
pub struct SensorKind(&'static RegisteredSensor);

impl SensorKind {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        SENSORS.iter().map(Self)
    }

    /// The one of this name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(id: &str) -> Self {
        Self::all().find(|kind| kind.id() == id).unwrap_or_else(|| panic!("there is no sensor {id:?}"))
    }

    /// As experiments name it.
    pub fn id(self) -> &'static str {
        self.0.id
    }

    /// Whether it looks at images, which have no columns.
    pub fn sees(self) -> bool {
        self.0.columns.is_empty()
    }

    /// Columns of each thing that it sees.
    pub fn each(self) -> usize {
        self.0.columns.len().max(1)
    }

    /// Whether textbooks have a model of it, which `mcl` needs.
    pub fn has_textbook(self) -> bool {
        self.0.has_textbook()
    }

    /// Whether it measures states of named coordinates.
    pub fn is_of_coordinates(self) -> bool {
        self.0.is_of_coordinates()
    }

    /// Whether a ROS map can be given to it.
    pub(crate) fn takes_map(self) -> bool {
        self.0.given == Some(Given::Map)
    }

    /// Whether places of beacons can be given to it.
    pub(crate) fn takes_beacons(self) -> bool {
        self.0.given == Some(Given::Beacons)
    }

    /// Its line.
    pub(crate) fn line(self) -> &'static RegisteredSensor {
        self.0
    }
}

impl Default for SensorKind {
    fn default() -> Self {
        Self(&SENSORS[0])
    }
}

impl PartialEq for SensorKind {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for SensorKind {}

impl fmt::Debug for SensorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for SensorKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for SensorKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::all().find(|kind| kind.id() == id).ok_or_else(|| {
            let known: Vec<String> = Self::all().map(|kind| format!("`{}`", kind.id())).collect();
            serde::de::Error::custom(format!("unknown variant `{id}`, expected one of {}", known.join(", ")))
        })
    }
}
