//! Worlds and recorded data for differentiable particle filters.
//!
//! Simulated or recorded, everything ends as a [`Trajectory`]: what a robot saw, how it moved and
//! where it truly was, as far as anybody knows. This crate knows no tensors.

pub mod dataset;
pub mod error;
pub mod files;
pub mod house;
pub mod labels;
pub mod maze;
pub mod pose;
pub mod random;
pub mod render;
pub mod statistics;
pub mod trajectory;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use labels::{LabelBudget, LabelPlan, Lesson};
pub use pose::Pose;
pub use trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};
