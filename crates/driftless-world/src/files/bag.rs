//! MCAP bags of ROS 1 and ROS 2, read as a stream: which topics they hold, and a drive out of them.

mod import;
mod records;
mod topics;
mod transforms;

pub use import::{BagOptions, import};
pub use topics::{Topic, list};

use crate::error::{Error, Result};

/// Where poses come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoseSource {
    /// A topic's messages.
    Topic(String),
    /// The transforms between two frames.
    Transform {
        /// The frame that poses are in.
        parent: String,
        /// The robot's frame.
        child: String,
    },
}

impl std::str::FromStr for PoseSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(frames) = text.strip_prefix("tf:") else { return Ok(Self::Topic(text.to_owned())) };
        let frames =
            frames.split_once("->").map(|(a, b)| (a.trim_matches(['/', ' ']), b.trim_matches(['/', ' '])));
        match frames {
            Some((parent, child)) if !parent.is_empty() && !child.is_empty() && parent != child => {
                Ok(Self::Transform { parent: parent.to_owned(), child: child.to_owned() })
            }
            _ => Err(Error::new(format!("{text:?} does not name two frames; write tf:odom->base_link"))),
        }
    }
}
