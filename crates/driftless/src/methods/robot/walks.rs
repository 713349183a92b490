//! Episodes of a robot, decoded once.

use crate::error::Result;
use crate::learn::TrainingSet;
use driftless_world::labels::Lesson;
use driftless_world::trajectory::{Camera, Images, Observations, Pixels, Rows, Start};
use std::ops::Range;

/// One of them, with states as `S` holds them: planar poses, unless said otherwise.
pub(in crate::methods) struct Walk<S = [f32; 3]> {
    /// What was measured at each step; NaN is missing. Rows of nothing where there is a camera alone.
    pub(super) readings: Rows,
    /// What the camera saw.
    pub(super) camera: Option<Camera>,
    /// The motion into each step, in the robot's frame, as odometry says it.
    pub(super) actions: Vec<S>,
    /// Known states.
    pub(super) labels: Vec<Option<S>>,
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
    pub(in crate::methods) fn new(lesson: &Lesson) -> Self {
        Self::with(lesson, triple)
    }
}

impl<S: Clone> Walk<S> {
    /// The same with rows of numbers taken for states.
    pub(super) fn with(lesson: &Lesson, state: impl Fn(&[f32]) -> S) -> Self {
        let (readings, camera) = match lesson.observations() {
            Observations::Vectors(readings) => (readings.clone(), lesson.camera().cloned()),
            Observations::Images(images) => {
                (Rows::default(), Some(Camera { images: images.clone(), known: vec![true; lesson.len()] }))
            }
        };
        Self {
            readings,
            camera,
            actions: (0..lesson.len()).map(|t| state(lesson.actions().row(t))).collect(),
            labels: lesson.labels().iter().map(|label| label.map(&state)).collect(),
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

    /// Steps of it as an episode of their own.
    fn piece(&self, steps: Range<usize>) -> Self {
        let (width, stride) = (self.readings.width(), |images: &Images| images.stride());
        let numbers = self.readings.values()[steps.start * width..steps.end * width].to_vec();
        let camera = |camera: &Camera| {
            let own = steps.start * stride(&camera.images)..steps.end * stride(&camera.images);
            let pixels = match &camera.images.pixels {
                Pixels::Bytes(bytes) => Pixels::Bytes(bytes[own].to_vec()),
                Pixels::Floats(floats) => Pixels::Floats(floats[own].to_vec()),
            };
            let images = Images { pixels, ..camera.images };
            Camera { images, known: camera.known[steps.clone()].to_vec() }
        };
        Self {
            readings: Rows::new(width, numbers).expect("whole rows were taken"),
            camera: self.camera.as_ref().map(camera),
            actions: self.actions[steps.clone()].to_vec(),
            labels: self.labels[steps].to_vec(),
            start: None,
        }
    }

    /// Whether a pose is known.
    pub(super) fn has_label(&self) -> bool {
        self.labels.iter().any(Option::is_some)
    }
}

/// Episodes that a calibration needs, some of which are kept from what is learned.
const LEAST_EPISODES: usize = 8;
/// Steps of a piece, at least.
const LEAST_STEPS: usize = 25;

/// All episodes to learn from. Few long ones are cut into pieces: what is learned from some is calibrated on others.
pub(super) fn load(lessons: &TrainingSet) -> Result<Vec<Walk>> {
    load_with(lessons, Walk::new)
}

/// The same, read in another way.
pub(super) fn load_with<S: Clone>(
    lessons: &TrainingSet,
    read: impl Fn(&Lesson) -> Walk<S>,
) -> Result<Vec<Walk<S>>> {
    let numbers: Vec<usize> = (0..lessons.len()).collect();
    let walks: Vec<Walk<S>> = lessons.lessons(&numbers, 0)?.iter().map(read).collect();
    Ok(if walks.len() < LEAST_EPISODES { pieces(&walks) } else { walks })
}

fn pieces<S: Clone>(walks: &[Walk<S>]) -> Vec<Walk<S>> {
    let total: usize = walks.iter().map(|walk| walk.actions.len()).sum();
    let cut = |walk: &Walk<S>| -> Vec<Walk<S>> {
        let steps = walk.actions.len();
        let count = (LEAST_EPISODES * steps).div_ceil(total).min(steps / LEAST_STEPS).max(1);
        (0..count).map(|k| walk.piece(k * steps / count..(k + 1) * steps / count)).collect()
    };
    walks.iter().flat_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(steps: usize, first: usize) -> Walk {
        let number = |t: usize| (first + t) as f32;
        let images = Images { height: 1, width: 2, channels: 1, pixels: Pixels::Bytes(vec![3; 2 * steps]) };
        Walk {
            readings: Rows::new(2, (0..steps).flat_map(|t| [number(t), 0.5]).collect()).unwrap(),
            camera: Some(Camera { images, known: (0..steps).map(|t| t % 2 == 0).collect() }),
            actions: (0..steps).map(|t| [number(t); 3]).collect(),
            labels: (0..steps).map(|t| (t % 9 == 0).then_some([number(t); 3])).collect(),
            start: None,
        }
    }

    /// Numbers, whether there is an image, the action and the label.
    type Step = (Vec<f32>, bool, [f32; 3], Option<[f32; 3]>);

    /// One long episode and a short one become eight pieces or so, in which all steps are what they were.
    #[test]
    fn long_episodes_are_cut() {
        let whole = [walk(403, 0), walk(30, 403)];
        let cut = pieces(&whole);
        assert_eq!(cut.len(), 9);
        assert!(cut.iter().all(|piece| piece.actions.len() >= LEAST_STEPS));
        let steps = |walks: &[Walk]| -> Vec<Step> {
            let all = walks.iter().flat_map(|walk| (0..walk.actions.len()).map(move |t| (walk, t)));
            let step = |(walk, t): (&Walk, usize)| {
                let seen = walk.at(t);
                (seen.numbers.to_vec(), seen.image.is_some(), walk.actions[t], walk.labels[t])
            };
            all.map(step).collect()
        };
        assert!(steps(&cut) == steps(&whole));
        assert_eq!(pieces(&[walk(20, 0)]).len(), 1, "too short to be cut");
    }
}
