//! Range scans in houses: they learn, go on exactly, and follow robots online as in an evaluation.

use super::house::{TRACKING, built, episodes, experiment, set};
use driftless::learn::{
    Detail, Experiment, HouseSettings, Method, Normalisation, SeenImages, Tracking, TrainingSet,
};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start as OnlineStart};
use driftless_world::labels::LabelBudget;
use driftless_world::pose::Pose;
use driftless_world::trajectory::{Observations, Start, Trajectory};

/// Paths are drawn in the sixth of ten epochs; a stop after the seventh changes nothing. Labels alone need none.
#[test]
fn range_scans_are_taken_up_exactly() {
    for method in ["driftless", "driftless-supervised"] {
        let house = HouseSettings { updates: 2, ..HouseSettings::default() };
        let experiment = Experiment { epochs: 10, batch_size: 4, house, ..experiment(method) };
        let lessons = set(SeenImages::Rgb, 0.5);
        let (mut whole, mut other) = (built(&experiment), built(&experiment));
        (1..=7).for_each(|epoch| drop(whole.train(epoch, &lessons).unwrap()));
        other.restore(&whole.parameters(), Some(&whole.memory())).unwrap();
        assert!(other.memory() == whole.memory(), "{method}");
        for epoch in 8..=10 {
            let [a, b] = [&mut whole, &mut other].map(|method| method.train(epoch, &lessons).unwrap());
            assert_eq!(a.losses, b.losses, "{method} {epoch}");
            assert_eq!(a.effective_sample_size.is_some(), method == "driftless");
        }
        assert!(whole.parameters() == other.parameters(), "{method}");
        let tracks = whole.track(&episodes(SeenImages::Rgb), TRACKING).unwrap();
        assert!(tracks.iter().all(|track| track.estimate.iter().all(|pose| pose.x.is_finite())));
    }
}

/// Three hundred updates by twenty-four images of two houses: the filter knows them by heart, and follows robots that
/// odometry alone leaves as far off as they were told to be, 11 cm.
#[test]
fn a_range_scan_learns_what_it_sees() {
    for images in [SeenImages::Rgb, SeenImages::Depth, SeenImages::RgbDepth] {
        let house = HouseSettings { images, updates: 100, ..HouseSettings::default() };
        let experiment =
            Experiment { epochs: 3, batch_size: 16, label_fraction: 1.0, house, ..experiment("driftless") };
        let lessons = set(images, 1.0);
        let mut method = build(&experiment, &Normalisation::measure(&lessons).unwrap()).unwrap();
        let losses: Vec<f64> =
            (1..=3).map(|epoch| method.train(epoch, &lessons).unwrap().losses[0].1).collect();
        // A scan that says nothing costs log 40 = 3.7; the targets themselves have an entropy of 1.0.
        assert!(losses[0] < 3.2 && losses[2] < 1.9, "{images:?}: {losses:?}");
        let tracks = method.track(&episodes(images), Tracking { particles: 300, ..TRACKING }).unwrap();
        for track in &tracks {
            let (truth, found) = (track.truth[5], track.estimate[5]);
            let apart = (truth.x - found.x).hypot(truth.y - found.y);
            assert!(apart < 25.0, "{images:?}: {apart} cm");
        }
    }
}

/// The same walks, of which robots know their room alone.
fn in_their_rooms() -> Vec<Trajectory> {
    let mut walks = episodes(SeenImages::Rgb);
    for walk in &mut walks {
        let (maps, first) = (walk.floor.clone().unwrap(), walk.states.get(0).unwrap().to_vec());
        let [x, y] = [first[0], first[1]].map(|x| (0.5 * x).round() as usize);
        walk.start = Some(Start::Room(maps.room_id(x, y)));
    }
    walks
}

fn trained(experiment: &Experiment, lessons: &TrainingSet) -> Box<dyn Method> {
    let mut method = build(experiment, &Normalisation::measure(lessons).unwrap()).unwrap();
    (1..=experiment.epochs).for_each(|epoch| drop(method.train(epoch, lessons).unwrap()));
    method
}

