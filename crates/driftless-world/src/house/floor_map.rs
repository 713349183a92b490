//! Plans as PF-net's four floor maps: walls, doors, room types and room ids, 2 cm a pixel.

use super::plan::{HousePlan, PIXEL};
use super::shape::Rect;
use crate::files::pfnet::HouseMaps;

/// Draws a plan, without furniture. Bit i of the room type is set where a room of kind i is
/// ([`super::RoomKind::bit`]); room id 0 is wall or outside. A doorway is part of both its rooms,
/// and where rooms overlap the higher id wins.
pub fn draw(plan: &HousePlan) -> HouseMaps {
    let [width, height] = plan.extent.map(|metres| (metres / PIXEL).round() as usize);
    let area = width * height;
    let mut maps = HouseMaps {
        width,
        height,
        wall: vec![0; area],
        door: vec![0; area],
        room_type: vec![0; area],
        room_id: vec![0; area],
    };
    for wall in &plan.walls {
        fill(&mut maps, wall, |maps, i| maps.wall[i] = 255);
    }
    for door in &plan.doors {
        fill(&mut maps, &door.gap, |maps, i| maps.door[i] = 255);
    }
    for room in &plan.rooms {
        let doors = plan.doors_of(room.id).map(|door| door.gap);
        for part in doors.chain([room.floor]) {
            fill(&mut maps, &part, |maps, i| {
                maps.room_type[i] |= room.kind.bit();
                maps.room_id[i] = maps.room_id[i].max(u16::from(room.id));
            });
        }
    }
    maps
}

fn fill(maps: &mut HouseMaps, rect: &Rect, mut paint: impl FnMut(&mut HouseMaps, usize)) {
    // Plans lie on the pixel grid, so rounding only undoes the division's rounding error.
    let [x0, y0] = rect.min.map(|metres| (metres / PIXEL).round() as usize);
    let [x1, y1] = rect.max.map(|metres| (metres / PIXEL).round() as usize);
    for x in x0..x1 {
        for y in y0..y1 {
            let at = maps.index(x, y);
            paint(maps, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pixel against the plan asked at the pixel's centre.
    #[test]
    fn pixels_agree_with_the_plan() {
        for seed in 0..5 {
            let plan = HousePlan::generate(seed);
            let maps = draw(&plan);
            for x in 0..maps.width {
                for y in 0..maps.height {
                    let at = [(x as f64 + 0.5) * PIXEL, (y as f64 + 0.5) * PIXEL];
                    let i = maps.index(x, y);
                    let wall = plan.walls.iter().any(|wall| wall.contains(at));
                    let door = plan.doors.iter().find(|door| door.gap.contains(at));
                    let room = plan.room_at(at);
                    assert_eq!((maps.wall[i] == 255, maps.door[i] == 255), (wall, door.is_some()));
                    let id = room.map(|room| room.id).or(door.map(|d| d.rooms[0].max(d.rooms[1])));
                    assert_eq!(maps.room_id[i], u16::from(id.unwrap_or(0)));
                    let kinds = room.map(|room| room.kind.bit()).or(door.map(|door| {
                        door.rooms
                            .iter()
                            .fold(0, |bits, &id| bits | plan.rooms[usize::from(id) - 1].kind.bit())
                    }));
                    assert_eq!(maps.room_type[i], kinds.unwrap_or(0));
                }
            }
            let border = (0..maps.height).all(|y| maps.wall[y] == 0 && maps.room_id[y] == 0);
            assert!(border, "outside is free and no room");
        }
    }
}
