//! Outline and rooms: blocks put together, then cut again and again, on a grid of 2 cm.
//!
//! Whole grid cells make neighbouring walls meet exactly, and the floor map needs no rounding.

use crate::random::Random;

/// Cells in a metre.
const METRE: f64 = 50.0;
/// No room side is shorter than this, corridors excepted.
const SHORTEST_SIDE: i32 = 120;
/// Rooms are cut until a house has about one for so many square metres of floor plan.
const AREA_PER_ROOM: f64 = 39.0;

/// A rectangle of whole cells, `max` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CellRect {
    pub min: [i32; 2],
    pub max: [i32; 2],
}

impl CellRect {
    pub fn side(&self, axis: usize) -> i32 {
        self.max[axis] - self.min[axis]
    }

    fn area(&self) -> f64 {
        f64::from(self.side(0)) * f64::from(self.side(1))
    }

    pub fn grown(&self, by: i32) -> Self {
        Self { min: self.min.map(|v| v - by), max: self.max.map(|v| v + by) }
    }

    pub fn holds(&self, cell: [i32; 2]) -> bool {
        (0..2).all(|k| self.min[k] <= cell[k] && cell[k] < self.max[k])
    }

    /// Two parts with a strip of `gap` cells between them that starts at `at`.
    fn cut(&self, axis: usize, at: i32, gap: i32) -> (Self, Self) {
        let (mut low, mut high) = (*self, *self);
        low.max[axis] = at;
        high.min[axis] = at + gap;
        (low, high)
    }
}

/// The insides of rooms, a wall's thickness apart where they are neighbours.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub rooms: Vec<CellRect>,
    /// Which room is the corridor, if there is one.
    pub corridor: Option<usize>,
    /// Thickness of all walls in cells.
    pub wall: i32,
}

impl Layout {
    /// A random outline with random rooms. Whether all rooms can be reached is not known yet.
    pub fn draw(random: &mut Random) -> Self {
        let area = loop {
            let area = 193.0 + 60.0 * random.normal();
            if (85.0..345.0).contains(&area) {
                break area;
            }
        };
        let wall = 5 + random.below(6) as i32;
        let mut layout = Self { rooms: outline(area, wall, random), corridor: None, wall };
        let wished = area / AREA_PER_ROOM * (0.2 * random.normal() - 0.02).exp();
        let wished = ((wished + random.unit()).floor() as usize).max(3);
        if wished >= 5 && random.chance(0.7) {
            layout.cut_corridor(random);
        }
        while layout.rooms.len() < wished && layout.cut_room(random) {}
        layout
    }

    /// A corridor through the main block, along its longer side, with a half on either side.
    fn cut_corridor(&mut self, random: &mut Random) {
        let block = self.rooms[0];
        let across = usize::from(block.side(0) > block.side(1));
        let width = 60 + random.below(31) as i32;
        let free = block.side(across) - width - 2 * self.wall;
        if free < 2 * SHORTEST_SIDE {
            return;
        }
        let first = (f64::from(free) * random.range(0.35, 0.65)) as i32;
        let first = first.clamp(SHORTEST_SIDE, free - SHORTEST_SIDE);
        let (low, rest) = block.cut(across, block.min[across] + first, self.wall);
        let (corridor, high) = rest.cut(across, rest.min[across] + width, self.wall);
        self.rooms[0] = low;
        self.rooms.extend([high, corridor]);
        self.corridor = Some(self.rooms.len() - 1);
    }

