//! The path itself: a line coloured by time, headings along it, and where it begins and ends.

use super::style::{INK, PAPER, PATH_WIDTH, QUIET};
use super::view::View;
use super::{has_place, moment};
use crate::canvas::{Canvas, Vertex};
use crate::colour;
use driftless_world::Pose;

/// About as many headings as the eye can follow.
const HEADINGS: usize = 40;
/// Vertices closer together than this, in pixels, look like one.
const INDISTINGUISHABLE: f64 = 0.25;

/// A step with a known place.
#[derive(Clone, Copy)]
struct Stop {
    step: usize,
    at: [f64; 2],
    heading: f64,
}

pub(super) fn draw(canvas: &mut Canvas, view: &View, path: &[Option<Pose>]) {
    let last = path.len().saturating_sub(1);
    let stops: Vec<Stop> = path
        .iter()
        .enumerate()
        .filter_map(|(step, pose)| pose.filter(has_place).map(|pose| (step, pose)))
        .map(|(step, pose)| Stop { step, at: view.place_of(&pose), heading: pose.heading })
        .collect();
    draw_gaps(canvas, &stops);
    let line = vertices(&stops, last);
    let casing: Vec<Vertex> = line.iter().map(|vertex| Vertex { colour: PAPER, ..*vertex }).collect();
    canvas.polyline(&casing, PATH_WIDTH + 3.0, 0.75);
    canvas.polyline(&line, PATH_WIDTH, 1.0);
    draw_lonely(canvas, &stops, last);
    draw_headings(canvas, &stops, last);
    if let (Some(first), Some(end)) = (stops.first(), stops.last()) {
        draw_start(canvas, first.at, first.heading, colour::time(moment(first.step, last)));
        if stops.len() > 1 {
            draw_end(canvas, end.at, end.heading, colour::time(moment(end.step, last)));
        }
    }
}

/// The line through all stops; a vertex that is nowhere marks a step that is unknown.
fn vertices(stops: &[Stop], last: usize) -> Vec<Vertex> {
    let mut line: Vec<Vertex> = Vec::with_capacity(stops.len());
    let mut previous: Option<Stop> = None;
    for stop in stops {
        let colour = colour::time(moment(stop.step, last));
        if previous.is_some_and(|previous| previous.step + 1 != stop.step) {
            line.push(Vertex { at: [f64::NAN; 2], colour });
        }
        let close = line.last().is_some_and(|vertex| {
            (vertex.at[0] - stop.at[0]).hypot(vertex.at[1] - stop.at[1]) < INDISTINGUISHABLE
        });
        if !close {
            line.push(Vertex { at: stop.at, colour });
        }
        previous = Some(*stop);
    }
    line
}

/// A thin grey line where steps in between are unknown.
fn draw_gaps(canvas: &mut Canvas, stops: &[Stop]) {
    for pair in stops.windows(2).filter(|pair| pair[0].step + 1 != pair[1].step) {
        canvas.line(pair[0].at, pair[1].at, 1.25, QUIET, 0.45);
    }
}

/// Dots for stops without a known neighbour, which no line shows.
fn draw_lonely(canvas: &mut Canvas, stops: &[Stop], last: usize) {
    let joined = |a: Option<&Stop>, b: Option<&Stop>| a.zip(b).is_some_and(|(a, b)| a.step + 1 == b.step);
    for (i, stop) in stops.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| stops.get(i));
        if !joined(before, Some(stop)) && !joined(Some(stop), stops.get(i + 1)) {
            canvas.disc(stop.at, PATH_WIDTH + 1.0, PAPER, 1.0);
            canvas.disc(stop.at, PATH_WIDTH, colour::time(moment(stop.step, last)), 1.0);
        }
    }
}

/// Marks every few steps.
fn draw_headings(canvas: &mut Canvas, stops: &[Stop], last: usize) {
    for stop in stops.iter().step_by(stops.len().div_ceil(HEADINGS).max(1)) {
        draw_stop(canvas, stop.at, stop.heading, colour::time(moment(stop.step, last)));
    }
}

