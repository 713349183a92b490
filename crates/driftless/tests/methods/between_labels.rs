//! Learning between labels in a small maze: it helps, it can be repeated, and it can be taken up again.

use driftless::learn::{
    Ablation, Detail, Experiment, Method, Normalisation, Tracking, TrainingSet, Unlabelled, UnlabelledWeights,
};
use driftless::methods::{AnchoredEm, Supervision};
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
    let (trained, unseen) = (episodes(&world, 1, 24), episodes(&world, 2, 8));
    let experiment = Experiment { epochs: 3, label_fraction: 0.2, trajectories: 24, ..Experiment::default() };
    let budget = LabelBudget::new(experiment.label_fraction, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(trained), 0..24, budget).unwrap();
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let how = Tracking { particles: 200, seed: 4, detail: Detail::Clouds };
    let mut method = AnchoredEm::new(&experiment, &normalisation, Supervision::BetweenLabels).unwrap();
    let before = rmse(&method.track(&unseen, how).unwrap());
    method.train(1, &lessons).unwrap();
    method.train(2, &lessons).unwrap();
    let mut copy = AnchoredEm::new(&experiment, &normalisation, Supervision::BetweenLabels).unwrap();
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
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let none = AnchoredEm::new(
        &Experiment { label_fraction: 0.0, ..Experiment::default() },
        &normalisation,
        Supervision::LabelsAlone,
    );
    assert!(none.map(|_| ()).unwrap_err().to_string().contains("label_fraction: must be above 0"));
}

/// A method for lessons of a few short episodes, before its first epoch.
fn small(share: f64, supervision: Supervision, ablation: &[Ablation]) -> (AnchoredEm, TrainingSet) {
    let ablation = ablation.to_vec();
    small_of(share, supervision, Experiment { ablation, ..Experiment::default() })
}

fn small_of(share: f64, supervision: Supervision, settings: Experiment) -> (AnchoredEm, TrainingSet) {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 8, 8);
    let budget = LabelBudget::new(share, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(episodes(&world, 1, 4)), 0..4, budget).unwrap();
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let experiment = Experiment { epochs: 2, label_fraction: share, particles: 50, ..settings };
    (AnchoredEm::new(&experiment, &normalisation, supervision).unwrap(), lessons)
}

/// The supervised twin goes on exactly, without any drawn path in its memory.
#[test]
fn the_twin_learns_from_known_poses_alone() {
    let (mut twin, lessons) = small(0.3, Supervision::LabelsAlone, &[]);
    let first = twin.train(1, &lessons).unwrap();
    assert_eq!((first.updates, first.effective_sample_size), (100, None));
    assert!(twin.memory().iter().all(|part| !part.name.starts_with("paths")));
    let (mut copy, _) = small(0.3, Supervision::LabelsAlone, &[]);
    copy.restore(&twin.parameters(), Some(&twin.memory())).unwrap();
    let second = twin.train(2, &lessons).unwrap();
    assert_eq!(second, copy.train(2, &lessons).unwrap());
    assert_eq!(twin.parameters(), copy.parameters());
    assert!(second.losses[0].1 < first.losses[0].1, "{first:?} {second:?}");
}

