//! Predicted scans as reports show them: quantiles of each column's distance, beside the map's own.

use super::bins::{BINS, clamped, quantile};
use super::camera::Camera;
use super::sensor::Scans;
use driftless_core::map::Walls;
use driftless_world::evaluation::{PredictedScan, Track};
use driftless_world::pose::Pose;

/// What is shown of a column's distribution: between the outer two the wall is four times of five.
const SHOWN: [f32; 3] = [0.1, 0.5, 0.9];

/// The scans of all steps of a track, with what the map says at the estimate and at the truth.
pub(super) fn scans_of(
    camera: &Camera,
    walls: &Walls,
    scans: &Scans,
    track: &Track,
) -> Vec<Option<PredictedScan>> {
    let from = |pose: Pose| -> Vec<f32> {
        let pose = [pose.x, pose.y, pose.heading].map(|x| x as f32);
        if pose.iter().all(|x| x.is_finite()) { distances(camera, walls, pose) } else { Vec::new() }
    };
    let shown = |(scan, (estimate, truth)): (&Option<Vec<f32>>, (&Pose, &Pose))| {
        let scan = scan.as_ref()?;
        let column = |c: usize| {
            let log = &scan[c * BINS..(c + 1) * BINS];
            SHOWN.map(|share| rounded(camera.length(c, quantile(log, share))))
        };
        Some(PredictedScan {
            bearings: (0..camera.columns()).map(|c| camera.bearing(c)).collect(),
            predicted: (0..camera.columns()).map(column).collect(),
            from_estimate: from(*estimate),
            from_truth: from(*truth),
        })
    };
    scans.log.iter().zip(track.estimate.iter().zip(&track.truth)).map(shown).collect()
}

/// How far walls are on the map along the columns' rays, as far as bins reach.
fn distances(camera: &Camera, walls: &Walls, pose: [f32; 3]) -> Vec<f32> {
    let mut all = vec![0.0; camera.columns()];
    camera.look(walls, pose, 1, |column, place| all[column] = rounded(camera.length(column, clamped(place))));
    all
}

/// To the tenth of a centimetre: nobody sees more, and files are a third as large.
fn rounded(distance: f32) -> f32 {
    (10.0 * distance).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::super::bins::{add_target, log_probabilities};
    use super::*;

    /// A robot 1.1 m before a wall that it predicts 2 m away: rays are as long as geometry says, around the predicted
    /// depth and on the map; a truth that is not known has none, and an image that says nothing no scan.
    #[test]
    fn distances_by_hand() {
        let walls = Walls::new(310, 210, |pixel| pixel / 210 >= 305);
        let camera = Camera::new([56, 56], 28, 0.02, 2.0);
        let width = 100.0_f32.ln() / 39.0;
        let mut scan = Vec::new();
        for _ in 0..camera.columns() {
            let mut column = [0.0; BINS];
            add_target((2.0_f32 / 0.15).ln() / width, 1.0, &mut column);
            for p in &mut column {
                *p = p.max(1e-9).ln();
            }
            log_probabilities(&mut column);
            scan.extend(column);
        }
        let pose = Pose::new(500.0, 200.0, 0.0);
        let track = Track::new(vec![Track::UNKNOWN, pose], vec![pose; 2]);
        let found = scans_of(&camera, &walls, &Scans { log: vec![Some(scan), None] }, &track);
        let shown = found[0].as_ref().expect("an image");
        assert!(found[1].is_none() && shown.from_truth.is_empty());
        for (c, bearing) in shown.bearings.iter().enumerate() {
            // A pixel of the map is 2 cm; bins are 12 % wide, and the middle of a target is found to a tenth of one.
            let (on_map, middle) = (110.0 / bearing.cos(), 200.0 / bearing.cos());
            assert!((shown.from_estimate[c] - on_map).abs() < 2.5, "{c}: {}", shown.from_estimate[c]);
            let [low, predicted, high] = shown.predicted[c];
            assert!((predicted / middle - 1.0).abs() < 0.02, "{c}: {predicted} {middle}");
            // 0.6 bins wide: 10 % and 90 % are 1.28 · 0.6 bins away, wider by a bin's own width, and by the floor.
            assert!((0.80..0.95).contains(&(low / middle)) && (1.05..1.25).contains(&(high / middle)));
        }
        // The first column looks to the left.
        assert!(shown.bearings[0] > 0.4 && (shown.bearings[0] + shown.bearings[27]).abs() < 1e-6);
    }
}
