//! Methods in houses, through the same door as all others: they learn, go on exactly, and say what is wrong.

use driftless::learn::{
    Detail, Experiment, HouseBlockStart, HousePseudoLikelihood, HouseSettings, HouseStart, Method,
    Normalisation, SeenImages, Tracking, TrainingSet, WorldKind,
};
use driftless::methods::build;
use driftless::objective::{Genealogy, Likelihoods};
use driftless_world::house::{HouseWorld, Split};
use driftless_world::labels::LabelBudget;
use driftless_world::trajectory::{Start, Trajectory};

/// A few short episodes in two houses.
pub(crate) fn episodes(images: SeenImages) -> Vec<Trajectory> {
    let settings = HouseSettings { images, ..HouseSettings::default() };
    let camera = HouseWorld::camera(56, 56);
    let one = |number: u64| {
        let world = HouseWorld::new(5, Split::Train, number % 2).unwrap();
        let recorded = world.episode(6, number, camera);
        let episode = recorded.in_centimetres(settings.observation()).unwrap();
        let [x, y, heading] = recorded.states[0];
        let start =
            Start::About { pose: [2.0 * x + 10.0, 2.0 * y - 5.0, heading + 0.1], spread: [30.0, 30.0, 0.5] };
        Trajectory { start: Some(start), ..episode }
    };
    (0..4).map(one).collect()
}

pub(crate) fn experiment(method: &str) -> Experiment {
    let house = HouseSettings { block: 3, steps: 6, learning_rate: 1e-3, ..HouseSettings::default() };
    Experiment {
        method: method.parse().unwrap(),
        label_fraction: 0.5,
        particles: 5,
        batch_size: 2,
        world: WorldKind::House,
        odometry_noise: 0.0,
        house,
        ..Experiment::default()
    }
}

pub(crate) fn set(images: SeenImages, share: f64) -> TrainingSet {
    TrainingSet::new(Box::new(episodes(images)), 0..4, LabelBudget::new(share, 1).unwrap()).unwrap()
}

pub(crate) fn built(experiment: &Experiment) -> Box<dyn Method> {
    let lessons = set(experiment.house.images, experiment.label_fraction);
    build(experiment, &Normalisation::measure(&lessons).unwrap()).unwrap()
}

pub(crate) const TRACKING: Tracking = Tracking { particles: 40, seed: 3, detail: Detail::Densities };

/// Two epochs at once are two epochs with a stop in between, to the last bit; and something is learned.
#[test]
fn taken_up_exactly() {
    for method in ["sdpf", "pfnet", "lstm"] {
        let experiment = experiment(method);
        let (mut whole, mut half, mut other) = (built(&experiment), built(&experiment), built(&experiment));
        let lessons = set(SeenImages::Rgb, 0.5);
        let first = whole.parameters();
        whole.train(1, &lessons).unwrap();
        whole.train(2, &lessons).unwrap();
        half.train(1, &lessons).unwrap();
        other.restore(&half.parameters(), Some(&half.memory())).unwrap();
        other.train(2, &lessons).unwrap();
        assert!(whole.parameters() == other.parameters(), "{method}");
        assert!(whole.memory() == other.memory(), "{method}");
        assert!(whole.parameters() != first, "{method} learned nothing");
    }
}

/// Every reading of the pseudo-likelihood trains, block by block, or once a sequence where its last particles decide.
#[test]
fn switches_of_the_pseudo_likelihood() {
    let plain = HousePseudoLikelihood::default();
    let released = HousePseudoLikelihood {
        start: HouseBlockStart::Carried,
        likelihoods: Likelihoods::Released,
        genealogy: Genealogy::Final,
        first_likelihood: false,
        hold_positions: false,
        hold_weights: false,
    };
    let prior = HousePseudoLikelihood { start: HouseBlockStart::Prior, ..plain };
    let learned =
        [plain, prior, HousePseudoLikelihood { hold_positions: false, ..plain }, released].map(|switches| {
            let mut experiment = experiment("sdpf");
            experiment.house.pseudo_likelihood = switches;
            experiment.house.resampling_threshold = 1.0;
            let mut filter = built(&experiment);
            let report = filter.train(1, &set(SeenImages::Rgb, 0.5)).unwrap();
            // Two batches of two blocks.
            let updates = if switches.genealogy == Genealogy::Final { 2 } else { 4 };
            assert_eq!((report.updates, report.skipped), (updates, 0), "{switches:?}");
            assert!(report.losses.iter().all(|(_, loss)| loss.is_finite()), "{switches:?}");
            filter.parameters()
        });
    // Neither μ nor positions depend on what is learned.
    assert!(learned[0] == learned[1] && learned[0] == learned[2] && learned[0] != learned[3]);
}

/// Every loss and every estimate is a number, and the same seed gives the same track.
#[test]
fn reports_and_tracks_are_finite() {
    for method in ["sdpf", "pfnet", "lstm"] {
        let experiment = experiment(method);
        let mut filter = built(&experiment);
        let report = filter.train(1, &set(SeenImages::Rgb, 0.5)).unwrap();
        assert!(report.updates > 0 && report.skipped == 0, "{method}");
        assert!(report.losses.iter().all(|(_, loss)| loss.is_finite()));
        let episodes = episodes(SeenImages::Rgb);
        let tracks = filter.track(&episodes, TRACKING).unwrap();
        let again = filter.track(&episodes, TRACKING).unwrap();
        assert_eq!(tracks, again);
        let poses = tracks.iter().flat_map(|track| &track.estimate);
        assert!(
            poses.clone().count() == 24
                && poses.clone().all(|pose| (pose.x + pose.y + pose.heading).is_finite())
        );
    }
}

