//! States of filters, taken back from bytes.

use driftless_core::{FilterState, Snapshot, Space};
use driftless_world::pose::Pose;

/// A state of this space, with particles.
pub(crate) fn state(space: Space, from: &mut &[u8]) -> Option<FilterState> {
    let is_sound = |state: &FilterState| state.belief.space() == space && !state.belief.particles.is_empty();
    FilterState::load(from).filter(is_sound)
}

/// The same of a filter that may have none yet, in place of what it had.
pub(crate) fn begun(space: Space, from: &mut &[u8], found: &mut Option<FilterState>) -> Option<()> {
    *found = if bool::load(from)? { Some(state(space, from)?) } else { None };
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
