//! The pixels near a straight segment, found without visiting those that are far from it.

use super::{Area, Canvas};

/// The part of a segment that lies in an area, and where on the segment it begins and ends (0..=1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    from: [f64; 2],
    to: [f64; 2],
    begin: f64,
    end: f64,
}

/// Cuts the segment from `a` to `b` to `area`; nothing if it misses it.
///
/// Coordinates may be as large as floats go: each axis moves the ends onto the edges themselves, so
/// that even then the cut is no coarser than the ends were.
pub(super) fn cut(a: [f64; 2], b: [f64; 2], area: Area) -> Option<Piece> {
    if a.iter().chain(&b).any(|coordinate| !coordinate.is_finite()) {
        return None;
    }
    let whole = Piece { from: a, to: b, begin: 0.0, end: 1.0 };
    whole.between(0, area.left, area.right)?.between(1, area.top, area.bottom)
}

impl Piece {
    /// The part of the piece between `low` and `high` along one axis.
    fn between(self, axis: usize, low: f64, high: f64) -> Option<Self> {
        let (from, to) = (self.from[axis], self.to[axis]);
        if from.max(to) < low || from.min(to) > high || low > high || low.is_nan() || high.is_nan() {
            return None;
        }
        let ends = [from, to].map(|end| {
            let edge = end.clamp(low, high);
            if edge == end {
                return None;
            }
            // A quarter of each, because the difference of two huge numbers would overflow.
            let part = ((edge / 4.0 - from / 4.0) / (to / 4.0 - from / 4.0)).clamp(0.0, 1.0);
            // Held between the ends, which rounding might leave.
            let mut point = [0, 1].map(|i| {
                let (one, other) = (self.from[i], self.to[i]);
                (one * (1.0 - part) + other * part).clamp(one.min(other), one.max(other))
            });
            point[axis] = edge;
            Some((point, self.begin + part * (self.end - self.begin)))
        });
        let (from, begin) = ends[0].unwrap_or((self.from, self.begin));
        let (to, end) = ends[1].unwrap_or((self.to, self.end));
        Some(Self { from, to, begin, end })
    }

    /// Distance of (x, y) from the piece, and where on the whole segment the nearest point lies.
    fn nearest(&self, x: f64, y: f64) -> (f64, f64) {
        let (dx, dy) = (self.to[0] - self.from[0], self.to[1] - self.from[1]);
        let length2 = dx * dx + dy * dy;
        let along = (x - self.from[0]) * dx + (y - self.from[1]) * dy;
        let t = if length2 > 0.0 { (along / length2).clamp(0.0, 1.0) } else { 0.0 };
        let distance = ((x - self.from[0] - t * dx).powi(2) + (y - self.from[1] - t * dy).powi(2)).sqrt();
        (distance, self.begin + t * (self.end - self.begin))
    }

    /// The least and greatest x of what lies between the heights `top` and `bottom`.
    fn extent_between(&self, top: f64, bottom: f64) -> Option<[f64; 2]> {
        let part = self.between(1, top, bottom)?;
        Some([part.from[0].min(part.to[0]), part.from[0].max(part.to[0])])
    }
}

impl Canvas {
    /// Calls `visit(canvas, x, y, distance, t)` for every pixel closer than `reach` to the segment;
    /// `t` says where on the segment (0..=1) the nearest point lies.
    pub(super) fn near_segment(
        &mut self,
        [a, b]: [[f64; 2]; 2],
        reach: f64,
        mut visit: impl FnMut(&mut Self, usize, usize, f64, f64),
    ) {
        // A pixel of the clip is at most `reach` from its nearest point, which is thus in here.
        let Some(piece) = cut(a, b, self.clip.grown(reach + 1.0)) else { return };
        let [_, rows] = self.pixels_in(Area::around(piece.from, piece.to).grown(reach));
        for y in rows {
            let middle = y as f64 + 0.5;
            let Some([left, right]) = piece.extent_between(middle - reach, middle + reach) else { continue };
            let row = Area { left: left - reach, right: right + reach, top: y as f64, bottom: middle };
            let [columns, _] = self.pixels_in(row);
            for x in columns {
                let (distance, t) = piece.nearest(x as f64 + 0.5, middle);
                if distance < reach {
                    visit(self, x, y, distance, t);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::random::Random;

    #[test]
    fn cuts_where_the_edges_are() {
        let area = Area::sized(0.0, 0.0, 10.0, 10.0);
        let piece = cut([-10.0, 5.0], [30.0, 5.0], area).unwrap();
        assert_eq!((piece.from, piece.to), ([0.0, 5.0], [10.0, 5.0]));
        assert_eq!((piece.begin, piece.end), (0.25, 0.5));
        assert!(cut([-10.0, 5.0], [5.0, 30.0], area).is_none(), "passes a corner outside");
        assert!(cut([11.0, 0.0], [11.0, 9.0], area).is_none());
        assert!(cut([f64::NAN, 0.0], [1.0, 1.0], area).is_none());
        let huge = cut([-f64::MAX, 5.0], [f64::MAX, 5.0], area).unwrap();
        assert_eq!((huge.from, huge.to), ([0.0, 5.0], [10.0, 5.0]));
    }

    /// The spans of rows are only a shortcut: looking at every pixel must find the same ones.
    #[test]
    fn finds_exactly_the_pixels_within_reach() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let mut canvas = Canvas::new(30, 20, [0; 3]).unwrap();
            let [a, b] = std::array::from_fn(|_| [random.range(-40.0, 70.0), random.range(-30.0, 50.0)]);
            let reach = random.range(0.2, 6.0);
            canvas.near_segment([a, b], reach, |canvas, x, y, _, _| canvas.set(x, y, [1; 3]));
            let whole = Piece { from: a, to: b, begin: 0.0, end: 1.0 };
            for (i, pixel) in canvas.pixels().chunks(3).enumerate() {
                let (distance, _) = whole.nearest((i % 30) as f64 + 0.5, (i / 30) as f64 + 0.5);
                if (distance - reach).abs() > 1e-9 {
                    assert_eq!(pixel[0] == 1, distance < reach, "{a:?} {b:?} {reach} pixel {i}");
                }
            }
        }
    }
}