/// Without any objective for unlabelled steps it is the twin, to the last byte. One whose weight is 0 is said and changes
/// nothing, as its random numbers are its own; with a weight it changes the network and can be taken up exactly.
#[test]
fn objectives_are_added_to_labels_alone() {
    let trained = |supervision: Supervision, unlabelled: &[Unlabelled], weight: f64| {
        let unlabelled_weights = UnlabelledWeights { evidence: weight, ..UnlabelledWeights::default() };
        let unlabelled = unlabelled.to_vec();
        let settings = Experiment { unlabelled, unlabelled_weights, ..Experiment::default() };
        let (mut method, lessons) = small_of(0.3, supervision, settings.clone());
        let first = method.train(1, &lessons).unwrap();
        let (mut copy, _) = small_of(0.3, supervision, settings);
        copy.restore(&method.parameters(), Some(&method.memory())).unwrap();
        let second = method.train(2, &lessons).unwrap();
        assert_eq!(second, copy.train(2, &lessons).unwrap());
        assert_eq!((method.parameters(), method.memory()), (copy.parameters(), copy.memory()));
        (method, first)
    };
    let usual = [Unlabelled::Paths];
    let (twin, first) = trained(Supervision::LabelsAlone, &usual, 1.0);
    let (labels, same) = trained(Supervision::BetweenLabels, &[], 1.0);
    assert_eq!(
        (labels.parameters(), labels.memory(), same),
        (twin.parameters(), twin.memory(), first.clone())
    );
    let (watched, said) = trained(Supervision::BetweenLabels, &[Unlabelled::Evidence], 0.0);
    assert_eq!((watched.parameters(), watched.memory()), (twin.parameters(), twin.memory()));
    let names: Vec<&str> = said.losses.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["loss", "contrast", "evidence"]);
    assert_eq!(said.losses[1], first.losses[0]);
    assert!((1.0..=50.0).contains(&said.effective_sample_size.unwrap()));
    let (pulled, _) = trained(Supervision::BetweenLabels, &[Unlabelled::Evidence], 0.1);
    assert_ne!(pulled.parameters(), twin.parameters());
}

/// If all poses are known, both learn from the same: the network's first epoch is the same bytes.
#[test]
fn with_all_labels_there_is_nothing_between_them() {
    let (mut semi, lessons) = small(1.0, Supervision::BetweenLabels, &[]);
    let (mut twin, _) = small(1.0, Supervision::LabelsAlone, &[]);
    let (semi_report, twin_report) = (semi.train(1, &lessons).unwrap(), twin.train(1, &lessons).unwrap());
    // Of eight equal poses or of the one, four are drawn: other random numbers, so not the same batches.
    assert!(
        (semi_report.losses[0].1 - twin_report.losses[0].1).abs() < 0.2,
        "{semi_report:?} {twin_report:?}"
    );
    let named =
        |method: &AnchoredEm| method.parameters().into_iter().find(|p| p.name == "filter.noise").unwrap();
    assert_eq!(named(&semi), named(&twin));
}

/// What is left out is left out: settings of the filter say so, or the track does.
#[test]
fn parts_can_be_left_out() {
    let parameter = |method: &AnchoredEm, name: &str| {
        method.parameters().into_iter().find(|part| part.name == name).unwrap().values
    };
    let trained = |ablation: &[Ablation], epochs: u64| {
        let (mut method, lessons) = small(0.3, Supervision::BetweenLabels, ablation);
        (1..=epochs).for_each(|epoch| drop(method.train(epoch, &lessons).unwrap()));
        method
    };
    let without_noise = trained(&[Ablation::LearnedNoise, Ablation::Calibration], 1);
    assert_eq!(parameter(&without_noise, "filter.noise"), [20.0, 0.5, 0.0, 0.0]);
    assert_eq!(parameter(&without_noise, "filter.tempering"), [1.0]);
    assert_ne!(parameter(&trained(&[], 1), "filter.noise"), [20.0, 0.5, 0.0, 0.0]);
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 8, 8);
    let unseen = episodes(&world, 2, 1);
    let first = |ablation: &[Ablation]| {
        let (method, _) = small(0.3, Supervision::BetweenLabels, ablation);
        let tracking = Tracking { particles: 50, seed: 4, detail: Detail::Clouds };
        let track = method.track(&unseen, tracking).unwrap().remove(0);
        track.clouds.unwrap().iter().map(Vec::len).collect::<Vec<_>>()
    };
    let all = first(&[]);
    assert_eq!((all[0], all.len()), (2000, STEPS));
    let few = first(&[Ablation::GlobalStart, Ablation::Recovery]);
    assert!(few.iter().all(|&count| count == 50), "{few:?}");
}
