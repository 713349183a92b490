//! Sensors that know no geometry, through the door that experiments use: strengths of signals with an odd law, and a
//! camera of one channel, alone and together.

use driftless::learn::{
    Detail, Experiment, Method, Normalisation, SensorEncoder, SensorKind, SensorSettings, Tracking,
    TrainingSet, WorldKind,
};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start as OnlineStart};
use driftless_world::Track;
use driftless_world::labels::LabelBudget;
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Camera, Images, Labels, Observations, Pixels, Rows, Start, Trajectory};

const EMITTERS: [[f64; 2]; 6] = [[0.5, 0.5], [7.5, 0.3], [4.0, 2.5], [1.0, 4.6], [7.0, 4.4], [3.0, 0.2]];
const SIDE: usize = 10;

/// Falls with the distance, by half a decade more behind a wall, and with the robot's own shadow; at times not heard.
fn signals(pose: Pose, random: &mut Random) -> Vec<f32> {
    let strength = |[x, y]: [f64; 2]| {
        let (dx, dy) = (x - pose.x, y - pose.y);
        let wall = if (x - 4.0) * (pose.x - 4.0) < 0.0 { 6.0 } else { 0.0 };
        let shadow = 3.0 * (dy.atan2(dx) - pose.heading).cos();
        let heard = -40.0 - 20.0 * (dx.hypot(dy) + 0.5).log10() - wall + shadow + 0.5 * random.normal();
        if random.chance(0.1) { f32::NAN } else { heard as f32 }
    };
    EMITTERS.map(strength).to_vec()
}

