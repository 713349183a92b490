//! Flat things on walls: windows in outer walls, pictures on the others.

use super::plan::{HousePlan, Room};
use super::shape::Rect;
use crate::random::Random;

/// How far a fixture stands out from its wall: less than furniture's distance from it.
pub(super) const DEPTH: f64 = 0.02;

/// Something flat on a wall, which no robot touches.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixture {
    /// The strip it covers on the plan, along the wall.
    pub strip: Rect,
    /// Height of its lower edge.
    pub bottom: f64,
    /// Height of its upper edge.
    pub top: f64,
    /// True for a window, false for a picture.
    pub is_window: bool,
}

/// The fixtures of the house named by `seed`.
pub fn hang(plan: &HousePlan, seed: u64) -> Vec<Fixture> {
    let mut random = Random::stream(seed, 3);
    let sides = plan.rooms.iter().flat_map(|room| (0..4).map(move |side| (room, side)));
    sides.flat_map(|(room, side)| on_wall(plan, room, side, &mut random)).collect()
}

/// Fixtures on side 0..4 (low x, high x, low y, high y) of a room, where no door is.
fn on_wall(plan: &HousePlan, room: &Room, side: usize, random: &mut Random) -> Vec<Fixture> {
    let (axis, along) = (side / 2, 1 - side / 2);
    let length = room.floor.size()[along];
    let mut fixtures: Vec<Fixture> = Vec::new();
    for _ in 0..(length / 2.2) as usize {
        let is_window = random.chance(0.6);
        let width = if is_window { random.range(0.9, 1.6) } else { random.range(0.4, 0.9) };
        let height = if is_window { random.range(0.9, 1.2) } else { random.range(0.4, 0.8) };
        let start = room.floor.min[along] + 0.3 + random.unit() * (length - width - 0.6).max(0.0);
        let (bottom, top) =
            if is_window { (2.1 - height, 2.1) } else { (1.5 - height / 2.0, 1.5 + height / 2.0) };
        let mut strip = room.floor;
        strip.min[along] = start;
        strip.max[along] = start + width;
        if side.is_multiple_of(2) {
            strip.max[axis] = strip.min[axis] + DEPTH;
        } else {
            strip.min[axis] = strip.max[axis] - DEPTH;
        }
        let crowded = plan.doors_of(room.id).any(|door| door.gap.grown(0.15).overlaps(&strip))
            || fixtures.iter().any(|other| other.strip.grown(0.2).overlaps(&strip));
        let fits = width + 0.6 <= length && is_window == is_outer(plan, &strip, axis, side % 2 == 1);
        if fits && !crowded {
            fixtures.push(Fixture { strip, bottom, top, is_window });
        }
    }
    fixtures
}

/// True if nothing but outside lies behind the wall along the whole strip.
fn is_outer(plan: &HousePlan, strip: &Rect, axis: usize, high: bool) -> bool {
    let beyond = plan.thickness + 0.1;
    let mut behind = *strip;
    if high {
        behind.max[axis] += beyond;
    } else {
        behind.min[axis] -= beyond;
    }
    let own = strip.centre();
    !plan.rooms.iter().any(|room| room.floor.overlaps(&behind) && !room.floor.contains(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::floor_map;

    /// Evaluated by the floor map: a window has outside behind it, a picture a room.
    #[test]
    fn windows_look_outside_and_pictures_hang_inside() {
        let (mut windows, mut pictures) = (0, 0);
        for seed in 0..40 {
            let plan = HousePlan::generate(seed);
            let maps = floor_map::draw(&plan);
            for fixture in hang(&plan, seed) {
                let [x, y] = fixture.strip.centre();
                let room = plan.room_at([x, y]).expect("fixtures are in rooms");
                let axis = usize::from(fixture.strip.size()[0] > fixture.strip.size()[1]);
                let inward = (room.floor.centre()[axis] - [x, y][axis]).signum();
                let mut behind = [x, y];
                behind[axis] -= inward * (plan.thickness + 0.05);
                let at = maps.index((behind[0] / 0.02) as usize, (behind[1] / 0.02) as usize);
                if fixture.is_window {
                    assert_eq!(maps.room_id[at], 0, "a window into a room");
                    windows += 1;
                } else {
                    pictures += 1;
                }
                assert!(plan.doors.iter().all(|door| !door.gap.overlaps(&fixture.strip.grown(0.05))));
            }
        }
        assert!(windows > 200 && pictures > 100, "{windows} {pictures}");
    }
}
