//! Puts furniture where it belongs, without blocking doors or cutting off floor.

use super::free_space::{FreeSpace, Obstacles};
use super::furniture::{Item, ItemKind};
use super::plan::{HousePlan, Room, RoomKind};
use super::shape::Rect;
use crate::random::Random;

/// Floor in front of a door that stays free, in metres.
const DOOR_CLEARANCE: f64 = 0.9;
/// The largest robot that still gets everywhere.
const ROBOT_RADIUS: f64 = 0.2;
/// Furniture does not touch walls, where pictures hang.
const WALL_GAP: f64 = 0.03;
/// Random places to try before an item is left out.
const TRIES: usize = 12;

/// The furniture of the house named by `seed`.
pub fn furnish(plan: &HousePlan, seed: u64) -> Vec<Item> {
    let mut random = Random::stream(seed, 1);
    plan.rooms.iter().flat_map(|room| furnish_room(plan, room, &mut random)).collect()
}

fn furnish_room(plan: &HousePlan, room: &Room, random: &mut Random) -> Vec<Item> {
    let doorsteps: Vec<Rect> = plan.doors_of(room.id).map(|door| doorstep(&door.gap, &room.floor)).collect();
    let mut items: Vec<Item> = Vec::new();
    for kind in wishes(room, random) {
        for _ in 0..TRIES {
            let item = try_place(Item::model(kind, random), &room.floor, random);
            let fits = room.floor.grown(-WALL_GAP + 1e-6).encloses(&item.bounds)
                && !doorsteps.iter().any(|step| step.overlaps(&item.bounds))
                && !items.iter().any(|other| other.bounds.grown(0.05).overlaps(&item.bounds));
            if !fits {
                continue;
            }
            items.push(item);
            if leaves_room(&room.floor, &doorsteps, &items) {
                break;
            }
            items.pop();
        }
    }
    items
}

/// The floor in front of a door, inside the room.
fn doorstep(gap: &Rect, floor: &Rect) -> Rect {
    let size = gap.size();
    let mut step = *gap;
    if size[0] < size[1] {
        step.min[0] -= DOOR_CLEARANCE;
        step.max[0] += DOOR_CLEARANCE;
    } else {
        step.min[1] -= DOOR_CLEARANCE;
        step.max[1] += DOOR_CLEARANCE;
    }
    let clip = |point: [f64; 2]| [0, 1].map(|k| point[k].clamp(floor.min[k], floor.max[k]));
    Rect::new(clip(step.min), clip(step.max))
}

/// What a room of this kind and size could hold, most important first.
fn wishes(room: &Room, random: &mut Random) -> Vec<ItemKind> {
    use ItemKind as I;
    let mut wishes = match room.kind {
        RoomKind::Living => vec![I::Sofa, I::Television, I::Table, I::Armchair, I::Shelf],
        RoomKind::Kitchen => vec![I::Counter, I::Refrigerator, I::DiningSet, I::Counter],
        RoomKind::Dining => vec![I::DiningSet, I::Cupboard],
        RoomKind::Bedroom => vec![I::Bed, I::Cupboard, I::Chair],
        RoomKind::Bathroom => vec![I::Toilet, I::Basin, I::Bathtub],
        RoomKind::Study => vec![I::Desk, I::Shelf, I::Shelf, I::Armchair],
        RoomKind::Corridor => vec![],
        RoomKind::Storage => vec![I::Crates, I::Shelf, I::Crates],
        RoomKind::Playroom => vec![I::Toys, I::Cupboard, I::Toys, I::Sofa],
    };
    let extras = match room.kind {
        RoomKind::Bathroom => [I::Cupboard, I::Plant, I::Cupboard],
        RoomKind::Storage => [I::Crates, I::Cupboard, I::Shelf],
        RoomKind::Kitchen => [I::Plant, I::Cupboard, I::Chair],
        _ => [I::Plant, I::Lamp, I::Shelf],
    };
    let more = random.below(3) + (room.floor.area() / 12.0) as usize;
    wishes.extend((0..more).map(|_| extras[random.below(3)]));
    wishes
}

