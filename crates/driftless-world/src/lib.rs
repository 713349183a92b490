//! Worlds and recorded data for differentiable particle filters.
//!
//! Simulated or recorded, everything ends as a [`Trajectory`]: what a robot saw, how it moved and
//! where it truly was, as far as anybody knows. This crate knows no tensors.
//!
//! ```
//! use driftless_world::files::dpf::{DpfFile, DpfOptions, DpfWriter};
//! use driftless_world::files::{Overwrite, zip::Method};
//! use driftless_world::maze::{Layout, MazeWorld};
//! use driftless_world::{Dataset, LabelBudget};
//!
//! // A robot wanders through Maze 1 for ten seconds, three times, and is recorded.
//! let world = MazeWorld::new(Layout::built_in("maze1").expect("it is built in"), 32, 32);
//! let path = std::env::temp_dir().join(format!("driftless-doc-{}.npz", std::process::id()));
//! let mut file = DpfWriter::create(&path, Overwrite::Replace, Method::Stored, "")?;
//! for number in 0..3 {
//!     file.push(&world.episode(1, number, 10).into_recording())?;
//! }
//! file.finish()?;
//!
//! // A trainer sees a third of the poses; the others are gone, not hidden.
//! let data = DpfFile::open(&path, DpfOptions { steps_per_episode: Some(10), ..DpfOptions::default() })?;
//! let plan = LabelBudget::new(1.0 / 3.0, 7)?.plan_for(&data)?;
//! let lessons = (0..data.len()).map(|i| plan.lesson(i, data.get(i)?)).collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(lessons.iter().map(|lesson| lesson.labels().known()).sum::<usize>(), 9); // of 3 x 9
//! # std::fs::remove_file(path).unwrap();
//! # Ok::<(), driftless_world::Error>(())
//! ```

pub mod dataset;
pub mod error;
pub mod evaluation;
pub mod files;
pub mod house;
pub mod labels;
pub mod maze;
pub mod occupancy;
pub mod render;
pub mod simulate;
pub mod statistics;
pub mod trajectory;

pub use dataset::Dataset;
pub use driftless_core::{pose, random};
pub use error::{Error, Result};
pub use evaluation::{About, Episode, Evaluation, Track};
pub use labels::{LabelBudget, LabelPlan, Lesson};
pub use occupancy::OccupancyGrid;
pub use pose::Pose;
pub use trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};
