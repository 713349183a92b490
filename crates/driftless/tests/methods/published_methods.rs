//! The published methods on a few short episodes: they learn, can be repeated, and can be taken up again.

use driftless::learn::{Detail, Experiment, Method, Normalisation, Tracking, TrainingSet};
use driftless::methods::build;
use driftless::online::{Observation, Start};
use driftless_world::evaluation::Particle;
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::{Observations, Trajectory};

const STEPS: usize = 22;
const EPISODES: usize = 6;

fn episodes(seed: u64, count: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 16, 16);
    let one = |k: usize| {
        let mut random = Random::stream(seed, k as u64);
        world.episode(seed, k, STEPS).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

fn lessons(share: f64) -> TrainingSet {
    let budget = LabelBudget::new(share, 1).unwrap();
    TrainingSet::new(Box::new(episodes(1, EPISODES)), 0..EPISODES, budget).unwrap()
}

fn experiment(method: &str, label_fraction: f64) -> Experiment {
    let small = Experiment { particles: 20, batch_size: 4, trajectories: EPISODES, ..Experiment::default() };
    // Of `histogram` these are cells.
    let particles = if method == "histogram" { 600 } else { small.particles };
    Experiment { method: method.parse().unwrap(), label_fraction, particles, ..small }
}

/// Of the family, in mazes: their tracks have no particles, or as many as they learned with.
const FAMILY: [&str; 5] = ["ekf", "ukf", "histogram", "pf-lstm", "pf-gru"];
const PUBLISHED: [&str; 4] = ["sdpf-released", "sdpf", "sdpf-supervised", "lstm"];

fn made(experiment: &Experiment, lessons: &TrainingSet) -> Box<dyn Method> {
    build(experiment, &Normalisation::measure(lessons).unwrap()).unwrap()
}

/// Two epochs, a copy made of plain numbers, and a third epoch of both: bit for bit the same.
#[test]
fn a_method_can_be_taken_up_exactly() {
    let lessons = lessons(0.3);
    for method in PUBLISHED.into_iter().chain(FAMILY) {
        let experiment = experiment(method, 0.3);
        let mut trained = made(&experiment, &lessons);
        let first = trained.train(1, &lessons).unwrap();
        // Six episodes hold one batch of four, in each of four passes.
        assert_eq!((first.updates, first.skipped), (4, 0), "{method:?}: {first:?}");
        assert!(first.losses.iter().all(|(_, loss)| loss.is_finite()), "{first:?}");
        let mut copy = made(&experiment, &lessons);
        copy.restore(&trained.parameters(), Some(&trained.memory())).unwrap();
        assert_eq!(trained.train(2, &lessons).unwrap(), copy.train(2, &lessons).unwrap(), "{method:?}");
        assert!(trained.parameters() == copy.parameters() && trained.memory() == copy.memory(), "{method:?}");
        let mut fresh = made(&experiment, &lessons);
        fresh.restore(&copy.parameters(), None).unwrap();
        assert!(
            fresh.train(3, &lessons).unwrap() != trained.train(3, &lessons).unwrap()
                || fresh.memory() != trained.memory(),
            "memory matters"
        );
    }
}

/// What is tracked is finite, complete, and the same whenever the seed is.
#[test]
fn tracks_are_complete_and_repeatable() {
    let (lessons, unseen) = (lessons(0.3), episodes(2, 3));
    for method in PUBLISHED {
        let method = made(&experiment(method, 0.3), &lessons);
        let how = Tracking { particles: 30, seed: 5, detail: Detail::Clouds };
        let tracks = method.track(&unseen, how).unwrap();
        assert_eq!(tracks, method.track(&unseen, how).unwrap());
        assert_eq!(tracks.len(), 3);
        for (track, episode) in tracks.iter().zip(&unseen) {
            assert_eq!((track.truth.len(), track.estimate.len()), (episode.len(), episode.len()));
            assert_eq!(track.truth[3].x as f32, episode.states.get(3).unwrap()[0]);
            assert!(track.estimate.iter().all(|pose| pose.x.is_finite() && pose.heading.is_finite()));
            let is_whole = |cloud: &Vec<Particle>| {
                let sum: f64 = cloud.iter().map(|particle| particle.weight).sum();
                cloud.len() == 30 && (sum - 1.0).abs() < 1e-4 // 30 weights of 32 bits
            };
            assert!(track.clouds.iter().flatten().all(is_whole));
            assert_eq!(track.clouds.is_some(), track.log_evidence.is_some());
        }
    }
}

/// Filters of the family in a maze: losses fall, robots are followed the same way twice and online, and all that is said of
/// beliefs is finite.
#[test]
fn the_family_follows_robots_in_mazes() {
    let (lessons, unseen) = (lessons(1.0), episodes(2, 2));
    for id in FAMILY {
        let mut method = made(&experiment(id, 1.0), &lessons);
        // RMSProp's first steps are ten times as long as later ones.
        let epochs = if id.starts_with("pf-") { 12 } else { 3 };
        let losses: Vec<f64> =
            (1..=epochs).map(|epoch| method.train(epoch, &lessons).unwrap().losses[0].1).collect();
        assert!(losses[losses.len() - 1] < losses[0], "{id}: {losses:?}");
        let how = Tracking { particles: 7, seed: 5, detail: Detail::Clouds };
        let tracks = method.track(&unseen, how).unwrap();
        assert_eq!(tracks, method.track(&unseen, how).unwrap(), "{id}");
        for (number, (track, episode)) in tracks.iter().zip(&unseen).enumerate() {
            let densities = track.log_density.as_ref().expect("a belief has densities");
            assert!(densities.iter().all(|density| density.is_finite()), "{id}: {densities:?}");
            assert!(track.covered.as_ref().is_some_and(|covered| covered.len() == STEPS));
            assert_eq!(track.clouds.is_some(), id.starts_with("pf-"), "{id}");
            let begin = Start { seed: 5, episode: number as u64, ..Start::default() };
            let mut filter = method.online_filter(7, &begin).unwrap().expect("it has one");
            let Observations::Images(images) = &episode.observations else { panic!("images") };
            for t in 0..STEPS {
                let action = Some(std::array::from_fn(|k| f64::from(episode.actions.row(t)[k])));
                let seen = Observation { image: Some((images, t)), action, ..Observation::default() };
                assert_eq!(filter.step(seen).pose, track.estimate[t], "{id}, step {t}");
            }
        }
    }
}

/// The loss on the same few episodes falls.
#[test]
fn losses_fall() {
    let lessons = lessons(1.0);
    for (method, epochs) in [("sdpf-supervised", 12), ("lstm", 8)] {
        let mut trained = made(&experiment(method, 1.0), &lessons);
        let losses: Vec<f64> =
            (1..=epochs).map(|epoch| trained.train(epoch, &lessons).unwrap().losses[0].1).collect();
        assert!(losses[losses.len() - 1] < losses[0], "{method:?}: {losses:?}");
    }
}

/// Without labels only the semi-supervised filter has something to learn from.
#[test]
fn no_labels() {
    let lessons = lessons(0.0);
    let normalisation = Normalisation::measure(&lessons).unwrap();
    for method in PUBLISHED {
        let experiment = experiment(method, 0.0);
        if ["sdpf", "sdpf-released"].contains(&method) {
            let report = made(&experiment, &lessons).train(1, &lessons).unwrap();
            assert_eq!((report.updates, report.skipped), (4, 0), "{method}: {report:?}");
        } else {
            let refused = build(&experiment, &normalisation).map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains("label_fraction"), "{refused}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let normalisation = Normalisation::measure(&lessons(0.3)).unwrap();
    let refused =
        |experiment: Experiment| build(&experiment, &normalisation).map(|_| ()).unwrap_err().to_string();
    let sdpf = |labels| experiment("sdpf", labels);
    assert!(refused(Experiment { particles: 0, ..sdpf(0.1) }).contains("particles"));
    assert!(refused(Experiment { batch_size: 0, ..sdpf(0.1) }).contains("batch_size"));
    assert!(refused(sdpf(1.5)).contains("label_fraction"));
}

/// The same up to rounding, which eight updates of Adam make larger.
#[test]
fn the_lstm_on_kernels_and_with_tensors() {
    let lessons = lessons(0.5);
    let on = |kernels: bool| {
        let experiment = Experiment { kernels, ..experiment("lstm", 0.5) };
        let mut method = made(&experiment, &lessons);
        let losses = [1, 2].map(|epoch| method.train(epoch, &lessons).unwrap().losses[0].1);
        let how = Tracking { particles: 1, seed: 1, detail: Detail::Clouds };
        (losses, method.track(&episodes(7, 3), how).unwrap())
    };
    let ((fast, tracks), (slow, expected)) = (on(true), on(false));
    assert_ne!(fast, slow, "both ways were gone");
    for (fast, slow) in fast.iter().zip(&slow) {
        assert!((fast / slow - 1.0).abs() < 1e-4, "{fast} {slow}");
    }
    for (found, expected) in tracks.iter().zip(&expected) {
        assert_eq!(found.estimate.len(), STEPS);
        for (found, expected) in found.estimate.iter().zip(&expected.estimate) {
            let apart = (found.x - expected.x).hypot(found.y - expected.y);
            assert!(apart < 1.0, "{found:?} {expected:?}");
        }
    }
}
