//! Episodes by number, wherever they come from.

use crate::error::Result;

/// A numbered collection of episodes, read one at a time so that it may be larger than memory.
pub trait Dataset: Sync {
    /// What an episode is: a [`crate::Trajectory`], or one with its map.
    type Episode;

    /// Number of episodes.
    fn len(&self) -> usize;

    /// True if there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads episode `index`; panics if there is no such episode, which is the caller's bug.
    fn get(&self, index: usize) -> Result<Self::Episode>;
}
