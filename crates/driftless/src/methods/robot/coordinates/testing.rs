//! What tests of this folder share.

use crate::learn::{CoordinateScale, Normalisation, TrainingSet};
use driftless_world::Trajectory;
use driftless_world::labels::LabelBudget;
use driftless_world::trajectory::{Labels, Observations, Rows};
use std::f64::consts::PI;

/// An angle, and a level from -2 to 2 deviations, with their mean steps.
pub(super) fn angle_and_level(steps: [f64; 2], deviations: [f64; 2]) -> Vec<CoordinateScale> {
    let one = |k: usize, name: &str, high: f64| CoordinateScale {
        name: name.to_owned(),
        angle: k == 0,
        mean: 0.0,
        deviation: deviations[k],
        low: -high,
        high,
        step: steps[k],
    };
    vec![one(0, "turn", PI), one(1, "level", 2.0 * deviations[1])]
}

/// Of nothing else.
pub(super) fn normalisation(coordinates: Vec<CoordinateScale>) -> Normalisation {
    let rows = || Rows::new(3, vec![0.0; 6]).unwrap();
    let seen = Observations::Vectors(Rows::new(1, vec![0.0; 2]).unwrap());
    let episode = Trajectory::new(seen, rows(), Labels::all(rows())).unwrap();
    let budget = LabelBudget::new(1.0, 1).unwrap();
    let set = TrainingSet::new(Box::new(vec![episode]), 0..1, budget).unwrap();
    Normalisation { coordinates, ..Normalisation::measure(&set).unwrap() }
}
