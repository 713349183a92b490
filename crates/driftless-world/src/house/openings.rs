//! Doors that join all rooms of a layout, and the walls that remain between them.

use super::layout::{CellRect, Layout};
use crate::random::Random;

/// Solid wall on either side of a door, in cells.
const JAMB: i32 = 5;
/// Width of doors in cells: 0.8 m to 1.0 m.
const DOOR_WIDTHS: std::ops::RangeInclusive<i32> = 40..=50;

/// An opening of the wall between two rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub gap: CellRect,
    pub rooms: [usize; 2],
}

/// Doors that make every room reachable from every other, plus a few more; `None` if two rooms
/// share too little wall for that.
pub(super) fn draw_doors(layout: &Layout, random: &mut Random) -> Option<Vec<Opening>> {
    let mut shared = Vec::new();
    for i in 0..layout.rooms.len() {
        for j in 0..i {
            shared.extend(shared_wall(layout, i, j));
        }
    }
    random.shuffle(&mut shared);
    // Corridors are there to be used: their doors come first.
    let corridor = layout.corridor;
    shared.sort_by_key(|wall| !wall.rooms.iter().any(|&room| Some(room) == corridor));
    let mut group: Vec<usize> = (0..layout.rooms.len()).collect();
    let mut doors = Vec::new();
    for wall in shared {
        let [a, b] = wall.rooms.map(|room| group[room]);
        if a == b && !random.chance(0.3) {
            continue;
        }
        group.iter_mut().filter(|g| **g == a).for_each(|g| *g = b);
        doors.push(place_door(&wall, random));
    }
    group.iter().all(|&g| g == group[0]).then_some(doors)
}

/// The stretch of wall directly between two rooms, if it is wide enough for any door.
fn shared_wall(layout: &Layout, i: usize, j: usize) -> Option<Opening> {
    let (a, b) = (layout.rooms[i], layout.rooms[j]);
    (0..2).find_map(|axis| {
        let along = 1 - axis;
        let (low, high) = if a.min[axis] < b.min[axis] { (a, b) } else { (b, a) };
        let mut gap = a;
        gap.min[axis] = low.max[axis];
        gap.max[axis] = high.min[axis];
        gap.min[along] = a.min[along].max(b.min[along]);
        gap.max[along] = a.max[along].min(b.max[along]);
        let fits = gap.side(axis) == layout.wall && gap.side(along) >= DOOR_WIDTHS.end() + 2 * JAMB;
        fits.then_some(Opening { gap, rooms: [i, j] })
    })
}

fn place_door(wall: &Opening, random: &mut Random) -> Opening {
    let mut gap = wall.gap;
    // A wall is longer than it is thick: the shared stretch is at least a door wide.
    let along = usize::from(gap.side(1) > gap.side(0));
    let width = DOOR_WIDTHS.start() + random.below(DOOR_WIDTHS.count()) as i32;
    let room = gap.side(along) - 2 * JAMB - width;
    gap.min[along] += JAMB + random.below(room as usize + 1) as i32;
    gap.max[along] = gap.min[along] + width;
    Opening { gap, ..*wall }
}

/// Everything within a wall's thickness of a room that is neither room nor door, as rectangles.
pub(super) fn walls(layout: &Layout, doors: &[Opening]) -> Vec<CellRect> {
    let outer: Vec<CellRect> = layout.rooms.iter().map(|room| room.grown(layout.wall)).collect();
    let open: Vec<CellRect> = layout.rooms.iter().copied().chain(doors.iter().map(|door| door.gap)).collect();
    let [xs, ys] = [0, 1].map(|axis| {
        let edges = outer.iter().chain(&open).flat_map(|rect| [rect.min[axis], rect.max[axis]]);
        let mut edges: Vec<i32> = edges.collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    });
    // Between neighbouring edges nothing changes, so one cell stands for all.
    let solid = |cell| outer.iter().any(|r| r.holds(cell)) && !open.iter().any(|r| r.holds(cell));
    let mut walls: Vec<CellRect> = Vec::new();
    for x in xs.windows(2) {
        let mut column: Vec<CellRect> = Vec::new();
        for y in ys.windows(2).filter(|y| solid([x[0], y[0]])) {
            match column.last_mut() {
                Some(run) if run.max[1] == y[0] => run.max[1] = y[1],
                _ => column.push(CellRect { min: [x[0], y[0]], max: [x[1], y[1]] }),
            }
        }
        for run in column {
            let same = |w: &&mut CellRect| {
                w.max[0] == run.min[0] && w.min[1] == run.min[1] && w.max[1] == run.max[1]
            };
            match walls.iter_mut().find(same) {
                Some(wall) => wall.max[0] = run.max[0],
                None => walls.push(run),
            }
        }
    }
    walls
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cell by cell, in a small layout: each cell is room, door, wall or outside, never two.
    #[test]
    fn walls_fill_exactly_the_rest() {
        let mut random = Random::new(5);
        let (layout, doors) = loop {
            let layout = Layout::draw(&mut random);
            if let Some(doors) = draw_doors(&layout, &mut random) {
                break (layout, doors);
            }
        };
        let walls = walls(&layout, &doors);
        for x in (-700..1200).step_by(3) {
            for y in (-700..1200).step_by(3) {
                let within = |rects: &[CellRect]| rects.iter().filter(|r| r.holds([x, y])).count();
                let near = layout.rooms.iter().any(|room| room.grown(layout.wall).holds([x, y]));
                let gaps: Vec<CellRect> = doors.iter().map(|door| door.gap).collect();
                let covered = within(&layout.rooms) + within(&gaps) + within(&walls);
                assert_eq!(covered, usize::from(near), "at {x}, {y}");
            }
        }
    }
}
