//! The command `driftless` as people and scripts use it; one program, since linking is most of its build.

#[path = "../../../driftless-world/tests/bag_bytes/mod.rs"]
mod bag_bytes;
#[path = "../../../driftless-world/tests/bundle_bytes/mod.rs"]
mod bundle_bytes;
mod command_line;
mod coordinates;
mod going_on;
mod importing;
#[cfg(unix)]
mod interrupted;
mod online;
mod published_tracking;
mod refused;
mod repeating;
mod reproducing;
mod results;
#[cfg(unix)]
mod serving;
mod smoothing;
mod sweeping;
mod terminal;
mod tracking;
mod training;
