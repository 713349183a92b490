//! Methods that learn from episodes, through the door that experiments use.

mod between_labels;
#[path = "../../../driftless-world/tests/bundle_bytes/mod.rs"]
mod bundle_bytes;
mod given_map;
mod house;
mod jonschkowski;
mod learned_sensors;
mod online;
mod pfnet_checkpoint;
mod published;
mod published_methods;
mod published_on_logs;
mod released_code;
mod robot;
