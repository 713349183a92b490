//! Published methods on a robot's own log: a small room, scans with readings that are missing, steps without odometry, and
//! episodes of different lengths.

use crate::robot::{built, set, told};
use driftless::learn::{
    Detail, Experiment, Method, Normalisation, RobotStart, SensorKind, SensorSettings, Tracking, WorldKind,
};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start as OnlineStart};
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Camera, Images, Labels, Observations, Pixels, Rows, Start, Trajectory};

const METHODS: [&str; 9] =
    ["sdpf", "sdpf-supervised", "dpf", "lstm", "ekf", "ukf", "histogram", "pf-lstm", "pf-gru"];
/// Those whose belief is no particles, or who have none.
const WITHOUT_PARTICLES: [&str; 4] = ["lstm", "ekf", "ukf", "histogram"];
const BEAMS: usize = 24;
/// The room's far corner; the other one is the origin.
const ROOM: [f64; 2] = [6.0, 4.0];

/// Distances to the walls along beams all around, some of which are missing.
fn scan(pose: Pose, random: &mut Random) -> Vec<f32> {
    let beam = |k: usize| {
        let angle = pose.heading + std::f64::consts::TAU * k as f64 / BEAMS as f64;
        let along = |place: f64, end: f64, speed: f64| {
            if speed > 0.0 { (end - place) / speed } else { -place / speed }
        };
        let range = along(pose.x, ROOM[0], angle.cos()).min(along(pose.y, ROOM[1], angle.sin()));
        if random.chance(0.05) { f32::NAN } else { (range + 0.02 * random.normal()) as f32 }
    };
    (0..BEAMS).map(beam).collect()
}

/// A robot that turns away from walls. At every ninth step nothing is measured, at every eleventh odometry is missing.
fn episode(number: u64, steps: usize) -> Trajectory {
    let mut random = Random::stream(5, number);
    let mut pose = Pose::new(random.range(1.0, 5.0), random.range(1.0, 3.0), random.range(-3.0, 3.0));
    let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for t in 0..steps {
        let ahead = pose.moved([0.6, 0.0, 0.0], Frame::Robot);
        let free = (0.2..ROOM[0] - 0.2).contains(&ahead.x) && (0.2..ROOM[1] - 0.2).contains(&ahead.y);
        let action = if free { [0.2, 0.0, 0.2 * random.normal()] } else { [0.0, 0.0, 0.8] };
        if t > 0 {
            pose = pose.moved(action, Frame::Robot);
        }
        let odometry = [action[0] + 0.01 * random.normal(), 0.0, action[2] + 0.02 * random.normal()];
        let missing = t % 11 == 10;
        moved.extend(odometry.map(|x| if missing { f32::NAN } else { x as f32 }));
        truth.extend([pose.x, pose.y, pose.heading].map(|x| x as f32));
        let reading = scan(pose, &mut random);
        seen.extend(if t % 9 == 8 { vec![f32::NAN; BEAMS] } else { reading });
    }
    let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
    let states = Labels::all(rows(3, truth));
    Trajectory::new(Observations::Vectors(rows(BEAMS, seen)), rows(3, moved), states).unwrap()
}

/// Episodes of 12 to 32 steps.
fn episodes(count: u64) -> Vec<Trajectory> {
    (0..count).map(|number| episode(number, 12 + 5 * (number as usize % 5))).collect()
}

fn experiment(method: &str, start: RobotStart) -> Experiment {
    let sensor = SensorSettings {
        name: "scan".into(),
        kind: SensorKind::named("scan"),
        columns: [0, BEAMS],
        ..SensorSettings::default()
    };
    let mut experiment = Experiment {
        method: method.parse().unwrap(),
        label_fraction: 0.3,
        epochs: 3,
        // Of `histogram` these are cells.
        particles: if method == "histogram" { 600 } else { 30 },
        batch_size: 8,
        world: WorldKind::Robot,
        odometry_noise: 0.0,
        sensor: vec![sensor],
        ..Experiment::default()
    };
    experiment.robot.start = start;
    experiment
}

const TRACKING: Tracking = Tracking { particles: 60, seed: 3, detail: Detail::Densities };

fn is_finite(pose: &Pose) -> bool {
    pose.x.is_finite() && pose.y.is_finite() && pose.heading.is_finite()
}

