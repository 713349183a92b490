//! Simple shapes: rectangles, discs, rings, straight lines, triangles and arrows.

use super::{Area, Canvas};
use crate::colour::Rgb;

/// How much of a pixel a band of half-width `half` covers whose middle is `distance` away; exact if
/// the band runs along the pixel's sides.
pub(super) fn overlap(distance: f64, half: f64) -> f64 {
    ((distance + 0.5).min(half) - (distance - 0.5).max(-half)).max(0.0)
}

impl Canvas {
    /// A filled rectangle; edges between pixels are mixed exactly.
    pub fn rectangle(&mut self, area: Area, colour: Rgb, alpha: f64) {
        let share = |centre: f64, low: f64, high: f64| {
            ((centre + 0.5).min(high) - (centre - 0.5).max(low)).clamp(0.0, 1.0)
        };
        self.cover(area, colour, alpha, |x, y| {
            share(x, area.left, area.right) * share(y, area.top, area.bottom)
        });
    }

    /// The outline of a rectangle, `width` wide and inside it.
    pub fn frame(&mut self, area: Area, width: f64, colour: Rgb) {
        let inner = area.grown(-width);
        self.rectangle(Area { bottom: inner.top, ..area }, colour, 1.0);
        self.rectangle(Area { top: inner.bottom, ..area }, colour, 1.0);
        self.rectangle(Area { right: inner.left, top: inner.top, bottom: inner.bottom, ..area }, colour, 1.0);
        self.rectangle(Area { left: inner.right, top: inner.top, bottom: inner.bottom, ..area }, colour, 1.0);
    }

    /// A filled disc.
    pub fn disc(&mut self, centre: [f64; 2], radius: f64, colour: Rgb, alpha: f64) {
        // Below one pixel, a disc also fails to fill the other direction.
        let thinness = (2.0 * radius).min(1.0);
        self.cover(Area::around(centre, centre).grown(radius + 1.0), colour, alpha, |x, y| {
            thinness * overlap((x - centre[0]).hypot(y - centre[1]), radius)
        });
    }

    /// A circle drawn with a pen of `width`.
    pub fn ring(&mut self, centre: [f64; 2], radius: f64, width: f64, colour: Rgb) {
        let area = Area::around(centre, centre).grown(radius + width / 2.0 + 1.0);
        self.cover(area, colour, 1.0, |x, y| {
            overlap((x - centre[0]).hypot(y - centre[1]) - radius, width / 2.0)
        });
    }

