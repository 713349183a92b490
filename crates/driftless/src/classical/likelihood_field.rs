//! Scans by where their beams end: near a wall's surface is likely, elsewhere it is chance.

use super::scan::{RangeScan, Reading};
use super::settings::FieldSettings;
use super::{Pose, SensorModel};
use driftless_core::map::squared_distances;
use driftless_core::pose::compose;
use driftless_world::files::pfnet::{HouseMaps, METRES_PER_PIXEL};
use std::f64::consts::TAU;

/// The logarithm of `(1 - random) N(d; 0, σ²) + random / farthest`, where d is the distance from a beam's end
/// to the nearest surface of a wall, for all pixels at once. Beams that met nothing say nothing.
///
/// Distances are to *surfaces*, not to walls: a beam that ends deep in a wall fits no better than one that
/// ends as far in front of it.
#[derive(Clone, Debug)]
pub struct LikelihoodField {
    width: usize,
    height: usize,
    /// Metres of a pixel's side.
    pixel: f64,
    logs: Vec<f32>,
    /// Of a beam that ends beyond the map, where no wall is known.
    elsewhere: f64,
}

impl LikelihoodField {
    /// The field of a house, for a camera that sees `farthest` metres far.
    pub fn new(maps: &HouseMaps, settings: &FieldSettings, farthest: f64) -> Self {
        let size = [maps.width, maps.height];
        Self::over(size, METRES_PER_PIXEL, |pixel| maps.wall[pixel] > 0, settings, farthest)
    }

    /// The field of any walls, whose pixels are so long; pixel (x, y) is number `x * height + y`.
    pub fn over(
        [width, height]: [usize; 2],
        pixel: f64,
        is_wall: impl Fn(usize) -> bool,
        settings: &FieldSettings,
        farthest: f64,
    ) -> Self {
        let squares = squared_distances(width, height, |pixel| is_surface([width, height], &is_wall, pixel));
        let chance = settings.random / farthest;
        let peak = (1.0 - settings.random) / (settings.hit_deviation * TAU.sqrt());
        let narrow = -0.5 * (pixel / settings.hit_deviation).powi(2);
        let log = |square: &f64| (peak * (narrow * square).exp() + chance).ln() as f32;
        Self { width, height, pixel, logs: squares.iter().map(log).collect(), elsewhere: chance.ln() }
    }
}

impl SensorModel for LikelihoodField {
    fn visit(&self, pose: Pose, scan: &RangeScan, beam: &mut dyn FnMut(f64)) {
        let (sin, cos) = pose.heading.sin_cos();
        for met in &scan.beams {
            let Reading::Range(metres) = met.reading else { continue };
            let ([dx, dy], range) = (compose([cos, sin], met.direction), metres / self.pixel);
            let (x, y) = (pose.x + dx * range, pose.y + dy * range);
            let is_on_map = x >= 0.0 && y >= 0.0 && x < self.width as f64 && y < self.height as f64;
            beam(if is_on_map {
                f64::from(self.logs[x as usize * self.height + y as usize])
            } else {
                self.elsewhere
            });
        }
    }
}

/// True for a pixel of a wall with one beside it that is none.
fn is_surface([width, height]: [usize; 2], is_wall: &impl Fn(usize) -> bool, pixel: usize) -> bool {
    let (x, y) = (pixel / height, pixel % height);
    is_wall(pixel)
        && (x > 0 && !is_wall(pixel - height)
            || x + 1 < width && !is_wall(pixel + height)
            || y > 0 && !is_wall(pixel - 1)
            || y + 1 < height && !is_wall(pixel + 1))
}

#[cfg(test)]
mod tests {
    use super::super::scan::Beam;
    use super::super::tests::maps_of;
    use super::*;

    fn one_beam(reading: Reading) -> RangeScan {
        RangeScan { beams: vec![Beam { direction: [0.0, 1.0], reading }] }
    }

    /// A wall 10 pixels thick; the robot looks along -y and the beam goes to its left, along +x.
    #[test]
    fn by_hand() {
        let maps = maps_of(100, 20, |x, _| (50..60).contains(&x));
        let settings = FieldSettings { hit_deviation: 0.1, random: 0.2 };
        let field = LikelihoodField::new(&maps, &settings, 25.0);
        let pose = Pose::new(10.5, 5.5, -std::f64::consts::FRAC_PI_2);
        let log = |range: f64| field.log_likelihood(pose, &one_beam(Reading::Range(range)));
        let expected = |pixels: f64| {
            let hit = (-0.5 * (pixels * 0.02 / 0.1).powi(2)).exp() / (0.1 * TAU.sqrt());
            (0.8 * hit + 0.2 / 25.0).ln()
        };
        // Ends in pixel 50, the surface; in pixel 40; in pixel 54, 4 from either surface; in pixel 70.
        for (range, pixels) in [(0.8, 0.0), (0.6, 10.0), (0.88, 4.0), (1.2, 11.0)] {
            assert!((log(range) - expected(pixels)).abs() < 1e-5, "{range}: {}", log(range));
        }
        // 32 bits hold a logarithm of 5 to 5e-7.
        assert!((log(9.0) - (0.2_f64 / 25.0).ln()).abs() < 1e-5);
        assert_eq!(field.log_likelihood(pose, &one_beam(Reading::Beyond)), 0.0);
        let both = RangeScan { beams: [0.8, 0.6].map(|r| one_beam(Reading::Range(r)).beams[0]).to_vec() };
        assert!((field.log_likelihood(pose, &both) - log(0.8) - log(0.6)).abs() < 1e-9);
    }

    #[test]
    fn impossible_is_not_nan() {
        let settings = FieldSettings { hit_deviation: 0.01, random: 0.0 };
        for maps in [maps_of(30, 30, |_, _| false), maps_of(30, 30, |_, _| true)] {
            let field = LikelihoodField::new(&maps, &settings, 25.0);
            for x in [5.0, 1e6, -1e6] {
                let log = field.log_likelihood(Pose::new(x, 3.0, 0.0), &one_beam(Reading::Range(0.1)));
                assert_eq!(log, f64::NEG_INFINITY);
            }
        }
    }
}
