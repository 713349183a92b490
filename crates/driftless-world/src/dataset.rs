//! Episodes by number, wherever they come from, and the order of an epoch.

use crate::error::Result;
use crate::random::Random;

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

/// The order in which epoch `epoch` visits `episodes` episodes: a full shuffle, named by the seed.
pub fn epoch_order(episodes: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..episodes).collect();
    Random::stream(seed, epoch).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_visits_every_episode_once() {
        let mut order = epoch_order(100, 1, 0);
        assert_ne!(order, epoch_order(100, 1, 1));
        assert_eq!(order, epoch_order(100, 1, 0));
        order.sort_unstable();
        assert!(order.into_iter().eq(0..100));
    }
}
