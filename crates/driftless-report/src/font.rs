//! A small typeface of our own: letters on a coarse grid, joined by a round pen into smooth strokes.

mod glyph;
mod sheet;

use crate::canvas::{Area, Canvas};
use crate::colour::Rgb;
use glyph::{Glyph, glyph};

/// Rows from the top of a capital letter to the baseline, in grid units.
pub const CAP_HEIGHT: usize = 7;
/// Rows below the baseline, in grid units.
pub const DESCENT: usize = 2;
const ROWS: usize = CAP_HEIGHT + DESCENT;
/// Empty columns between two letters.
const GAP: usize = 1;

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text {
    /// Pixels a grid unit: at 2, a capital letter is 14 pixels high. At least 1.
    pub scale: usize,
    /// Ink.
    pub colour: Rgb,
    /// Width of the pen in grid units: 0.8 is regular, 1.05 is bold.
    pub pen: f64,
}

/// Which point of the text is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The left end of the baseline.
    Left,
    /// The middle of the baseline.
    Centre,
    /// The right end of the baseline.
    Right,
}

impl Text {
    /// Regular weight.
    pub const fn regular(scale: usize, colour: Rgb) -> Self {
        Self { scale, colour, pen: 0.8 }
    }

    /// Bold, for titles.
    pub const fn bold(scale: usize, colour: Rgb) -> Self {
        Self { scale, colour, pen: 1.05 }
    }

    /// Width of `text` in pixels.
    pub fn width(&self, text: &str) -> usize {
        let columns: usize = text.chars().map(|letter| glyph(letter).width + GAP).sum();
        columns.saturating_sub(GAP) * self.scale
    }

    /// `text`, or as much of its beginning as fits into `width` pixels, ending in "…".
    pub fn fitted(&self, text: &str, width: usize) -> String {
        if self.width(text) <= width {
            return text.to_string();
        }
        let room = width.saturating_sub(self.width("…") + GAP * self.scale);
        let mut used = 0;
        let fits = |letter: &char| {
            used += (glyph(*letter).width + GAP) * self.scale;
            used <= room
        };
        let kept: String = text.chars().take_while(fits).collect();
        format!("{}…", kept.trim_end())
    }

    /// Draws `text` with its baseline at `y`; characters without a letter become a box.
    pub fn draw(&self, canvas: &mut Canvas, text: &str, [x, y]: [f64; 2], align: Align) {
        let width = self.width(text) as f64;
        let shift = match align {
            Align::Left => 0.0,
            Align::Centre => width / 2.0,
            Align::Right => width,
        };
        // Whole pixels, so that equal letters look equal.
        let (mut left, top) = ((x - shift).round(), y.round() - (CAP_HEIGHT * self.scale) as f64);
        for letter in text.chars() {
            let glyph = glyph(letter);
            self.draw_glyph(canvas, glyph, left, top);
            left += ((glyph.width + GAP) * self.scale) as f64;
        }
    }

    fn draw_glyph(&self, canvas: &mut Canvas, glyph: &Glyph, left: f64, top: f64) {
        let scale = self.scale as f64;
        let area = Area::sized(left, top, glyph.width as f64 * scale, ROWS as f64 * scale);
        let strokes = glyph.strokes();
        canvas.cover(area.grown(scale), self.colour, 1.0, |x, y| {
            let (column, row) = ((x - left) / scale, (y - top) / scale);
            let squares = strokes.iter().map(|stroke| squared_distance(*stroke, column, row));
            let nearest = squares.fold(f64::MAX, f64::min).sqrt();
            ((self.pen / 2.0 - nearest) * scale + 0.5).clamp(0.0, 1.0)
        });
    }
}

/// Squared distance of a point from the stroke between two grid points.
fn squared_distance([ax, ay, bx, by]: [f64; 4], x: f64, y: f64) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let length2 = dx * dx + dy * dy;
    let along = if length2 > 0.0 { ((x - ax) * dx + (y - ay) * dy) / length2 } else { 0.0 }.clamp(0.0, 1.0);
    (x - ax - along * dx).powi(2) + (y - ay - along * dy).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_the_sum_of_letters_and_gaps() {
        let text = Text::regular(1, [0; 3]);
        assert_eq!((text.width(""), text.width("i"), text.width("HI"), text.width("ii")), (0, 1, 9, 3));
        assert_eq!(Text::regular(3, [0; 3]).width("HI"), 27);
    }

    fn ink(canvas: &Canvas) -> Option<[usize; 4]> {
        let dark = |&(x, y): &(usize, usize)| canvas.pixel(x, y)[0] < 128;
        let all = (0..canvas.height()).flat_map(|y| (0..canvas.width()).map(move |x| (x, y))).filter(dark);
        all.fold(None, |seen, (x, y)| {
            let [left, top, right, bottom] = seen.unwrap_or([x, y, x, y]);
            Some([left.min(x), top.min(y), right.max(x), bottom.max(y)])
        })
    }

    #[test]
    fn alignment_places_the_ink() {
        for (align, left) in [(Align::Left, 50), (Align::Centre, 40), (Align::Right, 29)] {
            let mut canvas = Canvas::new(100, 40, [255; 3]).unwrap();
            Text::regular(2, [0; 3]).draw(&mut canvas, "HH", [50.0, 30.0], align);
            let [first, top, last, bottom] = ink(&canvas).unwrap();
            assert!(first.abs_diff(left) <= 1 && last.abs_diff(left + 21) <= 1, "{align:?}: {first}..{last}");
            assert_eq!((top, bottom), (16, 29), "capitals stand on the baseline");
        }
    }

    #[test]
    fn long_text_is_cut_to_fit() {
        let text = Text::regular(2, [0; 3]);
        let fitted = text.fitted("A title that never wants to end", 120);
        assert!(fitted.starts_with("A title") && fitted.ends_with('…'), "{fitted}");
        assert!(text.width(&fitted) <= 120);
        assert_eq!(text.fitted("short", 120), "short");
        assert_eq!(text.fitted("nothing fits", 3), "…");
    }

    #[test]
    fn unknown_characters_become_a_box() {
        let mut canvas = Canvas::new(20, 20, [255; 3]).unwrap();
        Text::regular(1, [0; 3]).draw(&mut canvas, "漢", [2.0, 12.0], Align::Left);
        assert_eq!(ink(&canvas), Some([2, 5, 6, 11]));
    }
}
