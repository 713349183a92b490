//! Paths of an episode by everything that is known of it: the E-step of a method, as if the episode was learned from.

use super::anchored::paths::{Drawn, Sizes};
use crate::error::Result;
use crate::online::Smoothing;
use driftless_core::{Particles, Space, Stream};
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::trajectory::Trajectory;

/// Streams of a seed beyond those of filters and of drawing by what was seen alone.
const DRAWS: u64 = 3 << 41;

/// The episode with all known states as labels; nothing if none is known.
pub(super) fn labelled(episode: &Trajectory) -> Result<Option<Lesson>> {
    let known: Vec<bool> = episode.states.iter().map(|state| state.is_some()).collect();
    if !known.contains(&true) {
        return Ok(None);
    }
    Ok(Some(LabelBudget::new(1.0, 0)?.plan([known]).lesson(0, episode.clone())?))
}

/// How many particles and paths there are, and the random numbers.
pub(super) fn sizes(particles: usize, how: Smoothing) -> (Sizes, Stream) {
    (Sizes { particles, paths: how.paths.max(1) }, Stream::new(how.seed, DRAWS ^ how.episode))
}

/// Poses of paths as columns.
pub(super) fn columns(drawn: Option<Drawn>) -> Option<Vec<Particles>> {
    let poses = drawn?.poses;
    Some(poses.iter().map(|poses| Particles::from_states(Space::SE2, poses)).collect())
}