    /// A straight line with round ends.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], width: f64, colour: Rgb, alpha: f64) {
        let half = width / 2.0;
        self.near_segment([from, to], half + 0.5, |canvas, x, y, distance, _| {
            canvas.blend(x, y, colour, alpha * overlap(distance, half));
        });
    }

    /// A filled triangle, its corners in any order.
    pub fn triangle(&mut self, corners: [[f64; 2]; 3], colour: Rgb, alpha: f64) {
        let [a, b, c] = corners;
        let turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        // How far a point lies inside the line from p to q, seen from within the triangle.
        let depth = |p: [f64; 2], q: [f64; 2], x: f64, y: f64| {
            let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
            (dx * (y - p[1]) - dy * (x - p[0])) * turn.signum() / dx.hypot(dy)
        };
        let area = Area {
            left: a[0].min(b[0]).min(c[0]),
            top: a[1].min(b[1]).min(c[1]),
            right: a[0].max(b[0]).max(c[0]),
            bottom: a[1].max(b[1]).max(c[1]),
        };
        if turn == 0.0 || !turn.is_finite() {
            return;
        }
        self.cover(area.grown(1.0), colour, alpha, |x, y| {
            let depth = depth(a, b, x, y).min(depth(b, c, x, y)).min(depth(c, a, x, y));
            (depth + 0.5).clamp(0.0, 1.0)
        });
    }

    /// A pose marker: an arrowhead around `centre` that points along `heading` (radians,
    /// counter-clockwise as seen), `size` from the centre to its tip.
    pub fn arrow(&mut self, centre: [f64; 2], heading: f64, size: f64, colour: Rgb) {
        let corner = |turn: f64, reach: f64| {
            // y points down on a canvas, so counter-clockwise turns are mirrored.
            let (s, c) = (heading + turn).sin_cos();
            [centre[0] + reach * size * c, centre[1] - reach * size * s]
        };
        let notch = corner(std::f64::consts::PI, 0.35);
        let tip = corner(0.0, 1.0);
        for side in [-1.0, 1.0] {
            self.triangle([tip, notch, corner(side * 2.4, 0.95)], colour, 1.0);
        }
        // The halves meet on an edge that neither covers fully.
        self.line(tip, notch, 1.0, colour, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Black on white: how many pixels' worth of black there is.
    fn inked(width: usize, height: usize, draw: impl FnOnce(&mut Canvas)) -> f64 {
        let mut canvas = Canvas::new(width, height, [255; 3]).unwrap();
        draw(&mut canvas);
        canvas.pixels().iter().step_by(3).map(|&value| 1.0 - f64::from(value) / 255.0).sum()
    }

    #[test]
    fn discs_and_rings_have_their_area() {
        for (radius, x) in [(3.0, 50.0), (5.5, 50.3), (12.25, 49.7), (40.0, 50.5)] {
            let area = inked(100, 100, |canvas| canvas.disc([x, 50.2], radius, [0; 3], 1.0));
            assert!((area / (PI * radius * radius) - 1.0).abs() < 0.01, "radius {radius}: {area}");
            let area = inked(100, 100, |canvas| canvas.ring([x, 50.2], radius, 2.0, [0; 3]));
            assert!((area / (4.0 * PI * radius) - 1.0).abs() < 0.01, "ring {radius}: {area}");
        }
    }

    #[test]
    fn lines_cover_length_times_width_and_two_half_discs() {
        for (width, slope) in [(1.0, 0.0), (2.0, 0.37), (3.5, 1.0), (7.0, -0.8)] {
            let length = 70.0_f64.hypot(70.0 * slope);
            let expected = length * width + PI * width * width / 4.0;
            let area = inked(100, 200, |canvas| {
                canvas.line([15.0, 100.0], [85.0, 100.0 + 70.0 * slope], width, [0; 3], 1.0);
            });
            assert!((area / expected - 1.0).abs() < 0.01, "{width} {slope}: {area} not {expected}");
        }
    }

    #[test]
    fn rectangles_frames_and_triangles_have_their_area() {
        let area = inked(40, 40, |canvas| canvas.rectangle(Area::sized(3.3, 4.6, 10.1, 7.5), [0; 3], 1.0));
        assert!((area - 75.75).abs() < 0.1, "{area}");
        let area = inked(40, 40, |canvas| canvas.frame(Area::sized(5.0, 5.0, 20.0, 10.0), 2.0, [0; 3]));
        assert!((area - 104.0).abs() < 1e-9, "{area}");
        let corners = [[5.0, 5.0], [90.0, 20.0], [30.0, 80.0]];
        let expected = 0.5 * (85.0 * 75.0 - 15.0 * 25.0);
        let area = inked(100, 100, |canvas| canvas.triangle(corners, [0; 3], 1.0));
        assert!((area / expected - 1.0).abs() < 0.01, "{area} not {expected}");
        let [a, b, c] = corners;
        assert!((area - inked(100, 100, |canvas| canvas.triangle([a, c, b], [0; 3], 1.0))).abs() < 1e-9);
    }

    #[test]
    fn half_transparent_ink_counts_half() {
        let area = inked(40, 40, |canvas| canvas.rectangle(Area::sized(10.0, 10.0, 10.0, 10.0), [0; 3], 0.5));
        assert!((area - 50.0).abs() < 0.5, "{area}");
    }

    #[test]
    fn arrows_point_along_their_heading() {
        for heading in [0.0, 0.5 * PI, PI, -0.5 * PI] {
            let mut canvas = Canvas::new(41, 41, [255; 3]).unwrap();
            canvas.arrow([20.5, 20.5], heading, 15.0, [0; 3]);
            let tip = |sign: f64| {
                let (x, y) = (20.5 + sign * 12.0 * heading.cos(), 20.5 - sign * 12.0 * heading.sin());
                canvas.pixel(x as usize, y as usize)[0]
            };
            assert!(tip(1.0) < 100 && tip(-1.0) == 255, "{heading}: {} {}", tip(1.0), tip(-1.0));
        }
    }

    #[test]
    fn what_is_not_a_place_is_not_drawn() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let area = inked(10, 10, |canvas| {
                canvas.disc([bad, 5.0], 3.0, [0; 3], 1.0);
                canvas.line([bad, 5.0], [5.0, 5.0], 3.0, [0; 3], 1.0);
                canvas.triangle([[bad, 0.0], [5.0, 5.0], [0.0, 5.0]], [0; 3], 1.0);
                canvas.arrow([5.0, 5.0], bad, 3.0, [0; 3]);
            });
            assert_eq!(area, 0.0, "{bad}");
        }
        let full = inked(10, 10, |canvas| canvas.line([-1e300, 5.0], [1e300, 5.0], 4.0, [0; 3], 1.0));
        assert!((full - 40.0).abs() < 0.1, "{full}");
    }
}