/// The mean distance over all steps of some episodes.
fn distance(method: &dyn Method, episodes: &[Trajectory], start: RobotStart) -> f64 {
    let episodes: Vec<Trajectory> = episodes.iter().map(|episode| told(episode.clone(), start)).collect();
    let tracks = method.track(&episodes, TRACKING).unwrap();
    assert!(tracks.iter().zip(&episodes).all(|(track, episode)| track.estimate.len() == episode.len()));
    let pairs: Vec<_> = tracks.iter().flat_map(|track| track.truth.iter().zip(&track.estimate)).collect();
    assert!(pairs.iter().all(|(_, estimate)| is_finite(estimate)));
    // A step in which nothing was measured is no collapse: its evidence is 1.
    let evidence = tracks.iter().flat_map(|track| track.log_evidence.iter().flatten());
    assert!(evidence.copied().all(|log| log.is_finite() && log > -1e29));
    pairs.iter().map(|(truth, estimate)| truth.distance(**estimate)).sum::<f64>() / pairs.len() as f64
}

/// Losses fall and stay numbers, though readings, scans and odometry are missing in places. Robots that are told where they
/// start are followed better than by whoever says the middle of the room; where odometry is taken as it is,
/// twice as well.
#[test]
fn losses_fall_and_robots_are_followed() {
    let all = episodes(14);
    let (known, unseen) = all.split_at(10);
    let poses = || unseen.iter().flat_map(|episode| episode.states.iter().flatten());
    let apart = |pose: &[f32]| (f64::from(pose[0]) - 0.5 * ROOM[0]).hypot(f64::from(pose[1]) - 0.5 * ROOM[1]);
    let chance = poses().map(apart).sum::<f64>() / poses().count() as f64;
    // Of the twenty epochs of `dpf` the third to seventh are those of the measurement.
    let plans = [
        ("sdpf", 1..=5, 0.8),
        ("sdpf-supervised", 1..=5, 0.5),
        ("dpf", 3..=7, 0.5),
        ("lstm", 1..=15, 1.0),
        ("ekf", 1..=8, 0.4),
        ("ukf", 1..=8, 0.4),
        ("histogram", 1..=5, 0.6),
        // In so few updates they only learn about where robots are: their loss falls, and poses are worse than the middle.
        ("pf-lstm", 1..=10, 2.0),
        ("pf-gru", 1..=10, 2.0),
    ];
    for (id, epochs, most) in plans {
        let lessons = set(known.to_vec(), 0.3);
        let experiment = Experiment { epochs: 20, ..experiment(id, RobotStart::Tracking) };
        let mut method = built(&experiment, &lessons);
        // The first epoch once more in the end: the same windows, told the same, with the same random numbers.
        let order = epochs.clone().chain([*epochs.start()]);
        let reports: Vec<_> = order.map(|epoch| method.train(epoch, &lessons).unwrap()).collect();
        let losses: Vec<f64> = reports.iter().map(|report| report.losses[0].1).collect();
        assert!(reports.iter().all(|report| report.skipped == 0 && report.updates > 0), "{id}: {reports:?}");
        let (first, again) = (losses[0], losses[losses.len() - 1]);
        let found = distance(&*method, unseen, RobotStart::Tracking);
        println!("{id}: loss {first:.2}, then {again:.2}; {found:.2} m, by chance {chance:.2} m");
        assert!(losses.iter().all(|loss| loss.is_finite()) && again < first, "{id}: {losses:?}");
        assert!(found < most * chance, "{id}: {found}, by chance {chance}");
    }
}

/// Two epochs at once are two epochs with a stop in between, to the last bit, told or not.
#[test]
fn taken_up_exactly() {
    let all = episodes(4);
    for (method, start) in
        METHODS.into_iter().flat_map(|m| [(m, RobotStart::Tracking), (m, RobotStart::Global)])
    {
        let (lessons, experiment) = (set(all.clone(), 0.3), experiment(method, start));
        let (mut whole, mut other) = (built(&experiment, &lessons), built(&experiment, &lessons));
        whole.train(1, &lessons).unwrap();
        other.restore(&whole.parameters(), Some(&whole.memory())).unwrap();
        whole.train(2, &lessons).unwrap();
        other.train(2, &lessons).unwrap();
        assert!(whole.parameters() == other.parameters() && whole.memory() == other.memory(), "{method}");
        let episodes = [told(all[0].clone(), start), told(all[1].clone(), start)];
        assert!(other.track(&episodes, TRACKING).unwrap() == whole.track(&episodes, TRACKING).unwrap());
    }
}

/// Nothing that a robot measures makes a NaN: no reading at all, zeros, and numbers beyond everything.
#[test]
fn never_nan() {
    let all = episodes(3);
    let lessons = set(all.clone(), 0.3);
    for method in METHODS {
        let method = built(&experiment(method, RobotStart::Tracking), &lessons);
        for hostile in [f32::NAN, f32::INFINITY, 0.0, -1e30, 1e30, f32::MIN_POSITIVE] {
            let mut episode = all[0].clone();
            let Observations::Vectors(rows) = &mut episode.observations else { panic!("scans") };
            rows.values_mut().fill(hostile);
            for start in [RobotStart::Tracking, RobotStart::Global] {
                distance(&*method, &[episode.clone()], start);
            }
            episode.actions.values_mut().fill(f32::NAN);
            distance(&*method, &[episode], RobotStart::Tracking);
        }
    }
}