fn try_place(model: Item, floor: &Rect, random: &mut Random) -> Item {
    let quarters = random.below(4);
    let free = floor.grown(-WALL_GAP);
    if model.kind.is_free_standing() {
        let inner = free.grown(-0.5);
        let at = [0, 1].map(|k| random.range(inner.min[k], inner.max[k]));
        return model.placed(at, quarters);
    }
    // Quarter turn q lets a model face +y, -x, -y, +x: its back is at the opposite wall.
    let [w0, w1] = [-model.bounds.min[0], model.bounds.max[0]];
    let slide = |low: f64, high: f64, random: &mut Random| match random.below(4) {
        0 => low + w0.max(w1), // into a corner
        1 => high - w0.max(w1),
        _ => random.range(low, high),
    };
    let at = match quarters {
        0 => [slide(free.min[0], free.max[0], random), free.min[1]],
        1 => [free.max[0], slide(free.min[1], free.max[1], random)],
        2 => [slide(free.min[0], free.max[0], random), free.max[1]],
        _ => [free.min[0], slide(free.min[1], free.max[1], random)],
    };
    model.placed(at, quarters)
}

/// True if a robot can still drive from door to door, and hardly any floor is cut off.
fn leaves_room(floor: &Rect, doorsteps: &[Rect], items: &[Item]) -> bool {
    let pieces = items.iter().flat_map(|item| &item.pieces).map(|piece| piece.footprint).collect();
    let obstacles = Obstacles::new(pieces);
    // Half a square more than the radius: what hangs together on the grid does so in the room.
    let cell = 0.1;
    let radius = ROBOT_RADIUS + 0.5 * cell;
    let drivable = floor.grown(-radius);
    let space = FreeSpace::survey(floor, cell, (&obstacles, radius), |p| drivable.contains(p));
    let parts: Vec<Option<u32>> = doorsteps.iter().map(|step| space.part_at(step.centre())).collect();
    let joined = parts.iter().all(|part| part.is_some() && *part == parts[0]);
    joined && space.largest_share() > 0.97 && space.area() > 0.3 * floor.area()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_stay_free_and_items_apart() {
        let mut pieces = 0;
        for seed in 0..60 {
            let plan = HousePlan::generate(seed);
            let items = furnish(&plan, seed);
            pieces += items.len();
            for (i, item) in items.iter().enumerate() {
                let room = plan.room_at(item.bounds.centre()).expect("furniture is in a room");
                assert!(room.floor.encloses(&item.bounds));
                for door in plan.doors_of(room.id) {
                    assert!(!doorstep(&door.gap, &room.floor).overlaps(&item.bounds));
                }
                assert!(items[..i].iter().all(|other| !other.bounds.overlaps(&item.bounds)));
            }
        }
        assert!((15.0..60.0).contains(&(pieces as f64 / 60.0)), "{pieces} items in 60 houses");
    }

    /// The whole house at once, on a finer grid than the one furniture is placed with.
    #[test]
    fn a_robot_reaches_all_rooms_of_200_houses() {
        for seed in 0..200 {
            let plan = HousePlan::generate(seed);
            let obstacles = Obstacles::of(&plan, &furnish(&plan, seed));
            let inside = |p| plan.room_at(p).is_some() || plan.doors.iter().any(|door| door.gap.contains(p));
            let house = Rect::new([0.0, 0.0], plan.extent);
            let space = FreeSpace::survey(&house, 0.05, (&obstacles, ROBOT_RADIUS), inside);
            assert!(space.largest_share() > 0.95, "seed {seed}: {}", space.largest_share());
            let main = plan.doors.iter().map(|door| space.part_at(door.gap.centre()));
            let main: Vec<_> = main.collect();
            assert!(main.iter().all(|part| part.is_some() && *part == main[0]), "seed {seed}: {main:?}");
        }
    }
}
