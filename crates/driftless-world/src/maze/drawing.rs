//! Mazes as drawings in a text file, read and written.
//!
//! ```text
//! # Anything after a hash at the start of a line is a remark.
//! name small
//! cell 100
//! sky 150 224 255
//! surface . wall blocks 85 120 76 floor mottled 211 146 27
//! surface A wall weave 147 33 26 floor plain 90 90 90
//!
//! +---+---+
//! | A     |
//! +   +---+
//! |       |
//! +---+---+
//! ```
//!
//! `---` and `|` are walls, a letter gives a cell the surface of that letter (floor, and the wall
//! faces that look into the cell), cells without a letter have the surface `.`. `name`, `cell` and
//! `sky` may be left out. The outer wall must be closed.

mod printed;

use super::layout::{Finish, Layout, Surface};
use crate::error::{Error, Result};
use std::str::FromStr;

/// More cells than this along an axis is surely not a maze somebody drew.
const MOST_CELLS: usize = 200;
/// Each surface costs two textures.
const MOST_SURFACES: usize = 64;
/// Longer names do not fit where they are shown and kept.
const LONGEST_NAME: usize = 100;

/// True of a text with a wall along x.
pub(crate) fn looks_like_drawing(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("+---"))
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // the mark some editors write
        let mut header = Header::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with('+')) {
            header.read(line).map_err(|error| error.in_record(format!("line {}", number + 1)))?;
        }
        let drawing: Vec<(usize, &str)> = lines.map(|(number, line)| (number + 1, line.trim_end())).collect();
        let end = drawing.iter().rposition(|(_, line)| !line.is_empty()).map_or(0, |last| last + 1);
        header.with_drawing(&drawing[..end])
    }
}

struct Header {
    name: String,
    cell: f64,
    sky: [u8; 3],
    surfaces: Vec<Surface>,
}

impl Default for Header {
    fn default() -> Self {
        Self { name: "maze".into(), cell: 100.0, sky: [150, 224, 255], surfaces: Vec::new() }
    }
}

impl Header {
    fn read(&mut self, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            ["name", name @ ..] if !name.is_empty() => {
                let name = name.join(" ");
                if name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
                    return Err(Error::new(format!("must be at most {LONGEST_NAME} plain characters"))
                        .in_field("name"));
                }
                self.name = name;
            }
            ["cell", size] => {
                self.cell =
                    size.parse().ok().filter(|&size| (1.0..=1e6).contains(&size)).ok_or_else(|| {
                        Error::new(format!("{size} is not a length from 1 to 1000000")).in_field("cell")
                    })?;
            }
            ["sky", colour @ ..] => self.sky = parse_colour(colour).map_err(|error| error.in_field("sky"))?,
            ["surface", letter, look @ ..] => {
                let surface = parse_surface(letter, look).map_err(|error| error.in_field("surface"))?;
                if self.surfaces.iter().any(|other| other.letter == surface.letter) {
                    return Err(Error::new(format!("surface {letter} is described twice")));
                }
                if self.surfaces.len() == MOST_SURFACES {
                    return Err(Error::new(format!("more than {MOST_SURFACES} surfaces")));
                }
                self.surfaces.push(surface);
            }
            [word, ..] => {
                return Err(Error::new(format!(
                    "\"{}\" is not known here; expected name, cell, sky, surface, a remark (#) or the drawing (+---+)",
                    word.chars().take(40).collect::<String>()
                )));
            }
        }
        Ok(())
    }

    fn with_drawing(self, lines: &[(usize, &str)]) -> Result<Layout> {
        let Some((_, first)) = lines.first() else {
            return Err(Error::new("no drawing found: a maze begins with a line such as +---+---+"));
        };
        let (columns, rows) = (first.len() / 4, lines.len() / 2);
        if columns == 0 || first.len() % 4 != 1 || lines.len() % 2 != 1 || rows == 0 {
            return Err(Error::new(
                "the drawing must have lines of 4 n + 1 characters and an odd number of lines",
            ));
        }
        if columns > MOST_CELLS || rows > MOST_CELLS {
            return Err(Error::new(format!("{columns} x {rows} cells are more than {MOST_CELLS} a side")));
        }
        let mut layout = Layout {
            name: self.name,
            cell: self.cell,
            sky: self.sky,
            columns,
            rows,
            surfaces: self.surfaces,
            cells: vec![0; columns * rows],
            level: vec![false; columns * (rows + 1)],
            upright: vec![false; (columns + 1) * rows],
        };
        for (index, &(number, line)) in lines.iter().enumerate() {
            let line: Vec<char> = line.chars().collect();
            let result = if index % 2 == 0 {
                layout.read_level_walls(rows - index / 2, &line)
            } else {
                layout.read_cells(rows - 1 - index / 2, &line)
            };
            result.map_err(|error| error.in_record(format!("line {number}")))?;
        }
        layout.check_closed()?;
        Ok(layout)
    }
}

