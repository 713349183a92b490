//! What a robot sees at a time, as the run was trained with it.

use crate::run::{Scanner, Wants};
use driftless_world::files::bag::{Beams, Frames};
use driftless_world::files::camera::Picture;
use driftless_world::files::estimates::messages::Stamp;
use driftless_world::files::rigid::Rigid;
use driftless_world::files::ros::LaserScan;

/// A scan or an image that waits for odometry.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// Seconds.
    pub time: f64,
    /// The same, exactly: seconds since 1970 in 64 bits are good to a quarter of a microsecond.
    pub stamp: Stamp,
    /// What was seen.
    pub what: What,
}

/// What can be seen.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A scan, and the scanner's frame.
    Scan(LaserScan, String),
    /// An image.
    Image(Picture),
}

/// Beams of scans as the run wants them.
#[derive(Debug, Default)]
pub struct Readings {
    mount: Option<Rigid>,
    beams: Option<Beams>,
    /// Whether nobody said so far where the scanner sits.
    is_guess: bool,
}

impl Readings {
    /// For a scanner of which somebody said where it sits.
    pub fn of(mount: Option<[f64; 3]>) -> Self {
        let rigid = |[x, y, turn]: [f64; 3]| {
            let (sine, cosine) = (0.5 * turn).sin_cos();
            Rigid { place: [x, y, 0.0], turn: [0.0, 0.0, sine, cosine] }
        };
        Self { mount: mount.map(rigid), beams: None, is_guess: false }
    }

    /// Transforms came: if nothing was known of where the scanner sits, the next scan looks again.
    pub fn look_again(&mut self) {
        if self.is_guess {
            self.beams = None;
        }
    }

    /// All numbers of a step, those of other sensors missing, and what is to be said of the first scan, or of one that has
    /// other beams than the first.
    pub fn of_scan(
        &mut self,
        (scan, frame): (&LaserScan, &str),
        (scanner, wants): (&Scanner, &Wants),
        (frames, base): (&Frames, &str),
    ) -> (Vec<f32>, Option<String>, bool) {
        let mut note = None;
        if self.beams.is_none() {
            let (mount, said) = self.mounted(frame, frames, base);
            note = Some(format!("{said}; {}", described(scan, scanner)));
            self.beams = Some(Beams::along(scanner.bearings.clone(), scan, mount));
        }
        let mut all = vec![f32::NAN; wants.readings];
        let Some(beams) = &mut self.beams else { return (all, note, false) };
        let others = beams.other;
        let found = beams.readings(scan);
        all[scanner.first..scanner.first + found.len()].copy_from_slice(&found);
        (all, note, beams.other > others)
    }

    /// Where the scanner sits, in words, too.
    fn mounted(&mut self, frame: &str, frames: &Frames, base: &str) -> (Rigid, String) {
        self.is_guess = false;
        let place = |mount: &Rigid| {
            let ([x, y, _], [ahead, left, _]) = (mount.place, mount.rotated([1.0, 0.0, 0.0]));
            let degrees = left.atan2(ahead).to_degrees();
            format!(
                "the scanner sits {x:.2} m ahead of {base} and {y:.2} m to its left, turned by {degrees:.0} degrees"
            )
        };
        if let Some(mount) = self.mount {
            return (mount, place(&mount));
        }
        if let Some(mount) = (frame != base).then(|| frames.fixed(base, frame)).flatten() {
            return (mount, place(&mount));
        }
        self.is_guess = frame != base;
        let whose =
            if frame == base { String::new() } else { format!(", as no fixed transform leads to {frame:?}") };
        (Rigid::SAME, format!("the scanner is taken to sit at the centre of {base} and to look ahead{whose}"))
    }
}

/// How a scan becomes the beams of the run.
fn described(scan: &LaserScan, scanner: &Scanner) -> String {
    let (found, wanted) = (scan.ranges.len(), scanner.bearings.len());
    let degrees = |angle: f64| angle.to_degrees();
    let [from, to] = [0, found - 1].map(|k| degrees(scan.angle_min + scan.increment * k as f64));
    let ends =
        [scanner.bearings.first(), scanner.bearings.last()].map(|end| degrees(end.copied().unwrap_or(0.0)));
    format!(
        "of its {found} beams from {from:.1} to {to:.1} degrees those nearest to the run's {wanted} from {:.1} to {:.1} are taken, \
         and what has none is missing",
        ends[0], ends[1]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::learn::MotionKind;
    use driftless_core::pose::Frame;

    fn wants(readings: usize, first: usize, bearings: &[f64]) -> Wants {
        Wants {
            readings,
            scanner: Some(Scanner { first, bearings: bearings.to_vec() }),
            sees: false,
            motion: MotionKind::Odometry,
            frame: Frame::Robot,
            spread: [0.3, 0.3, 0.2],
            image_side: None,
        }
    }

    /// Columns of other sensors stay missing, bearings are met by the nearest beam, and those beyond the scan by none.
    #[test]
    fn beams_become_columns() {
        let wants = wants(5, 1, &[-0.5, 0.1, 0.9]);
        let scan = LaserScan { angle_min: -0.6, increment: 0.2, ranges: vec![1.0, 2.0, 3.0, f32::NAN, 5.0] };
        let mut readings = Readings::of(None);
        let scanner = wants.scanner.as_ref().unwrap();
        let told = readings.of_scan((&scan, "laser"), (scanner, &wants), (&Frames::default(), "base"));
        let (numbers, note, other) = told;
        // -0.5 lies between two beams, of which rounding decides; 0.1 is half a beam from what is missing; 0.9 is beyond.
        assert!(numbers[0].is_nan() && numbers[3].is_nan() && numbers[4].is_nan() && !other);
        assert!([1.0, 2.0].contains(&numbers[1]), "{numbers:?}");
        let note = note.unwrap();
        assert!(
            note.contains("no fixed transform leads to \"laser\"") && note.contains("5 beams from -34.4"),
            "{note}"
        );
        let other = LaserScan { ranges: vec![1.0; 4], ..scan };
        let (_, note, is_other) =
            readings.of_scan((&other, "laser"), (scanner, &wants), (&Frames::default(), "base"));
        assert!(note.is_none() && is_other);
    }

    /// A scanner that looks backwards: what it has ahead is behind the robot.
    #[test]
    fn a_mount_turns_bearings() {
        use std::f64::consts::{FRAC_PI_2, PI};
        let wants = wants(4, 0, &[0.0, FRAC_PI_2, PI, -FRAC_PI_2]);
        let scan = LaserScan { angle_min: -PI, increment: FRAC_PI_2, ranges: vec![1.0, 2.0, 3.0, 4.0] };
        let scanner = wants.scanner.as_ref().unwrap();
        let mut readings = Readings::of(Some([0.0, 0.0, PI]));
        let (numbers, ..) =
            readings.of_scan((&scan, "laser"), (scanner, &wants), (&Frames::default(), "base"));
        assert_eq!(numbers, [1.0, 2.0, 3.0, 4.0]);
        let mut readings = Readings::of(Some([0.0; 3]));
        let (numbers, ..) =
            readings.of_scan((&scan, "laser"), (scanner, &wants), (&Frames::default(), "base"));
        assert_eq!(numbers, [3.0, 4.0, 1.0, 2.0]);
    }
}
