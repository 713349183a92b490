//! What a robot experienced in one episode: observations, actions, and true states where known.
//!
//! Convention, everywhere in this project: **action t leads into state t** and observation t is
//! seen in state t. Formats that write it otherwise are translated when they are read.

mod coordinates;
mod images;
mod rows;

pub use coordinates::{Coordinates, MOST_COORDINATES};
pub use images::{Camera, Images, Pixels};
pub use rows::{Labels, Rows};

use crate::error::{Error, Result};
use crate::files::pfnet::HouseMaps;
use std::sync::Arc;

/// What the robot perceived at each step.
#[derive(Clone, Debug, PartialEq)]
pub enum Observations {
    /// A camera image a step.
    Images(Images),
    /// A vector a step (ranges, beacons, features).
    Vectors(Rows),
}

impl Observations {
    /// Number of steps.
    pub fn len(&self) -> usize {
        match self {
            Self::Images(images) => images.len(),
            Self::Vectors(rows) => rows.len(),
        }
    }

    /// True if there is no step.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One episode of T steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// What was perceived, one entry a step.
    pub observations: Observations,
    /// Row t is the motion that led *into* step t, as the odometry reported it; a row of NaN where it did not.
    pub actions: Rows,
    /// True states, for mazes (x, y, heading in radians).
    pub states: Labels,
    /// The floor plan, where the robot has one.
    pub floor: Option<Arc<HouseMaps>>,
    /// What is known of the first pose before anything is seen; nothing means what the method thinks.
    pub start: Option<Start>,
    /// Seconds at each step, if the recording has them.
    pub times: Option<Vec<f64>>,
    /// A camera, where `observations` are those of other sensors.
    pub camera: Option<Camera>,
}

/// What a robot is told of its first pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// It is about here: a normal distribution.
    About {
        /// Its mean.
        pose: [f32; 3],
        /// Its standard deviations.
        spread: [f32; 3],
    },
    /// Of a state of named coordinates: it is about this, a normal distribution.
    State {
        /// Its mean.
        mean: Coordinates,
        /// Its standard deviations.
        spread: Coordinates,
    },
    /// It is somewhere in this room of the floor plan.
    Room(u16),
    /// It is somewhere in a room of the floor plan.
    House,
}

impl Trajectory {
    /// Checks that all parts have the same number of steps, at least one.
    pub fn new(observations: Observations, actions: Rows, states: Labels) -> Result<Self> {
        let steps = observations.len();
        if steps == 0 {
            return Err(Error::new("an episode without steps"));
        }
        if actions.len() != steps && actions.width() > 0 || states.len() != steps {
            return Err(Error::new(format!(
                "{steps} observations, {} actions and {} states do not belong together",
                actions.len(),
                states.len()
            )));
        }
        Ok(Self { observations, actions, states, floor: None, start: None, times: None, camera: None })
    }

    /// The same without the steps before `first`.
    ///
    /// # Panics
    /// If no step is left.
    pub fn from_step(self, first: usize) -> Self {
        assert!(first < self.len(), "step {first} of {}", self.len());
        let mut states = Labels::new(self.states.width());
        self.states.iter().skip(first).for_each(|state| states.push(state));
        let observations = match self.observations {
            Observations::Images(images) => Observations::Images(images.from(first)),
            Observations::Vectors(rows) => Observations::Vectors(rows.from(first)),
        };
        let camera = self.camera.map(|Camera { images, known }| Camera {
            images: images.from(first),
            known: known[first..].to_vec(),
        });
        let times = self.times.map(|times| times[first..].to_vec());
        Self { observations, actions: self.actions.from(first), states, times, camera, ..self }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.observations.len()
    }

    /// Never true for a checked trajectory.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_states_cannot_be_read() {
        let mut labels = Labels::new(2);
        labels.push(Some(&[1.0, 2.0]));
        labels.push(None);
        assert_eq!((labels.get(0), labels.get(1), labels.known()), (Some([1.0, 2.0].as_slice()), None, 1));
    }

    #[test]
    fn steps_can_be_left_out_in_front() {
        let numbers = |width: usize| Rows::new(width, (0..3 * width).map(|i| i as f32).collect()).unwrap();
        let mut states = Labels::new(1);
        for state in [None, Some(&[5.0][..]), None] {
            states.push(state);
        }
        let images = Images { height: 1, width: 2, channels: 1, pixels: Pixels::Bytes((0..6).collect()) };
        let whole = Trajectory {
            times: Some(vec![0.0, 1.0, 2.0]),
            camera: Some(Camera { images, known: vec![true, false, true] }),
            ..Trajectory::new(Observations::Vectors(numbers(2)), numbers(3), states).unwrap()
        };
        assert_eq!(whole.clone().from_step(0), whole);
        let rest = whole.from_step(1);
        assert_eq!(
            (rest.len(), rest.states.get(0), rest.actions.row(0)),
            (2, Some(&[5.0][..]), &[3.0, 4.0, 5.0][..])
        );
        let camera = rest.camera.unwrap();
        assert_eq!(
            (camera.known, camera.images.pixels),
            (vec![false, true], Pixels::Bytes(vec![2, 3, 4, 5]))
        );
        assert_eq!(rest.times, Some(vec![1.0, 2.0]));
    }

    #[test]
    fn parts_must_have_equal_lengths() {
        let observations = Observations::Vectors(Rows::new(1, vec![0.0; 3]).unwrap());
        let actions = Rows::new(3, vec![0.0; 6]).unwrap();
        let error = Trajectory::new(observations, actions, Labels::new(3)).unwrap_err();
        assert!(error.to_string().contains("3 observations, 2 actions and 0 states"), "{error}");
        assert!(Rows::new(2, vec![0.0; 3]).is_err());
    }
}
