//! What a robot online is told: where it starts, and what it has at a step.

use crate::error::{Error, Result};
use driftless_world::trajectory::{Coordinates, Start as Told};

/// What is known of where a robot starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Place {
    /// Nothing: it may be anywhere that was seen in training; in a house in any of its rooms.
    #[default]
    Anywhere,
    /// It is somewhere in this room of its house.
    Room(u16),
    /// It is about here: a normal distribution.
    About {
        /// x, y and heading.
        pose: [f64; 3],
        /// Standard deviations of them.
        spread: [f64; 3],
    },
    /// Of a run whose states are of named coordinates: it is about this.
    State {
        /// A number for each coordinate.
        mean: Coordinates,
        /// Standard deviations of them.
        spread: Coordinates,
    },
}

/// How a track begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Start {
    /// Particles once the robot is found; as in training unless said otherwise.
    pub particles: Option<usize>,
    /// Names all random numbers.
    pub seed: u64,
    /// Robots and episodes of one seed have numbers of their own.
    pub episode: u64,
    /// Where the robot is.
    pub place: Place,
}

/// What a robot has at a step: any of it may be missing, and says nothing then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step<'a> {
    /// Numbers of the sensors, in the order of the training log's columns; what is not finite is missing.
    pub readings: Option<&'a [f32]>,
    /// An image of the size that was recorded for training.
    pub image: Option<Frame<'a>>,
    /// Odometry since the step before, as in the training log: x ahead, y to the left and turn in radians. Of a run whose
    /// motion is of the kind velocity, these a second.
    pub odometry: Option<[f64; 3]>,
    /// Of a run whose states are of named coordinates: by how much each changed since the step before, or changes a second.
    pub change: Option<&'a [f64]>,
    /// Seconds on any clock, for velocities.
    pub time: Option<f64>,
}

/// A camera's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Height, width and channels.
    pub size: [usize; 3],
    /// Row by row, channels last.
    pub pixels: &'a [u8],
}

impl Place {
    /// As recordings say it.
    pub(crate) fn told(self) -> Told {
        match self {
            Self::Anywhere => Told::House,
            Self::Room(room) => Told::Room(room),
            Self::About { pose, spread } => {
                let [pose, spread] = [pose, spread].map(|numbers| numbers.map(|x| x as f32));
                Told::About { pose, spread }
            }
            Self::State { mean, spread } => Told::State { mean, spread },
        }
    }

    /// Fails if it is not a place.
    pub(super) fn check(&self) -> Result<()> {
        let (pose, spread): (&[f64], &[f64]) = match self {
            Self::Anywhere | Self::Room(_) => return Ok(()),
            Self::About { pose, spread } => (pose, spread),
            Self::State { mean, spread } => (mean, spread),
        };
        if !pose.iter().all(|x| x.abs() < 1e30) || !spread.iter().all(|x| (0.0..1e30).contains(x)) {
            return Err(Error::setting("start", "must be finite, and its spread 0 or more"));
        }
        Ok(())
    }
}
