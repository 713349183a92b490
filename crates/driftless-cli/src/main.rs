//! The `driftless` command.
fn main() {}
