//! Ranks by MPI: bytes of all go to all, after their lengths.

use super::spent::Spent;
use anyhow::{Result, bail};
use driftless::learn::{AllRanks, Lost, Ranks};
use mpi::Threading;
use mpi::datatype::PartitionMut;
use mpi::environment::{Universe, library_version};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// All processes of the launcher.
#[derive(Debug)]
struct World {
    size: usize,
    rank: usize,
    spent: Arc<Mutex<Spent>>,
}

/// Joins all others; what is spent on them is written down. MPI ends when the universe is dropped.
pub fn start(spent: &Arc<Mutex<Spent>>) -> Result<(Universe, AllRanks)> {
    let Some((universe, threads)) = mpi::initialize_with_threading(Threading::Serialized) else {
        bail!("MPI was begun already: a bug of ours");
    };
    if threads < Threading::Serialized {
        bail!("{} leaves calls to one thread alone; take a build of it with threads", library());
    }
    let all = universe.world();
    let (size, rank) = (all.size() as usize, all.rank() as usize);
    // A rank that panics would leave others waiting.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        SimpleCommunicator::world().abort(101);
    }));
    Ok((universe, Arc::new(World { size, rank, spent: Arc::clone(spent) })))
}

/// What the library calls itself.
pub fn library() -> String {
    let name = library_version().unwrap_or_default();
    name.split([',', '\n']).next().unwrap_or_default().trim().to_owned()
}

/// Ends all ranks.
pub fn abort(code: u8) -> ! {
    SimpleCommunicator::world().abort(i32::from(code))
}

impl Ranks for World {
    fn size(&self) -> usize {
        self.size
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        // One call at a time, from whatever thread.
        let mut spent = self.spent.lock().expect("no thread has panicked");
        let (world, came) = (SimpleCommunicator::world(), Instant::now());
        world.barrier();
        let met = Instant::now();
        let mut lengths = vec![0_u64; self.size];
        world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let mut all: Vec<Vec<u8>> =
            lengths.iter().map(|length| Vec::with_capacity(*length as usize)).collect();
        let longest = lengths.iter().copied().max().unwrap_or_default() as usize;
        // MPI counts in 32 bits.
        let most = i32::MAX as usize / self.size;
        for from in (0..longest).step_by(most) {
            let counts = lengths.iter().map(|length| (*length as usize).saturating_sub(from).min(most));
            let own = &own[from.min(own.len())..own.len().min(from + most)];
            gather_part(&world, own, &counts.collect::<Vec<_>>(), &mut all);
        }
        spent.waiting += met - came;
        spent.talking += met.elapsed();
        spent.exchanges += 1;
        spent.sent += own.len() as u64;
        spent.received += lengths.iter().sum::<u64>() - own.len() as u64;
        Ok(all)
    }
}

/// Appends a part of what all give, of so many bytes each, to what they gave before.
fn gather_part(world: &SimpleCommunicator, own: &[u8], counts: &[usize], all: &mut [Vec<u8>]) {
    let sizes: Vec<i32> = counts.iter().map(|&count| count as i32).collect();
    let behind = |from: &mut i32, size: &i32| Some(std::mem::replace(from, *from + size));
    let places: Vec<i32> = sizes.iter().scan(0, behind).collect();
    let mut bytes = vec![0_u8; counts.iter().sum()];
    world.all_gather_varcount_into(own, &mut PartitionMut::new(&mut bytes[..], &sizes[..], &places[..]));
    let mut rest = &bytes[..];
    for (whole, &count) in all.iter_mut().zip(counts) {
        let (part, behind) = rest.split_at(count);
        whole.extend_from_slice(part);
        rest = behind;
    }
}