/// Estimates of a robot that is given one image and one action at a time.
fn online(method: &dyn Method, walk: &Trajectory, number: u64) -> Vec<Pose> {
    let place = match walk.start.unwrap() {
        Start::About { pose, spread } => {
            Place::About { pose: pose.map(f64::from), spread: spread.map(f64::from) }
        }
        Start::Room(room) => Place::Room(room),
        Start::State { .. } | Start::House => Place::Anywhere,
    };
    let start = OnlineStart { seed: TRACKING.seed, episode: number, place, ..OnlineStart::default() };
    let floor = walk.floor.as_ref().unwrap();
    let mut filter = method.online_filter_in(floor, TRACKING.particles, &start).unwrap().unwrap();
    assert!(filter.belief().is_none(), "nothing is believed before the first step");
    let Observations::Images(images) = &walk.observations else { panic!("images were recorded") };
    let step = |t: usize| {
        let action = Some([0, 1, 2].map(|k| f64::from(walk.actions.row(t)[k])));
        let found = filter.step(Observation { image: Some((images, t)), action, ..Observation::default() });
        assert!(found.saw && !found.collapsed && found.covariance[0][0] > 0.0);
        found.pose
    };
    (0..walk.len()).map(step).collect()
}

/// A robot online is followed as its recording is, to the last bit, wherever it may start; and a step without image and
/// odometry says that nothing was there.
#[test]
fn online_as_recorded() {
    let house = HouseSettings { updates: 20, ..HouseSettings::default() };
    let experiment = Experiment { epochs: 1, batch_size: 8, house, ..experiment("driftless") };
    let method = trained(&experiment, &set(SeenImages::Rgb, 0.5));
    let anywhere =
        episodes(SeenImages::Rgb).into_iter().map(|walk| Trajectory { start: Some(Start::House), ..walk });
    for walks in [episodes(SeenImages::Rgb), in_their_rooms(), anywhere.collect()] {
        let tracks = method.track(&walks, TRACKING).unwrap();
        for (number, (walk, track)) in walks.iter().zip(&tracks).enumerate() {
            assert_eq!(online(&*method, walk, number as u64), track.estimate, "{:?}", walk.start);
        }
    }
    let walk = &episodes(SeenImages::Rgb)[0];
    let start = OnlineStart::default();
    let mut filter = method.online_filter_in(walk.floor.as_ref().unwrap(), 20, &start).unwrap().unwrap();
    filter.step(Observation::default());
    let blind = filter.step(Observation::default());
    assert_eq!((blind.saw, blind.moved, blind.particles), (false, false, 80));
    assert!(method.online_filter(20, &start).unwrap().is_none(), "a house has to be given");
}

/// Scans for a report: only where they are asked for, and what the map says from the truth is what rays meet there.
#[test]
fn scans_are_shown() {
    let house = HouseSettings { updates: 2, ..HouseSettings::default() };
    let experiment = Experiment { epochs: 1, batch_size: 4, house, ..experiment("driftless-supervised") };
    let method = trained(&experiment, &set(SeenImages::Rgb, 0.5));
    let walks = episodes(SeenImages::Rgb);
    assert!(method.track(&walks, TRACKING).unwrap().iter().all(|track| track.scans.is_none()));
    let shown = Tracking { detail: Detail::Clouds, ..TRACKING };
    for track in method.track(&walks, shown).unwrap() {
        let scans = track.scans.expect("they were asked for");
        assert_eq!(scans.len(), track.truth.len());
        for scan in scans.iter().map(|scan| scan.as_ref().expect("no image is damaged")) {
            assert!(scan.len() == 28 && scan.from_truth.len() == 28);
            assert!(
                scan.predicted.iter().all(|[low, middle, high]| 0.0 < *low && low < middle && middle < high)
            );
        }
    }
}

/// Walks without labels whose robots know their room alone are followed from there: one label of twelve walks is enough
/// to train, and what is not found is left out.
#[test]
fn rooms_to_start_in() {
    let house = HouseSettings { updates: 2, ..HouseSettings::default() };
    let experiment =
        Experiment { epochs: 10, batch_size: 4, label_fraction: 0.05, house, ..experiment("driftless") };
    for walks in [in_their_rooms(), episodes(SeenImages::Rgb)] {
        let budget = LabelBudget::new(0.05, 1).unwrap();
        let lessons = TrainingSet::new(Box::new(walks.clone()), 0..4, budget).unwrap();
        assert!(lessons.labels().0 < 4, "some walks have no label");
        let method = trained(&experiment, &lessons);
        let tracks = method.track(&walks, TRACKING).unwrap();
        assert!(tracks.iter().all(|track| track.estimate.iter().all(|pose| pose.x.is_finite())));
    }
}
