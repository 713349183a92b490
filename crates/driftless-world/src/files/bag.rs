//! MCAP bags of ROS 1 and ROS 2, read as a stream: which topics they hold, and a drive out of them.
//!
//! A bag is read three times, and never held in memory: what it holds ([`list`]), the poses and the times of scans and
//! images, and the scans and images of the steps that were chosen.

mod beams;
mod choice;
mod frames;
mod gather;
mod heard;
mod import;
mod listing;
mod messages;
mod mount;
mod names;
mod payload;
mod record;
mod records;
mod steps;

pub use beams::{Beams, stride};
pub use frames::Frames;
pub use heard::Heard;
pub use import::import;
pub use listing::{Listing, Topic, list};

use crate::error::{Error, Result};
use crate::files::track::Pose;

/// Where poses come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoseSource {
    /// A topic's messages.
    Topic(String),
    /// The transforms between two frames.
    Frames {
        /// The frame that poses are in.
        parent: String,
        /// The robot's frame.
        child: String,
    },
    /// From nowhere, even if the bag has some.
    Nothing,
}

impl std::str::FromStr for PoseSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == NOTHING {
            return Ok(Self::Nothing);
        }
        let Some(frames) = text.strip_prefix("tf:") else { return Ok(Self::Topic(text.to_owned())) };
        let frames =
            frames.split_once("->").map(|(a, b)| (a.trim_matches(['/', ' ']), b.trim_matches(['/', ' '])));
        match frames {
            Some((parent, child)) if !parent.is_empty() && !child.is_empty() && parent != child => {
                Ok(Self::Frames { parent: parent.to_owned(), child: child.to_owned() })
            }
            _ => Err(Error::new(format!("{text:?} does not name two frames; write tf:odom->base_link"))),
        }
    }
}

/// What is typed to leave something out.
pub const NOTHING: &str = "none";

/// What to take from a bag, and how. What is not named is looked for.
#[derive(Clone, Debug)]
pub struct BagOptions {
    /// Where the robot's own motion comes from.
    pub odometry: Option<PoseSource>,
    /// The topic of the scans.
    pub scan: Option<String>,
    /// The topic of the images.
    pub image: Option<String>,
    /// Where the truth comes from.
    pub pose: Option<PoseSource>,
    /// Where the scanner sits on the robot, if not as the transforms say: forward, left, turn.
    pub mount: Option<Pose>,
    /// When a step is made.
    pub stepping: Stepping,
    /// At most so many beams of a scan are kept.
    pub beams: usize,
    /// Pixels of an image's longer side, at most.
    pub image_side: usize,
    /// Seconds between two poses that may be bridged.
    pub max_gap: f64,
    /// Seconds between a step and its image, at most.
    pub max_delay: f64,
    /// Seconds without a message after which a new episode starts.
    pub max_pause: f64,
    /// Longest episode.
    pub episode_steps: usize,
}

impl Default for BagOptions {
    /// All is looked for, and a step is made twice a second.
    fn default() -> Self {
        Self {
            odometry: None,
            scan: None,
            image: None,
            pose: None,
            mount: None,
            stepping: Stepping::Rate(2.0),
            beams: 181,
            image_side: 64,
            max_gap: 1.0,
            max_delay: 0.15,
            max_pause: 5.0,
            episode_steps: 100,
        }
    }
}

/// When a step is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stepping {
    /// At most so many a second.
    Rate(f64),
    /// When odometry has moved so many metres, or turned so many radians.
    Motion(f64, f64),
}