/// Odometry is exact here: the estimate stays as wrong as it began, turned with the robot's heading error.
#[test]
fn odometry_alone_keeps_its_error() {
    let odometry = built(&experiment("odometry"));
    for track in odometry.track(&episodes(SeenImages::Rgb), TRACKING).unwrap() {
        for (truth, estimate) in track.truth.iter().zip(&track.estimate) {
            let apart = driftless_world::pose::wrap(estimate.heading - truth.heading);
            assert!((apart - 0.1).abs() < 1e-4, "{apart}");
        }
        let first = track.truth[0].distance(track.estimate[0]);
        assert!((first - 125.0_f64.sqrt()).abs() < 1e-2, "{first}");
    }
}

/// The classical localiser reads depth and gets nearer to the truth than odometry alone.
#[test]
fn classical_localisation_beats_odometry() {
    let mut experiment = experiment("classical");
    let wrong = built(&experiment).track(&episodes(SeenImages::Rgb), TRACKING).unwrap_err().to_string();
    assert!(wrong.contains("must be depth"), "{wrong}");
    experiment.house.images = SeenImages::Depth;
    let (classical, episodes) = (built(&experiment), episodes(SeenImages::Depth));
    let odometry = built(&Experiment { method: "odometry".parse().unwrap(), ..experiment.clone() });
    let error = |method: &dyn Method| {
        let how = Tracking { particles: 500, ..TRACKING };
        let tracks = method.track(&episodes, how).unwrap();
        let last = |track: &driftless_world::Track| track.truth[5].distance(track.estimate[5]);
        tracks.iter().map(last).sum::<f64>()
    };
    let (found, drifted) = (error(classical.as_ref()), error(odometry.as_ref()));
    assert!(found < drifted, "{found} {drifted}");
}

#[test]
fn what_is_missing_is_said() {
    let experiment = experiment("pfnet");
    let filter = built(&experiment);
    let [first, ..] = &episodes(SeenImages::Rgb)[..] else { panic!("there are episodes") };
    let problem = |episode: Trajectory| filter.track(&[episode], TRACKING).unwrap_err().to_string();
    assert!(problem(Trajectory { floor: None, ..first.clone() }).contains("floor plan"));
    assert!(problem(Trajectory { start: None, ..first.clone() }).contains("where the robot starts"));
    let nowhere = Trajectory { start: Some(Start::Room(999)), ..first.clone() };
    assert!(problem(nowhere).contains("room 999"));
    let other = Experiment { method: "dpf".parse().unwrap(), ..experiment.clone() };
    let normalisation = Normalisation::measure(&set(SeenImages::Rgb, 0.5)).unwrap();
    assert!(build(&other, &normalisation).err().unwrap().to_string().contains("is for mazes"));
    let maze = Experiment { world: WorldKind::Maze, method: "odometry".parse().unwrap(), ..experiment };
    assert!(build(&maze, &normalisation).err().unwrap().to_string().contains("is for houses"));
}

/// `house.key=value` reaches the table, in any depth, and mistakes are named.
#[test]
fn settings_of_houses() {
    let text = "world = 'house'\n[house]\nblock = 2\nimages = 'depth'";
    let replaced = ["house.block=5".to_owned(), "house.start=room".into(), "house.classical.beams=9".into()];
    let found = Experiment::parse(text, &replaced).unwrap();
    assert_eq!((found.house.block, found.house.images), (5, SeenImages::Depth));
    assert_eq!((found.house.start, found.house.classical.beams), (HouseStart::Room, 9));
    for wrong in ["house.blok=3", "house.block=0", "house.learning_rate=-1", "house.decay=2"] {
        assert!(Experiment::parse(text, &[wrong.to_owned()]).is_err(), "{wrong}");
    }
}

/// Imported weights are what a filter begins with; those of another network are refused.
#[test]
fn weights_to_begin_with() {
    let path = std::env::temp_dir().join(format!("driftless-begin-{}.safetensors", std::process::id()));
    let mut experiment = experiment("pfnet");
    let other = built(&Experiment { seed: 9, ..experiment.clone() }).parameters();
    assert!(built(&experiment).parameters() != other);
    driftless::weights::write(&path, driftless::weights::pfnet_checkpoint::KIND, &other).unwrap();
    experiment.house.weights.clone_from(&path);
    assert!(built(&experiment).parameters() == other);
    experiment.house.images = SeenImages::Depth;
    let normalisation = Normalisation::measure(&set(SeenImages::Depth, 0.5)).unwrap();
    let problem = build(&experiment, &normalisation).err().unwrap().to_string();
    assert!(
        problem.contains("observation.l1_conv3.kernel") && problem.contains("[3, 3, 1, 128]"),
        "{problem}"
    );
    std::fs::remove_file(path).unwrap();
}
