//! Plans as PF-net's four floor maps: walls, doors, room types and room ids, 2 cm a pixel.

use super::plan::{HousePlan, PIXEL};
use super::shape::Rect;

/// Four maps of equal size, without furniture. Pixel (x, y) is at index `x * height + y`, that is
/// `map[x][y]`; it covers `x..x + 1` times `y..y + 1` when positions are metres / [`PIXEL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloorMaps {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// 255 is wall; rooms, doorways and outside are 0.
    pub wall: Vec<u8>,
    /// 255 is doorway.
    pub door: Vec<u8>,
    /// Bit i is set where a room of kind i is ([`super::RoomKind::bit`]).
    pub room_type: Vec<u16>,
    /// Id of the room; 0 is wall or outside. A doorway is part of both its rooms, and where rooms
    /// overlap the higher id wins.
    pub room_id: Vec<u8>,
}

impl FloorMaps {
    /// Draws a plan.
    pub fn draw(plan: &HousePlan) -> Self {
        let [width, height] = plan.extent.map(|metres| (metres / PIXEL).round() as usize);
        let area = width * height;
        let mut maps = Self {
            width,
            height,
            wall: vec![0; area],
            door: vec![0; area],
            room_type: vec![0; area],
            room_id: vec![0; area],
        };
        for wall in &plan.walls {
            maps.fill(wall, |maps, i| maps.wall[i] = 255);
        }
        for door in &plan.doors {
            maps.fill(&door.gap, |maps, i| maps.door[i] = 255);
        }
        for room in &plan.rooms {
            let doors = plan.doors_of(room.id).map(|door| door.gap);
            for part in doors.chain([room.floor]) {
                maps.fill(&part, |maps, i| {
                    maps.room_type[i] |= room.kind.bit();
                    maps.room_id[i] = maps.room_id[i].max(room.id);
                });
            }
        }
        maps
    }

    /// Index of the pixel that holds a position in pixels, if it is on the map.
    pub fn index(&self, x: f64, y: f64) -> Option<usize> {
        let inside = x >= 0.0 && y >= 0.0 && x < self.width as f64 && y < self.height as f64;
        inside.then(|| x as usize * self.height + y as usize)
    }

    fn fill(&mut self, rect: &Rect, mut paint: impl FnMut(&mut Self, usize)) {
        // Plans lie on the pixel grid, so rounding only undoes the division's rounding error.
        let [x0, y0] = rect.min.map(|metres| (metres / PIXEL).round() as usize);
        let [x1, y1] = rect.max.map(|metres| (metres / PIXEL).round() as usize);
        for x in x0..x1 {
            for y in y0..y1 {
                paint(self, x * self.height + y);
            }
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
            let maps = FloorMaps::draw(&plan);
            for x in 0..maps.width {
                for y in 0..maps.height {
                    let at = [(x as f64 + 0.5) * PIXEL, (y as f64 + 0.5) * PIXEL];
                    let i = maps.index(x as f64 + 0.5, y as f64 + 0.5).unwrap();
                    let wall = plan.walls.iter().any(|wall| wall.contains(at));
                    let door = plan.doors.iter().find(|door| door.gap.contains(at));
                    let room = plan.room_at(at);
                    assert_eq!((maps.wall[i] == 255, maps.door[i] == 255), (wall, door.is_some()));
                    let id = room.map(|room| room.id).or(door.map(|d| d.rooms[0].max(d.rooms[1])));
                    assert_eq!(maps.room_id[i], id.unwrap_or(0));
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
