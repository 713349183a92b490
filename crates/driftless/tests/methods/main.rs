//! Methods that learn from episodes, through the door that experiments use.

mod between_labels;
#[path = "../../../driftless-world/tests/bundle_bytes/mod.rs"]
mod bundle_bytes;
mod coordinates;
mod given_map;
mod house;
mod jonschkowski;
mod learned_sensors;
mod online;
mod own_range_scan;
mod pfnet_checkpoint;
mod published;
mod published_methods;
mod published_on_logs;
mod range_scan;
mod ranks;
mod released_code;
mod robot;
