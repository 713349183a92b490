//! Pictures of worlds, paths and filters.
//!
//! Everything is drawn by this crate itself, down to the letters: no fonts, no system libraries, and
//! the same numbers give the same bytes every time.

pub mod canvas;
pub mod colour;
pub mod font;
pub mod image;
pub mod path_picture;

pub use canvas::Canvas;
pub use colour::Rgb;
pub use image::Image;
pub use path_picture::{Background, Bounds, FramePick, PathPicture};
