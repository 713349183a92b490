//! A map of cells as a small grey image, for a player to draw below paths.

use super::cloud::text;
use crate::error::{Error, Result};
use crate::files::png_image::{self, Samples};
use crate::occupancy::{Cell, OccupancyGrid};
use serde::{Deserialize, Serialize};

/// Pixels of the longer side, at most: cells are put together beyond.
const MOST_SIDE: usize = 1200;

/// A rectangle of the world as a PNG image: 0 is occupied, 255 free, all between unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ground {
    /// Least x and y.
    pub low: [f64; 2],
    /// Greatest x and y.
    pub high: [f64; 2],
    /// The image, its first row at the greatest y.
    #[serde(with = "text")]
    pub png: Vec<u8>,
}

impl Ground {
    /// What is unknown, as ROS draws it.
    pub const UNKNOWN: u8 = 205;

    /// The part of a grid between two corners; nothing where they share no cell. A pixel of several cells is occupied if
    /// one of them is.
    pub fn of(grid: &OccupancyGrid, low: [f64; 2], high: [f64; 2]) -> Result<Option<Self>> {
        let cell = |k: usize, at: f64| ((at - grid.origin[k]) / grid.cell).clamp(0.0, grid.size[k] as f64);
        let first = [0, 1].map(|k| cell(k, low[k]).floor() as usize);
        let end = [0, 1].map(|k| cell(k, high[k]).ceil() as usize);
        let [width, height] = [0, 1].map(|k| end[k].saturating_sub(first[k]));
        if width == 0 || height == 0 {
            return Ok(None);
        }
        let each = width.max(height).div_ceil(MOST_SIDE);
        let [columns, rows] = [width, height].map(|cells| cells.div_ceil(each));
        let mut pixels = vec![Self::UNKNOWN; columns * rows];
        for x in 0..width {
            for y in 0..height {
                // The first row is the highest.
                let pixel = &mut pixels[(rows - 1 - y / each) * columns + x / each];
                *pixel = match (grid.cells[(first[0] + x) * grid.size[1] + first[1] + y], *pixel) {
                    (Cell::Occupied, _) | (_, 0) => 0,
                    (Cell::Free, _) => 255,
                    (Cell::Unknown, before) => before,
                };
            }
        }
        let low = [0, 1].map(|k| grid.origin[k] + grid.cell * first[k] as f64);
        let side = grid.cell * each as f64;
        let high = [low[0] + side * columns as f64, low[1] + side * rows as f64];
        Ok(Some(Self { low, high, png: png_image::encode_grey8(rows, columns, &pixels)? }))
    }

    /// Width, height and grey values, from the highest row to the lowest.
    pub fn pixels(&self) -> Result<(usize, usize, Vec<u8>)> {
        let image = png_image::decode(&self.png).map_err(|error| error.in_field("ground"))?;
        match (image.samples, image.channels) {
            (Samples::Eight(grey), 1) => Ok((image.width, image.height, grey)),
            _ => Err(Error::new("is not a grey image of 8 bits").in_field("ground")),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let corners = [self.low, self.high];
        let finite = corners.as_flattened().iter().all(|value| value.abs() <= 1e9);
        if !finite || (0..2).any(|k| self.high[k] <= self.low[k]) {
            let problem = format!("from {:?} to {:?} is no part of a world", self.low, self.high);
            return Err(Error::new(problem).in_field("ground"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three columns and two rows, of which the right two columns are shown.
    #[test]
    fn a_part_of_a_grid() {
        use Cell::{Free, Occupied, Unknown};
        let cells = vec![Occupied, Occupied, Free, Unknown, Unknown, Occupied];
        let grid = OccupancyGrid { origin: [10.0, -1.0], cell: 0.5, size: [3, 2], cells };
        let ground = Ground::of(&grid, [10.6, -5.0], [90.0, 5.0]).unwrap().unwrap();
        assert_eq!((ground.low, ground.high), ([10.5, -1.0], [11.5, 0.0]));
        assert_eq!(ground.pixels().unwrap(), (2, 2, vec![205, 0, 255, 205]));
        assert!(ground.check().is_ok());
        assert_eq!(Ground::of(&grid, [0.0; 2], [5.0; 2]).unwrap(), None);
        assert!(Ground { png: vec![1, 2, 3], ..ground }.pixels().is_err());
    }

    /// Walls one cell thick stay where pixels hold several cells.
    #[test]
    fn large_grids_are_shrunk() {
        let size = [3 * MOST_SIDE + 1, 5];
        let wall = |k: usize| if k / 5 == 7 { Cell::Occupied } else { Cell::Free };
        let cells = (0..size[0] * size[1]).map(wall).collect();
        let grid = OccupancyGrid { origin: [0.0; 2], cell: 1.0, size, cells };
        let ground = Ground::of(&grid, [0.0; 2], [1e6; 2]).unwrap().unwrap();
        let (width, height, grey) = ground.pixels().unwrap();
        assert_eq!((width, height), (size[0].div_ceil(4), 2));
        assert_eq!((grey[1], grey[0], ground.high), (0, 255, [4.0 * width as f64, 8.0]));
    }
}
