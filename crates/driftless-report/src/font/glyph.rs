//! Letters read from the sheet, and the pen strokes that draw them.

use super::sheet::SHEET;
use super::{CAP_HEIGHT, ROWS};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Columns of the sheet that a letter has at its disposal; the last stays empty.
const CELL: usize = 8;

/// A letter on the grid.
pub(super) struct Glyph {
    /// Columns.
    pub(super) width: usize,
    rows: [Vec<bool>; ROWS],
}

impl Glyph {
    fn inked(&self, column: usize, row: usize) -> bool {
        row < ROWS && column < self.width && self.rows[row][column]
    }

    /// The pen's strokes: ink joins ink beside and below it, and ink across a corner if nothing
    /// else joins the two.
    pub(super) fn strokes(&self) -> Vec<[f64; 4]> {
        let mut strokes = Vec::new();
        for (row, column) in (0..ROWS).flat_map(|row| (0..self.width).map(move |column| (row, column))) {
            let mut join = |from: usize, to: usize, down: usize| {
                let [ax, bx] = [from, to].map(|column| column as f64 + 0.5);
                strokes.push([ax, row as f64 + 0.5, bx, (row + down) as f64 + 0.5]);
            };
            let [here, right] = [self.inked(column, row), self.inked(column + 1, row)];
            let [below, across] = [self.inked(column, row + 1), self.inked(column + 1, row + 1)];
            if here {
                join(column, column, 0);
            }
            if here && right {
                join(column, column + 1, 0);
            }
            if here && below {
                join(column, column, 1);
            }
            if here && across && !right && !below {
                join(column, column + 1, 1);
            }
            if right && below && !here && !across {
                join(column + 1, column, 1);
            }
        }
        strokes
    }
}

/// The drawing of a character, or a box if there is none.
pub(super) fn glyph(letter: char) -> &'static Glyph {
    static GLYPHS: OnceLock<BTreeMap<char, Glyph>> = OnceLock::new();
    static MISSING: OnceLock<Glyph> = OnceLock::new();
    GLYPHS.get_or_init(|| read_sheet(SHEET)).get(&letter).unwrap_or_else(|| {
        MISSING.get_or_init(|| {
            let row = |y: usize| {
                (0..5)
                    .map(|x| y < CAP_HEIGHT && (y == 0 || y == CAP_HEIGHT - 1 || x == 0 || x == 4))
                    .collect()
            };
            Glyph { width: 5, rows: std::array::from_fn(row) }
        })
    })
}

fn read_sheet(sheet: &str) -> BTreeMap<char, Glyph> {
    let lines: Vec<Vec<char>> = sheet.trim_matches('\n').lines().map(|line| line.chars().collect()).collect();
    let mut glyphs = BTreeMap::new();
    for band in lines.chunks(ROWS + 1) {
        let cells = band[1].len().div_ceil(CELL);
        for cell in 0..cells {
            // Editors trim the end of a line; only the space itself can be lost by that.
            let letter = band[0].get(cell * CELL).copied().unwrap_or(' ');
            let rows = std::array::from_fn(|row| {
                let columns = band[row + 1].iter().skip(cell * CELL).take(CELL);
                columns.take_while(|mark| **mark != ' ').map(|mark| *mark == '#').collect::<Vec<bool>>()
            });
            glyphs.insert(letter, Glyph { width: rows[0].len(), rows });
        }
    }
    glyphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_character_is_drawn_and_looks_different() {
        let glyphs = read_sheet(SHEET);
        let expected: Vec<char> = (' '..='~').chain("°²±µ×–·…".chars()).collect();
        assert_eq!(glyphs.len(), expected.len());
        let mut shapes = std::collections::BTreeSet::new();
        for letter in expected {
            let glyph = &glyphs[&letter];
            assert!((1..CELL).contains(&glyph.width), "{letter}");
            assert!(glyph.rows.iter().all(|row| row.len() == glyph.width), "{letter} has a ragged row");
            assert_eq!(glyph.strokes().is_empty(), letter == ' ', "{letter}");
            assert!(shapes.insert(glyph.rows.clone()), "{letter} looks like another letter");
        }
    }

    #[test]
    fn corners_are_joined_only_where_nothing_else_joins_them() {
        let sloped = |letter: char| {
            glyph(letter).strokes().iter().filter(|[ax, ay, bx, by]| ax != bx && ay != by).count()
        };
        assert_eq!((sloped('L'), sloped('+'), sloped('x'), sloped('/'), sloped('o')), (0, 0, 8, 4, 4));
    }
}
