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
    let experiment = Experiment { epochs: 1, label_fraction: 0.3, trajectories: 6, ..Experiment::default() };
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

/// A step without image and odometry is told of, and changes next to nothing: nothing is weighed, so that a robot is
/// as likely lost as before but for the one in ten thousand of every step; and nothing moves but by the noise of
/// standing still.
#[test]
fn what_is_missing_is_told() {
    let (method, scales) = taught();
    let (images, actions) = as_seen(&episodes(2, 1)[0], &scales);
    let size = images.len() / actions.len();
    let mut filter = method.under_way(60, 5).expect("this method has a filter");
    let blind = filter.step(None, None);
    assert_eq!((blind.saw, blind.moved), (false, false));
    assert!((blind.effective_sample_size - blind.particles as f64).abs() < 1e-6, "{blind:?}");
    for (image, action) in images.chunks_exact(size).zip(&actions).take(10) {
        let seen = filter.step(Some(image), Some(*action));
        assert!((seen.saw, seen.moved) == (true, true));
    }
    let mut before = filter.step(None, Some(actions[10]));
    assert!((before.saw, before.moved) == (false, true));
    for _ in 0..5 {
        let after = filter.step(None, None);
        assert_eq!((after.saw, after.moved), (false, false));
        let (was, is) = (before.lost.unwrap(), after.lost.unwrap());
        let unseen = was + 1e-4 * (1.0 - was);
        // A twentieth of the belief may step out of the box of known poses, where no robot is; and once there is enough
        // for a newcomer, it is given what was missing.
        let alike = is > 0.999_999 * unseen && is < 1.05 * unseen;
        assert!(alike || (is == 0.0 && was > 1e-4), "lost {was}, then {is}");
        // Drawn anew, the mean of n particles shakes by their spread over √n, three of which are enough, and their
        // variance by √(2 / n) of itself, 4 % with the 1600 that are here.
        let area = |estimate: &Estimate| estimate.covariance[0][0] + estimate.covariance[1][1];
        let shake = 3.0 * (area(&before) / after.particles.min(before.particles) as f64).sqrt();
        assert!(after.pose.distance(before.pose) < shake, "{:?} {:?}", before.pose, after.pose);
        assert!((area(&after) / area(&before) - 1.0).abs() < 0.15, "{} {}", area(&before), area(&after));
        before = after;
    }
}
