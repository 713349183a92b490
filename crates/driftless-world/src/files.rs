//! The files people already have, read and written: containers below, layouts on top.
//!
//! | layout | container | module |
//! |---|---|---|

pub mod atomic;
pub mod example;
pub mod png_image;
pub mod protobuf;
pub mod source;
pub mod tfrecord;

pub use atomic::{NewFile, Overwrite};
pub use source::Source;
