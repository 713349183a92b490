//! Episodes of a robot, decoded once.

use crate::error::Result;
use crate::learn::TrainingSet;
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Camera, Images, Observations, Rows, Start};

/// One of them.
pub(super) struct Walk {
    /// What was measured at each step; NaN is missing. Rows of nothing where there is a camera alone.
    pub(super) readings: Rows,
    /// What the camera saw.
    pub(super) camera: Option<Camera>,
    /// The motion into each step, in the robot's frame, as odometry says it.
    pub(super) actions: Vec<[f32; 3]>,
    /// Known poses.
    pub(super) labels: Vec<Option<[f32; 3]>>,
    /// What the robot is told of its first pose.
    pub(super) start: Option<Start>,
}

/// What all sensors have of a step.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    /// All columns; NaN is missing.
    pub(super) numbers: &'a [f32],
    /// Images, and which of them is this step's.
    pub(super) image: Option<(&'a Images, usize)>,
}

fn triple(row: &[f32]) -> [f32; 3] {
    std::array::from_fn(|k| row[k])
}

impl Walk {
    /// As a lesson has it.
    pub(super) fn new(lesson: &Lesson) -> Self {
        let (readings, camera) = match lesson.observations() {
            Observations::Vectors(readings) => (readings.clone(), lesson.camera().cloned()),
            Observations::Images(images) => {
                (Rows::default(), Some(Camera { images: images.clone(), known: vec![true; lesson.len()] }))
            }
        };
        Self {
            readings,
            camera,
            actions: (0..lesson.len()).map(|t| triple(lesson.actions().row(t))).collect(),
            labels: lesson.labels().iter().map(|label| label.map(triple)).collect(),
            start: lesson.start(),
        }
    }

    /// What the sensors have of a step.
    pub(super) fn at(&self, t: usize) -> Measured<'_> {
        let camera = self.camera.as_ref().filter(|camera| camera.known[t]);
        Measured { numbers: self.readings.row(t), image: camera.map(|camera| (&camera.images, t)) }
    }

    /// Channels, height and width of images, if there are some.
    pub(super) fn image_shape(&self) -> Option<[usize; 3]> {
        let images = &self.camera.as_ref()?.images;
        Some([images.channels, images.height, images.width])
    }

    /// Whether a pose is known.
    pub(super) fn has_label(&self) -> bool {
        self.labels.iter().any(Option::is_some)
    }
}

/// All episodes to learn from.
pub(super) fn load(lessons: &TrainingSet) -> Result<Vec<Walk>> {
    let numbers: Vec<usize> = (0..lessons.len()).collect();
    Ok(lessons.lessons(&numbers, 0)?.iter().map(Walk::new).collect())
}