/// A robot that is followed as it drives is where an evaluation of its recorded episode has it, to the last bit, with scans
/// and odometry missing in places, told where it starts or not. What was missing is told of.
#[test]
fn online_as_recorded() {
    let all = episodes(4);
    let lessons = set(all.clone(), 0.3);
    for (id, start) in METHODS.into_iter().flat_map(|m| [(m, RobotStart::Tracking), (m, RobotStart::Global)])
    {
        let mut method = built(&experiment(id, start), &lessons);
        method.train(1, &lessons).unwrap();
        let episodes = [told(all[3].clone(), start), told(all[2].clone(), start)];
        let track = method.track(&episodes, TRACKING).unwrap().remove(1);
        let place = match episodes[1].start {
            Some(Start::About { pose, spread }) => {
                Place::About { pose: pose.map(f64::from), spread: spread.map(f64::from) }
            }
            _ => Place::Anywhere,
        };
        let begin = OnlineStart { seed: TRACKING.seed, episode: 1, place, ..OnlineStart::default() };
        let mut filter = method.online_filter(TRACKING.particles, &begin).unwrap().expect("it has one");
        let Observations::Vectors(rows) = &episodes[1].observations else { panic!("scans") };
        for t in 0..episodes[1].len() {
            let action: [f64; 3] = std::array::from_fn(|k| f64::from(episodes[1].actions.row(t)[k]));
            let action = Some(action).filter(|action| action[0].is_finite());
            let estimate =
                filter.step(Observation { readings: Some(rows.row(t)), action, ..Observation::default() });
            assert_eq!(estimate.pose, track.estimate[t], "{id}, step {t}");
            assert_eq!((estimate.saw, estimate.moved), (t % 9 != 8, t % 11 != 10), "{id}, step {t}");
            assert!(!estimate.collapsed);
            let sizes = track.effective_sample_size.as_ref();
            assert!(sizes.is_none_or(|sizes| sizes[t] == estimate.effective_sample_size), "{id}");
            assert_eq!(filter.belief().is_some(), !WITHOUT_PARTICLES.contains(&id));
            assert!(id == "lstm" || estimate.covariance[0][0] > 0.0, "{id}");
        }
    }
}

/// Images of one channel whose brightness tells where the robot is.
fn images(episode: &Trajectory) -> Images {
    let pixel = |t: usize, k: usize| (40.0 * episode.states.get(t).unwrap()[k % 2]) as u8;
    let pixels = (0..episode.len()).flat_map(|t| (0..64).map(move |k| pixel(t, k))).collect();
    Images { height: 8, width: 8, channels: 1, pixels: Pixels::Bytes(pixels) }
}

/// Cameras alone, and beside other sensors with some images missing.
#[test]
fn cameras_are_looked_at() {
    for beside in [false, true] {
        let with_camera = |mut episode: Trajectory| {
            let images = images(&episode);
            if beside {
                let known = (0..episode.len()).map(|t| t % 4 != 3).collect();
                episode.camera = Some(Camera { images, known });
            } else {
                episode.observations = Observations::Images(images);
            }
            episode
        };
        let all: Vec<Trajectory> = episodes(4).into_iter().map(with_camera).collect();
        let lessons = set(all.clone(), 0.3);
        for method in METHODS {
            let mut experiment = experiment(method, RobotStart::Tracking);
            experiment.sensor.truncate(usize::from(beside));
            let mut method = built(&experiment, &lessons);
            let report = method.train(1, &lessons).unwrap();
            assert!(report.losses[0].1.is_finite() && report.skipped == 0, "{report:?}");
            let before = distance(&*method, &all[..1], RobotStart::Tracking);
            assert!(before.is_finite());
        }
    }
}

/// A sensor beyond the log's columns is named; so is a log with nothing to see.
#[test]
fn what_does_not_fit_is_named() {
    let lessons = set(episodes(2), 0.3);
    let statistics = Normalisation::measure(&lessons).unwrap();
    for method in METHODS {
        let mut experiment = experiment(method, RobotStart::Tracking);
        experiment.sensor[0].columns = [0, BEAMS + 1];
        let error = build(&experiment, &statistics).err().unwrap().to_string();
        assert!(error.contains("sensor `scan`: columns go up to 25, but the log has 24"), "{error}");
    }
}
