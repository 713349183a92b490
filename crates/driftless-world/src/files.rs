//! The files people already have, read and written: containers below, layouts on top.
//!
//! | layout | container | module |
//! |---|---|---|
//! | DPF's mazes: `pose`, `vel`, `rgbd` | npz | [`dpf`] |
//! | anybody's recordings, ours | npz | [`log`] |
//! | PyDPF's tables | csv | [`csv`] |
//! | PF-net's houses | TFRecord of `tf.train.Example` with PNGs inside | [`pfnet`] |
//!
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
pub mod kind;
pub mod lines;
pub mod log;
pub mod npy;
pub mod npz;
pub mod pfnet;
pub mod png_image;
pub mod protobuf;
pub mod provenance;
pub mod recorded;
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
pub use kind::FileKind;
pub use source::Source;
