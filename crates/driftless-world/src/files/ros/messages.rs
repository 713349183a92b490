//! Scans, poses and transforms, reduced to the plane.

use super::{Cursor, Encoding, Kind};
use crate::error::{Error, Result};
use crate::files::track::{Pose, heading};

/// A transform takes more bytes than this, so that a message cannot announce more of them than it has room for.
const LEAST_TRANSFORM: usize = 64;

/// A pose and its time; no time if the header has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    /// Seconds.
    pub time: Option<f64>,
    /// On the floor.
    pub pose: Pose,
}

/// A laser's scan.
#[derive(Clone, Debug, PartialEq)]
pub struct LaserScan {
    /// Seconds.
    pub time: Option<f64>,
    /// Angle of the first beam.
    pub angle_min: f64,
    /// From one beam to the next; negative for a laser that turns to the right.
    pub increment: f64,
    /// Readings in metres; NaN where nothing came back or the reading is out of the laser's range.
    pub ranges: Vec<f32>,
}

/// The child frame as seen from the parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Transform {
    /// Frame that the pose is in.
    pub parent: String,
    /// Frame whose pose it is.
    pub child: String,
    /// Time and pose.
    pub stamped: Stamped,
}

/// Time and frame of a message.
fn header(cursor: &mut Cursor) -> Result<(Option<f64>, String)> {
    let seconds = match cursor.encoding() {
        Encoding::Ros1 => {
            cursor.u32()?; // the sequence number
            f64::from(cursor.u32()?)
        }
        Encoding::Cdr => f64::from(cursor.i32()?),
    };
    let time = seconds + f64::from(cursor.u32()?) * 1e-9;
    Ok(((time > 0.0).then_some(time), cursor.text()?))
}

/// A position and a rotation, on the floor.
fn plane(cursor: &mut Cursor) -> Result<Pose> {
    let [x, y, _] = cursor.doubles()?;
    let rotation = cursor.doubles()?;
    let heading = heading(rotation)
        .ok_or_else(|| Error::new("holds a rotation of length 0").in_field("orientation"))?;
    if !x.is_finite() || !y.is_finite() {
        return Err(Error::new("is not finite").in_field("position"));
    }
    Ok([x, y, heading])
}

/// Decodes a message that holds one pose.
pub fn pose(kind: Kind, encoding: Encoding, bytes: &[u8]) -> Result<Stamped> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    let (time, _) = header(&mut cursor)?;
    if kind == Kind::Odometry {
        cursor.text()?; // the robot's frame
    }
    Ok(Stamped { time, pose: plane(&mut cursor)? })
}

/// Decodes a scan.
pub fn laser_scan(encoding: Encoding, bytes: &[u8]) -> Result<LaserScan> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    let (time, _) = header(&mut cursor)?;
    let [angle_min, _, increment, _, _, least, most] = {
        let mut values = [0.0_f32; 7];
        for value in &mut values {
            *value = cursor.f32()?;
        }
        values
    };
    let mut ranges = cursor.floats()?;
    if !angle_min.is_finite() || !increment.is_finite() || increment == 0.0 || ranges.is_empty() {
        return Err(Error::new("has no beams, or beams without angles").in_field("angle_increment"));
    }
    for range in &mut ranges {
        if !(least..=most).contains(range) || !range.is_finite() {
            *range = f32::NAN;
        }
    }
    Ok(LaserScan { time, angle_min: f64::from(angle_min), increment: f64::from(increment), ranges })
}

/// Decodes a message of transforms.
pub fn transforms(encoding: Encoding, bytes: &[u8]) -> Result<Vec<Transform>> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    let count = cursor.u32()? as usize;
    if count > cursor.left() / LEAST_TRANSFORM {
        return Err(Error::new(format!(
            "announces {count} transforms, but has {} bytes left",
            cursor.left()
        )));
    }
    let one = |_| {
        let (time, parent) = header(&mut cursor)?;
        let child = cursor.text()?;
        let stamped = Stamped { time, pose: plane(&mut cursor)? };
        let name = |frame: String| frame.trim_start_matches('/').to_owned();
        Ok(Transform { parent: name(parent), child: name(child), stamped })
    };
    (0..count).map(one).collect()
}
