//! Worlds, their pictures and their files, as a user of the crate meets them.

#[path = "../bag_bytes/mod.rs"]
mod bag_bytes;
mod bags;
#[path = "../bundle_bytes/mod.rs"]
mod bundle_bytes;
mod carmen;
mod columns;
mod dpf;
mod estimates;
mod evaluation;
mod example;
mod house;
mod log_csv;
mod maze_statistics;
mod maze_walls;
mod pfnet;
mod properties;
mod real_engine;
mod renderer;
mod ros_map;
#[path = "../sample/mod.rs"]
mod sample;
mod tensor_bundle;
