//! Robots online that are written down and taken back go on as if nothing had happened: with all methods that follow them.

use crate::coordinates as arm;
use crate::terminal::{Folder, SMALL, run};
use crate::tracking::{STEPS, episodes, write};
use driftless::learn::Trained;
use driftless::methods::build;
use driftless::online::{Estimate, Frame, Place, Start, Step, Tracker};
use driftless_world::files::pfnet::{HouseMaps, PfnetFile, PfnetOptions};
use driftless_world::random::Random;
use driftless_world::trajectory::Coordinates;
use driftless_world::{Dataset, Observations};
use std::sync::Arc;

/// What a robot is given at a step, in its own memory.
#[derive(Default)]
struct Given {
    readings: Option<Vec<f32>>,
    image: Option<([usize; 3], Vec<u8>)>,
    odometry: Option<[f64; 3]>,
    change: Option<Vec<f64>>,
}

impl Given {
    fn step(&self) -> Step<'_> {
        let image = self.image.as_ref().map(|(size, pixels)| Frame { size: *size, pixels });
        Step {
            readings: self.readings.as_deref(),
            image,
            odometry: self.odometry,
            change: self.change.as_deref(),
            time: None,
        }
    }
}

/// Steps of a walk, then others whose images mean nothing: beliefs widen and robots get lost. Some of all is missing.
fn images(size: [usize; 3], count: usize) -> Vec<Given> {
    let mut random = Random::new(3);
    let bytes: usize = size.iter().product();
    let one = |t: usize| Given {
        image: (t % 7 != 3).then(|| (size, (0..bytes).map(|_| random.below(256) as u8).collect())),
        odometry: (t % 5 != 4).then_some([10.0, 1.0, 0.2]),
        ..Given::default()
    };
    (0..count).map(one).collect()
}

