//! A maze's plan: square cells, walls on their edges, and what floor and walls of a cell look like.

use super::pattern::Pattern;
use crate::error::{Error, Result};
use crate::files::Source;
use std::path::Path;

/// In the order of [`Layout::BUILT_IN`].
const DRAWINGS: [&str; 3] = [
    include_str!("drawings/maze1.maze"),
    include_str!("drawings/maze2.maze"),
    include_str!("drawings/maze3.maze"),
];

/// The look of one wall or floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// What is painted on it.
    pub pattern: Pattern,
    /// Mean colour, RGB.
    pub colour: [u8; 3],
}

/// The look of a cell: its floor and the wall faces that look into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// The letter that stands for it in the drawing; `.` is the one for cells without a letter.
    pub letter: char,
    /// The walls around.
    pub wall: Finish,
    /// The ground.
    pub floor: Finish,
}

/// A side of a cell, seen from its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Towards -x.
    West,
    /// Towards +x.
    East,
    /// Towards -y.
    South,
    /// Towards +y.
    North,
}

/// A checked plan. The origin is the bottom-left corner, y points up, cells are counted from there.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub(super) name: String,
    pub(super) cell: f64,
    pub(super) sky: [u8; 3],
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) surfaces: Vec<Surface>,
    /// Which surface each cell has, row after row from the bottom.
    pub(super) cells: Vec<usize>,
    /// Walls along x: `level[y * columns + x]` is the wall below cell (x, y); rows + 1 of them.
    pub(super) level: Vec<bool>,
    /// Walls along y: `upright[y * (columns + 1) + x]` is the wall left of cell (x, y).
    pub(super) upright: Vec<bool>,
}

impl Layout {
    /// The paper's Mazes 1, 2 and 3.
    pub const BUILT_IN: &[&str] = &["maze1", "maze2", "maze3"];

    /// One of [`Layout::BUILT_IN`] by name.
    pub fn built_in(name: &str) -> Option<Self> {
        let number = Self::BUILT_IN.iter().position(|known| *known == name)?;
        Some(DRAWINGS[number].parse().expect("built-in drawings are tested"))
    }

    /// One of [`Layout::BUILT_IN`] by name, or a drawing from a file.
    pub fn open(name: &str) -> Result<Self> {
        match Self::built_in(name) {
            Some(layout) => Ok(layout),
            None if Path::new(name).exists() => Self::read(Path::new(name)),
            None => Err(Error::usage(format!(
                "{name}: there is no such maze; use {}, or a file with the drawing of one",
                Self::BUILT_IN.join(", ")
            ))),
        }
    }

    /// A drawing from a file.
    pub fn read(path: &Path) -> Result<Self> {
        // Far more than the largest maze that can be drawn needs.
        let text = Source::open(path)?.read_text(1 << 22);
        text.and_then(|text| text.parse()).map_err(|error: Error| error.in_file(path))
    }

    /// The maze's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Side of a cell in units.
    pub fn cell(&self) -> f64 {
        self.cell
    }

    /// Number of cells along x and y.
    pub fn cells(&self) -> [usize; 2] {
        [self.columns, self.rows]
    }

    /// Extent in units along x and y.
    pub fn extent(&self) -> [f64; 2] {
        [self.columns as f64 * self.cell, self.rows as f64 * self.cell]
    }

    /// Colour of the sky.
    pub fn sky(&self) -> [u8; 3] {
        self.sky
    }

    /// All looks that occur.
    pub fn surfaces(&self) -> &[Surface] {
        &self.surfaces
    }

    /// Index into [`Layout::surfaces`] of cell (column, row).
    pub fn surface(&self, column: usize, row: usize) -> usize {
        self.cells[row * self.columns + column]
    }

    /// True if that side of the cell is a wall.
    pub fn wall(&self, column: usize, row: usize, side: Side) -> bool {
        let (columns, upright) = (self.columns, self.columns + 1);
        match side {
            Side::West => self.upright[row * upright + column],
            Side::East => self.upright[row * upright + column + 1],
            Side::South => self.level[row * columns + column],
            Side::North => self.level[(row + 1) * columns + column],
        }
    }

    /// Walls as straight lines [x0, y0, x1, y1] in units, as long as possible: first those along
    /// x from the bottom up, then those along y from the left.
    pub fn segments(&self) -> Vec<[f64; 4]> {
        let mut segments = Vec::new();
        for y in 0..=self.rows {
            for (from, to) in runs((0..self.columns).map(|x| self.level[y * self.columns + x])) {
                segments.push([from, y, to, y]);
            }
        }
        for x in 0..=self.columns {
            for (from, to) in runs((0..self.rows).map(|y| self.upright[y * (self.columns + 1) + x])) {
                segments.push([x, from, x, to]);
            }
        }
        segments.into_iter().map(|s| s.map(|cells| cells as f64 * self.cell)).collect()
    }

    /// Distance from a point to the first wall in the direction of `heading`, walls being lines.
    pub fn free_distance(&self, x: f64, y: f64, heading: f64) -> f64 {
        let (sin, cos) = heading.sin_cos();
        let (mut column, mut row) = self.cell_at(x, y);
        loop {
            let border = |at: usize, d: f64| (at as f64 + f64::from(u8::from(d > 0.0))) * self.cell;
            let along_x = if cos == 0.0 { f64::INFINITY } else { (border(column, cos) - x) / cos };
            let along_y = if sin == 0.0 { f64::INFINITY } else { (border(row, sin) - y) / sin };
            let (side, distance) = if along_x < along_y {
                (if cos > 0.0 { Side::East } else { Side::West }, along_x)
            } else {
                (if sin > 0.0 { Side::North } else { Side::South }, along_y)
            };
            if self.wall(column, row, side) {
                return distance.max(0.0);
            }
            match side {
                Side::East => column += 1,
                Side::West => column -= 1,
                Side::North => row += 1,
                Side::South => row -= 1,
            }
        }
    }

    /// The cell that holds a point; points outside belong to the nearest cell.
    pub fn cell_at(&self, x: f64, y: f64) -> (usize, usize) {
        let index = |at: f64, count: usize| ((at / self.cell) as usize).min(count - 1);
        (index(x, self.columns), index(y, self.rows))
    }
}

/// Start and end of each run of `true`.
fn runs(walls: impl Iterator<Item = bool>) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, wall) in walls.enumerate() {
        match runs.last_mut() {
            Some(last) if wall && last.1 == at => last.1 = at + 1,
            _ if wall => runs.push((at, at + 1)),
            _ => {}
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_mazes_have_the_originals_size() {
        for (name, cells, segments) in
            [("maze1", [10, 5], 24), ("maze2", [15, 9], 51), ("maze3", [20, 13], 88)]
        {
            let layout = Layout::built_in(name).unwrap();
            assert_eq!((layout.cells(), layout.segments().len()), (cells, segments), "{name}");
        }
    }

    #[test]
    fn rays_stop_at_walls() {
        let layout = Layout::built_in("maze1").unwrap();
        let east = layout.free_distance(50.0, 450.0, 0.0);
        assert!((east - 50.0).abs() < 1e-9, "{east}");
        let south = layout.free_distance(50.0, 450.0, -std::f64::consts::FRAC_PI_2);
        assert!((south - 450.0).abs() < 1e-9, "{south}");
    }
}
