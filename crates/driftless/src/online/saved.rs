//! States of robots in the plane, taken back from bytes.

use driftless_core::{FilterState, Snapshot, Space};
use driftless_world::pose::Pose;

/// A state of poses, with particles.
pub(crate) fn state(from: &mut &[u8]) -> Option<FilterState> {
    let is_planar =
        |state: &FilterState| state.belief.space() == Space::SE2 && !state.belief.particles.is_empty();
    FilterState::load(from).filter(is_planar)
}

/// The same of a filter that may have none yet, in place of what it had.
pub(crate) fn begun(from: &mut &[u8], found: &mut Option<FilterState>) -> Option<()> {
    *found = if bool::load(from)? { Some(state(from)?) } else { None };
    Some(())
}

/// Adds a pose.
pub(crate) fn save_pose(Pose { x, y, heading }: Pose, to: &mut Vec<u8>) {
    [x, y, heading].save(to);
}

/// A finite pose.
pub(crate) fn pose(from: &mut &[u8]) -> Option<Pose> {
    let [x, y, heading] = <[f64; 3]>::load(from).filter(|pose| pose.iter().all(|x| x.is_finite()))?;
    Some(Pose::new(x, y, heading))
}
