//! CARMEN's text logs: laser scans with the odometry they were taken at, a message a line.

mod import;
mod join;
mod odometer;

pub use import::{CarmenOptions, import};
pub use odometer::{Odometer, Speed};

use crate::error::{Error, Result};
use crate::files::track::Pose;
use std::str::SplitWhitespace;

/// No laser has more beams.
const MOST_BEAMS: usize = 10_000;

/// A scan, as logged.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Metres; a reading beyond the laser's reach means that nothing came back.
    pub ranges: Vec<f32>,
    /// Angle of the first beam, left positive, and from a beam to the next.
    pub first_angle: f64,
    /// Radians from one beam to the next.
    pub spacing: f64,
    /// The robot's pose: raw odometry in a raw log, corrected in a corrected one.
    pub pose: Pose,
    /// Seconds, by the clock of the program that took the scan.
    pub time: f64,
    /// Seconds, by the logger's clock.
    pub logged: f64,
}

/// What a line holds that matters here.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// FLASER or ROBOTLASER1.
    Scan(Scan),
    /// ODOM.
    Speed(Speed),
    /// Anything else.
    Other,
}

/// Reads a line.
pub fn message(line: &str) -> Result<Message> {
    let mut words = line.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let read = match kind {
        "FLASER" => front_laser(&mut words).map(Message::Scan),
        "ROBOTLASER1" => robot_laser(&mut words).map(Message::Scan),
        "ODOM" => {
            numbers(&mut words).map(|[_, _, _, forward, _, _, time]| Message::Speed(Speed { time, forward }))
        }
        _ => return Ok(Message::Other),
    };
    read.map_err(|error| error.in_field(kind))
}

/// `FLASER count ranges… laser x y theta, robot x y theta, time host logger-time`.
fn front_laser(words: &mut SplitWhitespace) -> Result<Scan> {
    let ranges = ranges(words)?;
    let [_, _, _, x, y, theta] = numbers(words)?;
    let (time, logged) = times(words)?;
    // 180 and 360 readings leave out the last beam at +90 degrees, 181 and 361 hold it.
    let count = ranges.len();
    let spacing = std::f64::consts::PI / (if count % 2 == 1 { count - 1 } else { count }).max(1) as f64;
    let first_angle = -std::f64::consts::FRAC_PI_2;
    Ok(Scan { ranges, first_angle, spacing, pose: [x, y, theta], time, logged })
}

/// `ROBOTLASER1 type start field resolution reach accuracy mode count ranges… count remissions… laser and robot poses …`.
fn robot_laser(words: &mut SplitWhitespace) -> Result<Scan> {
    let [_, first_angle, _, spacing, _, _, _] = numbers(words)?;
    let scan = ranges(words)?;
    let remissions = count(words)?;
    for _ in 0..remissions {
        number(words)?;
    }
    let [_, _, _, x, y, theta] = numbers(words)?;
    let _: [f64; 5] = numbers(words)?;
    let (time, logged) = times(words)?;
    Ok(Scan { ranges: scan, first_angle, spacing, pose: [x, y, theta], time, logged })
}

fn ranges(words: &mut SplitWhitespace) -> Result<Vec<f32>> {
    let count = count(words)?;
    if count == 0 {
        return Err(Error::new("has no readings"));
    }
    (0..count).map(|_| number(words).map(|range| range as f32)).collect()
}

fn count(words: &mut SplitWhitespace) -> Result<usize> {
    let word = words.next().ok_or_else(|| Error::new("ends before the number of readings"))?;
    let count = word.parse().ok().filter(|&count| count <= MOST_BEAMS);
    count.ok_or_else(|| Error::new(format!("{word:?} is not a number of readings (at most {MOST_BEAMS})")))
}

/// Time, host, logger's time.
fn times(words: &mut SplitWhitespace) -> Result<(f64, f64)> {
    let time = number(words)?;
    words.next().ok_or_else(|| Error::new("ends before the host's name"))?;
    Ok((time, number(words)?))
}

fn numbers<const N: usize>(words: &mut SplitWhitespace) -> Result<[f64; N]> {
    let mut numbers = [0.0; N];
    for slot in &mut numbers {
        *slot = number(words)?;
    }
    Ok(numbers)
}

fn number(words: &mut SplitWhitespace) -> Result<f64> {
    let word = words.next().ok_or_else(|| Error::new("has fewer numbers than it announces"))?;
    let value = word.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| Error::new(format!("{word:?} is not a finite number")))
}
