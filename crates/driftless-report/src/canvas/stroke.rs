//! Lines through many points, coloured along the way, that mix with what lies below only once.

use super::shapes::overlap;
use super::{Area, Canvas, mix};
use crate::colour::Rgb;

/// A point of a polyline and the colour of the pen there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Where, in pixels.
    pub at: [f64; 2],
    /// The pen's colour; between two vertices it changes evenly.
    pub colour: Rgb,
}

/// What the pen knows about a pixel it has touched.
#[derive(Clone, Copy)]
struct Touched {
    /// The colour before the pen came.
    below: Rgb,
    /// The most of the pixel that the pen covered at once.
    covered: f64,
    /// How far the pen had come when it was last here.
    travelled: f64,
}

const UNTOUCHED: Touched = Touched { below: [0; 3], covered: 0.0, travelled: f64::NEG_INFINITY };

/// A pen of some width that remembers where it has just been.
struct Pen {
    width: f64,
    alpha: f64,
    left: usize,
    top: usize,
    columns: usize,
    memory: Vec<Touched>,
}

impl Pen {
    /// Touches a pixel, of which the pen covers `covered` after having come `travelled` far.
    ///
    /// Neighbouring segments overlap where they meet; that is one stroke and must not be mixed
    /// twice. Where the line crosses itself much later, it is drawn over its older part.
    fn touch(&mut self, canvas: &mut Canvas, [x, y]: [usize; 2], covered: f64, travelled: f64, colour: Rgb) {
        let seen = &mut self.memory[(y - self.top) * self.columns + (x - self.left)];
        // Not `>=`: once the length travelled has overflowed, every touch counts as a new one.
        let same_stroke = travelled - seen.travelled < 2.0 * self.width + 2.0;
        if !same_stroke {
            *seen = Touched { below: canvas.pixel(x, y), covered: 0.0, travelled };
        }
        seen.travelled = travelled;
        if covered >= seen.covered && covered > 0.0 {
            seen.covered = covered;
            canvas.set(x, y, mix(seen.below, colour, self.alpha * covered));
        }
    }
}

impl Canvas {
    /// A line through `vertices` with round joints and ends. A vertex that is not finite breaks it.
    pub fn polyline(&mut self, vertices: &[Vertex], width: f64, alpha: f64) {
        let Some(mut pen) = self.pen_for(vertices, width, alpha) else { return };
        let half = width / 2.0;
        let mut travelled = 0.0;
        for pair in vertices.windows(2) {
            let [a, b] = [pair[0].at, pair[1].at];
            let length = (b[0] - a[0]).hypot(b[1] - a[1]);
            self.near_segment([a, b], half + 0.5, |canvas, x, y, distance, t| {
                let colour = mix(pair[0].colour, pair[1].colour, t);
                pen.touch(canvas, [x, y], overlap(distance, half), travelled + t * length, colour);
            });
            if length.is_finite() {
                travelled += length;
            }
        }
    }

    /// A pen with memory for the part of the canvas that the line can reach.
    fn pen_for(&self, vertices: &[Vertex], width: f64, alpha: f64) -> Option<Pen> {
        let mut area: Option<Area> = None;
        for [x, y] in vertices.iter().map(|vertex| vertex.at).filter(|at| at.iter().all(|v| v.is_finite())) {
            let so_far = area.unwrap_or(Area { left: x, top: y, right: x, bottom: y });
            let (left, top) = (so_far.left.min(x), so_far.top.min(y));
            area = Some(Area { left, top, right: so_far.right.max(x), bottom: so_far.bottom.max(y) });
        }
        let [columns, rows] = self.pixels_in(area?.grown(width / 2.0 + 1.0));
        let memory = vec![UNTOUCHED; columns.len() * rows.len()];
        let (left, top) = (columns.start, rows.start);
        (alpha > 0.0).then_some(Pen { width, alpha, left, top, columns: columns.len(), memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn black(points: &[[f64; 2]]) -> Vec<Vertex> {
        points.iter().map(|&at| Vertex { at, colour: [0; 3] }).collect()
    }

    #[test]
    fn joints_of_a_transparent_line_are_not_darker() {
        let mut canvas = Canvas::new(60, 60, [255; 3]).unwrap();
        let points: Vec<[f64; 2]> = (0..=200).map(|i| [10.0 + 0.2 * f64::from(i), 30.0]).collect();
        canvas.polyline(&black(&points), 6.0, 0.6);
        for x in 10..50 {
            assert_eq!(canvas.pixel(x, 30), [102; 3], "column {x}");
        }
        let mut two = Canvas::new(60, 60, [255; 3]).unwrap();
        two.polyline(&black(&[[10.0, 30.0], [50.0, 30.0]]), 6.0, 0.6);
        assert_eq!(canvas, two, "more points on the same line change nothing");
    }

    #[test]
    fn crossings_show_the_later_part_on_top() {
        let mut canvas = Canvas::new(60, 60, [255; 3]).unwrap();
        let corners = [[5.0, 20.0], [50.0, 20.0], [50.0, 50.0], [20.0, 50.0], [20.0, 5.0]];
        let colours = [[255, 0, 0], [255, 0, 0], [0, 0, 255], [0, 0, 255], [0, 0, 255]];
        let line: Vec<Vertex> =
            corners.into_iter().zip(colours).map(|(at, colour)| Vertex { at, colour }).collect();
        canvas.polyline(&line, 5.0, 1.0);
        assert_eq!((canvas.pixel(20, 20), canvas.pixel(10, 20)), ([0, 0, 255], [255, 0, 0]));
        let between = canvas.pixel(50, 35);
        assert!(between[0].abs_diff(128) < 8 && between[2].abs_diff(128) < 8, "{between:?}");
    }

    #[test]
    fn broken_lines_leave_a_gap() {
        let mut canvas = Canvas::new(60, 20, [255; 3]).unwrap();
        let line = black(&[[5.0, 10.0], [15.0, 10.0], [f64::NAN, 10.0], [45.0, 10.0], [55.0, 10.0]]);
        canvas.polyline(&line, 3.0, 1.0);
        assert_eq!(canvas.pixel(10, 10), [0; 3]);
        assert_eq!(canvas.pixel(30, 10), [255; 3]);
        assert_eq!(canvas.pixel(50, 10), [0; 3]);
    }

    #[test]
    fn lines_that_leave_the_float_range_are_cut() {
        let mut canvas = Canvas::new(40, 40, [255; 3]).unwrap();
        let far = f64::MAX;
        canvas.polyline(&black(&[[-far, 20.0], [far, 20.0], [20.0, far], [20.0, -far]]), 3.0, 1.0);
        assert_eq!((canvas.pixel(5, 20), canvas.pixel(20, 5)), ([0; 3], [0; 3]));
        canvas.polyline(&[], 3.0, 1.0);
    }
}
