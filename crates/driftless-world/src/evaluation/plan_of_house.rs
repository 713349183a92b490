//! The floor plan of a house as lines, for a player to draw.

use super::Plan;
use crate::files::pfnet::{HouseMaps, METRES_PER_PIXEL};

/// Map pixels of a cell: lines are that exact, so that a house has hundreds of them and not thousands.
const CELL: usize = 4;

impl Plan {
    /// The outlines of all walls, in centimetres.
    pub fn of_house(maps: &HouseMaps) -> Self {
        let size = 100.0 * METRES_PER_PIXEL;
        let cells = [maps.width.div_ceil(CELL), maps.height.div_ceil(CELL)];
        let filled = |x: usize, y: usize| {
            let pixels = |from: usize, end: usize| from * CELL..((from + 1) * CELL).min(end);
            pixels(x, maps.width).any(|x| pixels(y, maps.height).any(|y| maps.wall(x, y) > 127))
        };
        let grid: Vec<bool> = (0..cells[0] * cells[1]).map(|k| filled(k / cells[1], k % cells[1])).collect();
        let at = |x: usize, y: usize| x < cells[0] && y < cells[1] && grid[x * cells[1] + y];
        let length = |cells: usize| (cells * CELL) as f64 * size;
        let mut walls = Vec::new();
        for x in 0..=cells[0] {
            let edge = |y: usize| at(x, y) != (x > 0 && at(x - 1, y));
            runs(cells[1], edge, |from, to| walls.push([length(x), length(from), length(x), length(to)]));
        }
        for y in 0..=cells[1] {
            let edge = |x: usize| at(x, y) != (y > 0 && at(x, y - 1));
            runs(cells[0], edge, |from, to| walls.push([length(from), length(y), length(to), length(y)]));
        }
        let high = [maps.width as f64 * size, maps.height as f64 * size];
        Self { low: [0.0; 2], high, walls, unit: "cm".into(), ..Self::default() }
    }
}

/// Visits all unbroken runs of what is true.
fn runs(count: usize, is: impl Fn(usize) -> bool, mut visit: impl FnMut(usize, usize)) {
    let mut from = None;
    for k in 0..=count {
        match (from, k < count && is(k)) {
            (None, true) => from = Some(k),
            (Some(first), false) => {
                visit(first, k);
                from = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One wall of 4 x 8 pixels, at x = 4 and y = 0: its four sides.
    #[test]
    fn a_wall_has_four_sides() {
        let mut maps = HouseMaps {
            width: 12,
            height: 12,
            wall: vec![0; 144],
            door: vec![0; 144],
            room_type: vec![0; 144],
            room_id: vec![0; 144],
        };
        (4..8).for_each(|x| (0..8).for_each(|y| maps.wall[x * 12 + y] = 255));
        let plan = Plan::of_house(&maps);
        assert_eq!((plan.low, plan.high, plan.unit.as_str()), ([0.0; 2], [24.0; 2], "cm"));
        let expected =
            [[8.0, 0.0, 8.0, 16.0], [16.0, 0.0, 16.0, 16.0], [8.0, 0.0, 16.0, 0.0], [8.0, 16.0, 16.0, 16.0]];
        assert_eq!(plan.walls, expected);
    }
}
