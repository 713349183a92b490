//! The original differentiable particle filter on a few short episodes: stages, resuming, few labels.

use driftless::learn::{Detail, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet};
use driftless::methods::build;
use driftless_world::evaluation::Particle;
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Trajectory};

const STEPS: usize = 6;
const EPISODES: usize = 4;

fn episodes(seed: u64, count: usize, steps: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 12, 12);
    let one = |k: usize| {
        let mut random = Random::stream(seed, k as u64);
        world.episode(seed, k, steps).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

/// Labels only where `known` says so, of episode and step.
fn lessons(known: impl Fn(usize, usize) -> bool) -> TrainingSet {
    let hide = |(k, episode): (usize, Trajectory)| {
        let mut states = Labels::new(3);
        (0..episode.len()).for_each(|t| states.push(episode.states.get(t).filter(|_| known(k, t))));
        Trajectory { states, ..episode }
    };
    let episodes: Vec<Trajectory> = episodes(1, EPISODES, STEPS).into_iter().enumerate().map(hide).collect();
    let budget = LabelBudget::new(1.0, 1).unwrap();
    TrainingSet::new(Box::new(episodes), 0..EPISODES, budget).unwrap()
}

fn experiment(epochs: u64, label_fraction: f64) -> Experiment {
    let method = "dpf".parse().unwrap();
    Experiment { method, label_fraction, epochs, particles: 10, batch_size: 4, ..Experiment::default() }
}

fn made(experiment: &Experiment, lessons: &TrainingSet) -> Box<dyn Method> {
    build(experiment, &Normalisation::measure(lessons).unwrap()).unwrap()
}

/// The names under which a stage's loss is reported.
fn stage_of(report: &EpochReport) -> &str {
    assert_eq!((report.updates, report.skipped), (50, 0), "{report:?}");
    assert!(report.losses.iter().all(|(_, loss)| loss.is_finite()), "{report:?}");
    assert_eq!((report.losses.len(), report.losses[0].0.as_str()), (2, "loss"));
    &report.losses[1].0
}

/// Which parts an epoch changed, of motion, encoder, likelihood and proposer.
fn changed(method: &mut dyn Method, epoch: u64, lessons: &TrainingSet) -> (String, [bool; 4]) {
    let before = method.parameters();
    let stage = stage_of(&method.train(epoch, lessons).unwrap()).to_owned();
    let after = method.parameters();
    let part = |name: &str| {
        let mut pairs = before.iter().zip(&after).filter(|(old, _)| old.name.starts_with(name));
        pairs.any(|(old, new)| old != new)
    };
    let likelihood = ["by_observation", "by_state", "rest"];
    let likelihood = likelihood.iter().any(|name| part(&format!("model.measurement.{name}")));
    (stage, [part("model.transition"), part("model.measurement.observation"), likelihood, part("proposer")])
}

/// One epoch of each stage. What a stage does not learn stays as it is, bit for bit.
#[test]
fn each_stage_changes_its_own_parts() {
    let lessons = lessons(|_, _| true);
    let mut method = made(&experiment(4, 1.0), &lessons);
    let stages: Vec<(String, [bool; 4])> =
        (1..=4).map(|epoch| changed(method.as_mut(), epoch, &lessons)).collect();
    let expected = [
        ("motion", [true, false, false, false]),
        ("measurement", [false, true, true, false]),
        ("proposer", [false, false, false, true]),
        ("kernel density", [true, true, true, true]),
    ];
    assert_eq!(stages, expected.map(|(name, parts)| (name.to_owned(), parts)));
}

/// After every epoch a copy made of plain numbers goes on beside the original, across all stage borders and
/// within a stage: bit for bit the same.
#[test]
fn taken_up_exactly_in_every_stage() {
    let lessons = lessons(|_, t| t % 3 != 2);
    let experiment = experiment(6, 0.67);
    let mut trained = made(&experiment, &lessons);
    let mut stages = Vec::new();
    for epoch in 1..=6 {
        let mut copy = made(&experiment, &lessons);
        copy.restore(&trained.parameters(), Some(&trained.memory())).unwrap();
        let report = trained.train(epoch, &lessons).unwrap();
        assert_eq!(report, copy.train(epoch, &lessons).unwrap(), "epoch {epoch}");
        assert!(trained.parameters() == copy.parameters() && trained.memory() == copy.memory(), "{epoch}");
        stages.push(stage_of(&report).to_owned());
    }
    assert_eq!(
        stages,
        ["motion", "measurement", "proposer", "kernel density", "kernel density", "kernel density"]
    );
}

/// Of eight epochs the first, second and third begin a stage, the fourth does not. At a begin, memory of the one before does not matter; within a stage it does.
#[test]
fn a_stage_begins_with_a_fresh_optimiser() {
    let lessons = lessons(|_, _| true);
    let experiment = experiment(8, 1.0);
    let mut trained = made(&experiment, &lessons);
    for (epoch, is_border) in [(1, true), (2, true), (3, true), (4, false)] {
        let mut bare = made(&experiment, &lessons);
        bare.restore(&trained.parameters(), None).unwrap();
        trained.train(epoch, &lessons).unwrap();
        bare.train(epoch, &lessons).unwrap();
        assert_eq!(trained.memory() == bare.memory(), is_border, "epoch {epoch}");
        assert_eq!(trained.parameters() == bare.parameters(), is_border, "epoch {epoch}");
    }
}

/// No two neighbours are known: the measurement has the motion's epochs, and everything is learned in the end.
#[test]
fn few_labels_without_pairs() {
    let lessons = lessons(|k, t| (k + t) % 3 == 0);
    let mut method = made(&experiment(4, 0.33), &lessons);
    let stages: Vec<(String, [bool; 4])> =
        (1..=4).map(|epoch| changed(method.as_mut(), epoch, &lessons)).collect();
    let want = "measurement for want of pairs";
    let names: Vec<&str> = stages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [want, want, "proposer", "kernel density"]);
    assert_eq!(stages[0].1, [false, true, true, false]);
    assert!(stages[3].1[0], "the motion is learned end to end");
}