/// An arrowhead in the direction the robot looks, or a dot if that is unknown.
pub(super) fn draw_stop(canvas: &mut Canvas, at: [f64; 2], heading: f64, colour: colour::Rgb) {
    if heading.is_finite() {
        canvas.arrow(at, heading, 13.0, PAPER);
        canvas.arrow(at, heading, 9.5, colour);
    } else {
        canvas.disc(at, 5.5, PAPER, 1.0);
        canvas.disc(at, 4.0, colour, 1.0);
    }
}

/// Radius of the marks at both ends.
pub(super) const END_RADIUS: f64 = 11.0;

/// An open circle, with an arrowhead if the heading is known.
pub(super) fn draw_start(canvas: &mut Canvas, at: [f64; 2], heading: f64, colour: colour::Rgb) {
    canvas.disc(at, 11.5, PAPER, 1.0);
    canvas.ring(at, 9.5, 2.5, colour);
    canvas.arrow(at, heading, 6.5, colour);
}

/// A full circle, with an arrowhead if the heading is known.
pub(super) fn draw_end(canvas: &mut Canvas, at: [f64; 2], heading: f64, colour: colour::Rgb) {
    canvas.disc(at, 12.5, PAPER, 1.0);
    canvas.disc(at, 10.75, INK, 1.0);
    canvas.disc(at, 9.0, colour, 1.0);
    canvas.arrow(at, heading, 6.5, INK);
}

#[cfg(test)]
mod tests {
    use super::super::background::Bounds;
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    fn stop(step: usize, x: f64) -> Stop {
        Stop { step, at: [x, 0.0], heading: 0.0 }
    }

    #[test]
    fn unknown_steps_break_the_line_and_standing_still_adds_nothing() {
        let line = vertices(&[stop(0, 0.0), stop(1, 5.0), stop(4, 9.0), stop(5, 9.1), stop(6, 12.0)], 6);
        let places: Vec<Option<i32>> =
            line.iter().map(|vertex| vertex.at[0].is_finite().then_some(vertex.at[0] as i32)).collect();
        assert_eq!(places, [Some(0), Some(5), None, Some(9), Some(12)]);
        assert_eq!((line[0].colour, line[4].colour), (colour::time(0.0), colour::time(1.0)));
    }

    /// Poses at these x and y = 5 on a map of 100 x 10 units.
    fn drawn(path: &[Option<f64>], heading: f64) -> impl Fn(f64, f64) -> colour::Rgb {
        let view = View::of(Bounds { low: [0.0; 2], high: [100.0, 10.0] }, 0.0, 0.0);
        let path: Vec<_> = path.iter().map(|x| x.map(|x| Pose::new(x, 5.0, heading))).collect();
        let mut canvas = Canvas::new(1200, 300, [0; 3]).unwrap();
        draw(&mut canvas, &view, &path);
        move |x, up| {
            let [x, y] = view.place([x, 5.0]);
            canvas.pixel(x as usize, (y - up) as usize)
        }
    }

    #[test]
    fn lonely_stops_are_dots_and_gaps_are_thin_lines() {
        let path: Vec<Option<f64>> =
            (0..90).map(|step| (step % 2 == 0).then_some(5.0 + f64::from(step))).collect();
        let seen = drawn(&path, f64::NAN);
        // 45 stops: a mark at every second one, a dot at the others.
        assert_eq!(seen(7.0, 0.0), colour::time(2.0 / 89.0));
        let gap = seen(8.0, 0.0);
        assert!(gap != [0; 3] && gap[0] < 60, "{gap:?}");
        assert_eq!(seen(8.0, 3.0), [0; 3]);
    }

    #[test]
    fn arrowheads_point_where_the_robot_looks() {
        let path = [Some(10.0), Some(40.0), Some(80.0)];
        let up = drawn(&path, FRAC_PI_2);
        let down = drawn(&path, -FRAC_PI_2);
        assert_eq!((up(40.0, 5.0), down(40.0, -5.0)), (colour::time(0.5), colour::time(0.5)));
        assert_eq!((up(40.0, -12.0), down(40.0, 12.0)), ([0; 3], [0; 3]));
    }

    #[test]
    fn slow_motion_is_not_lost() {
        let stops: Vec<Stop> = (0..1000).map(|step| stop(step, 0.01 * step as f64)).collect();
        let line = vertices(&stops, 999);
        assert!((35..=45).contains(&line.len()), "{}", line.len());
        assert!(line.last().unwrap().at[0] > 9.7);
    }
}
