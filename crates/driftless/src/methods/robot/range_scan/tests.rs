//! The sensor against geometry in 64 bits, and what it says of settings that cannot be.

use super::*;
use crate::batch::PixelScale;
use crate::learn::{Normalisation, SensorKind};
use driftless_core::Space;
use driftless_world::occupancy::OccupancyGrid;
use driftless_world::trajectory::Pixels;

fn normalisation() -> Normalisation {
    let pixels = Pixels::Bytes((0..8 * 10 * 3).map(|k| (k * 41 % 251) as u8).collect());
    let images = Images { height: 8, width: 10, channels: 3, pixels };
    Normalisation {
        pixels: PixelScale::measure([&images]).unwrap(),
        readings: crate::batch::ReadingScale::default(),
        state_mean: [0.0; 3],
        state_std: [1.0; 3],
        action_std: [1.0; 3],
        step_size: [0.2, 0.2, 0.2],
        low: [0.0; 3],
        high: [5.0; 3],
        coordinates: Vec::new(),
    }
}

/// A room of 6 m by 4 m in cells of 5 cm with a pillar, its corner at (-2, 1); the camera looks to the left, 50 degrees wide.
fn sensor() -> RangeScan {
    let settings = SensorSettings {
        kind: SensorKind::named("range-scan"),
        first_degrees: 65.0,
        last_degrees: 15.0,
        reach: 10.0,
        map: "given.yaml".into(),
        ..SensorSettings::default()
    };
    let mut sensor =
        RangeScan::new(&settings, &World { normalisation: &normalisation(), seed: 1, epochs: 1 });
    let (width, height) = (120, 80);
    let is_wall = |x: usize, y: usize| {
        x < 2 || y < 2 || x >= width - 2 || y >= height - 2 || (x / 6 == 11 && y / 6 == 7)
    };
    let cell = |k: usize| if is_wall(k / height, k % height) { Cell::Occupied } else { Cell::Free };
    sensor.scan.grid = Arc::new(OccupancyGrid {
        origin: [-2.0, 1.0],
        cell: 0.05,
        size: [width, height],
        cells: (0..width * height).map(cell).collect(),
    });
    sensor.arrange();
    sensor
}

/// What a column of a scan says of a wall at a depth: bins are equally wide in the logarithm, from a hundredth of the reach
/// to all of it; between two of them the logarithm is interpolated.
fn said(log: &[f32], depth: f64) -> f64 {
    let place = ((depth / 0.1).ln() / 100.0_f64.ln() * 39.0).clamp(0.0, 39.0);
    let below = (place as usize).min(38);
    let share = place - below as f64;
    (1.0 - share) * f64::from(log[below]) + share * f64::from(log[below + 1])
}

/// Log-likelihoods are those of geometry in 64 bits: rays through the middles of columns of a flat image, whose lengths
/// along the camera's axis are looked up. Rays in 32 bits and a table of quarters of a cell err by an eighth of a cell, 6 mm,
/// which is 0.09 bins at half a metre and less farther away; neighbouring bins of this scan differ by up to 0.3.
#[test]
fn likelihoods_are_those_of_geometry() {
    let sensor = sensor();
    let columns = 5;
    let mut random = Random::new(4);
    let scan: Vec<f32> = (0..columns * BINS)
        .map(|k| -3.0 + ((k % BINS) as f32 * 0.35 + (k / BINS) as f32).sin() * 0.8)
        .collect();
    let grid = sensor.scan.grid.clone();
    let walls = Walls::new(grid.size[0], grid.size[1], |cell| grid.cells[cell] == Cell::Occupied);
    let (mut poses, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        let pose = [random.range(-1.2, 3.2), random.range(1.7, 4.3), random.range(-3.0, 3.0)];
        let start = [(pose[0] + 2.0) / 0.05, (pose[1] - 1.0) / 0.05];
        let ray = |column: usize| {
            let across = 25.0_f64.to_radians().tan() * (1.0 - (column as f64 + 0.5) / 2.5);
            let angle = pose[2] + 40.0_f64.to_radians() + across.atan();
            let range = walls.range(start, [angle.cos(), angle.sin()], 2000.0).expect("a closed room");
            said(&scan[column * BINS..(column + 1) * BINS], 0.05 * range * across.atan().cos())
        };
        expected.push((0..columns).map(ray).sum::<f64>());
        poses.push(pose.map(|x| x as f32));
    }
    let mut log = vec![0.0; poses.len()];
    let particles = Particles::from_states(Space::SE2, &poses);
    assert_eq!(sensor.score(&scan, &particles, &mut log), Reading::Present);
    let mut apart: Vec<f64> = log.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs()).collect();
    apart.sort_by(f64::total_cmp);
    // A ray that passes an edge within rounding may meet another wall: two of sixty are allowed to.
    assert!(apart[57] < 5.0 * 0.3 * 0.09, "{apart:?}");
    let spread = expected.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b))
        - expected.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    assert!(spread > 1.0, "the test can tell: {spread}");
    assert_eq!(sensor.score(&[f32::NAN; 200], &particles, &mut log), Reading::Missing);
}

/// Steps without an image, or with one of another size, say nothing; others are a distribution in each column.
#[test]
fn images_become_scans() {
    let sensor = sensor();
    let pixels = Pixels::Bytes((0..8 * 10 * 3).map(|k| (k * 17 % 251) as u8).collect());
    let image = Images { height: 8, width: 10, channels: 3, pixels };
    let other = Images { height: 10, width: 8, ..image.clone() };
    let seen = [Some((&image, 0)), None, Some((&other, 0))];
    let steps = seen.map(|image| Measured { numbers: &[], image });
    let rows = sensor.encode(&steps).unwrap();
    assert_eq!((rows.width(), rows.len()), (5 * BINS, 3));
    for column in rows.row(0).chunks_exact(BINS) {
        let total: f32 = column.iter().map(|log| log.exp()).sum();
        assert!((total - 1.0).abs() < 1e-4);
    }
    assert!([1, 2].iter().all(|&t| rows.row(t).iter().all(|x| x.is_nan())));
}

/// What was learned, and the map, come back; without a map there is no training.
#[test]
fn restored_whole() {
    let (learned, mut other) = (sensor(), sensor());
    other.scan.grid = Arc::default();
    other.arrange();
    let particles = Particles::from_states(Space::SE2, [[0.0_f32, 2.0, 0.5]]);
    let (scan, mut log) = (vec![-1.0; 5 * BINS], [0.0]);
    assert_eq!(other.score(&scan, &particles, &mut log), Reading::Missing);
    other.restore(&learned.parameters(), Some(&learned.memory())).unwrap();
    assert_eq!(other.score(&scan, &particles, &mut log), Reading::Present);
    assert_eq!(log, [-5.0]);
    assert!(other.parameters() == learned.parameters());
    other.scan.settings.map.clear();
    assert!(other.prepare().unwrap_err().to_string().contains("needs a map"));
}
