//! A robot online is followed without allocating anything after the first step.

#[path = "../../driftless-kernels/tests/counting/mod.rs"]
mod counting;

use driftless::learn::{Experiment, Method, Normalisation, TrainingSet};
use driftless::methods::{AnchoredEm, Supervision};
use driftless::online::{Observation, Start};
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Pixels};

/// With images without a meaning, so that the belief widens, narrows and gets lost: populations of all sizes. One test
/// alone in its process, so that nobody else allocates meanwhile.
#[test]
fn steps_allocate_nothing() {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 12, 12);
    let mut random = Random::new(1);
    let episodes = (0..2).map(|k| world.episode(1, k, 20).into_trajectory(0.1, &mut random).unwrap());
    let budget = LabelBudget::new(0.5, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(episodes.collect::<Vec<_>>()), 0..2, budget).unwrap();
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let method = AnchoredEm::new(&Experiment::default(), &normalisation, Supervision::BetweenLabels).unwrap();
    let mut filter = method
        .online_filter(100, &Start { seed: 3, ..Start::default() })
        .unwrap()
        .expect("this method has a filter");
    let [channels, height, width] = normalisation.pixels.shape();
    let pixels = (0..20 * channels * height * width).map(|_| 128.0 + 60.0 * random.normal() as f32);
    let images = Images { height, width, channels, pixels: Pixels::Floats(pixels.collect()) };
    let seen = |t, action| Observation { image: Some((&images, t)), action, ..Observation::default() };
    filter.step(seen(0, None));
    let mut sizes = Vec::with_capacity(400);
    let before = counting::allocations();
    for t in (0..20).cycle().take(400) {
        sizes.push(filter.step(seen(t, Some([10.0, 0.0, 0.2]))).particles);
    }
    assert_eq!(counting::allocations() - before, 0);
    sizes.dedup();
    assert!(sizes.len() > 5, "populations did not change: {sizes:?}");
}
