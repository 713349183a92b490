//! Scans in the robot's frame: which beams are kept, and where a scanner that does not sit at the robot's centre would
//! see the same walls from there.

use crate::files::rigid::Rigid;
use crate::files::ros::LaserScan;
use driftless_core::pose::{compose, wrap};
use std::f64::consts::TAU;

/// A scanner this near to the robot's centre is at its centre, in metres.
const CENTRED: f64 = 0.01;
/// Neighbouring beams belong to one surface if their ends are at most this far apart: metres, and share of the distance.
const ONE_SURFACE: (f64, f64) = (0.1, 0.1);

/// The beams of a log, as the first scan decided.
#[derive(Debug)]
pub struct Beams {
    mount: Rigid,
    /// Angles in the scanner's own frame.
    own: Vec<f64>,
    /// Bearings in the robot's frame.
    pub angles: Vec<f64>,
    /// Readings of the first scan.
    count: usize,
    /// Scans with other beams than the first.
    pub other: usize,
}

impl Beams {
    /// At most `most` beams of scans like this one.
    pub fn new(scan: &LaserScan, mount: Rigid, most: usize) -> Self {
        let count = scan.ranges.len();
        let kept = (0..count).step_by(stride(count, most));
        let own: Vec<f64> = kept.map(|beam| scan.angle_min + scan.increment * beam as f64).collect();
        // Bearings go on beyond half a turn, so that the last one tells how far around the scan goes.
        let mut angles: Vec<f64> = Vec::with_capacity(own.len());
        for &angle in &own {
            let [x, y, _] = mount.rotated([angle.cos(), angle.sin(), 0.0]);
            let last = angles.last().copied().unwrap_or_default();
            angles.push(last + wrap(y.atan2(x) - last));
        }
        Self { angles, mount, own, count, other: 0 }
    }

    /// The bearings that somebody wants to know of scans like this one, from a scanner that sits there.
    pub fn along(angles: Vec<f64>, scan: &LaserScan, mount: Rigid) -> Self {
        let back = mount.inverse();
        // Angles from half a beam before the first one, so that one of half a turn does not miss a beam at minus half a turn.
        let least = scan.angle_min - 0.5 * scan.increment;
        let own = |angle: &f64| {
            let [x, y, _] = back.rotated([angle.cos(), angle.sin(), 0.0]);
            least + scan.increment.signum() * ((y.atan2(x) - least) * scan.increment.signum()).rem_euclid(TAU)
        };
        Self { own: angles.iter().map(own).collect(), angles, mount, count: scan.ranges.len(), other: 0 }
    }

    /// How far the scanner is from the robot's centre.
    pub fn offset(&self) -> f64 {
        self.mount.place[0].hypot(self.mount.place[1])
    }

    /// Readings at the log's angles; NaN where a scan has no beam.
    pub fn readings(&mut self, scan: &LaserScan) -> Vec<f32> {
        self.other += usize::from(scan.ranges.len() != self.count);
        if self.offset() > CENTRED {
            return self.seen_from_centre(scan);
        }
        let reading = |&angle: &f64| {
            let (turn, half) =
                ((angle - scan.angle_min) * scan.increment.signum(), 0.5 * scan.increment.abs());
            let is_near = (-half..TAU + half).contains(&turn);
            let turn = if is_near { turn } else { (turn + half).rem_euclid(TAU) - half };
            let beam = (turn / scan.increment.abs()).round().max(0.0) as usize;
            scan.ranges.get(beam).copied().unwrap_or(f32::NAN)
        };
        self.own.iter().map(reading).collect()
    }

    /// Where rays from the robot's centre meet the lines between the ends of neighbouring beams.
    fn seen_from_centre(&self, scan: &LaserScan) -> Vec<f32> {
        let ends: Vec<Option<([f64; 2], f64)>> = (0..scan.ranges.len())
            .map(|beam| {
                let range = f64::from(scan.ranges[beam]);
                let angle = scan.angle_min + scan.increment * beam as f64;
                let [x, y, _] = self.mount.rotated([range * angle.cos(), range * angle.sin(), 0.0]);
                range.is_finite().then_some(([x + self.mount.place[0], y + self.mount.place[1]], range))
            })
            .collect();
        // A scanner that looks all around has a last beam beside its first.
        let round = (scan.increment.abs() * ends.len() as f64 - TAU).abs() < 1.5 * scan.increment.abs();
        let next = |i: usize| if i + 1 < ends.len() { Some(i + 1) } else { round.then_some(0) };
        let surfaces: Vec<([f64; 2], [f64; 2])> = (0..ends.len())
            .filter_map(|i| {
                let ((a, near), (b, far)) = (ends[i]?, ends[next(i)?]?);
                let apart = (b[0] - a[0]).hypot(b[1] - a[1]);
                (apart <= ONE_SURFACE.0 + ONE_SURFACE.1 * near.min(far)).then_some((a, b))
            })
            .collect();
        self.angles.iter().map(|angle| nearest(angle.sin_cos(), &surfaces)).collect()
    }
}

/// Every how many beams one is kept, so that at most `most` are, evenly spaced.
pub fn stride(count: usize, most: usize) -> usize {
    count.div_ceil(most.max(1)).max(1)
}

