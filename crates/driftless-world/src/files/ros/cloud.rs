//! A cloud of points as a planar scan: of all points about as high as the sensor, the nearest in each direction.

use super::{Cursor, Encoding, header};
use crate::error::{Error, Result};
use crate::files::rigid::Rigid;

/// Directions of the scan, all around from -180 degrees.
pub const BINS: usize = 360;
/// Points this much higher or lower than the sensor do not count, in metres.
const BAND: f64 = 0.1;
/// Points nearer than this are the robot itself.
const NEAREST: f64 = 0.2;
/// The number that stands for 32-bit floats.
const FLOAT32: u8 = 7;

/// Decodes a cloud, and flattens it in the directions of a robot that has its sensor at `mount`, around the sensor.
pub fn planar(encoding: Encoding, bytes: &[u8], mount: &Rigid) -> Result<Vec<f32>> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    header(&mut cursor)?;
    let (height, width) = (cursor.u32()? as usize, cursor.u32()? as usize);
    let places = fields(&mut cursor)?;
    let big_endian = cursor.u8()? != 0;
    let (point, row) = (cursor.u32()? as usize, cursor.u32()? as usize);
    let data = cursor.bytes()?;
    let fits = places.iter().all(|&at| at.checked_add(4).is_some_and(|end| end <= point));
    let whole = width.checked_mul(point).is_some_and(|bytes| bytes <= row);
    if big_endian || !fits || !whole || row.checked_mul(height).is_none_or(|bytes| bytes > data.len()) {
        return Err(Error::new("has points that do not fit its bytes, or big-endian ones").in_field("data"));
    }
    let mut ranges = vec![f32::NAN; BINS];
    for row in data.chunks_exact(row.max(1)).take(height) {
        for bytes in row.chunks_exact(point).take(width) {
            let number = |at: usize| {
                f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
            };
            let [x, y, z] = mount.rotated(places.map(number));
            let range = x.hypot(y);
            if range.is_finite() && z.abs() <= BAND && range >= NEAREST {
                let turn = (y.atan2(x).to_degrees() + 180.0) * BINS as f64 / 360.0;
                let slot = &mut ranges[turn.round() as usize % BINS];
                *slot = slot.min(range as f32);
            }
        }
    }
    Ok(ranges)
}

/// Where in a point its x, y and z are.
fn fields(cursor: &mut Cursor) -> Result<[usize; 3]> {
    let mut places = [None; 3];
    for _ in 0..cursor.u32()? {
        let (name, at, kind) = (cursor.text()?, cursor.u32()? as usize, cursor.u8()?);
        cursor.u32()?; // how many numbers it has
        if let Some(axis) = ["x", "y", "z"].iter().position(|&axis| axis == name) {
            places[axis] = (kind == FLOAT32).then_some(at);
        }
    }
    match places {
        [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
        _ => Err(Error::new("has no x, y and z of 32-bit floats").in_field("fields")),
    }
}
