//! A floor as square cells: free, occupied, or never looked at.

/// What is known of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Cell {
    /// Nothing.
    #[default]
    Unknown = 0,
    /// A robot could stand there, or beams pass.
    Free = 1,
    /// A wall, or anything else that beams end at.
    Occupied = 2,
}

impl Cell {
    /// The cell that is stored as this number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Unknown, Self::Free, Self::Occupied].into_iter().find(|cell| *cell as u8 == number)
    }
}

/// A rectangle of the world in cells, its sides along x and y.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OccupancyGrid {
    /// The corner with the least x and y.
    pub origin: [f64; 2],
    /// Side of a cell.
    pub cell: f64,
    /// Cells along x and y.
    pub size: [usize; 2],
    /// Cell (x, y) is number `x * size[1] + y`.
    pub cells: Vec<Cell>,
}

impl OccupancyGrid {
    /// The cell at a place; nothing is known beyond the edge.
    ///
    /// ```
    /// use driftless_world::occupancy::{Cell, OccupancyGrid};
    /// let cells = vec![Cell::Free, Cell::Occupied];
    /// let grid = OccupancyGrid { origin: [1.0, 2.0], cell: 0.5, size: [1, 2], cells };
    /// assert_eq!([2.4, 2.9, 3.1].map(|y| grid.at([1.2, y])), [Cell::Free, Cell::Occupied, Cell::Unknown]);
    /// ```
    pub fn at(&self, place: [f64; 2]) -> Cell {
        let [x, y] = [0, 1].map(|k| (place[k] - self.origin[k]) / self.cell);
        let inside = x >= 0.0 && y >= 0.0 && x < self.size[0] as f64 && y < self.size[1] as f64;
        if inside { self.cells[x as usize * self.size[1] + y as usize] } else { Cell::Unknown }
    }

    /// Numbers of all cells of a kind, in order.
    pub fn of_kind(&self, kind: Cell) -> impl Iterator<Item = usize> + '_ {
        self.cells.iter().enumerate().filter(move |(_, cell)| **cell == kind).map(|(number, _)| number)
    }

    /// The place of a cell's middle.
    pub fn middle(&self, number: usize) -> [f64; 2] {
        let place = [number / self.size[1].max(1), number % self.size[1].max(1)];
        [0, 1].map(|k| self.origin[k] + self.cell * (place[k] as f64 + 0.5))
    }

    /// The box of most cells of a kind, without the farthest of a share on either side; nothing if there are none.
    ///
    /// Beams through glass and open doors mark cells far away, which nobody wants to look at.
    pub fn extent(&self, kind: Cell, share: f64) -> Option<[[f64; 2]; 2]> {
        let mut along: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for number in self.of_kind(kind) {
            let middle = self.middle(number);
            (0..2).for_each(|k| along[k].push(middle[k]));
        }
        if along[0].is_empty() {
            return None;
        }
        let left_out = ((share.clamp(0.0, 0.4) * along[0].len() as f64) as usize).min(along[0].len() - 1);
        let ends = along.map(|mut places| {
            places.sort_by(f64::total_cmp);
            [places[left_out], places[places.len() - 1 - left_out]]
        });
        let half = 0.5 * self.cell;
        Some([[ends[0][0] - half, ends[1][0] - half], [ends[0][1] + half, ends[1][1] + half]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> OccupancyGrid {
        let mut cells = vec![Cell::Unknown; 20];
        for (number, kind) in [(0, Cell::Occupied), (7, Cell::Free), (13, Cell::Free), (18, Cell::Occupied)] {
            cells[number] = kind;
        }
        OccupancyGrid { origin: [-1.0, 10.0], cell: 0.5, size: [4, 5], cells }
    }

    #[test]
    fn places_and_numbers_agree() {
        let grid = grid();
        for number in 0..20 {
            assert_eq!(grid.at(grid.middle(number)), grid.cells[number]);
        }
        for beyond in [[-1.01, 10.1], [1.01, 10.1], [0.0, 9.9], [0.0, 12.6], [f64::NAN, 11.0]] {
            assert_eq!(grid.at(beyond), Cell::Unknown, "{beyond:?}");
        }
    }

    /// Free cells are (1, 2) and (2, 3): from (-0.5, 11) to (0.5, 12).
    #[test]
    fn boxes_of_cells() {
        let grid = grid();
        assert_eq!(grid.extent(Cell::Free, 0.0), Some([[-0.5, 11.0], [0.5, 12.0]]));
        assert_eq!(OccupancyGrid::default().extent(Cell::Free, 0.0), None);
        let cells = (0..100).map(|k| if k == 99 || k < 50 { Cell::Free } else { Cell::Unknown }).collect();
        let row = OccupancyGrid { origin: [0.0; 2], cell: 1.0, size: [100, 1], cells };
        assert_eq!(row.extent(Cell::Free, 0.02), Some([[1.0, 0.0], [50.0, 1.0]]));
    }

    #[test]
    fn numbers_are_cells() {
        let all = [Cell::Unknown, Cell::Free, Cell::Occupied];
        assert!(all.iter().all(|cell| Cell::from_number(*cell as u8) == Some(*cell)));
        assert_eq!(Cell::from_number(3), None);
    }
}
