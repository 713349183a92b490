//! A robot under way is followed as its recorded episode would be.

use burn::tensor::{DType, Device};
use driftless::learn::{Detail, Experiment, Method, Scales, Tracking, TrainingSet};
use driftless::methods::{AnchoredEm, Teaching};
use driftless::{Batch, online::Estimate};
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;

const STEPS: usize = 25;

fn episodes(seed: u64, count: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 12, 12);
    let one = |k: usize| {
        let mut random = Random::stream(seed, k as u64);
        world.episode(seed, k, STEPS).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

fn taught() -> (AnchoredEm, Scales) {
    let budget = LabelBudget::new(0.3, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(episodes(1, 6)), 0..6, budget).unwrap();
    let scales = Scales::measure(&lessons).unwrap();
    let experiment = Experiment { epochs: 1, labels: 0.3, trajectories: 6, ..Experiment::default() };
    let mut method = AnchoredEm::new(&experiment, &scales, Teaching::BetweenLabels).unwrap();
    method.train(1, &lessons).unwrap();
    (method, scales)
}

/// Normalised images, one after the other, and actions.
fn as_seen(episode: &Trajectory, scales: &Scales) -> (Vec<f32>, Vec<[f64; 3]>) {
    let plan = LabelBudget::new(1.0, 0).unwrap().plan([vec![true; episode.actions.len()]]);
    let lesson = plan.lesson(0, episode.clone()).unwrap();
    let batch = Batch::of_images(&[lesson], &scales.pixels, &Device::flex(), DType::F32).unwrap();
    let action = |t: usize| [0, 1, 2].map(|k| f64::from(episode.actions.row(t)[k]));
    (batch.observations.try_into_vec_as::<f32>().unwrap(), (0..episode.actions.len()).map(action).collect())
}

#[test]
fn under_way_as_recorded() {
    let (method, scales) = taught();
    let episode = episodes(2, 1).remove(0);
    let how = Tracking { particles: 60, seed: 5, detail: Detail::Means };
    let track = method.track(std::slice::from_ref(&episode), how).unwrap().remove(0);
    let (images, actions) = as_seen(&episode, &scales);
    let mut filter = method.under_way(60, 5).expect("this method has a filter");
    let size = images.len() / actions.len();
    let mut found = Vec::new();
    for (image, action) in images.chunks_exact(size).zip(&actions) {
        let Estimate { pose, covariance, effective_sample_size, particles, lost, .. } =
            filter.step(Some(image), Some(*action));
        assert!(covariance[0][0] > 0.0 && effective_sample_size <= particles as f64 + 1e-9);
        assert!(lost.is_some_and(|lost| (0.0..=1.0).contains(&lost)));
        found.push(pose);
    }
    assert_eq!(found, track.estimate);
}

/// Without images and odometry the belief only widens, and the estimate says what was missing.
#[test]
fn what_is_missing_is_told() {
    let (method, scales) = taught();
    let (images, actions) = as_seen(&episodes(2, 1)[0], &scales);
    let size = images.len() / actions.len();
    let mut filter = method.under_way(60, 5).expect("this method has a filter");
    let blind = filter.step(None, None);
    assert_eq!((blind.saw, blind.moved), (false, false));
    for (image, action) in images.chunks_exact(size).zip(&actions).take(10) {
        filter.step(Some(image), Some(*action));
    }
    let before = filter.step(None, Some(actions[10]));
    let after = filter.step(None, None);
    assert!((before.saw, before.moved) == (false, true) && (after.saw, after.moved) == (false, false));
    let area = |estimate: &Estimate| estimate.covariance[0][0] + estimate.covariance[1][1];
    // Resampling shakes the variance by about its share 1 / √60, thrice.
    assert!(area(&after) > 0.6 * area(&before), "{} {}", area(&before), area(&after));
    assert!(after.pose.x.is_finite() && after.covariance.iter().flatten().all(|x| x.is_finite()));
}
