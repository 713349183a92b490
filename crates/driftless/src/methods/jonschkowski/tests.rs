//! The bandwidths of the stages, by a single particle that stands exactly at the truth; and steps one by one.

use super::*;
use crate::draws::{DrawSizes, Drawing};
use crate::online::seen_at;
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
    let examples = Examples::new(fixed_lessons(lessons).unwrap().to_vec()).unwrap();
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

/// A robot followed step by step is where the rollout over its whole episode has it, particle by particle, though every
/// step proposes fewer particles than the one before and has only the present image.
#[test]
fn step_by_step_is_the_rollout() {
    const STEPS: usize = 12;
    const PARTICLES: usize = 30;
    let poses: Vec<[f32; 3]> = (0..STEPS).map(|t| [t as f32, 0.3 * t as f32, 0.1 * t as f32]).collect();
    let lessons = lessons(&poses, &[[1.0, -0.3, 0.1]; STEPS]);
    let experiment = Experiment { label_fraction: 1.0, ..Experiment::default() };
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let method = Jonschkowski::new(&experiment, &normalisation).unwrap();
    let (course, model) = (&method.course, method.deployed());
    let sizes = DrawSizes { batch: 1, steps: 1, particles: PARTICLES, state: 3, noise: 3, uniforms: 1 };
    let mut drawing = Drawing::new(sizes, 7);
    let mut draws = drawing.first();
    draws.steps.extend((1..STEPS).map(|_| drawing.step()));
    let lesson = fixed_lessons(&lessons).unwrap()[0].clone();
    let batch =
        Observed::batch(std::slice::from_ref(&lesson), &normalisation, &Device::flex(), DType::F32).unwrap();
    let rollout = course.filter.run(model, &course.prior, &batch.observations, &batch.actions, &draws);
    let mut follower = course.follower(model.clone(), PARTICLES, None, 7);
    for (t, (belief, info)) in rollout.beliefs.iter().zip(&rollout.infos).enumerate() {
        follower.go(&seen_at(&lesson, t));
        let found = follower.believed();
        let states = crate::testing::numbers(&belief.states);
        for (i, state) in states.chunks_exact(3).enumerate() {
            let own = [0, 1, 2].map(|k| f64::from(found.belief.particles.column(k)[i]));
            // Networks in 32 bits, whose products are summed in another order for one image than for twelve.
            assert_close(&own, state, 1e-4);
        }
        assert_close(&[found.log_evidence], &crate::testing::numbers(&info.log_evidence), 1e-4);
    }
    // 0.7¹¹ · 30 is 0.6 of a particle: all steps behind the first propose some, and fewer and fewer.
    let proposed: Vec<usize> = rollout.infos.iter().map(|info| info.proposed).collect();
    assert_eq!(proposed[1..], [21, 15, 10, 7, 5, 4, 2, 2, 1, 1, 1], "the schedule is at work");
}
