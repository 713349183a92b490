//! Pictures of worlds, paths and filters.
//!
//! Everything is drawn by this crate itself, down to the letters: no fonts, no system libraries, and
//! the same numbers give the same bytes every time.

pub mod canvas;
pub mod chart;
pub mod colour;
pub mod font;
pub mod image;
pub mod live;
pub mod pages;
pub mod paired;
pub mod path_picture;
pub mod record;
pub mod report;
pub mod run;
pub mod table;

pub use canvas::Canvas;
pub use chart::{BoxChart, LineChart};
pub use colour::Rgb;
pub use image::Image;
pub use path_picture::{Background, Bounds, FramePick, PathPicture, TrackingPicture};
pub use record::{Provenance, Record};
pub use report::Report;
pub use run::{Metrics, Run};
pub use table::{Cell, Table};
