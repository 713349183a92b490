//! Episodes in houses, decoded once: images as they were taken, odometry, what is known of poses, and the walls.

use crate::classical::walls_of;
use crate::error::{Error, Result};
use crate::learn::TrainingSet;
use crate::methods::anchored::noise::Known;
use driftless_core::map::Walls;
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::labels::Lesson;
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Images, Observations, Start};
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// One of them.
pub(super) struct Walk {
    pub(super) images: Images,
    /// The motion into each step, in the robot's frame.
    pub(super) actions: Vec<[f32; 3]>,
    /// Known poses.
    pub(super) labels: Vec<Option<[f32; 3]>>,
    pub(super) start: Start,
    pub(super) house: Arc<House>,
    /// Odometry, labels and start, as smoothing takes them.
    pub(super) known: Known,
}

/// A floor plan, and rays in it.
pub(super) struct House {
    pub(super) maps: Arc<HouseMaps>,
    pub(super) walls: Walls,
}

impl House {
    pub(super) fn new(maps: &Arc<HouseMaps>) -> Self {
        Self { maps: Arc::clone(maps), walls: walls_of(maps) }
    }
}

/// Houses seen before: robots walk through each several times, and its plan is the largest part of a recording.
#[derive(Default)]
pub(super) struct Houses(HashMap<u64, Vec<Arc<House>>>);

impl Houses {
    fn of(&mut self, maps: &Arc<HouseMaps>) -> Arc<House> {
        let mut hasher = DefaultHasher::new();
        (maps.width, maps.height, &maps.wall).hash(&mut hasher);
        let alike = self.0.entry(hasher.finish()).or_default();
        if let Some(house) = alike.iter().find(|house| house.maps == *maps) {
            return Arc::clone(house);
        }
        let house = Arc::new(House::new(maps));
        alike.push(Arc::clone(&house));
        house
    }
}

fn triple(row: &[f32]) -> [f32; 3] {
    std::array::from_fn(|k| row[k])
}

impl Walk {
    /// Fails if something is missing.
    pub(super) fn new(lesson: &Lesson, houses: &mut Houses) -> Result<Self> {
        let missing = |what: &str| Error::File(driftless_world::Error::new(what));
        let maps = lesson.floor().ok_or_else(|| missing("has no floor plan, in which rays could be cast"))?;
        let Observations::Images(images) = lesson.observations() else {
            return Err(missing("has no images"));
        };
        let start = lesson.start().ok_or_else(|| missing("does not say where the robot starts"))?;
        let known = Known::of(lesson, Frame::Robot);
        Ok(Self {
            images: images.clone(),
            actions: (0..lesson.len()).map(|t| triple(lesson.actions().row(t))).collect(),
            labels: lesson.labels().iter().map(|label| label.map(triple)).collect(),
            start,
            house: houses.of(maps),
            known: match start {
                Start::About { pose, spread } => known.with_prior(pose, spread),
                Start::State { .. } | Start::Room(_) | Start::House => known,
            },
        })
    }

    /// Whether a pose is known.
    pub(super) fn has_label(&self) -> bool {
        self.labels.iter().any(Option::is_some)
    }
}

/// All episodes to learn from.
pub(super) fn load(lessons: &TrainingSet) -> Result<Vec<Walk>> {
    const HANDFUL: usize = 32;
    let numbers: Vec<usize> = (0..lessons.len()).collect();
    let (mut walks, mut houses) = (Vec::with_capacity(numbers.len()), Houses::default());
    for numbers in numbers.chunks(HANDFUL) {
        let decode = |number: &usize| lessons.lessons(std::slice::from_ref(number), 0);
        for lesson in numbers.par_iter().map(decode).collect::<Result<Vec<_>>>()?.iter().flatten() {
            walks.push(Walk::new(lesson, &mut houses)?);
        }
    }
    Ok(walks)
}