/// Follows a robot twice: once without a break, and once through a snapshot before every step.
#[track_caller]
fn goes_on(name: &str, given: &[Given], begin: &dyn Fn(Place) -> Tracker) {
    for place in [Place::Anywhere, Place::About { pose: [2.5, 1.5, 0.3], spread: [0.3, 0.3, 0.2] }] {
        let (mut whole, mut broken) = (begin(place), begin(place));
        for (t, given) in given.iter().enumerate() {
            let bytes = broken.snapshot().unwrap_or_else(|| panic!("{name}: has no snapshot"));
            broken = begin(place);
            broken.restore(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(broken.snapshot().as_ref(), Some(&bytes), "{name}, step {t}: the same bytes again");
            let [found, expected] = [&mut broken, &mut whole].map(|robot| robot.step(given.step()).unwrap());
            assert_eq!(numbers(&found), numbers(&expected), "{name}, step {t}, {place:?}");
            assert_eq!(broken.belief(), whole.belief(), "{name}, step {t}, {place:?}");
        }
        refuses_damage(name, &whole.snapshot().unwrap(), || begin(place));
    }
}

/// All of an estimate: NaN is what it was.
fn numbers(estimate: &Estimate) -> (Vec<u64>, String) {
    let Estimate { pose, covariance, effective_sample_size, .. } = estimate;
    let all = [pose.x, pose.y, pose.heading, *effective_sample_size];
    let bits = all.iter().chain(covariance.as_flattened()).map(|x| x.to_bits()).collect();
    (bits, format!("{estimate:?}"))
}

/// What is cut off or too long is refused, and damage is no panic: what is believed then is finite.
fn refuses_damage(name: &str, bytes: &[u8], begin: impl Fn() -> Tracker) {
    for end in (0..bytes.len()).step_by(bytes.len().div_ceil(40)) {
        assert!(begin().restore(&bytes[..end]).is_err(), "{name}: cut off at {end}");
    }
    assert!(begin().restore(&[bytes, &[0]].concat()).is_err(), "{name}: too long");
    let mut random = Random::new(8);
    for _ in 0..40 {
        let (mut bytes, mut robot) = (bytes.to_vec(), begin());
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        if robot.restore(&bytes).is_ok() {
            let _ = robot.snapshot();
        }
    }
}

#[test]
fn in_mazes() {
    let folder = Folder::new("going-on-maze");
    let data = folder.recordings("a.npz", "1");
    for experiment in [
        "maze-driftless",
        "maze-sdpf",
        "maze-sdpf-released",
        "maze-sdpf-supervised",
        "maze-dpf",
        "maze-regression",
    ] {
        let to = folder.path(experiment);
        run(0, &[&["train", experiment, "--train", &data, "--run", &to], &SMALL[..], &["epochs=1"]].concat());
        let trained = Trained::open(&to, &build).unwrap();
        let begin = |place| {
            let start = Start { particles: Some(30), seed: 4, episode: 2, place };
            Tracker::new(&trained, start).unwrap()
        };
        goes_on(experiment, &images([16, 16, 3], 12), &begin);
    }
}

#[test]
fn with_logs_of_ones_own() {
    let folder = Folder::new("going-on-log");
    let log = folder.path("log.npz");
    write(&log, &episodes(1, 6));
    let walk = episodes(2, 1).remove(0);
    let Observations::Vectors(rows) = &walk.observations else { panic!("scans") };
    let given = |t: usize| Given {
        readings: (t != 4).then(|| rows.row(t).to_vec()),
        odometry: Some([0, 1, 2].map(|k| f64::from(walk.actions.row(t)[k]))),
        ..Given::default()
    };
    let given: Vec<Given> = (0..STEPS).map(given).collect();
    for experiment in [
        "robot-driftless",
        "robot-mcl",
        "robot-odometry",
        "robot-sdpf",
        "robot-sdpf-supervised",
        "robot-dpf",
        "robot-lstm",
        "robot-ekf",
        "robot-histogram",
        "robot-pf-lstm",
    ] {
        let to = folder.path(experiment);
        let mut settings = vec!["label_fraction=0.5", "particles=20", "robot.start=tracking"];
        match experiment {
            "robot-driftless" | "robot-mcl" => settings.extend(["epochs=1", "robot.global_poses=2000"]),
            "robot-odometry" => {}
            "robot-histogram" => settings.extend(["epochs=1", "batch_size=4", "particles=600"]),
            _ => settings.extend(["epochs=1", "batch_size=4"]),
        }
        run(0, &[&["train", experiment, "--train", &log, "--run", &to], &settings[..]].concat());
        let trained = Trained::open(&to, &build).unwrap();
        let begin = |place| {
            // Odometry alone finds nobody.
            let told = Place::About { pose: [2.0, 1.0, 0.0], spread: [0.2; 3] };
            let place = if experiment == "robot-odometry" { told } else { place };
            Tracker::new(&trained, Start { particles: Some(30), seed: 4, episode: 2, place }).unwrap()
        };
        goes_on(experiment, &given, &begin);
    }
}

#[test]
fn with_named_coordinates() {
    let folder = Folder::new("going-on-arm");
    let (to, _) = arm::trained(&folder);
    let alone = folder.path("alone");
    run(
        0,
        &[
            "train",
            "robot-odometry",
            "--train",
            &folder.path("arm.npz"),
            "--run",
            &alone,
            arm::NAMES[0],
            arm::NAMES[1],
        ],
    );
    let walk = arm::episodes(2, 1).remove(0);
    let Observations::Vectors(rows) = &walk.observations else { panic!("vectors") };
    let given = |t: usize| Given {
        readings: (t != 4).then(|| rows.row(t).to_vec()),
        change: (t != 7).then(|| walk.actions.row(t).iter().map(|&x| f64::from(x)).collect()),
        ..Given::default()
    };
    let given: Vec<Given> = (0..12).map(given).collect();
    for (run, is_alone) in [(&to, false), (&alone, true)] {
        let trained = Trained::open(run, &build).unwrap();
        let begin = |place| {
            let [mean, spread] = [[0.5, -0.3], [0.2, 0.2]].map(|x| Coordinates::new(&x).unwrap());
            let told = Place::State { mean, spread };
            // Changes alone find no state.
            let place = if place == Place::Anywhere && !is_alone { place } else { told };
            Tracker::new(&trained, Start { particles: Some(30), seed: 4, episode: 2, place }).unwrap()
        };
        goes_on(run, &given, &begin);
    }
}

#[test]
fn in_houses() {
    let folder = Folder::new("going-on-house");
    let (data, to) = (folder.path("walks.tfrecords"), folder.path("run"));
    run(0, &["simulate", "house", "--episodes", "6", "-t", "16", "-o", &data]);
    let small = ["epochs=1", "house.steps=8", "particles=10", "trajectories=5", "validation_episodes=0"];
    run(0, &[&["train", "house-driftless", "--train", &data, "--run", &to], &small[..]].concat());
    let trained = Trained::open(&to, &build).unwrap();
    let recorded = PfnetFile::open(&data, PfnetOptions::default()).unwrap();
    let floor: Arc<HouseMaps> = Arc::new(recorded.get(5).unwrap().maps);
    let begin = |place| {
        let start = Start { particles: Some(30), seed: 4, episode: 2, place };
        Tracker::in_house(&trained, start, &floor).unwrap().unwrap()
    };
    let [height, width, channels] = trained.config.data.image;
    goes_on("house-driftless", &images([height, width, channels], 8), &begin);
}
