//! Estimates of poses, step by step, in files that other programs read.
//!
//! | format | for | several episodes |
//! |---|---|---|
//! | TUM's trajectories | `evo` and other evaluations of paths | a file each |
//! | csv, JSON lines | tables, scripts | one after the other |
//! | MCAP with ROS 2 messages | Foxglove, RViz, rosbags | one after the other |

mod cdr;
mod mcap;
pub mod messages;
pub mod recording;
mod table;
mod tum;

use crate::error::{Error, Result};
use crate::files::Overwrite;
use crate::pose::Pose;
use driftless_core::Belief;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The frame that poses of messages are in.
const FRAME: &str = "map";

/// Where a robot was believed to be after a step. What is NaN or absent is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimated {
    /// Which robot, if there are several in one stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robot: Option<String>,
    /// Which episode, counted from 0.
    pub episode: usize,
    /// Which step of it, counted from 0.
    pub step: usize,
    /// Seconds, if the recording has them.
    pub time: Option<f64>,
    /// Mean position, and the direction of the mean heading.
    #[serde(serialize_with = "three")]
    pub pose: Pose,
    /// Of x, y and the heading around that mean.
    pub covariance: [[f64; 3]; 3],
    /// 1 / Σ w².
    pub effective_sample_size: f64,
    /// How many particles there were.
    pub particles: usize,
    /// The probability that the robot is anywhere else, if the filter knows it.
    pub kidnapped: Option<f64>,
    /// Whether no particle could explain what was seen.
    pub collapsed: bool,
    /// Whether anything was seen.
    pub saw: bool,
    /// Whether there was odometry.
    pub moved: bool,
    /// The state, where it is of named coordinates; pose and covariance mean nothing then.
    #[serde(skip)]
    pub state: Option<EstimatedState>,
}

/// An estimate of named coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct EstimatedState {
    /// Their names.
    pub names: Arc<[String]>,
    /// Mean of each; of angles its direction.
    pub mean: Vec<f64>,
    /// Around that mean, row after row; NaN where a method does not know it.
    pub covariance: Vec<f64>,
}

fn three<S: serde::Serializer>(pose: &Pose, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    [pose.x, pose.y, pose.heading].serialize(serializer)
}

impl Estimated {
    /// The seconds, or the number of the step.
    fn clock(&self) -> f64 {
        self.time.unwrap_or(self.step as f64)
    }
}

impl EstimatedState {
    /// Whether a coordinate cannot have this name, as another column of tables has it.
    pub fn is_taken(name: &str) -> bool {
        table::is_taken(name)
    }
}

/// What estimates are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimateFormat {
    /// `timestamp x y z qx qy qz qw`.
    Tum,
    /// A table with a header.
    Csv,
    /// An object a line.
    JsonLines,
    /// Poses with covariances and particle clouds as ROS 2 messages.
    Mcap,
}

impl EstimateFormat {
    /// Whether it holds poses in the plane alone.
    pub fn is_planar(self) -> bool {
        matches!(self, Self::Tum | Self::Mcap)
    }

    /// By the end of a file's name.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "tum" => Some(Self::Tum),
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "mcap" => Some(Self::Mcap),
            _ => None,
        }
    }
}

/// How estimates are written.
#[derive(Clone, Copy, Debug)]
pub struct EstimateOptions {
    /// As what.
    pub format: EstimateFormat,
    /// What to do with files that are there.
    pub overwrite: Overwrite,
    /// How many episodes will come.
    pub episodes: usize,
    /// Particles of a cloud, at most; 0 for no clouds. Others than MCAP have none.
    pub cloud: usize,
}

/// A file that grows by an estimate at a time. Dropped without `finish`, it leaves nothing half-written behind.
pub trait EstimateWriter {
    /// Appends an estimate, and the particles behind it. Episodes follow each other.
    fn push(&mut self, row: &Estimated, belief: Option<&Belief>) -> Result<()>;

    /// Completes what was begun, and says what was written.
    fn finish(self: Box<Self>) -> Result<Vec<PathBuf>>;
}

/// Begins a file. Fails early if it cannot be written, before any work is done.
pub fn create(path: &Path, options: EstimateOptions) -> Result<Box<dyn EstimateWriter>> {
    let made: Result<Box<dyn EstimateWriter>> = match options.format {
        EstimateFormat::Tum => tum::TumFiles::create(path, options).map(|file| Box::new(file) as _),
        EstimateFormat::Csv => table::Table::csv(path, options).map(|file| Box::new(file) as _),
        EstimateFormat::JsonLines => table::Table::json_lines(path, options).map(|file| Box::new(file) as _),
        EstimateFormat::Mcap => mcap::McapFile::create(path, options).map(|file| Box::new(file) as _),
    };
    made.map_err(|error| error.in_file(path))
}

fn cannot_write(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |source| Error::io("cannot write", source).in_file(path)
}
