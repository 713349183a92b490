//! The robot's body: a box that does not enter walls but slides along them.

use super::layout::{Layout, Side};

/// Which positions of the body's middle are free. The body is an axis-aligned square of half-width
/// 15 hundredths of a cell, walls are 2 hundredths thick, and a gap of an eighth of a hundredth
/// always remains: in a maze with cells of 100 units the middle stays 16.125 units from walls.
#[derive(Clone, Debug)]
pub struct Body {
    /// Distance that the middle keeps from a wall's line, along each axis.
    reach: f64,
    cell: f64,
    columns: usize,
    rows: usize,
    /// For each cell the wall pieces nearby, grown by `reach`: [x0, y0, x1, y1].
    blocked: Vec<Vec<[f64; 4]>>,
}

impl Body {
    /// The body in its maze.
    pub fn new(layout: &Layout) -> Self {
        let [columns, rows] = layout.cells();
        let (cell, reach) = (layout.cell(), 0.161_25 * layout.cell());
        let mut blocked = vec![Vec::new(); columns * rows];
        for column in 0..columns {
            for row in 0..rows {
                let (x, y) = (column as f64 * cell, row as f64 * cell);
                for (side, piece) in [
                    (Side::West, [x, y, x, y + cell]),
                    (Side::East, [x + cell, y, x + cell, y + cell]),
                    (Side::South, [x, y, x + cell, y]),
                    (Side::North, [x, y + cell, x + cell, y + cell]),
                ] {
                    if layout.wall(column, row, side) {
                        let grown = [piece[0] - reach, piece[1] - reach, piece[2] + reach, piece[3] + reach];
                        // The end of a wall also narrows the diagonal neighbours.
                        for near_column in column.saturating_sub(1)..=(column + 1).min(columns - 1) {
                            for near_row in row.saturating_sub(1)..=(row + 1).min(rows - 1) {
                                blocked[near_row * columns + near_column].push(grown);
                            }
                        }
                    }
                }
            }
        }
        Self { reach, cell, columns, rows, blocked }
    }

    /// Distance that the middle keeps from a wall's line.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// True if the body fits at this position (touching is fine).
    pub fn fits(&self, x: f64, y: f64) -> bool {
        self.obstacle(x, y).is_none()
    }

    /// Moves from a free position towards (x + dx, y + dy), sliding along walls; steps must be
    /// shorter than a wall's reach.
    pub fn slide(&self, [x, y]: [f64; 2], [dx, dy]: [f64; 2]) -> [f64; 2] {
        let moved_x = match self.obstacle(x + dx, y) {
            None => x + dx,
            Some(wall) if dx > 0.0 => wall[0].max(x),
            Some(wall) => wall[2].min(x),
        };
        let moved_y = match self.obstacle(moved_x, y + dy) {
            None => y + dy,
            Some(wall) if dy > 0.0 => wall[1].max(y),
            Some(wall) => wall[3].min(y),
        };
        [moved_x, moved_y]
    }

    fn obstacle(&self, x: f64, y: f64) -> Option<&[f64; 4]> {
        let index = |at: f64, count: usize| ((at / self.cell) as usize).min(count - 1);
        let near = &self.blocked[index(y, self.rows) * self.columns + index(x, self.columns)];
        near.iter().find(|wall| x > wall[0] && x < wall[2] && y > wall[1] && y < wall[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn slides_and_never_enters_a_wall() {
        let layout = Layout::built_in("maze1").unwrap();
        let body = Body::new(&layout);
        let mut random = Random::new(1);
        let mut at = [50.0, 50.0];
        let mut visited = std::collections::HashSet::new();
        for _ in 0..200_000 {
            let next = body.slide(at, [random.range(-12.0, 12.0), random.range(-12.0, 12.0)]);
            assert!(body.fits(next[0], next[1]), "{next:?}");
            assert!(next[0] >= 16.125 && next[0] <= 983.875 && next[1] >= 16.125 && next[1] <= 483.875);
            // Never through a wall: a change of cell needs an open side.
            let (from, to) = (layout.cell_at(at[0], at[1]), layout.cell_at(next[0], next[1]));
            if from.0 != to.0 && from.1 == to.1 {
                assert!(!layout.wall(from.0.max(to.0), from.1, Side::West));
            }
            if from.1 != to.1 && from.0 == to.0 {
                assert!(!layout.wall(from.0, from.1.max(to.1), Side::South));
            }
            visited.insert(to);
            at = next;
        }
        assert!(visited.len() > 10, "the walk went nowhere");
        assert_eq!(body.slide([20.0, 50.0], [-12.0, 3.0]), [16.125, 53.0]);
    }
}