/// The nearest surface in a direction; NaN if there is none.
fn nearest((sine, cosine): (f64, f64), surfaces: &[([f64; 2], [f64; 2])]) -> f32 {
    let turned = |p: [f64; 2]| compose([cosine, -sine], p);
    let hits = surfaces.iter().filter_map(|&(a, b)| {
        let ([near, from], [far, to]) = (turned(a), turned(b));
        if from * to > 0.0 || from == to {
            return None;
        }
        let share = from / (from - to);
        let range = near + share * (far - near);
        (range > 0.0).then_some(range as f32)
    });
    hits.reduce(f32::min).unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// The distance to the walls of a room from a place in it; it looks different in all directions.
    fn room(x: f64, y: f64, angle: f64) -> f64 {
        let (sine, cosine) = angle.sin_cos();
        let wall =
            |at: f64, step: f64, low: f64, high: f64| (if step > 0.0 { high } else { low } - at) / step;
        wall(x, cosine, -4.0, 2.5).min(wall(y, sine, -3.0, 1.7))
    }

    fn scan(mount: &Rigid, beams: usize) -> LaserScan {
        let increment = TAU / beams as f64;
        let range = |beam: usize| {
            let angle = -3.0 + increment * beam as f64;
            let [x, y, _] = mount.rotated([angle.cos(), angle.sin(), 0.0]);
            room(mount.place[0], mount.place[1], y.atan2(x)) as f32
        };
        LaserScan { angle_min: -3.0, increment, ranges: (0..beams).map(range).collect() }
    }

    /// Backwards, upside down, aside: the robot's centre sees the room as it is.
    #[test]
    fn mounts_of_all_kinds_see_the_same_room() {
        let (half, turn) = (0.5_f64.sqrt(), 0.3_f64);
        for (place, rotation) in [
            ([0.0; 3], [0.0, 0.0, 1.0, 0.0]),
            ([0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 0.0]),
            ([0.9, 0.0, 0.1], [0.0, 0.0, 0.0, 1.0]),
            ([-0.3, 0.4, 0.1], [0.0, 0.0, half, half]),
            ([0.2, -0.5, 0.1], [turn.cos(), turn.sin(), 0.0, 0.0]),
        ] {
            let mount = Rigid::new(place, rotation).unwrap();
            let scan = scan(&mount, 1440);
            let mut beams = Beams::new(&scan, mount, 90);
            let readings = beams.readings(&scan);
            for (angle, &reading) in beams.angles.iter().zip(&readings) {
                let expected = room(0.0, 0.0, *angle);
                assert!(
                    (f64::from(reading) - expected).abs() < 0.01,
                    "{place:?} {angle}: {reading} {expected}"
                );
            }
            assert_eq!((readings.len(), beams.other), (90, 0));
        }
    }

    /// Nothing is invented between a pillar and the wall behind it, nor where nothing came back.
    #[test]
    fn gaps_stay_gaps() {
        let mount = Rigid::new([0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]).unwrap();
        let mut scan = scan(&mount, 720);
        let first = scan.ranges.iter().position(|range| range.is_finite()).unwrap();
        scan.ranges[first..first + 100].fill(f32::NAN);
        let mut beams = Beams::new(&scan, mount, 720);
        let missing = beams.readings(&scan).iter().filter(|range| range.is_nan()).count();
        assert!((60..160).contains(&missing), "{missing}");
    }

    /// Told the bearings that the first scan decides, the readings are the same, wherever the scanner sits.
    #[test]
    fn bearings_that_are_wanted() {
        let half = 0.5_f64.sqrt();
        for (place, rotation) in [
            ([0.0; 3], [0.0, 0.0, 0.0, 1.0]),
            ([0.0; 3], [0.0, 0.0, half, half]),
            ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]),
            ([0.3, 0.1, 0.0], [0.0, 0.0, 1.0, 0.0]),
        ] {
            let mount = Rigid::new(place, rotation).unwrap();
            for turning in [1.0, -1.0] {
                let mut scan = scan(&mount, 360);
                (scan.angle_min, scan.increment) = (turning * scan.angle_min, turning * scan.increment);
                let mut decided = Beams::new(&scan, mount, 90);
                let mut wanted = Beams::along(decided.angles.clone(), &scan, mount);
                assert_eq!(wanted.readings(&scan), decided.readings(&scan), "{place:?} {turning}");
            }
        }
        // Half a turn to the left is half a turn to the right.
        let scan = LaserScan { angle_min: -PI, increment: PI / 2.0, ranges: vec![1.0, 2.0, 3.0, 4.0] };
        let mut beams = Beams::along(vec![PI, 0.1, -PI - 1e-9, 1.6], &scan, Rigid::SAME);
        assert_eq!(beams.readings(&scan), [1.0, 3.0, 1.0, 4.0]);
    }

    #[test]
    fn other_beams_are_taken_by_angle() {
        let wide = LaserScan { angle_min: -1.0, increment: 0.5, ranges: vec![1.0, 2.0, 3.0, 4.0, 5.0] };
        let mut beams = Beams::new(&wide, Rigid::SAME, 5);
        let narrow = LaserScan { angle_min: -0.5, increment: 0.25, ranges: vec![6.0, 7.0, 8.0] };
        let readings = beams.readings(&narrow);
        assert!(readings[0].is_nan() && readings[3].is_nan() && readings[4].is_nan(), "{readings:?}");
        assert_eq!((readings[1], readings[2], beams.other), (6.0, 8.0, 1));
        let turning_right =
            LaserScan { angle_min: 1.0, increment: -0.5, ranges: vec![5.0, 4.0, 3.0, 2.0, 1.0] };
        assert_eq!(beams.readings(&turning_right), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
