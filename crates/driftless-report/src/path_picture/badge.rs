//! Numbered discs that join a place on the map with the frame seen there.

use super::style::{BADGE, INK, LABEL, PAPER};
use super::view::View;
use super::{FramePick, has_place, moment};
use crate::canvas::{Area, Canvas};
use crate::colour::{self, Rgb};
use crate::font::{Align, CAP_HEIGHT};
use driftless_world::Pose;
use std::f64::consts::TAU;

/// Directions in which a number may stand beside its place.
const DIRECTIONS: usize = 24;
/// Distances at which it may stand.
const DISTANCES: [f64; 3] = [30.0, 44.0, 62.0];
/// Enough samples of the path to know where it is crowded.
const MOST_SAMPLES: usize = 4000;

/// A number in a ring.
pub(super) fn draw(canvas: &mut Canvas, at: [f64; 2], number: usize, colour: Rgb) {
    canvas.disc(at, BADGE + 1.5, PAPER, 1.0);
    canvas.ring(at, BADGE - 1.0, 2.5, colour);
    let baseline = at[1] + (CAP_HEIGHT * LABEL.scale) as f64 / 2.0;
    let text = crate::font::Text { pen: 0.95, ..LABEL };
    text.draw(canvas, &number.to_string(), [at[0] + 0.5, baseline], Align::Centre);
}

/// Numbers the picked steps that have a place inside the map, from 1 on, beside the path.
pub(super) fn draw_on_map(canvas: &mut Canvas, view: &View, path: &[Option<Pose>], frames: &[FramePick]) {
    let last = path.len().saturating_sub(1);
    let crowd = samples(view, path);
    let mut taken: Vec<[f64; 2]> = Vec::new();
    for (i, frame) in frames.iter().enumerate() {
        let place = path[frame.step].filter(has_place).map(|pose| view.place_of(&pose));
        let Some(anchor) = place.filter(|at| inside(*at, view.panel)) else { continue };
        let colour = colour::time(moment(frame.step, last));
        let at = beside(anchor, &crowd, &taken, view.panel);
        let reach = (at[0] - anchor[0]).hypot(at[1] - anchor[1]);
        let edge = [0, 1].map(|axis| at[axis] + (anchor[axis] - at[axis]) * BADGE / reach);
        canvas.line(anchor, edge, 4.5, PAPER, 0.8);
        canvas.line(anchor, edge, 1.75, INK, 1.0);
        canvas.disc(anchor, 4.0, INK, 1.0);
        draw(canvas, at, i + 1, colour);
        taken.push(at);
    }
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