    /// Cuts one room in two, large ones rather than small ones; false if none is large enough.
    fn cut_room(&mut self, random: &mut Random) -> bool {
        let shortest = 2 * SHORTEST_SIDE + self.wall;
        let weights: Vec<f64> = (0..self.rooms.len())
            .map(|i| (i, self.rooms[i]))
            .map(|(i, room)| {
                let fits = Some(i) != self.corridor && room.side(0).max(room.side(1)) >= shortest;
                if fits { room.area().powi(2) } else { 0.0 }
            })
            .collect();
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            return false;
        }
        let mut left = random.range(0.0, total);
        let chosen = weights.iter().position(|w| {
            left -= w;
            left < 0.0
        });
        let room = self.rooms[chosen.unwrap_or(0)];
        let longer = usize::from(room.side(1) > room.side(0));
        let axis = if room.side(1 - longer) >= shortest && random.chance(0.15) { 1 - longer } else { longer };
        let free = room.side(axis) - self.wall;
        let first = (f64::from(free) * random.range(0.33, 0.67)) as i32;
        let first = first.clamp(SHORTEST_SIDE, free - SHORTEST_SIDE);
        let (low, high) = room.cut(axis, room.min[axis] + first, self.wall);
        self.rooms[chosen.unwrap_or(0)] = low;
        self.rooms.push(high);
        true
    }
}

/// The insides of the blocks a house of `area` square metres is put together from: one, or a main
/// block with one or two wings, which gives L, T and Z shapes.
fn outline(area: f64, wall: i32, random: &mut Random) -> Vec<CellRect> {
    let wings = [0, 1, 1, 2][random.below(4)];
    let shares = [random.range(0.18, 0.34), random.range(0.14, 0.2)];
    let main_area = area * (1.0 - shares[..wings].iter().sum::<f64>());
    let aspect = random.range(1.0, 1.6);
    let long = (main_area * aspect).sqrt();
    let mut sides = [long, main_area / long].map(|metres| (metres * METRE) as i32 - 2 * wall);
    if random.chance(0.5) {
        sides.reverse();
    }
    let main = CellRect { min: [0, 0], max: sides };
    let mut blocks = vec![main];
    let first_side = random.below(4);
    for (i, share) in shares.iter().enumerate().take(wings) {
        let side = (first_side + i * (1 + random.below(3))) % 4;
        blocks.push(wing(&main, side, area * share, wall, random));
    }
    blocks
}

/// A wing on side 0..4 (low x, high x, low y, high y) of the main block.
fn wing(main: &CellRect, side: usize, area: f64, wall: i32, random: &mut Random) -> CellRect {
    let (axis, high) = (side / 2, side % 2 == 1);
    let along = 1 - axis;
    let cells = area * METRE * METRE;
    let widest = 0.8 * f64::from(main.side(along));
    let length = (cells * random.range(0.9, 1.8)).sqrt().min(widest);
    let depth = (cells / length) as i32;
    let length = length as i32;
    let room = main.side(along) - length;
    let offset = [0, room, random.below(room.max(1) as usize) as i32][random.below(3)];
    let mut block = *main;
    block.min[along] = main.min[along] + offset;
    block.max[along] = block.min[along] + length;
    if high {
        block.min[axis] = main.max[axis] + wall;
        block.max[axis] = block.min[axis] + depth;
    } else {
        block.max[axis] = main.min[axis] - wall;
        block.min[axis] = block.max[axis] - depth;
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_keep_a_wall_between_them() {
        for seed in 0..300 {
            let layout = Layout::draw(&mut Random::new(seed));
            for (i, a) in layout.rooms.iter().enumerate() {
                for b in &layout.rooms[..i] {
                    let a = a.grown(layout.wall);
                    let apart = (0..2).any(|k| a.max[k] <= b.min[k] || b.max[k] <= a.min[k]);
                    assert!(apart, "seed {seed}: {layout:?}");
                }
            }
        }
    }

    #[test]
    fn only_corridors_are_narrow() {
        for seed in 0..300 {
            let layout = Layout::draw(&mut Random::new(seed));
            for (i, room) in layout.rooms.iter().enumerate() {
                let shortest = room.side(0).min(room.side(1));
                let least = if Some(i) == layout.corridor { 60 } else { SHORTEST_SIDE };
                assert!(shortest >= least, "seed {seed}: {shortest}");
            }
        }
    }
}
