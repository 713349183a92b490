//! Learning between labels in a small maze: it helps, it can be repeated, and it can be taken up again.

use driftless::learn::{Experiment, Method, Scales, Tracking, TrainingSet};
use driftless::methods::{AnchoredEm, Teaching};
use driftless_world::evaluation::Track;
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;

const STEPS: usize = 30;

fn episodes(world: &MazeWorld, seed: u64, count: usize) -> Vec<Trajectory> {
    let one = |k: usize| {
        let mut random = Random::stream(seed, k as u64);
        world.episode(seed, k, STEPS).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

/// Root mean squared distance in the second half.
fn rmse(tracks: &[Track]) -> f64 {
    let far = |track: &Track| {
        let pairs = track.truth.iter().zip(&track.estimate).skip(STEPS / 2);
        pairs.map(|(truth, estimate)| truth.distance(*estimate).powi(2)).collect::<Vec<_>>()
    };
    let all: Vec<f64> = tracks.iter().flat_map(far).collect();
    (all.iter().sum::<f64>() / all.len() as f64).sqrt()
}

#[test]
fn learning_between_labels_helps_and_can_be_taken_up() {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 16, 16);
    let (taught, unseen) = (episodes(&world, 1, 24), episodes(&world, 2, 8));
    let experiment = Experiment { epochs: 3, labels: 0.2, trajectories: 24, ..Experiment::default() };
    let budget = LabelBudget::new(experiment.labels, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(taught), 0..24, budget).unwrap();
    let scales = Scales::measure(&lessons).unwrap();
    let how = Tracking { particles: 200, seed: 4, clouds: true };
    let mut method = AnchoredEm::new(&experiment, &scales, Teaching::BetweenLabels).unwrap();
    let before = rmse(&method.track(&unseen, how).unwrap());
    method.train(1, &lessons).unwrap();
    method.train(2, &lessons).unwrap();
    let mut copy = AnchoredEm::new(&experiment, &scales, Teaching::BetweenLabels).unwrap();
    copy.restore(&method.parameters(), Some(&method.memory())).unwrap();
    let report = method.train(3, &lessons).unwrap();
    assert_eq!(report, copy.train(3, &lessons).unwrap());
    assert_eq!(method.parameters(), copy.parameters());
    assert_eq!(method.memory(), copy.memory());
    let tracks = method.track(&unseen, how).unwrap();
    assert_eq!(tracks, copy.track(&unseen, how).unwrap());
    let after = rmse(&tracks);
    println!("{before:.0} before, {after:.0} after, {report:?}");
    assert!(after < 0.8 * before, "{after} is not clearly less than {before}");
}

#[test]
fn labels_are_needed() {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 16, 16);
    let budget = LabelBudget::new(0.5, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(episodes(&world, 1, 2)), 0..2, budget).unwrap();
    let scales = Scales::measure(&lessons).unwrap();
    let none =
        AnchoredEm::new(&Experiment { labels: 0.0, ..Experiment::default() }, &scales, Teaching::LabelsAlone);
    assert!(none.map(|_| ()).unwrap_err().to_string().contains("labels: must be above 0"));
}
