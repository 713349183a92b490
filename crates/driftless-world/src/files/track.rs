//! Poses by time: sorted, interpolated across small gaps, composed.

use driftless_core::pose::wrap;

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

    /// The pose at `time`, between two samples at most `most_gap` apart; nothing outside.
    pub fn at(&self, time: f64, most_gap: f64) -> Option<Pose> {
        let after = self.samples.partition_point(|sample| sample.0 < time);
        let &(end, b) = self.samples.get(after)?;
        if end == time {
            return Some(b);
        }
        let &(start, a) = self.samples.get(after.checked_sub(1)?)?;
        let share = (time - start) / (end - start);
        let between = |i: usize| a[i] + share * (b[i] - a[i]);
        (end - start <= most_gap).then(|| [between(0), between(1), wrap(a[2] + share * wrap(b[2] - a[2]))])
    }

    /// Whether between two times the samples jump by more than `most` metres, or pause longer than `most_gap`.
    pub fn breaks(&self, from: f64, to: f64, most: f64, most_gap: f64) -> bool {
        let first = self.samples.partition_point(|sample| sample.0 <= from).saturating_sub(1);
        let rest = self.samples[first..].windows(2).take_while(|pair| pair[0].0 < to);
        let far = |a: Pose, b: Pose| (b[0] - a[0]).hypot(b[1] - a[1]) > most;
        rest.into_iter().any(|pair| far(pair[0].1, pair[1].1) || pair[1].0 - pair[0].0 > most_gap)
    }
}

/// Pose `b` as seen from pose `a`: forward, left, turn.
pub fn relative(a: Pose, b: Pose) -> Pose {
    let (sine, cosine) = a[2].sin_cos();
    let (x, y) = (b[0] - a[0], b[1] - a[1]);
    [cosine * x + sine * y, cosine * y - sine * x, wrap(b[2] - a[2])]
}

/// The pose reached from `a` by the motion `b`.
pub fn composed(a: Pose, b: Pose) -> Pose {
    let (sine, cosine) = a[2].sin_cos();
    [a[0] + cosine * b[0] - sine * b[1], a[1] + sine * b[0] + cosine * b[1], wrap(a[2] + b[2])]
}

/// The heading that a rotation x, y, z, w has on the floor; nothing if it is no rotation.
pub fn heading([x, y, z, w]: [f64; 4]) -> Option<f64> {
    let norm = x * x + y * y + z * z + w * w;
    (norm > 1e-6 && norm.is_finite())
        .then(|| wrap((2.0 * (w * z + x * y) / norm).atan2(1.0 - 2.0 * (y * y + z * z) / norm)))
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
        assert!(track.breaks(1.5, 3.0, 2.0, 1.0) && !track.breaks(1.0, 2.0, 2.0, 1.0));
    }

    #[test]
    fn motions_and_poses_belong_together() {
        let (a, b) = ([1.0, 2.0, 0.7], [0.5, 3.0, -2.0]);
        let again = composed(a, relative(a, b));
        assert!(again.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12), "{again:?}");
        assert!((heading([0.0, 0.0, 0.5_f64.sqrt(), 0.5_f64.sqrt()]).unwrap() - PI / 2.0).abs() < 1e-12);
        assert_eq!(heading([0.0; 4]), None);
    }
}
