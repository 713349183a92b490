//! Episodes of a robot, decoded once.

use crate::error::{Error, Result};
use crate::learn::TrainingSet;
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Observations, Rows, Start};

/// One of them.
pub(super) struct Walk {
    /// What was measured at each step; NaN is missing.
    pub(super) readings: Rows,
    /// The motion into each step, in the robot's frame, as odometry says it.
    pub(super) actions: Vec<[f32; 3]>,
    /// Known poses.
    pub(super) labels: Vec<Option<[f32; 3]>>,
    /// What the robot is told of its first pose.
    pub(super) start: Option<Start>,
}

fn triple(row: &[f32]) -> [f32; 3] {
    std::array::from_fn(|k| row[k])
}

impl Walk {
    /// Fails if the log holds images.
    pub(super) fn new(lesson: &Lesson) -> Result<Self> {
        let Observations::Vectors(readings) = lesson.observations() else {
            return Err(Error::File(driftless_world::Error::new("holds images, not readings")));
        };
        Ok(Self {
            readings: readings.clone(),
            actions: (0..lesson.len()).map(|t| triple(lesson.actions().row(t))).collect(),
            labels: lesson.labels().iter().map(|label| label.map(triple)).collect(),
            start: lesson.start(),
        })
    }

    /// Whether a pose is known.
    pub(super) fn has_label(&self) -> bool {
        self.labels.iter().any(Option::is_some)
    }
}

/// All episodes to learn from.
pub(super) fn load(lessons: &TrainingSet) -> Result<Vec<Walk>> {
    let numbers: Vec<usize> = (0..lessons.len()).collect();
    lessons.lessons(&numbers, 0)?.iter().map(Walk::new).collect()
}
