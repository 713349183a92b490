//! The floor plan of a house, as PF-net's records have it.

use crate::error::{Error, Result};
use crate::files::png_image::{MAX_PIXELS, MAX_SIDE};

/// Four maps of the same size, **indexed \[x\]\[y\] as in the file**: a PNG row is a column of the house.
///
/// Pixel (x, y) is number `x * height + y`; the getters know that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HouseMaps {
    /// Pixels along x: the number of rows of the PNG.
    pub width: usize,
    /// Pixels along y: the number of columns of the PNG.
    pub height: usize,
    /// 255 where a wall is, 0 elsewhere, outside of the house too.
    pub wall: Vec<u8>,
    /// 255 where a door is, 0 elsewhere.
    pub door: Vec<u8>,
    /// Bit i (0..=8) is set if the pixel belongs to a room of category i.
    pub room_type: Vec<u16>,
    /// Number of the room; where rooms overlap, the higher one.
    pub room_id: Vec<u16>,
}

impl HouseMaps {
    /// Where pixel (x, y) is stored.
    pub fn index(&self, x: usize, y: usize) -> usize {
        assert!(x < self.width && y < self.height, "pixel ({x}, {y}) is not on the map");
        x * self.height + y
    }

    /// The wall map at (x, y).
    pub fn wall(&self, x: usize, y: usize) -> u8 {
        self.wall[self.index(x, y)]
    }

    /// The door map at (x, y).
    pub fn door(&self, x: usize, y: usize) -> u8 {
        self.door[self.index(x, y)]
    }

    /// The room categories at (x, y), a bit each.
    pub fn room_type(&self, x: usize, y: usize) -> u16 {
        self.room_type[self.index(x, y)]
    }

    /// The room number at (x, y).
    pub fn room_id(&self, x: usize, y: usize) -> u16 {
        self.room_id[self.index(x, y)]
    }

    /// Checks that the four maps have the size they should have.
    pub fn check(&self) -> Result<()> {
        let (width, height) = (self.width, self.height);
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS {
            return Err(Error::new(format!(
                "{width} x {height} pixels; 1 to {MAX_SIDE} a side and {MAX_PIXELS} in all are possible"
            ))
            .in_field("map_wall"));
        }
        let lengths = [
            ("map_wall", self.wall.len()),
            ("map_door", self.door.len()),
            ("map_roomtype", self.room_type.len()),
            ("map_roomid", self.room_id.len()),
        ];
        match lengths.into_iter().find(|&(_, length)| length != width * height) {
            Some((name, length)) => {
                Err(Error::new(format!("{length} pixels do not make {width} x {height}")).in_field(name))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_indexed_by_x_first() {
        let mut maps = HouseMaps {
            width: 2,
            height: 3,
            wall: vec![0, 1, 2, 3, 4, 5],
            door: vec![10, 11, 12, 13, 14, 15],
            room_type: vec![20, 21, 22, 23, 24, 25],
            room_id: vec![30, 31, 32, 33, 34, 35],
        };
        maps.check().unwrap();
        let at = (maps.wall(1, 0), maps.door(0, 2), maps.room_type(1, 2), maps.room_id(1, 1));
        assert_eq!(at, (3, 12, 25, 34));
        maps.door.pop();
        assert_eq!(maps.check().unwrap_err().to_string(), "field map_door: 5 pixels do not make 2 x 3");
        maps.width = 1 << 40;
        assert!(maps.check().is_err());
    }
}
