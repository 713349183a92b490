//! An episode in a house as PF-net's network sees it: scaled images, the map as numbers, everything in map pixels.

use super::particles::{State, log_uniform};
use crate::error::{Error, Result};
use crate::learn::HouseSettings;
use driftless_kernels::pfnet::{FloorMap, IMAGE_SIDE};
use driftless_world::files::pfnet::{HouseMaps, METRES_PER_PIXEL, network};
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows, Start};
use std::sync::Arc;

/// What the poses of an experiment are measured in: a hundredth of a metre.
pub(in crate::methods) const PIXELS_PER_UNIT: f64 = 0.01 / METRES_PER_PIXEL;

/// The episode.
pub(super) struct Walk {
    /// All images, from -1 to 1.
    pub(super) images: Vec<f32>,
    /// The motion into each step.
    pub(super) actions: Vec<State>,
    /// Known poses.
    pub(super) labels: Vec<Option<State>>,
    pub(super) start: Start,
    /// Log densities of poses that are equally likely in all rooms, and where the robot starts.
    pub(super) flat: f64,
    pub(super) flat_start: f64,
    pub(super) maps: Arc<HouseMaps>,
    map: Images,
}

impl Walk {
    /// Fails if something is missing, or not of the size that the network takes.
    pub(super) fn new(lesson: &Lesson, settings: &HouseSettings) -> Result<Self> {
        let missing = |what: &str| Error::File(driftless_world::Error::new(what));
        let maps = lesson
            .floor()
            .ok_or_else(|| missing("the episode has no floor plan, which PF-net compares with"))?;
        let Observations::Images(images) = lesson.observations() else {
            return Err(missing("the episode has no images"));
        };
        if (images.height, images.width) != (IMAGE_SIDE, IMAGE_SIDE) {
            let size = format!("images of {} x {} pixels; PF-net takes 56 x 56", images.width, images.height);
            return Err(missing(&size));
        }
        let start =
            lesson.start().ok_or_else(|| missing("the episode does not say where the robot starts"))?;
        let map = network::map(maps, settings.map_mode());
        Ok(Self {
            images: floats(network::observations(images)?),
            actions: actions(lesson.actions()),
            labels: labels(lesson.labels()),
            start: in_pixels(start),
            flat: log_uniform(Start::House, maps),
            flat_start: log_uniform(start, maps),
            maps: Arc::clone(maps),
            map,
        })
    }

    /// How many steps.
    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    /// The map as the kernels take it.
    pub(super) fn floor(&self) -> FloorMap<'_> {
        let Pixels::Floats(numbers) = &self.map.pixels else { unreachable!("maps are made of floats") };
        let Images { width, height, channels, .. } = self.map;
        FloorMap { numbers, width, height, channels }
    }
}

fn floats(images: Images) -> Vec<f32> {
    match images.pixels {
        Pixels::Floats(numbers) => numbers,
        Pixels::Bytes(bytes) => bytes.into_iter().map(f32::from).collect(),
    }
}

/// A pose or a motion of three numbers in pixels.
pub(super) fn state(row: &[f32]) -> State {
    let [x, y] = [0, 1].map(|k| PIXELS_PER_UNIT * f64::from(row[k]));
    [x, y, f64::from(row[2])]
}

fn actions(rows: &Rows) -> Vec<State> {
    (0..rows.len()).map(|t| state(rows.row(t))).collect()
}

fn labels(labels: &Labels) -> Vec<Option<State>> {
    labels.iter().map(|label| label.map(state)).collect()
}

/// The same in pixels.
pub(in crate::methods) fn in_pixels(start: Start) -> Start {
    let shrunk = |row: [f32; 3]| state(&row).map(|x| x as f32);
    match start {
        Start::About { pose, spread } => Start::About { pose: shrunk(pose), spread: shrunk(spread) },
        other => other,
    }
}

#[cfg(test)]
impl Walk {
    /// Motions and labels alone, in an empty house.
    pub(super) fn bare(actions: Vec<State>, labels: Vec<Option<State>>) -> Self {
        let nothing = |channels| Images { height: 0, width: 0, channels, pixels: Pixels::Floats(Vec::new()) };
        let maps = HouseMaps {
            width: 0,
            height: 0,
            wall: Vec::new(),
            door: Vec::new(),
            room_type: Vec::new(),
            room_id: Vec::new(),
        };
        let (images, map) = (Vec::new(), nothing(1));
        let start = Start::House;
        Self { images, actions, labels, start, flat: 0.0, flat_start: 0.0, maps: Arc::new(maps), map }
    }
}
