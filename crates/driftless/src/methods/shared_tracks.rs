//! Tracks of many episodes, each followed by one of the ranks, at all of them.

use crate::error::Result;
use crate::learn::{Detail, Tracking};
use driftless_kernels::ranks::{Alone, Message, Ranks, Wire, is_own, map, share};
use driftless_world::evaluation::Track;
use driftless_world::pose::Pose;
use driftless_world::trajectory::Trajectory;

/// Who follows: all ranks together, unless tracks are to hold all particles, which are many to send and are asked of few
/// episodes.
pub(super) fn followers(ranks: &dyn Ranks, how: Tracking) -> &dyn Ranks {
    if how.detail >= Detail::Clouds { &Alone } else { ranks }
}

/// All episodes, each by one thread; `one` is given its number.
pub(super) fn tracks(
    ranks: &dyn Ranks,
    episodes: &[Trajectory],
    how: Tracking,
    one: impl Fn(usize, &Trajectory) -> Result<Track> + Sync,
) -> Result<Vec<Track>> {
    let one = |number: usize| one(number, &episodes[number]).map(Sent);
    Ok(map(followers(ranks, how), episodes.len(), one)?.into_iter().map(|Sent(track)| track).collect())
}

/// The tracks of some batches, one batch after the other, each by all threads of a rank.
pub(super) fn tracks_of_batches<B>(
    ranks: &dyn Ranks,
    batches: &[B],
    mut one: impl FnMut(&B) -> Result<Vec<Track>>,
) -> Result<Vec<Track>> {
    let mut all: Vec<Vec<Sent>> = Vec::with_capacity(batches.len());
    for (number, batch) in batches.iter().enumerate() {
        let tracks = if is_own(ranks, number) { one(batch)? } else { Vec::new() };
        all.push(tracks.into_iter().map(Sent).collect());
    }
    share(ranks, &mut all)?;
    Ok(all.into_iter().flatten().map(|Sent(track)| track).collect())
}

/// A track on its way from rank to rank, without its particles.
#[derive(Default)]
struct Sent(Track);

impl Message for Sent {
    fn pass(&mut self, wire: &mut Wire) {
        let Track { truth, estimate, effective_sample_size, log_density, covered, log_evidence, .. } =
            &mut self.0;
        for poses in [truth, estimate] {
            let mut numbers: Vec<[f64; 3]> =
                poses.iter().map(|pose| [pose.x, pose.y, pose.heading]).collect();
            numbers.pass(wire);
            *poses = numbers.iter().map(|&[x, y, heading]| Pose::new(x, y, heading)).collect();
        }
        for figures in [effective_sample_size, log_density, log_evidence] {
            figures.pass(wire);
        }
        covered.pass(wire);
    }
}
