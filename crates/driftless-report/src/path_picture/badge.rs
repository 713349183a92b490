//! Numbered discs that join a place on the map with the frame seen there.

use super::route::{END_RADIUS, draw_stop};
use super::style::{BADGE, INK, LABEL, PAPER};
use super::view::View;
use super::{FramePick, has_place, moment};
use crate::canvas::{Area, Canvas};
use crate::colour::{self, Rgb};
use crate::font::{Align, CAP_HEIGHT, Text};
use driftless_world::Pose;
use std::f64::consts::TAU;

/// Directions in which a number may stand beside its place.
const DIRECTIONS: usize = 24;
/// Distances at which it may stand.
const DISTANCES: [f64; 3] = [30.0, 44.0, 62.0];
/// Enough samples of the path to know where it is crowded.
const MOST_SAMPLES: usize = 4000;

/// Numbers are a little bolder than other labels.
const NUMBER: Text = Text { pen: 0.95, ..LABEL };

/// From the middle of a badge to its left and right edge.
pub(super) fn half_width(number: usize) -> f64 {
    BADGE + (NUMBER.width(&number.to_string()) - NUMBER.width("0")) as f64 / 2.0
}

/// A number in a ring, which is drawn out sideways if the number has several digits.
pub(super) fn draw(canvas: &mut Canvas, at: [f64; 2], number: usize, colour: Rgb) {
    let words = number.to_string();
    let longer = half_width(number) - BADGE;
    for (radius, colour) in [(BADGE + 1.5, PAPER), (BADGE, colour), (BADGE - 2.5, PAPER)] {
        let [left, right] = [-longer, longer].map(|x| [at[0] + x, at[1]]);
        canvas.line(left, right, 2.0 * radius, colour, 1.0);
    }
    let baseline = at[1] + (CAP_HEIGHT * NUMBER.scale) as f64 / 2.0;
    NUMBER.draw(canvas, &words, [at[0] + 0.5, baseline], Align::Centre);
}

/// Numbers the picked steps that have a place inside the map, from 1 on, beside the path.
pub(super) fn draw_on_map(canvas: &mut Canvas, view: &View, path: &[Option<Pose>], frames: &[FramePick]) {
    let last = path.len().saturating_sub(1);
    let crowd = samples(view, path);
    let known = |step: &usize| path[*step].is_some_and(|pose| has_place(&pose));
    let ends = [(0..=last).find(known), (0..=last).rev().find(known)];
    let mut taken: Vec<[f64; 2]> = Vec::new();
    for (i, frame) in frames.iter().enumerate() {
        let Some(pose) = path[frame.step].filter(has_place) else { continue };
        let anchor = view.place_of(&pose);
        if !inside(anchor, view.panel) {
            continue;
        }
        let colour = colour::time(moment(frame.step, last));
        let at = beside(anchor, &crowd, &taken, view.panel);
        // The marks at the path's ends stay as they are; elsewhere a dark one shows place and view.
        if ends.contains(&Some(frame.step)) {
            draw_leader(canvas, anchor, at, END_RADIUS + 1.0);
        } else {
            draw_leader(canvas, anchor, at, 0.0);
            draw_stop(canvas, anchor, pose.heading, INK);
        }
        draw(canvas, at, i + 1, colour);
        taken.push(at);
    }
}

/// A thin line from a badge towards its place, ending `short` of it.
fn draw_leader(canvas: &mut Canvas, place: [f64; 2], badge: [f64; 2], short: f64) {
    let length = (badge[0] - place[0]).hypot(badge[1] - place[1]);
    let along = |distance: f64| [0, 1].map(|i| place[i] + (badge[i] - place[i]) * distance / length);
    let (from, to) = (along(short), along(length - BADGE));
    canvas.line(from, to, 4.5, PAPER, 0.8);
    canvas.line(from, to, 1.75, INK, 1.0);
}

fn inside([x, y]: [f64; 2], area: Area) -> bool {
    (area.left..=area.right).contains(&x) && (area.top..=area.bottom).contains(&y)
}

/// Points along the visible path, at most a badge's radius apart where there are not too many.
fn samples(view: &View, path: &[Option<Pose>]) -> Vec<[f64; 2]> {
    let places: Vec<[f64; 2]> =
        path.iter().flatten().filter(|pose| has_place(pose)).map(|pose| view.place_of(pose)).collect();
    let mut samples = Vec::new();
    for pair in places.windows(2) {
        let length = (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]);
        let count = (length / BADGE).ceil().clamp(1.0, 100.0);
        for i in 0..count as usize {
            let t = i as f64 / count;
            samples.push([0, 1].map(|axis| pair[0][axis] + t * (pair[1][axis] - pair[0][axis])));
        }
    }
    samples.extend(places.last());
    samples.retain(|at| inside(*at, view.panel));
    let every = samples.len().div_ceil(MOST_SAMPLES).max(1);
    samples.into_iter().step_by(every).collect()
}

/// The least crowded place for a badge that belongs to `anchor`.
fn beside(anchor: [f64; 2], crowd: &[[f64; 2]], taken: &[[f64; 2]], panel: Area) -> [f64; 2] {
    let mut best = (f64::INFINITY, [anchor[0] + DISTANCES[0], anchor[1]]);
    for distance in DISTANCES {
        for direction in 0..DIRECTIONS {
            let (s, c) = (TAU * direction as f64 / DIRECTIONS as f64).sin_cos();
            let at = [anchor[0] + distance * c, anchor[1] - distance * s];
            let crowded = |others: &[[f64; 2]], clear: f64| -> f64 {
                others.iter().map(|o| (1.0 - (o[0] - at[0]).hypot(o[1] - at[1]) / clear).max(0.0)).sum()
            };
            let away = if inside(at, panel.grown(-BADGE - 4.0)) { 0.0 } else { 100.0 };
            let cost = crowded(crowd, BADGE + 11.0) + 30.0 * crowded(taken, 2.0 * BADGE + 8.0);
            let cost = cost + away + distance / 60.0;
            if cost < best.0 {
                best = (cost, at);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn badges_avoid_the_path_each_other_and_the_edge() {
        let panel = Area::sized(0.0, 0.0, 400.0, 300.0);
        let path: Vec<[f64; 2]> = (0..40).map(|i| [10.0 * f64::from(i), 150.0]).collect();
        let mut taken = Vec::new();
        for anchor in [[200.0, 150.0], [205.0, 150.0], [210.0, 150.0], [5.0, 150.0]] {
            let at = beside(anchor, &path, &taken, panel);
            assert!((at[1] - 150.0).abs() > BADGE, "on the path: {at:?}");
            assert!(inside(at, panel.grown(-BADGE)), "cut by the edge: {at:?}");
            for other in &taken {
                let other: &[f64; 2] = other;
                assert!((at[0] - other[0]).hypot(at[1] - other[1]) > 2.0 * BADGE, "{at:?} on {other:?}");
            }
            taken.push(at);
        }
    }
}
