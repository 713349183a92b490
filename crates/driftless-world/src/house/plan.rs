//! The plan of a house in metres: rooms with a purpose, doors between them, walls around them.

use super::layout::{CellRect, Layout};
use super::openings::{Opening, draw_doors, walls};
use super::shape::Rect;
use crate::random::Random;

/// Side of a grid cell of plans and of a pixel of floor maps, in metres.
pub const PIXEL: f64 = 0.02;
/// Outside land around the house, in cells.
const MARGIN: i32 = 20;

/// What a room is for: bit `kind as u16` of a room-type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoomKind {
    /// Sofas, a television.
    Living,
    /// Counters, a refrigerator.
    Kitchen,
    /// A large table with chairs.
    Dining,
    /// Beds and wardrobes.
    Bedroom,
    /// A tub, a basin, a toilet.
    Bathroom,
    /// A desk and shelves.
    Study,
    /// Nothing but doors.
    Corridor,
    /// Crates and shelves.
    Storage,
    /// Toys and low tables.
    Playroom,
}

impl RoomKind {
    /// All kinds, in the order of their bits.
    pub const ALL: [Self; 9] = [
        Self::Living,
        Self::Kitchen,
        Self::Dining,
        Self::Bedroom,
        Self::Bathroom,
        Self::Study,
        Self::Corridor,
        Self::Storage,
        Self::Playroom,
    ];

    /// The kind's bit in a room-type map.
    pub fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A room: a rectangle of floor.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// 1 and up; 0 is outside.
    pub id: u8,
    /// What it is for.
    pub kind: RoomKind,
    /// Its floor, from wall to wall.
    pub floor: Rect,
}

/// A passage through a wall, always open.
#[derive(Clone, Debug, PartialEq)]
pub struct Door {
    /// The part of the wall that is missing.
    pub gap: Rect,
    /// Ids of the rooms it joins.
    pub rooms: [u8; 2],
}

/// Rooms, doors and walls, all at positive coordinates with a strip of outside around them.
#[derive(Clone, Debug, PartialEq)]
pub struct HousePlan {
    /// Extent along x and y, with the outside strip.
    pub extent: [f64; 2],
    /// All rooms; the one with id `i` is at index `i - 1`.
    pub rooms: Vec<Room>,
    /// All doors; every room can be reached through them.
    pub doors: Vec<Door>,
    /// Bands of wall that do not overlap.
    pub walls: Vec<Rect>,
    /// Thickness of the walls.
    pub thickness: f64,
}

impl HousePlan {
    /// The plan named by `seed`.
    ///
    /// ```
    /// let plan = driftless_world::house::HousePlan::generate(7);
    /// assert!(plan.rooms.len() >= 3 && plan.doors.len() + 1 >= plan.rooms.len());
    /// ```
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::stream(seed, 0);
        // Rarely, a cut leaves a wing without a stretch of wall for a door: another layout then.
        loop {
            let layout = Layout::draw(&mut random);
            if let Some(doors) = draw_doors(&layout, &mut random) {
                return Self::from_layout(&layout, &doors, &mut random);
            }
        }
    }

    fn from_layout(layout: &Layout, doors: &[Opening], random: &mut Random) -> Self {
        let walls = walls(layout, doors);
        let lowest = |axis: usize| walls.iter().map(|wall| wall.min[axis]).min().unwrap_or(0) - MARGIN;
        let highest = |axis: usize| walls.iter().map(|wall| wall.max[axis]).max().unwrap_or(0) + MARGIN;
        let origin = [lowest(0), lowest(1)];
        let metres = |rect: &CellRect| {
            let corner = |cell: [i32; 2]| [0, 1].map(|k| f64::from(cell[k] - origin[k]) * PIXEL);
            Rect::new(corner(rect.min), corner(rect.max))
        };
        let floors: Vec<Rect> = layout.rooms.iter().map(metres).collect();
        let kinds = assign_kinds(&floors, layout.corridor, random);
        let id = |index: usize| index as u8 + 1;
        Self {
            extent: [0, 1].map(|k| f64::from(highest(k) - origin[k]) * PIXEL),
            rooms: (0..floors.len()).map(|i| Room { id: id(i), kind: kinds[i], floor: floors[i] }).collect(),
            doors: doors.iter().map(|d| Door { gap: metres(&d.gap), rooms: d.rooms.map(id) }).collect(),
            walls: walls.iter().map(metres).collect(),
            thickness: f64::from(layout.wall) * PIXEL,
        }
    }

    /// Area within the outer walls, walls included, in square metres.
    pub fn footprint(&self) -> f64 {
        let walls: f64 = self.walls.iter().map(Rect::area).sum();
        let doors: f64 = self.doors.iter().map(|door| door.gap.area()).sum();
        walls + doors + self.rooms.iter().map(|room| room.floor.area()).sum::<f64>()
    }

    /// The room whose floor holds `point`; doorways and outside belong to none.
    pub fn room_at(&self, point: [f64; 2]) -> Option<&Room> {
        self.rooms.iter().find(|room| room.floor.contains(point))
    }

    /// The doors of room `id`.
    pub fn doors_of(&self, id: u8) -> impl Iterator<Item = &Door> {
        self.doors.iter().filter(move |door| door.rooms.contains(&id))
    }
}

