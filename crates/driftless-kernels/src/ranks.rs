//! Ranks: processes that share one training. Each does its own parts of the work, and all of them get all parts.
//!
//! Parts are numbered, each is done by one rank alone, and whoever adds them up does so in their order: the same bits on
//! any number of ranks. A sum that the network makes on the way would depend on how it was routed.

mod played;
mod wire;

pub use played::Played;
pub use wire::{Message, Wire};

use rayon::prelude::*;
use std::fmt::{self, Debug};

/// The ranks of a training, as one of them sees them.
pub trait Ranks: Debug + Send + Sync {
    /// How many there are.
    fn size(&self) -> usize;

    /// Which one this is, from 0.
    fn rank(&self) -> usize;

    /// Gives bytes to all ranks, and gets those of all, its own too, by rank. All ranks call it equally often, each from
    /// one thread at a time.
    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost>;
}

/// One process alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Ranks for Alone {
    fn size(&self) -> usize {
        1
    }

    fn rank(&self) -> usize {
        0
    }

    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        Ok(vec![own])
    }
}

/// A rank that is no longer there, or says something else than the others: which, and what of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(pub String);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

/// Whether a part is this rank's to do: they go around, like cards.
pub fn is_own(ranks: &dyn Ranks, part: usize) -> bool {
    part % ranks.size() == ranks.rank()
}

/// Brings parts of which each rank has done its own to all ranks.
pub fn share<T: Message>(ranks: &dyn Ranks, parts: &mut [T]) -> Result<(), Lost> {
    let size = ranks.size();
    if size == 1 {
        return Ok(());
    }
    let mut wire = Wire::sending();
    parts.iter_mut().skip(ranks.rank()).step_by(size).for_each(|part| part.pass(&mut wire));
    let all = ranks.gather(wire.into_bytes())?;
    for (rank, bytes) in all.iter().enumerate().filter(|(rank, _)| *rank != ranks.rank()) {
        let mut wire = Wire::receiving(bytes);
        parts.iter_mut().skip(rank).step_by(size).for_each(|part| part.pass(&mut wire));
        wire.end().map_err(|what| Lost(format!("rank {rank} sent something else than was due: {what}")))?;
    }
    Ok(())
}

/// What tasks came to, in their order; each is done by one rank, and by one of its threads.
pub fn map<T, E>(
    ranks: &dyn Ranks,
    tasks: usize,
    task: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E>
where
    T: Message + Default + Send,
    E: From<Lost> + Send,
{
    let own = |number| if is_own(ranks, number) { task(number) } else { Ok(T::default()) };
    let mut all = (0..tasks).into_par_iter().map(own).collect::<Result<Vec<_>, E>>()?;
    share(ranks, &mut all)?;
    Ok(all)
}

#[cfg(test)]
mod tests;
