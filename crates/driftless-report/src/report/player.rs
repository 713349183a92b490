//! The player: an episode step by step, drawn by a script from numbers on the page.

use super::group::{Comparison, Group};
use crate::chart::escape;
use driftless_world::evaluation::{Coordinate, EpisodeStep, Ground, StateStep};
use driftless_world::files::base64;
use driftless_world::pose::wrap;
use driftless_world::{Episode, Pose};
use serde_json::{Value, json};

/// The script of the player.
pub(super) const SCRIPT: &str = concat!(include_str!("scan.js"), include_str!("player.js"));
/// More would make the page too large to open.
const MOST: usize = 12;

/// An episode and what the chooser says.
struct Choice<'a> {
    label: String,
    episode: &'a Episode,
}

/// The player as HTML, with its data; a sentence instead if no run has episodes.
pub(super) fn html(comparison: &Comparison) -> String {
    let (chosen, left_out) = choices(comparison);
    if chosen.is_empty() {
        return "<p class=\"missing\">No run has episodes yet, so there is nothing to play.</p>\n".into();
    }
    let option =
        |(i, choice): (usize, &Choice)| format!("<option value=\"{i}\">{}</option>", escape(&choice.label));
    let options: String = chosen.iter().enumerate().map(option).collect();
    let note = match left_out {
        0 => String::new(),
        n => format!(
            "<p class=\"missing\">{n} more episodes are in the runs' folders; this page holds {MOST}.</p>\n"
        ),
    };
    let data = Value::Array(chosen.iter().map(data).collect()).to_string();
    // Inside a script element only "<" could end it.
    let data = data.replace('<', "\\u003c");
    include_str!("player.html").replace("<!--options-->", &options)
        + &note
        + &format!("<script type=\"application/json\" id=\"episodes\">{data}</script>\n")
}

/// One episode of each group, then the second of each, and so on; and how many did not fit.
fn choices<'a>(comparison: &'a Comparison) -> (Vec<Choice<'a>>, usize) {
    let groups = comparison.worlds.iter().flat_map(|world| &world.groups);
    let mut ranked: Vec<(usize, Choice)> = Vec::new();
    for group in groups {
        let episodes =
            group.runs.iter().flat_map(|run| &run.episodes).filter(|episode| !episode.steps.is_empty());
        ranked.extend(
            episodes
                .enumerate()
                .map(|(rank, episode)| (rank, Choice { label: label(group, episode), episode })),
        );
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let left_out = ranked.len().saturating_sub(MOST);
    (ranked.into_iter().take(MOST).map(|(_, choice)| choice).collect(), left_out)
}

fn label(group: &Group, episode: &Episode) -> String {
    format!("{} · {} · {} labels · {}", episode.about.world, group.label, group.share_label(), episode.title)
}

fn data(choice: &Choice) -> Value {
    let Episode { plan, steps, .. } = choice.episode;
    json!({
        "label": choice.label,
        "low": plan.low,
        "high": plan.high,
        "walls": plan.walls,
        "unit": plan.unit,
        "ground": plan.ground.as_ref().map(ground_data),
        "marks": plan.marks,
        "steps": steps.iter().map(|step| step_data(step, &choice.episode.coordinates)).collect::<Vec<Value>>(),
    })
}

pub(crate) fn ground_data(ground: &Ground) -> Value {
    json!({ "low": ground.low, "high": ground.high, "png": base64::encode(&ground.png) })
}

/// Errors are computed here, so that the script needs to know nothing about angles.
fn step_data(step: &EpisodeStep, coordinates: &[Coordinate]) -> Value {
    let pose = |[x, y, heading]: [f32; 3]| Pose::new(f64::from(x), f64::from(y), f64::from(heading));
    let both = step.truth.map(pose).zip(step.estimate.map(pose));
    let rounded = |value: f64| (1000.0 * value).round() / 1000.0;
    json!({
        "truth": step.truth,
        "estimate": step.estimate,
        "particles": base64::encode(step.particles.packed()),
        "camera": base64::encode(&step.camera),
        "evidence": step.log_evidence,
        "scan": step.scan,
        "error": match &step.state {
            Some(state) => deviations(state, coordinates).map(rounded),
            None => both.map(|(truth, estimate)| rounded(truth.distance(estimate))),
        },
        "turn": both.filter(|_| step.state.is_none()).map(|(truth, estimate)| rounded(wrap(estimate.heading - truth.heading).abs().to_degrees())),
    })
}

/// How far an estimate of named coordinates is off, each divided by its deviation.
fn deviations(state: &StateStep, coordinates: &[Coordinate]) -> Option<f64> {
    let both = state.truth.as_ref()?.iter().zip(&state.estimate).zip(coordinates);
    let square = |((truth, estimate), one): ((&f64, &Option<f64>), &Coordinate)| {
        Some((one.difference((*estimate)?, *truth) / one.deviation).powi(2))
    };
    both.map(square).sum::<Option<f64>>().map(f64::sqrt)
}
