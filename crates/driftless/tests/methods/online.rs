//! A robot online is followed as its recorded episode would be.

use driftless::learn::{Detail, Experiment, Method, Normalisation, Tracking, TrainingSet};
use driftless::methods::{AnchoredEm, Supervision};
use driftless::online::{Estimate, Observation, OnlineFilter, Start};
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Observations, Trajectory};

const STEPS: usize = 25;

fn episodes(seed: u64, count: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 12, 12);
    let one = |k: usize| {
        let mut random = Random::stream(seed, k as u64);
        world.episode(seed, k, STEPS).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

fn trained() -> (AnchoredEm, Normalisation) {
    let budget = LabelBudget::new(0.3, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(episodes(1, 6)), 0..6, budget).unwrap();
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let experiment = Experiment { epochs: 1, label_fraction: 0.3, trajectories: 6, ..Experiment::default() };
    let mut method = AnchoredEm::new(&experiment, &normalisation, Supervision::BetweenLabels).unwrap();
    method.train(1, &lessons).unwrap();
    (method, normalisation)
}

/// Images and actions.
fn as_seen(episode: &Trajectory) -> (&Images, Vec<[f64; 3]>) {
    let Observations::Images(images) = &episode.observations else { panic!("images were recorded") };
    let action = |t: usize| [0, 1, 2].map(|k| f64::from(episode.actions.row(t)[k]));
    (images, (0..episode.actions.len()).map(action).collect())
}

fn filter_of(method: &AnchoredEm) -> Box<dyn OnlineFilter> {
    let start = Start { seed: 5, ..Start::default() };
    method.online_filter(60, &start).unwrap().expect("this method has a filter")
}

fn seen(image: Option<(&Images, usize)>, action: Option<[f64; 3]>) -> Observation<'_> {
    Observation { image, action, ..Observation::default() }
}

#[test]
fn online_as_recorded() {
    let (method, _) = trained();
    let episode = episodes(2, 1).remove(0);
    let how = Tracking { particles: 60, seed: 5, detail: Detail::Means };
    let track = method.track(std::slice::from_ref(&episode), how).unwrap().remove(0);
    let (images, actions) = as_seen(&episode);
    let mut filter = filter_of(&method);
    let mut found = Vec::new();
    for (t, action) in actions.iter().enumerate() {
        let Estimate { pose, covariance, effective_sample_size, particles, lost, .. } =
            filter.step(seen(Some((images, t)), Some(*action)));
        assert!(covariance[0][0] > 0.0 && effective_sample_size <= particles as f64 + 1e-9);
        assert!(lost.is_some_and(|lost| (0.0..=1.0).contains(&lost)));
        found.push(pose);
    }
    assert_eq!(found, track.estimate);
}

/// A step without image and odometry is told of. Nothing is weighed, so that a robot is as likely kidnapped as before but
/// for the one in ten thousand of every step; and it may have done what it does in a step, so that the covariance grows by
/// that: by 2 σ² a step with σ² = π / 2 of the mean step's square, and the little of a robot at rest.
#[test]
fn what_is_missing_is_told() {
    let (method, normalisation) = trained();
    let followed = episodes(2, 1);
    let (images, actions) = as_seen(&followed[0]);
    let mut filter = filter_of(&method);
    let blind = filter.step(seen(None, None));
    assert_eq!((blind.saw, blind.moved), (false, false));
    assert!((blind.effective_sample_size / blind.particles as f64 - 1.0).abs() < 1e-5, "{blind:?}");
    for (t, action) in actions.iter().enumerate().take(10) {
        let seen = filter.step(seen(Some((images, t)), Some(*action)));
        assert!((seen.saw, seen.moved) == (true, true));
    }
    let mut before = filter.step(seen(None, Some(actions[10])));
    assert!((before.saw, before.moved) == (false, true));
    let area = |estimate: &Estimate| estimate.covariance[0][0] + estimate.covariance[1][1];
    let first = area(&before);
    for _ in 0..5 {
        let after = filter.step(seen(None, None));
        assert_eq!((after.saw, after.moved), (false, false));
        let (was, is) = (before.lost.unwrap(), after.lost.unwrap());
        assert!((is - (was + 1e-4 * (1.0 - was))).abs() < 1e-12, "kidnapped {was}, then {is}");
        before = after;
    }
    let expected = 5.0 * std::f64::consts::PI * normalisation.step_size[0].powi(2);
    let grown = area(&before) - first;
    // Resampled five times, the variance of 1600 particles shakes by √(2 / 1600) = 4 % of itself each time.
    let shake = 3.0 * 5.0_f64.sqrt() * 0.04 * area(&before);
    assert!((grown - expected).abs() < shake + 0.05 * expected, "{grown}, not {expected} ± {shake}");
    assert!(shake < expected, "the test can tell");
}
