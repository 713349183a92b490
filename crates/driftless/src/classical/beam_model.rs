//! Scans by how far their beams should reach: hits, things not on the map, nothing seen, chance.

use super::scan::{RangeScan, Reading};
use super::settings::BeamSettings;
use super::{Pose, SensorModel, walls_of};
use driftless_core::map::Walls;
use driftless_core::pose::compose;
use driftless_world::files::pfnet::{HouseMaps, METRES_PER_PIXEL};
use std::f64::consts::TAU;

/// The mixture of Thrun, Burgard & Fox, section 6.3: a reading around the expected range, a shorter one by
/// furniture (exponential up to the expected range), none at all, or anything.
#[derive(Clone, Debug)]
pub struct BeamModel {
    walls: Walls,
    /// Metres of a pixel's side.
    pixel: f64,
    settings: BeamSettings,
    farthest: f64,
}

impl BeamModel {
    /// The model of a house, for a camera that sees `farthest` metres far.
    pub fn new(maps: &HouseMaps, settings: &BeamSettings, farthest: f64) -> Self {
        Self::over(walls_of(maps), METRES_PER_PIXEL, settings, farthest)
    }

    /// The model of any walls, whose pixels are so long.
    pub fn over(walls: Walls, pixel: f64, settings: &BeamSettings, farthest: f64) -> Self {
        Self { walls, pixel, settings: settings.clone(), farthest }
    }

    /// The density of a range, or the probability of no reading, where a wall is expected at `expected`
    /// metres, or nothing within sight.
    ///
    /// The normal part is not cut at 0 and at the farthest range: it misses mass only within a few
    /// deviations of these.
    pub fn likelihood(&self, reading: Reading, expected: Option<f64>) -> f64 {
        let BeamSettings { hit_deviation, short_rate, .. } = self.settings;
        let [hit, short, beyond, random] = self.settings.shares();
        let Reading::Range(range) = reading else {
            return beyond + if expected.is_none() { hit } else { 0.0 };
        };
        let mut density = random / self.farthest;
        if let Some(expected) = expected {
            let apart = (range - expected) / hit_deviation;
            density += hit * (-0.5 * apart * apart).exp() / (hit_deviation * TAU.sqrt());
        }
        let end = expected.unwrap_or(self.farthest);
        if range < end {
            density += short * short_rate * (-short_rate * range).exp() / -(-short_rate * end).exp_m1();
        }
        density
    }
}

impl SensorModel for BeamModel {
    fn visit(&self, pose: Pose, scan: &RangeScan, beam: &mut dyn FnMut(f64)) {
        let (sin, cos) = pose.heading.sin_cos();
        let most = self.farthest / self.pixel;
        let log = |(direction, reading): ([f64; 2], Reading)| {
            let expected = self.walls.range([pose.x, pose.y], compose([cos, sin], direction), most);
            self.likelihood(reading, expected.map(|pixels| pixels * self.pixel)).ln()
        };
        scan.beams.iter().for_each(|met| beam(log((met.direction, met.reading))));
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::Beam;
    use super::super::tests::maps_of;
    use super::*;

    fn model(settings: &BeamSettings) -> BeamModel {
        BeamModel::new(&maps_of(200, 20, |x, _| x >= 150), settings, 10.0)
    }

    fn skewed() -> BeamSettings {
        BeamSettings { hit: 4.0, short: 3.0, beyond: 1.0, random: 2.0, hit_deviation: 0.05, short_rate: 0.7 }
    }

    /// Densities and the probability of no reading sum to 1, at least 5 deviations from both ends.
    #[test]
    fn everything_that_can_happen_has_probability_one() {
        let (model, steps) = (model(&skewed()), 200_000);
        for expected in [Some(0.25), Some(1.0), Some(7.0), Some(9.7), None] {
            let range = |step: i32| (f64::from(step) + 0.5) * 10.0 / f64::from(steps);
            let density = |step| model.likelihood(Reading::Range(range(step)), expected);
            let mass: f64 = (0..steps).map(density).sum::<f64>() * 10.0 / f64::from(steps);
            let total = mass + model.likelihood(Reading::Beyond, expected);
            // The midpoint rule errs by at most one step's height at the jump; 5 deviations miss 6e-7.
            assert!((total - 1.0).abs() < 1e-4, "{expected:?}: {total}");
        }
    }

    #[test]
    fn the_four_parts_by_hand() {
        let model = model(&skewed());
        let at = |range| model.likelihood(Reading::Range(range), Some(2.0));
        let short = |range: f64| 0.3 * 0.7 * (-0.7 * range).exp() / (1.0 - (-1.4_f64).exp());
        assert!((at(1.0) - short(1.0) - 0.02).abs() < 1e-12);
        assert!((at(3.0) - 0.02).abs() < 1e-12, "behind the wall is chance alone");
        let hit = 0.4 * (-0.5_f64).exp() / (0.05 * TAU.sqrt());
        assert!((at(2.05) - hit - 0.02).abs() < 1e-9);
        assert!((model.likelihood(Reading::Beyond, Some(2.0)) - 0.1).abs() < 1e-12);
        assert!((model.likelihood(Reading::Beyond, None) - 0.5).abs() < 1e-12);
    }

    /// A wall 100 pixels, 2 m to the east; the robot looks 60 degrees away from it, the beam 60 degrees back.
    #[test]
    fn beams_are_turned_with_the_robot() {
        let model = model(&skewed());
        let beam = |range| Beam { direction: [0.5, -0.75_f64.sqrt()], reading: Reading::Range(range) };
        let pose = Pose::new(50.0, 10.0, 60.0_f64.to_radians());
        let scan = RangeScan { beams: vec![beam(2.05), beam(1.5)] };
        let expected = [2.05, 1.5].map(|r| model.likelihood(Reading::Range(r), Some(2.0)).ln());
        // Rays end within 1e-6 pixels or so of a wall.
        assert!((model.log_likelihood(pose, &scan) - expected[0] - expected[1]).abs() < 1e-4);
        let only_hits = BeamSettings { short: 0.0, beyond: 0.0, random: 0.0, ..skewed() };
        let model = self::model(&only_hits);
        assert_eq!(model.log_likelihood(pose, &RangeScan { beams: vec![beam(9.0)] }), f64::NEG_INFINITY);
        assert_eq!(model.log_likelihood(pose, &RangeScan::default()), 0.0);
        let inside = Pose::new(160.0, 10.0, 0.0);
        assert!(!model.log_likelihood(inside, &scan).is_nan());
    }
}
