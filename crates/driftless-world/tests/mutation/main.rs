//! Damaged inputs by the ten thousand: every one is read or refused, none panics, hangs or takes all memory.
//!
//! A process of its own, because it measures the memory of the process.

#[path = "../bag_bytes/mod.rs"]
mod bag_bytes;
mod bundle;
#[path = "../bundle_bytes/mod.rs"]
mod bundle_bytes;
mod maze;
mod npz;
mod robots;
mod ros_map;
#[path = "../sample/mod.rs"]
mod sample;
mod survive;
mod tfrecord;