impl Layout {
    fn read_level_walls(&mut self, y: usize, line: &[char]) -> Result<()> {
        if line.len() > 4 * self.columns + 1 {
            return Err(Error::new(format!("longer than the first line of {} cells", self.columns)));
        }
        for x in 0..self.columns {
            let piece: String = (1..4).map(|k| line.get(4 * x + k).copied().unwrap_or(' ')).collect();
            self.level[y * self.columns + x] = match piece.as_str() {
                "---" => true,
                "   " => false,
                other => {
                    return Err(Error::new(format!(
                        "\"{other}\" above or below cell {}: draw --- for a wall or three spaces",
                        x + 1
                    )));
                }
            };
        }
        Ok(())
    }

    fn read_cells(&mut self, row: usize, line: &[char]) -> Result<()> {
        if line.len() > 4 * self.columns + 1 {
            return Err(Error::new(format!("longer than the first line of {} cells", self.columns)));
        }
        let at = |k: usize| line.get(k).copied().unwrap_or(' ');
        for x in 0..=self.columns {
            self.upright[row * (self.columns + 1) + x] = match at(4 * x) {
                '|' => true,
                ' ' => false,
                other => {
                    return Err(Error::new(format!(
                        "\"{other}\" left of cell {}: draw | for a wall or a space",
                        x + 1
                    )));
                }
            };
        }
        for x in 0..self.columns {
            let letter = match (at(4 * x + 1), at(4 * x + 2), at(4 * x + 3)) {
                (' ', ' ', ' ') => '.',
                (' ', letter, ' ') => letter,
                _ => {
                    return Err(Error::new(format!(
                        "cell {} must hold one letter between spaces, or none",
                        x + 1
                    )));
                }
            };
            let known = self.surfaces.iter().position(|surface| surface.letter == letter);
            self.cells[row * self.columns + x] = known.ok_or_else(|| {
                Error::new(format!(
                    "cell {} has surface {letter}, which no \"surface {letter} ...\" line describes",
                    x + 1
                ))
            })?;
        }
        Ok(())
    }

    fn check_closed(&self) -> Result<()> {
        let (columns, rows) = (self.columns, self.rows);
        let gap = |side: &str, cell: usize| {
            Err(Error::new(format!(
                "the outer wall has a gap ({side}, cell {cell}): the robot would leave the world"
            )))
        };
        for x in 0..columns {
            if !self.level[rows * columns + x] {
                return gap("top", x + 1);
            }
            if !self.level[x] {
                return gap("bottom", x + 1);
            }
        }
        for y in 0..rows {
            let from_top = rows - y;
            if !self.upright[y * (columns + 1)] {
                return gap("left side", from_top);
            }
            if !self.upright[y * (columns + 1) + columns] {
                return gap("right side", from_top);
            }
        }
        Ok(())
    }
}

fn parse_surface(letter: &str, look: &[&str]) -> Result<Surface> {
    let mut characters = letter.chars();
    let (Some(letter), None) = (characters.next(), characters.next()) else {
        return Err(Error::new(format!("\"{letter}\" must be a single character")));
    };
    match look {
        ["wall", wall, r, g, b, "floor", floor, fr, fg, fb] => Ok(Surface {
            letter,
            wall: Finish { pattern: wall.parse()?, colour: parse_colour(&[*r, *g, *b])? },
            floor: Finish { pattern: floor.parse()?, colour: parse_colour(&[*fr, *fg, *fb])? },
        }),
        _ => Err(Error::new("write: surface LETTER wall PATTERN R G B floor PATTERN R G B")),
    }
}

fn parse_colour(words: &[&str]) -> Result<[u8; 3]> {
    let numbers: Vec<u8> = words.iter().filter_map(|word| word.parse().ok()).collect();
    <[u8; 3]>::try_from(numbers).ok().filter(|_| words.len() == 3).ok_or_else(|| {
        Error::new(format!("\"{}\" is not a colour: three numbers from 0 to 255", words.join(" ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "surface . wall blocks 1 2 3 floor mottled 4 5 6\nsurface A wall weave 7 8 9 floor plain 1 1 1\n\
                         +---+---+\n| A     |\n+   +---+\n|       |\n+---+---+\n";

    #[test]
    fn drawings_survive_a_round_trip() {
        for text in [SMALL, include_str!("drawings/maze1.maze"), include_str!("drawings/maze3.maze")] {
            let layout: Layout = text.parse().unwrap();
            assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (wrong, right, message) in [
            ("+---+   +", "+---+---+", "outer wall has a gap"),
            ("| B     |", "| A     |", "cell 1 has surface B"),
            ("+   +-- +", "+   +---+", "line 5: \"-- \""),
            ("surface A wall bricks 7", "surface A wall weave 7", "line 2: field surface: bricks"),
            ("floor plain 1 1 256", "floor plain 1 1 1", "\"1 1 256\" is not a colour"),
            ("+---+---", "+---+---+", "4 n + 1"),
        ] {
            let error = SMALL.replacen(right, wrong, 1).parse::<Layout>().unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
        assert!("".parse::<Layout>().unwrap_err().to_string().contains("no drawing"));
        assert!("hello".parse::<Layout>().unwrap_err().to_string().contains("line 1: \"hello\""));
    }
}