/// The largest room is for living, small ones for bathing and storing, the rest as it comes, but
/// no house is without a kitchen and a bedroom if it has the rooms.
fn assign_kinds(floors: &[Rect], corridor: Option<usize>, random: &mut Random) -> Vec<RoomKind> {
    let mut kinds = vec![RoomKind::Corridor; floors.len()];
    let mut by_size: Vec<usize> = (0..floors.len()).filter(|&i| Some(i) != corridor).collect();
    by_size.sort_by(|&a, &b| floors[b].area().total_cmp(&floors[a].area()));
    let mut wanted = vec![RoomKind::Dining, RoomKind::Study, RoomKind::Playroom, RoomKind::Bedroom];
    random.shuffle(&mut wanted);
    wanted.extend([RoomKind::Kitchen, RoomKind::Bedroom]);
    let mut small = vec![RoomKind::Storage, RoomKind::Bathroom];
    for (rank, &room) in by_size.iter().enumerate() {
        kinds[room] = if rank == 0 {
            RoomKind::Living
        } else if floors[room].area() < 20.0 && !small.is_empty() {
            small.pop().unwrap_or(RoomKind::Bathroom)
        } else {
            wanted.pop().unwrap_or_else(|| RoomKind::ALL[random.below(6)])
        };
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn houses_have_the_sizes_of_the_paper() {
        let plans: Vec<HousePlan> = (0..200).map(HousePlan::generate).collect();
        let areas: Vec<f64> = plans.iter().map(HousePlan::footprint).collect();
        let rooms: Vec<f64> = plans.iter().flat_map(|p| p.rooms.iter().map(|r| r.floor.area())).collect();
        let counts: Vec<usize> = plans.iter().map(|plan| plan.rooms.len()).collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!((mean(&areas) - 200.0).abs() < 20.0, "{}", mean(&areas));
        assert!((mean(&rooms) - 37.0).abs() < 3.7, "{}", mean(&rooms));
        assert!(areas.iter().all(|area| (75.0..360.0).contains(area)));
        assert!(*least <= 3 && *most >= 8, "{least} to {most} rooms");
        let spread = mean(&areas.iter().map(|a| (a - mean(&areas)).powi(2)).collect::<Vec<_>>()).sqrt();
        assert!(spread > 40.0, "{spread}");
        let all_kinds =
            RoomKind::ALL.iter().all(|k| plans.iter().flat_map(|p| &p.rooms).any(|r| r.kind == *k));
        assert!(all_kinds);
    }

    #[test]
    fn doors_join_all_rooms_and_touch_both() {
        for seed in 0..300 {
            let plan = HousePlan::generate(seed);
            let mut reached = vec![false; plan.rooms.len() + 1];
            let mut queue = vec![1_u8];
            while let Some(id) = queue.pop() {
                if !std::mem::replace(&mut reached[usize::from(id)], true) {
                    queue.extend(plan.doors_of(id).flat_map(|door| door.rooms));
                }
            }
            assert!(reached[1..].iter().all(|&r| r), "seed {seed}");
            for door in &plan.doors {
                let size = door.gap.size();
                let width = size[0].max(size[1]);
                assert!((0.799..=1.001).contains(&width), "{width}");
                assert!((size[0].min(size[1]) - plan.thickness).abs() < 1e-9);
                for id in door.rooms {
                    let floor = plan.rooms[usize::from(id) - 1].floor;
                    assert!(floor.grown(1e-9).overlaps(&door.gap) && !floor.grown(-1e-9).overlaps(&door.gap));
                }
            }
            assert!((0.099..=0.201).contains(&plan.thickness));
        }
    }

    #[test]
    fn outlines_are_not_always_rectangles() {
        let filled = |plan: &HousePlan| {
            let outer = (plan.extent[0] - 0.8) * (plan.extent[1] - 0.8);
            plan.footprint() / outer
        };
        let full = (0..100).filter(|&seed| filled(&HousePlan::generate(seed)) > 0.999).count();
        assert!((10..60).contains(&full), "{full} of 100 are rectangles");
    }
}
