//! What PF-net's network is fed with: images around [-1, 1], maps in [0, 2] with 0 for walls.

use super::HouseMaps;
use crate::error::{Error, Result};
use crate::trajectory::{Images, Pixels};

/// Bits of the room-type map that become channels.
pub const ROOM_TYPES: usize = 9;

/// Scales colours by `v · 2/255 − 1` and depths by `v · 2/100 − 1`: 3 channels are colours, 1 is depth,
/// 4 are both.
pub fn observations(images: &Images) -> Result<Images> {
    let colours = match images.channels {
        1 => 0,
        3 | 4 => 3,
        other => return Err(Error::new(format!("{other} channels; 1, 3 or 4 can be scaled"))),
    };
    let scale = |i: usize| {
        let largest = if i % images.channels < colours { 255.0 } else { 100.0 };
        images.pixels.get(i) * (2.0 / largest) - 1.0
    };
    let pixels = Pixels::Floats((0..images.pixels.len()).map(scale).collect());
    Ok(Images { pixels, ..*images })
}

/// Which maps the network sees, in the order of the channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapMode {
    /// Walls: 1 channel.
    #[default]
    Wall,
    /// Walls and doors: 2 channels.
    WallDoor,
    /// Walls and room types: 10 channels.
    WallRoomType,
    /// Walls, doors and room types: 11 channels.
    WallDoorRoomType,
}

impl MapMode {
    /// Number of channels.
    pub fn channels(self) -> usize {
        1 + usize::from(self.has_doors()) + if self.has_room_types() { ROOM_TYPES } else { 0 }
    }

    fn has_doors(self) -> bool {
        matches!(self, Self::WallDoor | Self::WallDoorRoomType)
    }

    fn has_room_types(self) -> bool {
        matches!(self, Self::WallRoomType | Self::WallDoorRoomType)
    }
}

/// The floor plan as one image, transposed so that rows run along y and columns along x.
///
/// Walls and doors are inverted, so 0 is occupied and 2 is free: padding with zeros, which batches of
/// unequal maps need, means walls. Room types are 2 inside and 0 outside.
pub fn map(maps: &HouseMaps, mode: MapMode) -> Images {
    let mut values = Vec::with_capacity(maps.width * maps.height * mode.channels());
    for y in 0..maps.height {
        for x in 0..maps.width {
            values.push(scaled(255 - maps.wall(x, y)));
            if mode.has_doors() {
                values.push(scaled(255 - maps.door(x, y)));
            }
            if mode.has_room_types() {
                let types = maps.room_type(x, y);
                values.extend((0..ROOM_TYPES).map(|bit| scaled(255 * (types >> bit & 1) as u8)));
            }
        }
    }
    Images {
        height: maps.height,
        width: maps.width,
        channels: mode.channels(),
        pixels: Pixels::Floats(values),
    }
}

fn scaled(value: u8) -> f32 {
    f32::from(value) * (2.0 / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(images: Images) -> Vec<f32> {
        match images.pixels {
            Pixels::Floats(values) => values,
            Pixels::Bytes(_) => panic!("floats were expected"),
        }
    }

    #[test]
    fn scales_colours_and_depth_differently() {
        let images = |channels, bytes: &[u8]| Images {
            height: 1,
            width: bytes.len() / channels,
            channels,
            pixels: Pixels::Bytes(bytes.to_vec()),
        };
        let close = |found: Vec<f32>, expected: &[f32]| {
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        };
        close(floats(observations(&images(3, &[0, 51, 255])).unwrap()), &[-1.0, -0.6, 1.0]);
        close(floats(observations(&images(1, &[0, 50, 255])).unwrap()), &[-1.0, 0.0, 4.1]);
        close(
            floats(observations(&images(4, &[0, 51, 255, 50, 255, 0, 0, 100])).unwrap()),
            &[-1.0, -0.6, 1.0, 0.0, 1.0, -1.0, -1.0, 1.0],
        );
        assert!(observations(&images(2, &[0, 0])).is_err());
    }

    #[test]
    fn maps_are_transposed_inverted_and_stacked() {
        // Indexed [x][y]: the only wall is at (0, 2), the only door at (1, 0).
        let maps = HouseMaps {
            width: 2,
            height: 3,
            wall: vec![0, 0, 255, 0, 0, 0],
            door: vec![0, 0, 0, 255, 0, 0],
            room_type: vec![0, 1, 0, 0, 0b1_0000_0010, 0],
            room_id: vec![0; 6],
        };
        let wall = map(&maps, MapMode::Wall);
        assert_eq!((wall.height, wall.width, wall.channels), (3, 2, 1));
        assert_eq!(floats(wall), [2.0, 2.0, 2.0, 2.0, 0.0, 2.0]);
        let both = floats(map(&maps, MapMode::WallDoor));
        assert_eq!(both, [2.0, 2.0, 2.0, 0.0, 2.0, 2.0, 2.0, 2.0, 0.0, 2.0, 2.0, 2.0]);
        let all = map(&maps, MapMode::WallDoorRoomType);
        assert_eq!(all.channels, 11);
        let all = floats(all);
        // Row y = 1 holds (0, 1) with category 0 and (1, 1) with categories 1 and 8.
        let pixel = |i: usize| &all[i * 11..(i + 1) * 11];
        assert_eq!(pixel(2), [2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(pixel(3), [2.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
        let types = map(&maps, MapMode::WallRoomType);
        assert_eq!((types.channels, floats(types)[3 * 10 + 2]), (10, 2.0));
    }
}