/// A single label: no wrong pose, a box without extent, no spread; nothing is NaN.
#[test]
fn one_label() {
    let lessons = lessons(|k, t| (k, t) == (1, 2));
    let mut method = made(&experiment(4, 1.0 / 24.0), &lessons);
    (1..=4).for_each(|epoch| drop(stage_of(&method.train(epoch, &lessons).unwrap()).to_owned()));
    let numbers = method.parameters().into_iter().chain(method.memory());
    assert!(numbers.flat_map(|part| part.values).all(f64::is_finite));
}

/// None asked for, or none left: both are refused with a word on labels.
#[test]
fn no_labels_are_refused() {
    let lessons = lessons(|_, _| false);
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let refused = build(&experiment(4, 0.0), &normalisation).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("label_fraction"), "{refused}");
    let mut method = build(&experiment(4, 0.1), &normalisation).unwrap();
    let refused = method.train(1, &lessons).unwrap_err().to_string();
    assert!(refused.contains("label_fraction") && refused.contains("no pose known"), "{refused}");
}

/// Each stage's loss falls from its first epoch to its last.
#[test]
fn losses_fall() {
    let lessons = lessons(|_, _| true);
    let mut method = made(&Experiment { particles: 30, ..experiment(20, 1.0) }, &lessons);
    let reports: Vec<EpochReport> = (1..=13).map(|epoch| method.train(epoch, &lessons).unwrap()).collect();
    for stage in ["motion", "measurement", "proposer", "kernel density"] {
        let losses: Vec<f64> =
            reports.iter().filter(|&report| stage_of(report) == stage).map(|r| r.losses[0].1).collect();
        assert!(losses.len() > 1 && losses[losses.len() - 1] < losses[0], "{stage}: {losses:?}");
    }
}

/// Tracks are complete, finite, and the same whenever the seed is; the first particles are proposed, so they
/// lie in the box of known poses, and know the first image.
#[test]
fn tracks_are_complete_and_repeatable() {
    let lessons = lessons(|_, _| true);
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let method = made(&experiment(4, 1.0), &lessons);
    let unseen = episodes(2, 3, 5);
    let how = Tracking { particles: 30, seed: 5, detail: Detail::Clouds };
    let tracks = method.track(&unseen, how).unwrap();
    assert_eq!(tracks, method.track(&unseen, how).unwrap());
    assert_ne!(tracks, method.track(&unseen, Tracking { seed: 6, ..how }).unwrap());
    assert_eq!(tracks.len(), 3);
    for (track, episode) in tracks.iter().zip(&unseen) {
        assert_eq!((track.truth.len(), track.estimate.len()), (episode.len(), episode.len()));
        assert!(track.estimate.iter().all(|pose| pose.x.is_finite() && pose.heading.is_finite()));
        let clouds = track.clouds.as_ref().unwrap();
        let is_inside = |particle: &Particle| {
            let (x, y) = (particle.pose.x, particle.pose.y);
            // 32 bits round the edge by a part in 10^7 of some hundred units.
            let within = |value: f64, k: usize| {
                value > normalisation.low[k] - 1e-3 && value < normalisation.high[k] + 1e-3
            };
            within(x, 0) && within(y, 1)
        };
        assert!(clouds[0].iter().all(is_inside));
        // 0.7 · 30 = 21 of 30 at step 1: the last ones, of weight 1 / 30 each, inside too.
        assert!(clouds[1][9..].iter().all(|p| is_inside(p) && (p.weight - 1.0 / 30.0).abs() < 1e-6));
        assert!(
            clouds[1][..9].iter().any(|p| (p.weight - 1.0 / 30.0).abs() > 1e-6),
            "the moved are weighted"
        );
    }
}
