//! Scans, poses and transforms.

use super::{Cursor, Encoding, Kind};
use crate::error::{Error, Result};
use crate::files::rigid::Rigid;

/// A transform takes more bytes than this, so that a message cannot announce more of them than it has room for.
const LEAST_TRANSFORM: usize = 64;

/// When and where a message was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Seconds; nothing if the stamp was left at zero.
    pub time: Option<f64>,
    /// The frame that its numbers are in.
    pub frame: String,
}

/// Where a frame is, as seen from the header's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    /// Time and frame.
    pub header: Header,
    /// The frame whose place it is; empty where the message has no field for it.
    pub child: String,
    /// The place.
    pub place: Rigid,
}

/// A laser's scan.
#[derive(Clone, Debug, PartialEq)]
pub struct LaserScan {
    /// Angle of the first beam.
    pub angle_min: f64,
    /// From one beam to the next; negative for a laser that turns to the right.
    pub increment: f64,
    /// Readings in metres; NaN where nothing came back or the reading is out of the laser's range.
    pub ranges: Vec<f32>,
}

/// A frame's name: ROS 1 wrote some with a slash in front.
fn frame(text: &str) -> String {
    text.trim_start_matches('/').to_owned()
}

/// Reads the header that all these messages begin with.
pub fn header(cursor: &mut Cursor) -> Result<Header> {
    let seconds = match cursor.encoding() {
        Encoding::Ros1 => {
            cursor.u32()?; // the sequence number
            f64::from(cursor.u32()?)
        }
        Encoding::Cdr => f64::from(cursor.i32()?),
    };
    let time = seconds + f64::from(cursor.u32()?) * 1e-9;
    Ok(Header { time: (time > 0.0).then_some(time), frame: frame(&cursor.text()?) })
}

fn rigid(cursor: &mut Cursor) -> Result<Rigid> {
    let (place, turn) = (cursor.doubles()?, cursor.doubles()?);
    Rigid::new(place, turn).ok_or_else(|| {
        Error::new("holds a place that is not finite, or a rotation of length 0").in_field("pose")
    })
}

/// Decodes a message that holds one pose.
pub fn pose(kind: Kind, encoding: Encoding, bytes: &[u8]) -> Result<Stamped> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    let header = header(&mut cursor)?;
    let named = matches!(kind, Kind::Odometry | Kind::TransformStamped);
    let child = if named { frame(&cursor.text()?) } else { String::new() };
    Ok(Stamped { header, child, place: rigid(&mut cursor)? })
}

/// Decodes a scan.
pub fn laser_scan(encoding: Encoding, bytes: &[u8]) -> Result<LaserScan> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    header(&mut cursor)?;
    let mut values = [0.0_f32; 7];
    for value in &mut values {
        *value = cursor.f32()?;
    }
    let [angle_min, _, increment, _, _, least, most] = values;
    let mut ranges = cursor.floats()?;
    let sound = |angle: f32| angle.is_finite() && angle.abs() < 1e3;
    if !sound(angle_min) || !sound(increment) || increment == 0.0 || ranges.is_empty() {
        return Err(Error::new("has no beams, or beams without angles").in_field("angle_increment"));
    }
    // Drivers that leave range_max at zero do not mean that nothing can be measured.
    let most = if most > least { most } else { f32::INFINITY };
    for range in &mut ranges {
        if !(least..=most).contains(range) || !range.is_finite() || *range <= 0.0 {
            *range = f32::NAN;
        }
    }
    Ok(LaserScan { angle_min: f64::from(angle_min), increment: f64::from(increment), ranges })
}

/// Decodes a message of transforms.
pub fn transforms(encoding: Encoding, bytes: &[u8]) -> Result<Vec<Stamped>> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    let count = cursor.u32()? as usize;
    if count > cursor.left() / LEAST_TRANSFORM {
        return Err(Error::new(format!(
            "announces {count} transforms, but has {} bytes left",
            cursor.left()
        )));
    }
    let one = |_| {
        let header = header(&mut cursor)?;
        let child = frame(&cursor.text()?);
        Ok(Stamped { header, child, place: rigid(&mut cursor)? })
    };
    (0..count).map(one).collect()
}
