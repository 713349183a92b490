//! The ranks that share a training, and what they must agree on.

use super::RunConfig;
use super::session::changes_of;
use crate::error::{Error, Result};
use crate::parameters::Named;
pub use driftless_kernels::ranks::{Alone, Lost, Played, Ranks};
use driftless_kernels::ranks::{Message, share};
use std::sync::Arc;

/// The ranks of a training, as one of them sees them; methods and sessions share it.
pub type AllRanks = Arc<dyn Ranks>;

/// One process, which shares with nobody.
pub fn alone() -> AllRanks {
    Arc::new(Alone)
}

impl From<Lost> for Error {
    fn from(Lost(what): Lost) -> Self {
        Self::Ranks(what)
    }
}

/// What all ranks have, by rank.
pub(super) fn all_of<T: Message + Clone>(ranks: &dyn Ranks, own: T) -> Result<Vec<T>> {
    let mut all = vec![own; ranks.size()];
    share(ranks, &mut all)?;
    Ok(all)
}

/// Whether one of the ranks says yes.
pub(super) fn any(ranks: &dyn Ranks, own: bool) -> Result<bool> {
    Ok(all_of(ranks, own)?.contains(&true))
}

/// What rank 0 has.
pub(super) fn of_first<T: Message + Default>(ranks: &dyn Ranks, own: T) -> Result<T> {
    // Others have nothing to send: they come after the only part.
    let mut first = [own];
    share(ranks, &mut first)?;
    let [first] = first;
    Ok(first)
}

/// Fails if a rank has other settings, or other data, than rank 0.
pub(super) fn check_config(ranks: &dyn Ranks, config: &RunConfig) -> Result<()> {
    let all = all_of(ranks, config.to_toml()?)?;
    let Some(rank) = all.iter().position(|text| *text != all[0]) else { return Ok(()) };
    let found = changes_of(&RunConfig::parse(&all[0])?, &RunConfig::parse(&all[rank])?)?;
    let what = found.into_iter().next().map_or("something".to_owned(), |(key, first, other)| {
        format!("{key} is {other} there, and {first} on rank 0")
    });
    Err(Error::Ranks(format!(
        "rank {rank} has other settings or data: {what}; put the same files in place for all ranks"
    )))
}

/// Fails if a rank came to other numbers than rank 0: another build, or a processor that rounds otherwise.
pub(super) fn check_equal(ranks: &dyn Ranks, epoch: u64, tensors: &[Named]) -> Result<()> {
    let values = tensors.iter().flat_map(|tensor| &tensor.values);
    let mixed =
        |sum: u64, value: &f64| (sum.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let all = all_of(ranks, values.fold(0, mixed))?;
    match all.iter().position(|sum| *sum != all[0]) {
        None => Ok(()),
        Some(rank) => Err(Error::Ranks(format!(
            "rank {rank} came to other weights than rank 0 in epoch {epoch}, which is not kept; take the same program and the \
             same kind of processor for all ranks"
        ))),
    }
}
