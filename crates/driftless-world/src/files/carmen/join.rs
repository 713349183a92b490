//! Poses of a corrected log, found again by the scans they belong to.

use super::{Message, message};
use crate::error::Result;
use crate::files::lines::Lines;
use crate::files::source::Source;
use crate::files::track::{Pose, Track};
use driftless_core::pose::wrap;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Logger's times further apart do not mean the same scan.
const SAME_TIME: f64 = 0.005;

/// The poses of a corrected log.
#[derive(Debug, Default)]
pub struct Corrected {
    by_ranges: HashMap<u64, VecDeque<Pose>>,
    by_time: Track,
    /// Scans in the corrected log.
    pub scans: usize,
}

impl Corrected {
    /// Reads a corrected log.
    pub fn read(source: Source) -> Result<Self> {
        let mut lines = Lines::new(source)?;
        let mut corrected = Self::default();
        let mut timed = Vec::new();
        while let Some((number, line, whole)) = lines.next_line()? {
            match message(&line) {
                Ok(Message::Scan(scan)) => {
                    let pose = [scan.pose[0], scan.pose[1], wrap(scan.pose[2])];
                    corrected.scans += 1;
                    corrected.by_ranges.entry(key(&scan.ranges)).or_default().push_back(pose);
                    timed.push((scan.logged, pose));
                }
                // A log that was cut off ends within a line.
                Err(error) if whole => return Err(error.in_record(format!("line {number}"))),
                _ => {}
            }
        }
        corrected.by_time = Track::new(timed).0;
        Ok(corrected)
    }

    /// The pose of the scan with exactly these ranges. A standing robot may see the same twice: then in order.
    pub fn by_ranges(&mut self, ranges: &[f32]) -> Option<Pose> {
        let poses = self.by_ranges.get_mut(&key(ranges))?;
        if poses.len() > 1 { poses.pop_front() } else { poses.front().copied() }
    }

    /// The pose logged at this very time.
    pub fn by_time(&self, logged: f64) -> Option<Pose> {
        let samples = self.by_time.samples();
        let after = samples.partition_point(|sample| sample.0 < logged - SAME_TIME);
        samples.get(after).filter(|sample| sample.0 <= logged + SAME_TIME).map(|sample| sample.1)
    }
}

/// Ranges are written with other numbers of digits, so their values are compared and not their text.
fn key(ranges: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for range in ranges {
        range.to_bits().hash(&mut hasher);
    }
    hasher.finish()
}
