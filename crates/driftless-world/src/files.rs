//! The files people already have, read and written: containers below, layouts on top.
//!
//! Layouts are lines of the table in [`registry`]: [`dpf`], [`log`], [`csv`] and [`pfnet`].
//! Maps of a floor are those of ROS, [`ros_map`]: a description in YAML and an image.
//! Robots' own files become plain logs: [`carmen`], [`tum`], and [`bag`] for MCAP with the messages of [`ros`].
//!
//! Weights of others come in a container of their own: [`tensor_bundle`], TensorFlow's checkpoints.

pub mod array;
pub mod atomic;
pub mod bag;
pub mod base64;
pub mod camera;
pub mod carmen;
pub mod columns;
pub mod csv;
pub mod dpf;
pub mod estimates;
pub mod example;
mod fingerprint;
mod glimpse;
pub mod lines;
pub mod log;
pub mod npy;
pub mod npz;
pub mod pfnet;
pub mod png_image;
pub mod protobuf;
pub mod provenance;
pub mod recorded;
pub mod registry;
pub mod rigid;
pub mod ros;
pub mod ros_map;
pub mod source;
pub mod spool;
pub mod tensor_bundle;
pub mod tfrecord;
pub mod track;
pub mod tum;
pub mod zip;

pub use atomic::{NewFile, Overwrite, abandon_all};
pub use fingerprint::Fingerprint;
pub use glimpse::Glimpse;
pub use registry::{DataFile, DataWriter, Entry, FORMATS, Format, Holds, ReadOptions, WriteOptions};
pub use source::Source;