/// Stripes whose phase and width tell place and heading.
fn image(pose: Pose, random: &mut Random) -> Vec<u8> {
    let pixel = |k: usize| {
        let (row, column) = ((k / SIDE) as f64, (k % SIDE) as f64);
        let wave = (pose.x + 0.3 * row).sin()
            + (1.3 * pose.y + 0.4 * column).cos()
            + (pose.heading + 0.2 * (row - column)).sin();
        (128.0 + 35.0 * wave + 5.0 * random.normal()).clamp(0.0, 255.0) as u8
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

/// What a robot has.
#[derive(Clone, Copy, PartialEq)]
enum Senses {
    Signals,
    Camera,
    Both,
}

/// A room of 8 m by 5 m; turns are odometry's weakness.
fn episode(number: u64, steps: usize, senses: Senses) -> Trajectory {
    let mut random = Random::stream(17, number);
    let mut pose = Pose::new(random.range(1.0, 7.0), random.range(1.0, 4.0), random.range(-3.0, 3.0));
    let (mut heard, mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for t in 0..steps {
        let action = [0.25, 0.0, 0.3 * random.normal()];
        let next = pose.moved(action, Frame::Robot);
        let free = (0.3..7.7).contains(&next.x) && (0.3..4.7).contains(&next.y);
        let action = if free { action } else { [0.0, 0.0, 0.8] };
        if t > 0 {
            pose = pose.moved(action, Frame::Robot);
        }
        let odometry = [action[0] + 0.02 * random.normal(), 0.0, action[2] + 0.08 * random.normal()];
        moved.extend(if t == 0 { [0.0; 3] } else { odometry.map(|x| x as f32) });
        truth.extend([pose.x, pose.y, pose.heading].map(|x| x as f32));
        heard.extend(signals(pose, &mut random));
        seen.extend(image(pose, &mut random));
    }
    let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
    let images = Images { height: SIDE, width: SIDE, channels: 1, pixels: Pixels::Bytes(seen) };
    let observations = match senses {
        Senses::Camera => Observations::Images(images.clone()),
        _ => Observations::Vectors(rows(EMITTERS.len(), heard)),
    };
    let mut episode = Trajectory::new(observations, rows(3, moved), Labels::all(rows(3, truth))).unwrap();
    if senses == Senses::Both {
        episode.camera = Some(Camera { images, known: (0..steps).map(|t| t % 3 > 0).collect() });
    }
    episode
}

fn episodes(count: u64, steps: usize, senses: Senses) -> Vec<Trajectory> {
    (0..count).map(|number| episode(number, steps, senses)).collect()
}

fn experiment(method: &str, senses: Senses, epochs: u64, updates: usize) -> Experiment {
    let columns = [0, EMITTERS.len()];
    let network = |kind, name: &str, columns| SensorSettings {
        name: name.to_owned(),
        kind,
        columns,
        updates,
        ..SensorSettings::default()
    };
    let signals = network(SensorKind::named("vector"), "signals", columns);
    let camera = network(SensorKind::named("image"), "camera", [0, 0]);
    let sensor = match senses {
        Senses::Signals => vec![signals],
        Senses::Camera => vec![camera],
        Senses::Both => vec![signals, camera],
    };
    Experiment {
        method: method.parse().unwrap(),
        epochs,
        world: WorldKind::Robot,
        odometry_noise: 0.0,
        sensor,
        ..Experiment::default()
    }
}

fn set(episodes: Vec<Trajectory>, share: f64) -> TrainingSet {
    let count = episodes.len();
    TrainingSet::new(Box::new(episodes), 0..count, LabelBudget::new(share, 1).unwrap()).unwrap()
}

fn built(experiment: &Experiment, lessons: &TrainingSet) -> Box<dyn Method> {
    build(experiment, &Normalisation::measure_in(Frame::Robot, lessons).unwrap()).unwrap()
}

fn trained(experiment: &Experiment, lessons: &TrainingSet) -> Box<dyn Method> {
    let mut method = built(experiment, lessons);
    (1..=experiment.epochs).for_each(|epoch| drop(method.train(epoch, lessons).unwrap()));
    method
}

fn started(mut episode: Trajectory, told: bool) -> Trajectory {
    let first: [f32; 3] = std::array::from_fn(|k| episode.states.get(0).unwrap()[k]);
    let pose = [first[0] + 0.2, first[1] - 0.2, first[2] + 0.1];
    episode.start = Some(if told { Start::About { pose, spread: [0.3, 0.3, 0.2] } } else { Start::House });
    episode
}

const TRACKING: Tracking = Tracking { particles: 200, seed: 3, detail: Detail::Means };

/// The median distance over the last half of all unseen episodes.
fn median(method: &dyn Method, unseen: &[Trajectory], told: bool) -> f64 {
    let episodes: Vec<Trajectory> = unseen.iter().map(|episode| started(episode.clone(), told)).collect();
    let tracks = method.track(&episodes, TRACKING).unwrap();
    let late = |track: &Track| {
        let steps = track.truth.len();
        (steps / 2..steps).map(|t| track.truth[t].distance(track.estimate[t])).collect::<Vec<_>>()
    };
    let mut all: Vec<f64> = tracks.iter().flat_map(late).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// From a tenth of the poses robots are found by what they hear or see, better than by odometry that is told the start.
#[test]
fn robots_are_found_by_signals_and_images() {
    for senses in [Senses::Signals, Senses::Camera, Senses::Both] {
        let all = episodes(34, 50, senses);
        let (known, unseen) = all.split_at(24);
        let lessons = set(known.to_vec(), 0.1);
        let method = trained(&experiment("driftless", senses, 3, 250), &lessons);
        let odometry = median(&*trained(&experiment("odometry", senses, 1, 1), &lessons), unseen, true);
        for told in [true, false] {
            let found = median(&*method, unseen, told);
            println!("{told}: {found} {odometry}");
            assert!(found < 0.6 * odometry, "told {told}: {found}, odometry {odometry}");
        }
    }
}

/// Two epochs with a stop in between are two epochs to the last bit: networks, optimisers and paths.
#[test]
fn taken_up_exactly() {
    for (method, senses) in [("driftless", Senses::Both), ("driftless-supervised", Senses::Signals)] {
        let all = episodes(6, 20, senses);
        let (lessons, experiment) = (set(all.clone(), 0.3), experiment(method, senses, 2, 20));
        let whole = trained(&experiment, &lessons);
        let (mut half, mut other) = (built(&experiment, &lessons), built(&experiment, &lessons));
        half.train(1, &lessons).unwrap();
        other.restore(&half.parameters(), Some(&half.memory())).unwrap();
        other.train(2, &lessons).unwrap();
        assert!(whole.parameters() == other.parameters() && whole.memory() == other.memory(), "{method}");
        let mut used = built(&experiment, &lessons);
        used.restore(&whole.parameters(), None).unwrap();
        let episodes = [started(all[0].clone(), false)];
        assert!(used.track(&episodes, TRACKING).unwrap() == whole.track(&episodes, TRACKING).unwrap());
    }
}

/// A robot online hears and sees what its recorded episode has, and is followed to the last bit; also where there is no
/// image.
#[test]
fn online_as_recorded() {
    for senses in [Senses::Both, Senses::Camera] {
        let all = episodes(6, 20, senses);
        let lessons = set(all.clone(), 0.3);
        let method = trained(&experiment("driftless", senses, 1, 20), &lessons);
        let episode = started(all[0].clone(), false);
        let track = &method.track(std::slice::from_ref(&episode), TRACKING).unwrap()[0];
        let start = OnlineStart { seed: TRACKING.seed, place: Place::Anywhere, ..OnlineStart::default() };
        let mut filter = method.online_filter(TRACKING.particles, &start).unwrap().unwrap();
        for t in 0..20 {
            let camera =
                episode.camera.as_ref().filter(|camera| camera.known[t]).map(|camera| &camera.images);
            let (readings, images) = match &episode.observations {
                Observations::Vectors(rows) => (Some(rows.row(t)), camera),
                Observations::Images(images) => (None, Some(images)),
            };
            let action = Some(std::array::from_fn(|k| f64::from(episode.actions.row(t)[k])));
            let image = images.map(|images| (images, t));
            let seen = Observation { readings, image, action, change: None };
            let found = filter.step(seen);
            assert!(
                found.pose == track.estimate[t] && found.saw,
                "step {t}: {found:?} {:?}",
                track.estimate[t]
            );
        }
        assert!(!filter.step(Observation::default()).saw);
    }
}

fn is_finite(tracks: &[Track], steps: usize) -> bool {
    let finite = |pose: &Pose| pose.x.is_finite() && pose.y.is_finite() && pose.heading.is_finite();
    tracks.iter().all(|track| track.estimate.len() == steps && track.estimate.iter().all(finite))
}

/// Columns that are never there or never vary, images that never vary, readings beyond everything, in training and in
/// use: no number is lost.
#[test]
fn never_nan() {
    for hostile in [f32::NAN, 0.0, 1e30, f32::MIN_POSITIVE] {
        let mut all = episodes(5, 20, Senses::Both);
        for episode in &mut all {
            let Observations::Vectors(rows) = &mut episode.observations else { panic!("signals") };
            rows.values_mut().chunks_exact_mut(6).for_each(|row| row[..4].fill(hostile));
        }
        let Some(Camera { images, known }) = &mut all[1].camera else { panic!("a camera") };
        images.pixels = Pixels::Bytes(vec![7; images.pixels.len()]);
        known.fill(false);
        let lessons = set(all.clone(), 0.3);
        for encoder in [None, Some(SensorEncoder::Network)] {
            let mut experiment = experiment("driftless", Senses::Both, 2, 5);
            if encoder.is_some() {
                (experiment.sensor[0].kind, experiment.sensor[0].encoder) =
                    (SensorKind::named("scan"), encoder);
            }
            let method = trained(&experiment, &lessons);
            assert!(method.parameters().iter().flat_map(|one| &one.values).all(|x| x.is_finite()));
            let mut last = all[0].clone();
            let Observations::Vectors(rows) = &mut last.observations else { panic!("signals") };
            rows.values_mut().fill(hostile);
            for told in [true, false] {
                let tracks = method.track(&[started(last.clone(), told)], TRACKING).unwrap();
                assert!(is_finite(&tracks, 20), "{hostile} {encoder:?}");
            }
        }
    }
}

/// What says nothing leaves a belief as odometry has it: with all readings missing, two methods that differ in their
/// networks alone follow the same path.
#[test]
fn what_is_missing_says_nothing() {
    let all = episodes(5, 20, Senses::Signals);
    let lessons = set(all.clone(), 0.3);
    let mut silent = started(all[0].clone(), true);
    let Observations::Vectors(rows) = &mut silent.observations else { panic!("signals") };
    rows.values_mut().fill(f32::NAN);
    let track = |updates: usize| {
        let method = trained(&experiment("driftless", Senses::Signals, 1, updates), &lessons);
        let mut parameters = method.parameters();
        // The tempering and the noise are calibrated with the network: the same for both.
        for one in parameters.iter_mut().filter(|one| one.name.starts_with("filter.")) {
            one.values.fill(0.5);
        }
        let mut method = built(&experiment("driftless", Senses::Signals, 1, updates), &lessons);
        method.restore(&parameters, None).unwrap();
        (parameters, method.track(std::slice::from_ref(&silent), TRACKING).unwrap())
    };
    let (first, second) = (track(1), track(9));
    assert!(first.0 != second.0 && first.1 == second.1);
}

/// Images of another size than those that were learned from are refused by name.
#[test]
fn images_of_another_size() {
    let all = episodes(5, 20, Senses::Camera);
    let lessons = set(all.clone(), 0.3);
    let method = trained(&experiment("driftless", Senses::Camera, 1, 2), &lessons);
    let mut other = started(all[0].clone(), true);
    let pixels = Pixels::Bytes(vec![0; 20 * 4 * 6]);
    other.observations = Observations::Images(Images { height: 4, width: 6, channels: 1, pixels });
    let message = method.track(&[other], TRACKING).err().unwrap().to_string();
    assert!(message.contains("episode 0") && message.contains("images of 4 x 6 pixels"), "{message}");
}
