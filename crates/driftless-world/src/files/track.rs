//! Poses by time: sorted, interpolated across small gaps, composed.

use driftless_core::pose::{compose, wrap};

/// Metres a second that no robot drives.
const FASTEST: f64 = 25.0;
/// Radians a second that no robot turns.
const FASTEST_TURN: f64 = 15.0;
/// Metres that may be noise, however short the time.
const LEAST_JUMP: f64 = 0.5;
/// Radians that may be noise.
const LEAST_TURN: f64 = 1.0;

/// x m, y m, heading rad.
pub type Pose = [f64; 3];

/// Where something was at some times, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    samples: Vec<(f64, Pose)>,
}

impl Track {
    /// Sorts samples by time; of two at the same time the later one is kept. Also says how many came too late.
    pub fn new(mut samples: Vec<(f64, Pose)>) -> (Self, usize) {
        samples.retain(|(time, pose)| time.is_finite() && pose.iter().all(|part| part.is_finite()));
        let backwards = samples.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut kept: Vec<(f64, Pose)> = Vec::with_capacity(samples.len());
        for sample in samples {
            match kept.last_mut() {
                Some(last) if last.0 == sample.0 => *last = sample,
                _ => kept.push(sample),
            }
        }
        (Self { samples: kept }, backwards)
    }

    /// The samples, in order of time.
    pub fn samples(&self) -> &[(f64, Pose)] {
        &self.samples
    }

    /// The first and the last time, if there are any.
    pub fn span(&self) -> Option<(f64, f64)> {
        Some((self.samples.first()?.0, self.samples.last()?.0))
    }

    /// The pose at `time`, between two samples at most `most_gap` apart; nothing outside, or where poses jump.
    pub fn at(&self, time: f64, most_gap: f64) -> Option<Pose> {
        let after = self.samples.partition_point(|sample| sample.0 < time);
        let &(end, b) = self.samples.get(after)?;
        if end == time {
            return Some(b);
        }
        let &(start, a) = self.samples.get(after.checked_sub(1)?)?;
        let share = (time - start) / (end - start);
        let between = |i: usize| a[i] + share * (b[i] - a[i]);
        let bridged = end - start <= most_gap && !torn(&(start, a), &(end, b));
        bridged.then(|| [between(0), between(1), wrap(a[2] + share * wrap(b[2] - a[2]))])
    }

    /// Whether the samples jump between two times: what lies before does not belong to what lies behind.
    pub fn torn_between(&self, from: f64, to: f64) -> bool {
        let first = self.samples.partition_point(|sample| sample.0 <= from).saturating_sub(1);
        let mut rest = self.samples[first..].windows(2).take_while(|pair| pair[0].0 < to);
        rest.any(|pair| torn(&pair[0], &pair[1]))
    }

    /// How often the samples jump.
    pub fn jumps(&self) -> usize {
        self.samples.windows(2).filter(|pair| torn(&pair[0], &pair[1])).count()
    }
}

/// Whether no robot gets from one sample to the next: something was reset, or somebody carried it.
fn torn(a: &(f64, Pose), b: &(f64, Pose)) -> bool {
    let seconds = b.0 - a.0;
    let (far, turn) = ((b.1[0] - a.1[0]).hypot(b.1[1] - a.1[1]), wrap(b.1[2] - a.1[2]).abs());
    far > (FASTEST * seconds).max(LEAST_JUMP) || turn > (FASTEST_TURN * seconds).max(LEAST_TURN)
}

/// Pose `b` as seen from pose `a`: forward, left, turn.
pub fn relative(a: Pose, b: Pose) -> Pose {
    let (sine, cosine) = a[2].sin_cos();
    let [forward, left] = compose([cosine, -sine], [b[0] - a[0], b[1] - a[1]]);
    [forward, left, wrap(b[2] - a[2])]
}

/// The pose reached from `a` by the motion `b`.
pub fn composed(a: Pose, b: Pose) -> Pose {
    let (sine, cosine) = a[2].sin_cos();
    let [dx, dy] = compose([cosine, sine], [b[0], b[1]]);
    [a[0] + dx, a[1] + dy, wrap(a[2] + b[2])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn interpolates_across_the_half_turn_and_not_across_gaps() {
        let (track, late) =
            Track::new(vec![(2.0, [1.0, 0.0, -PI + 0.1]), (1.0, [0.0, 0.0, PI - 0.1]), (9.0, [0.0; 3])]);
        assert_eq!(late, 1);
        let pose = track.at(1.5, 1.0).unwrap();
        assert!((pose[0] - 0.5).abs() < 1e-12 && (pose[2].abs() - PI).abs() < 1e-9, "{pose:?}");
        assert_eq!((track.at(3.0, 1.0), track.at(0.5, 1.0), track.at(9.5, 1.0)), (None, None, None));
        assert_eq!(track.jumps(), 0);
    }

    /// An odometer that starts again at zero: nothing is interpolated across, and the place is found.
    #[test]
    fn a_reset_tears_a_track() {
        let samples = [(0.0, 3.0), (0.1, 3.05), (0.2, 0.0), (0.3, 0.05)].map(|(t, x)| (t, [x, 0.0, 0.0]));
        let (track, _) = Track::new(samples.to_vec());
        assert_eq!((track.jumps(), track.at(0.15, 1.0)), (1, None));
        assert!(track.torn_between(0.05, 0.25) && track.torn_between(0.15, 0.18));
        assert!(!track.torn_between(0.0, 0.1) && !track.torn_between(0.2, 0.3));
    }

    #[test]
    fn motions_and_poses_belong_together() {
        let (a, b) = ([1.0, 2.0, 0.7], [0.5, 3.0, -2.0]);
        let again = composed(a, relative(a, b));
        assert!(again.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12), "{again:?}");
    }
}
