//! Whole episodes in batches, without their poses, and the truth beside them.

use super::shared_tracks::tracks_of_batches;
use crate::error::{Error, Result};
use driftless_kernels::ranks::Ranks;
use driftless_world::evaluation::Track;
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::pose::Pose;
use driftless_world::trajectory::{Start, Trajectory};

/// Episodes in a batch, at most.
const MOST_EPISODES: usize = 32;
/// Particles of all episodes of a batch, at most, unless one episode has more.
const MOST_PARTICLES: usize = 32_000;

/// How many episodes are tracked at once with this many particles each.
pub(super) fn episodes_at_once(particles: usize) -> usize {
    (MOST_PARTICLES / particles.max(1)).clamp(1, MOST_EPISODES)
}

/// Whether a robot is told about where it starts.
pub(super) fn is_told(start: Option<Start>) -> bool {
    matches!(start, Some(Start::About { .. }))
}

/// Tracks episodes in batches of at most `most` neighbours of equal length that are all told where they start, or none.
/// `track` is given the number of the first, the lessons without any pose, and the truths. Ranks share the batches.
pub(super) fn in_batches(
    ranks: &dyn Ranks,
    episodes: &[Trajectory],
    most: usize,
    mut track: impl FnMut(u64, &[Lesson], Vec<Vec<Pose>>) -> Result<Vec<Track>>,
) -> Result<Vec<Track>> {
    let (mut batches, mut first) = (Vec::new(), 0);
    while first < episodes.len() {
        let kind = |episode: &Trajectory| (episode.len(), is_told(episode.start));
        let rest = episodes[first..].iter().take(most);
        let alike = rest.take_while(|episode| kind(episode) == kind(&episodes[first])).count();
        batches.push(first..first + alike);
        first += alike;
    }
    tracks_of_batches(ranks, &batches, |batch| {
        let both = batch.clone().map(|number| told(number, &episodes[number]));
        let (lessons, truths): (Vec<Lesson>, Vec<Vec<Pose>>) =
            both.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        track(batch.start as u64, &lessons, truths)
    })
}

/// An episode without its poses, but with what the robot is told of the first; and the poses, [`Track::UNKNOWN`] where
/// the recording has none.
pub(super) fn told(number: usize, episode: &Trajectory) -> Result<(Lesson, Vec<Pose>)> {
    let wrong = |problem: String| {
        Error::File(driftless_world::Error::new(problem).in_record(format!("episode {number}")))
    };
    let known: Vec<bool> = episode.states.iter().map(|state| state.is_some()).collect();
    if !known.contains(&true) {
        return Err(wrong(
            "no pose is known: nothing to compare with; `driftless track` follows it all the same".to_owned(),
        ));
    }
    let pose = |state: Option<&[f32]>| match state {
        Some(&[x, y, heading]) => Ok(Pose::new(f64::from(x), f64::from(y), f64::from(heading))),
        Some(other) => Err(wrong(format!("poses have three numbers, not {}", other.len()))),
        None => Ok(Track::UNKNOWN),
    };
    let truth = episode.states.iter().map(pose).collect::<Result<Vec<_>>>()?;
    Ok((LabelBudget::new(0.0, 0)?.plan([known]).lesson(0, episode.clone())?, truth))
}

/// Rows of three numbers as poses.
pub(super) fn poses(numbers: &[f64]) -> Vec<Pose> {
    numbers.chunks_exact(3).map(|s| Pose::new(s[0], s[1], s[2])).collect()
}
