//! Whole episodes in batches, without their poses, and the truth beside them.

use crate::error::{Error, Result};
use driftless_world::evaluation::Track;
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::pose::Pose;
use driftless_world::trajectory::Trajectory;

/// Episodes in a batch, at most.
const MOST_EPISODES: usize = 32;
/// Particles of all episodes of a batch, at most, unless one episode has more.
const MOST_PARTICLES: usize = 32_000;

/// How many episodes are tracked at once with this many particles each.
pub(super) fn episodes_at_once(particles: usize) -> usize {
    (MOST_PARTICLES / particles.max(1)).clamp(1, MOST_EPISODES)
}

/// Tracks episodes in batches of at most `most` neighbours of equal length. `track` is given the number
/// of the first, the lessons without any pose, and the truths.
pub(super) fn in_batches(
    episodes: &[Trajectory],
    most: usize,
    mut track: impl FnMut(u64, &[Lesson], Vec<Vec<Pose>>) -> Result<Vec<Track>>,
) -> Result<Vec<Track>> {
    let mut tracks = Vec::with_capacity(episodes.len());
    let mut first = 0;
    while first < episodes.len() {
        let steps = episodes[first].len();
        let rest = episodes[first..].iter().take(most);
        let batch = &episodes[first..first + rest.take_while(|episode| episode.len() == steps).count()];
        let lessons = batch.iter().map(hidden).collect::<Result<Vec<_>>>()?;
        let truths = batch.iter().enumerate().map(|(k, episode)| truth(first + k, episode));
        tracks.extend(track(first as u64, &lessons, truths.collect::<Result<Vec<_>>>()?)?);
        first += batch.len();
    }
    Ok(tracks)
}

/// An episode of which no pose is known.
fn hidden(episode: &Trajectory) -> Result<Lesson> {
    let known = episode.states.iter().map(|state| state.is_some()).collect();
    Ok(LabelBudget::new(0.0, 0)?.plan([known]).lesson(0, episode.clone())?)
}

fn truth(number: usize, episode: &Trajectory) -> Result<Vec<Pose>> {
    let wrong = |problem: String| {
        Error::File(driftless_world::Error::new(problem).in_record(format!("episode {number}")))
    };
    let pose = |(t, state): (usize, Option<&[f32]>)| match state {
        Some(&[x, y, heading]) => Ok(Pose::new(f64::from(x), f64::from(y), f64::from(heading))),
        Some(other) => Err(wrong(format!("poses have three numbers, not {}", other.len()))),
        None => Err(wrong(format!("the pose of step {t} is not known: nothing to compare with"))),
    };
    episode.states.iter().enumerate().map(pose).collect()
}

/// Rows of three numbers as poses.
pub(super) fn poses(numbers: &[f64]) -> Vec<Pose> {
    numbers.chunks_exact(3).map(|s| Pose::new(s[0], s[1], s[2])).collect()
}
