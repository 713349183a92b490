//! The other direction: a layout as the drawing that would be read as it.

use crate::maze::layout::{Finish, Layout};
use crate::maze::pattern::Pattern;
use std::fmt::{self, Write as _};

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.colour;
        write!(f, "{} {r} {g} {b}", self.pattern)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.sky;
        writeln!(f, "name {}\ncell {}\nsky {r} {g} {b}", self.name, self.cell)?;
        for surface in &self.surfaces {
            writeln!(f, "surface {} wall {} floor {}", surface.letter, surface.wall, surface.floor)?;
        }
        writeln!(f)?;
        for y in (0..=self.rows).rev() {
            let walls = &self.level[y * self.columns..(y + 1) * self.columns];
            let drawn: String = walls.iter().map(|&wall| if wall { "+---" } else { "+   " }).collect();
            writeln!(f, "{drawn}+")?;
            if let Some(row) = y.checked_sub(1) {
                let mut line = String::new();
                for x in 0..=self.columns {
                    line.push(if self.upright[row * (self.columns + 1) + x] { '|' } else { ' ' });
                    if x < self.columns {
                        let letter = self.surfaces[self.surface(x, row)].letter;
                        write!(line, " {} ", if letter == '.' { ' ' } else { letter })?;
                    }
                }
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}
