//! A few episodes with every particle and what the camera saw, for the report's player.

use super::handful_seed;
use crate::recordings::Recordings;
use anyhow::Result;
use driftless::learn::{Detail, Tracking, Trained};
use driftless_world::evaluation::{Episodes, Plan, Seen};
use driftless_world::{About, Episode, Track, Trajectory};

/// Tracks the first `count` episodes once more, this time with all beliefs: those of all episodes would
/// not fit into memory.
pub fn record(
    trained: &Trained,
    recordings: &Recordings,
    count: usize,
    (about, plan): (&About, &Plan),
    seed: u64,
) -> Result<Episodes> {
    let watched = (0..count).map(|index| recordings.get(index)).collect::<Result<Vec<Trajectory>>>()?;
    let tracking =
        Tracking { particles: about.particles, seed: handful_seed(seed, 0), detail: Detail::Clouds };
    let tracks = if watched.is_empty() { Vec::new() } else { trained.method.track(&watched, tracking)? };
    let mut episodes = Episodes::default();
    for (index, track) in tracks.iter().enumerate() {
        let plan = recordings.floor_plan(index)?.unwrap_or_else(|| plan.clone());
        let mut episode = Episode::new(format!("trajectory {index}"), about.clone(), plan)?;
        fill(&mut episode, track, recordings, index)?;
        episodes.episodes.push(episode);
    }
    Ok(episodes)
}

fn fill(episode: &mut Episode, track: &Track, recordings: &Recordings, index: usize) -> Result<()> {
    let (height, width, frames) = recordings.frames(index)?;
    for t in 0..track.len() {
        episode.push(&Seen {
            truth: track.truth[t],
            estimate: track.estimate[t],
            particles: track.clouds.as_ref().map_or(&[], |clouds| &clouds[t]),
            camera: frames.get(t).map(|rgb| (height, width, rgb.as_slice())),
            log_evidence: track.log_evidence.as_ref().map(|evidence| evidence[t]),
        })?;
    }
    Ok(())
}
