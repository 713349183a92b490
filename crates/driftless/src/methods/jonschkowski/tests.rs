//! The bandwidths of the stages, by a single particle that stands exactly at the truth.

use super::*;
use crate::testing::assert_close;
use driftless_world::labels::LabelBudget;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows};
use std::f64::consts::TAU;

/// One trajectory through these poses by exact odometry, all labelled.
fn lessons(poses: &[[f32; 3]], actions: &[[f32; 3]]) -> TrainingSet {
    let rows = |values: &[[f32; 3]]| Rows::new(3, values.concat()).unwrap();
    let pixels = Pixels::Bytes((0..poses.len() * 64).map(|k| (k * 37 % 256) as u8).collect());
    let images = Observations::Images(Images { height: 8, width: 8, channels: 1, pixels });
    let whole = Trajectory::new(images, rows(actions), Labels::all(rows(poses))).unwrap();
    TrainingSet::new(Box::new(vec![whole]), 0..1, LabelBudget::new(1.0, 1).unwrap()).unwrap()
}

/// The loss before any update, of a filter of one particle.
fn loss(stage: Stage, lessons: &TrainingSet, change: impl Fn(&mut Named)) -> f64 {
    let experiment = Experiment { label_fraction: 1.0, particles: 1, batch_size: 4, ..Experiment::default() };
    let mut method = Jonschkowski::new(&experiment, &Normalisation::measure(lessons).unwrap()).unwrap();
    let mut parameters = method.parameters();
    parameters.iter_mut().for_each(change);
    method.restore(&parameters, None).unwrap();
    let examples = Examples::new(fixed_lessons(lessons).unwrap()).unwrap();
    method.loss(stage, &examples, 1).unwrap().1.losses[0].1
}

/// -log N(0; 0, σ²).
fn least(sigma: f64) -> f64 {
    (TAU.sqrt() * sigma).ln()
}

/// One particle has no noise, for its mean is taken from it. At heading 0, x grows by a_x and y by -a_y.
#[test]
fn motion_by_a_hundredth_of_a_step() {
    let lessons = lessons(&[[1.0, 2.0, 0.0], [4.0, 6.0, 0.5]], &[[0.0; 3], [3.0, -4.0, 0.5]]);
    // In 32 bits the particle is 1e-6 steps away, a part in 10^4 of σ, whose square does not show.
    assert_close(&[loss(Stage::Motion, &lessons, |_| ())], &[least(0.01)], 1e-5);
}

/// A proposer that says the middle of the box, which is around the only pose, and its heading 0.
#[test]
fn proposer_and_filter_by_a_fifth_of_a_step() {
    let lessons = lessons(&[[7.0, -3.0, 0.0]], &[[0.0; 3]]);
    let certain = |part: &mut Named| {
        if part.name.starts_with("proposer.mind.layers.3.") {
            part.values.fill(0.0);
            part.values[2] = if part.name.ends_with("bias") { 1.0 } else { 0.0 };
        }
    };
    for stage in [Stage::Proposer, Stage::EndToEnd] {
        assert_close(&[loss(stage, &lessons, certain)], &[least(0.2)], 1e-5);
    }
}
