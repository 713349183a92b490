//! A few episodes with every particle and what the camera saw, for the report's player.

use anyhow::Result;
use driftless::learn::{Detail, Recordings, Tracking, Trained};
use driftless_world::evaluation::{Episodes, Plan, Seen, StateStep, States};
use driftless_world::{About, Episode, Track};

/// Tracks the first `count` episodes once more, this time with all beliefs: those of all episodes would
/// not fit into memory.
pub fn record(
    trained: &Trained,
    recordings: &Recordings,
    count: usize,
    (about, plan): (&About, &Plan),
    seed: u64,
) -> Result<Episodes> {
    let tracking = Tracking { particles: about.particles, seed, detail: Detail::Clouds };
    let tracks = if count > 0 { trained.follow(recordings, 0..count, tracking)? } else { Vec::new() };
    let mut episodes = Episodes::default();
    for (index, track) in tracks.iter().enumerate() {
        let plan = recordings.floor_plan(index)?.unwrap_or_else(|| plan.clone());
        let mut episode = Episode::new(format!("trajectory {index}"), about.clone(), plan)?;
        episode.coordinates = trained.normalisation.evaluated();
        fill(&mut episode, track, recordings, index)?;
        episodes.episodes.push(episode);
    }
    Ok(episodes)
}

fn fill(episode: &mut Episode, track: &Track, recordings: &Recordings, index: usize) -> Result<()> {
    let (height, width, frames) = recordings.frames(index)?;
    for t in 0..track.len() {
        let state = track.states.as_ref().map(|states| state_step(states, t));
        episode.push(&Seen {
            truth: track.truth[t],
            estimate: track.estimate[t],
            particles: track.clouds.as_ref().map_or(&[], |clouds| &clouds[t]),
            camera: frames.get(t).map(|rgb| (height, width, rgb.as_slice())),
            log_evidence: track.log_evidence.as_ref().map(|evidence| evidence[t]),
            scan: track.scans.as_ref().and_then(|scans| scans[t].as_ref()),
            state: state.as_ref(),
        })?;
    }
    Ok(())
}

fn state_step(states: &States, t: usize) -> StateStep {
    let finite = |x: &f64| Some(*x).filter(|x| x.is_finite());
    StateStep {
        truth: states.truth[t].clone(),
        estimate: states.estimate[t].iter().map(finite).collect(),
        deviation: states.deviation.as_ref().map_or_else(Vec::new, |all| all[t].clone()),
    }
}
