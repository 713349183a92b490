//! A robot's own log, through the same door as all others: a small building is simulated, mapped and localised in.

use driftless::learn::{
    Detail, Experiment, Method, MotionKind, MotionSettings, Normalisation, RobotStart, SensorKind,
    SensorSettings, StateKind, StateSettings, Tracking, TrainingSet, WorldKind,
};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start as OnlineStart};
use driftless_core::map::Walls;
use driftless_world::labels::LabelBudget;
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Observations, Rows, Start, Trajectory};

/// Beams of a scan all around, and cells in a metre of the building.
const BEAMS: usize = 72;
pub const CELLS: f64 = 20.0;

/// 8 m by 6 m with an inner wall and two pillars, so that no two places look alike.
pub fn building() -> Walls {
    Walls::new(160, 120, |cell| {
        let (x, y) = (cell / 120, cell % 120);
        let outer = !(4..156).contains(&x) || !(4..116).contains(&y);
        outer
            || (x / 3 == 30 && y < 70)
            || ((40..48).contains(&x) && (80..88).contains(&y))
            || (x > 120 && y > 104)
    })
}

fn ranges(walls: &Walls, pose: Pose, random: &mut Random) -> Vec<f32> {
    let beam = |k: usize| {
        let angle = pose.heading + std::f64::consts::TAU * k as f64 / BEAMS as f64;
        let place = [pose.x * CELLS, pose.y * CELLS];
        walls.range(place, [angle.cos(), angle.sin()], 400.0).map_or(f32::NAN, |range| {
            if random.chance(0.03) { f32::NAN } else { (range / CELLS + 0.02 * random.normal()) as f32 }
        })
    };
    (0..BEAMS).map(beam).collect()
}

/// Robots that turn where a wall is near. Odometry is 5 % short, turns a little on every metre, and is noisy.
pub fn episodes(count: u64, steps: usize) -> Vec<Trajectory> {
    let walls = building();
    let one = |number: u64| {
        let mut random = Random::stream(11, number);
        let mut pose = Pose::new(random.range(1.0, 3.5), random.range(1.0, 3.0), random.range(-3.0, 3.0));
        let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..steps {
            let ahead = walls.range(
                [pose.x * CELLS, pose.y * CELLS],
                [pose.heading.cos(), pose.heading.sin()],
                400.0,
            );
            let free = ahead.is_some_and(|range| range > 16.0);
            let action = if free { [0.2, 0.0, 0.2 * random.normal()] } else { [0.0, 0.0, 0.7] };
            if t > 0 {
                pose = pose.moved(action, Frame::Robot);
            }
            let odometry = [
                0.95 * action[0] + 0.005 * random.normal(),
                0.0,
                action[2] + 0.05 * action[0] + 0.01 * random.normal(),
            ];
            moved.extend(if t == 0 { [0.0; 3] } else { odometry.map(|x| x as f32) });
            truth.extend([pose.x, pose.y, pose.heading].map(|x| x as f32));
            seen.extend(ranges(&walls, pose, &mut random));
        }
        let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
        let states = Labels::all(rows(3, truth));
        Trajectory::new(Observations::Vectors(rows(BEAMS, seen)), rows(3, moved), states).unwrap()
    };
    (0..count).map(one).collect()
}

pub fn experiment(method: &str) -> Experiment {
    let sensor = SensorSettings {
        name: "scan".into(),
        kind: SensorKind::named("scan"),
        columns: [0, BEAMS],
        first_degrees: 0.0,
        last_degrees: 355.0,
        ..SensorSettings::default()
    };
    Experiment {
        method: method.parse().unwrap(),
        label_fraction: 0.1,
        epochs: 3,
        world: WorldKind::Robot,
        odometry_noise: 0.0,
        sensor: vec![sensor],
        ..Experiment::default()
    }
}

pub fn set(episodes: Vec<Trajectory>, share: f64) -> TrainingSet {
    let count = episodes.len();
    TrainingSet::new(Box::new(episodes), 0..count, LabelBudget::new(share, 1).unwrap()).unwrap()
}

pub fn built(experiment: &Experiment, lessons: &TrainingSet) -> Box<dyn Method> {
    build(experiment, &Normalisation::measure(lessons).unwrap()).unwrap()
}

pub fn told(mut episode: Trajectory, start: RobotStart) -> Trajectory {
    let first: [f32; 3] = std::array::from_fn(|k| episode.states.get(0).unwrap()[k]);
    episode.start = Some(match start {
        RobotStart::Tracking => {
            Start::About { pose: [first[0] + 0.2, first[1] - 0.2, first[2] + 0.1], spread: [0.3, 0.3, 0.2] }
        }
        RobotStart::Global => Start::House,
    });
    episode
}

pub const TRACKING: Tracking = Tracking { particles: 200, seed: 3, detail: Detail::Means };

/// Median distances over the last half of each unseen episode.
pub fn medians(method: &dyn Method, unseen: &[Trajectory], start: RobotStart) -> Vec<f64> {
    let episodes: Vec<Trajectory> = unseen.iter().map(|episode| told(episode.clone(), start)).collect();
    let tracks = method.track(&episodes, TRACKING).unwrap();
    let median = |track: &driftless_world::Track| {
        let mut last: Vec<f64> = (30..60).map(|t| track.truth[t].distance(track.estimate[t])).collect();
        last.sort_by(f64::total_cmp);
        last[15]
    };
    tracks.iter().map(median).collect()
}

/// From a tenth of the poses the building is mapped and robots are followed, told where they start or not. A cell is
/// 5 cm: a median error within two of them is a map that is right. Odometry alone is farther off.
#[test]
fn a_building_is_mapped_and_robots_are_found() {
    let all = episodes(14, 60);
    let (known, unseen) = all.split_at(10);
    let lessons = set(known.to_vec(), 0.1);
    let trained = |id: &str| {
        let mut method = built(&experiment(id), &lessons);
        (1..=3).for_each(|epoch| drop(method.train(epoch, &lessons).unwrap()));
        method
    };
    let method = trained("driftless");
    for start in [RobotStart::Tracking, RobotStart::Global] {
        let found = medians(&*method, unseen, start);
        assert!(found.iter().all(|median| *median < 0.1), "{start:?}: {found:?}");
    }
    let odometry = medians(&*trained("odometry"), unseen, RobotStart::Tracking);
    assert!(odometry.iter().all(|median| *median > 0.2), "{odometry:?}");
}

/// Three epochs at once are three epochs with a stop in between, to the last bit, on a log whose scans are gone in
/// places.
#[test]
fn taken_up_exactly() {
    let mut all = episodes(5, 30);
    for episode in &mut all {
        let Observations::Vectors(rows) = &mut episode.observations else { panic!("scans") };
        rows.values_mut()[4 * BEAMS..7 * BEAMS].fill(f32::NAN);
    }
    for method in ["driftless", "driftless-supervised"] {
        let (lessons, experiment) = (set(all.clone(), 0.2), experiment(method));
        let (mut whole, mut other) = (built(&experiment, &lessons), built(&experiment, &lessons));
        for epoch in 1..=3 {
            whole.train(epoch, &lessons).unwrap();
        }
        let mut half = built(&experiment, &lessons);
        half.train(1, &lessons).unwrap();
        half.train(2, &lessons).unwrap();
        other.restore(&half.parameters(), Some(&half.memory())).unwrap();
        other.train(3, &lessons).unwrap();
        assert!(whole.parameters() == other.parameters() && whole.memory() == other.memory(), "{method}");
        let mut used = built(&experiment, &lessons);
        used.restore(&whole.parameters(), None).unwrap();
        let episodes = [told(all[0].clone(), RobotStart::Global)];
        assert!(used.track(&episodes, TRACKING).unwrap() == whole.track(&episodes, TRACKING).unwrap());
    }
}

/// Nothing that a robot measures makes a NaN: no reading at all, zeros, and numbers beyond everything.
#[test]
fn never_nan() {
    let all = episodes(5, 30);
    let lessons = set(all.clone(), 0.2);
    let mut method = built(&experiment("driftless"), &lessons);
    method.train(1, &lessons).unwrap();
    for hostile in [f32::NAN, 0.0, -1.0, 1e30, f32::MIN_POSITIVE] {
        for start in [RobotStart::Tracking, RobotStart::Global] {
            let mut episode = told(all[0].clone(), start);
            let Observations::Vectors(rows) = &mut episode.observations else { panic!("scans") };
            rows.values_mut().fill(hostile);
            let track = &method.track(&[episode], TRACKING).unwrap()[0];
            let finite = |pose: &Pose| pose.x.is_finite() && pose.y.is_finite() && pose.heading.is_finite();
            assert!(track.estimate.len() == 30 && track.estimate.iter().all(finite), "{hostile} {start:?}");
        }
    }
}

fn place(episode: &Trajectory) -> Place {
    match episode.start {
        Some(Start::About { pose, spread }) => {
            Place::About { pose: pose.map(f64::from), spread: spread.map(f64::from) }
        }
        _ => Place::Anywhere,
    }
}

/// A robot online is followed as its recorded episode is, to the last bit: told where it starts or not, by the filter and by
/// odometry alone, with readings that are gone in places.
#[test]
fn online_as_recorded() {
    let mut all = episodes(5, 30);
    let Observations::Vectors(rows) = &mut all[4].observations else { panic!("scans") };
    rows.values_mut()[4 * BEAMS..7 * BEAMS].fill(f32::NAN);
    let lessons = set(all[..4].to_vec(), 0.2);
    for (id, starts) in [
        ("driftless", &[RobotStart::Tracking, RobotStart::Global][..]),
        ("driftless-supervised", &[RobotStart::Global][..]),
        ("odometry", &[RobotStart::Tracking][..]),
    ] {
        let mut method = built(&experiment(id), &lessons);
        method.train(1, &lessons).unwrap();
        for &start in starts {
            let episode = told(all[4].clone(), start);
            let place = place(&episode);
            let track = &method
                .track(&[all[0].clone(), episode.clone()].map(|e| told(e, start)), TRACKING)
                .unwrap()[1];
            let start = OnlineStart { seed: TRACKING.seed, episode: 1, place, ..OnlineStart::default() };
            let mut filter = method.online_filter(TRACKING.particles, &start).unwrap().unwrap();
            let Observations::Vectors(rows) = &episode.observations else { panic!("scans") };
            for t in 0..30 {
                let action = Some(std::array::from_fn(|k| f64::from(episode.actions.row(t)[k])));
                let seen = Observation { readings: Some(rows.row(t)), action, ..Observation::default() };
                let found = filter.step(seen);
                assert_eq!(found.pose, track.estimate[t], "{id} {place:?} step {t}");
                assert_eq!(found.saw, id != "odometry" && !(4..7).contains(&t), "{id} {place:?} step {t}");
                assert_eq!(found.lost.is_some(), place == Place::Anywhere);
                if let Some(sizes) = &track.effective_sample_size {
                    assert_eq!(found.effective_sample_size, sizes[t]);
                    assert_eq!(filter.belief().unwrap().particles.len(), found.particles);
                }
            }
        }
        let anywhere = method.online_filter(10, &OnlineStart::default()).err().map(|error| error.to_string());
        assert_eq!(anywhere.is_some_and(|said| said.contains("must be tracking")), id == "odometry");
    }
}

/// A robot online that sees and hears nothing: estimates stay numbers, say so, and grow wide.
#[test]
fn nothing_at_all_online() {
    let lessons = set(episodes(4, 30), 0.2);
    let mut method = built(&experiment("driftless"), &lessons);
    method.train(1, &lessons).unwrap();
    let place = Place::About { pose: [2.0, 2.0, 0.5], spread: [0.1, 0.1, 0.1] };
    for place in [place, Place::Anywhere] {
        let start = OnlineStart { place, ..OnlineStart::default() };
        let mut filter = method.online_filter(200, &start).unwrap().unwrap();
        let found: Vec<_> = (0..20).map(|_| filter.step(Observation::default())).collect();
        assert!(found.iter().all(|e| !e.saw && !e.moved && e.pose.x.is_finite() && e.covariance[0][0] > 0.0));
        if place != Place::Anywhere {
            assert!(found[19].covariance[0][0] > 2.0 * found[0].covariance[0][0], "{:?}", found[19]);
        }
    }
}

/// Without labels or sensors there is nothing to map; the message says which setting it is.
#[test]
fn what_is_missing_is_said() {
    let lessons = set(episodes(2, 10), 0.5);
    let statistics = Normalisation::measure(&lessons).unwrap();
    let wrong = |experiment: Experiment| build(&experiment, &statistics).err().map(|error| error.to_string());
    let blind = Experiment { sensor: Vec::new(), ..experiment("driftless") };
    assert!(wrong(blind).unwrap().contains("sensor: is missing"));
    let unlabelled = Experiment { label_fraction: 0.0, ..experiment("driftless") };
    assert!(wrong(unlabelled).unwrap().contains("label_fraction: must be above 0"));
}

/// The building's robots with other actions.
fn with_actions(episodes: &[Trajectory], change: impl Fn(usize, &mut [f32])) -> Vec<Trajectory> {
    let changed = |episode: &Trajectory| {
        let mut episode = episode.clone();
        episode.actions.values_mut().chunks_exact_mut(3).enumerate().for_each(|(t, row)| change(t, row));
        episode
    };
    episodes.iter().map(changed).collect()
}

/// What is done to actions, what the experiment then calls them, and the greatest median error.
type Change<'a> = (&'a dyn Fn(usize, &mut [f32]), MotionKind, f64);

/// Odometry that is missing in places, or always: the scans still find the way. Robots do 20 cm a step; without odometry
/// a filter must guess that, and is within one step of it.
#[test]
fn missing_odometry_is_lived_with() {
    let all = episodes(18, 60);
    let gaps = |t: usize, row: &mut [f32]| {
        if t % 4 == 3 {
            row.fill(f32::NAN);
        }
    };
    let never = |_: usize, row: &mut [f32]| row.fill(f32::NAN);
    let changes: [Change; 2] = [(&gaps, MotionKind::Odometry, 0.1), (&never, MotionKind::None, 0.2)];
    for (change, kind, most) in changes {
        let all = with_actions(&all, change);
        let lessons = set(all[..12].to_vec(), 0.1);
        let motion = MotionSettings { kind, ..MotionSettings::default() };
        let mut method = built(&Experiment { motion, ..experiment("driftless") }, &lessons);
        let reports = [1, 2, 3].map(|epoch| method.train(epoch, &lessons).unwrap());
        // Paths are drawn between labels in spite of the gaps.
        assert!(reports[2].effective_sample_size.unwrap() > 1.0, "{kind:?} {reports:?}");
        let medians = medians(&*method, &all[12..], RobotStart::Tracking);
        assert!(
            medians.iter().filter(|&&median| median < most).count() >= 5,
            "{kind:?} {medians:?} {:?}",
            method.parameters().iter().filter(|p| p.values.len() < 8).collect::<Vec<_>>()
        );
    }
}

/// Poses that nobody knows are followed as well, and not evaluated.
#[test]
fn truth_known_in_part() {
    let all = episodes(8, 60);
    let lessons = set(all[..7].to_vec(), 0.2);
    let mut method = built(&experiment("driftless-supervised"), &lessons);
    method.train(1, &lessons).unwrap();
    let whole = told(all[7].clone(), RobotStart::Tracking);
    let mut states = Labels::new(3);
    (0..60).for_each(|t| states.push(whole.states.get(t).filter(|_| t % 5 == 0)));
    let part = Trajectory { states, ..whole.clone() };
    let [whole, part] = [whole, part].map(|episode| {
        let how = Tracking { detail: Detail::Densities, ..TRACKING };
        method.track(&[episode], how).unwrap().remove(0)
    });
    assert_eq!(whole.estimate, part.estimate);
    let evaluation = |track| {
        driftless_world::Evaluation::of(driftless_world::About::default(), [0.1; 3], &[track]).unwrap()
    };
    let (whole, part) = (evaluation(whole), evaluation(part));
    assert_eq!((whole.position_errors[0].len(), part.position_errors[0].len()), (60, 12));
    assert_eq!((part.steps[4].trajectories, part.steps[55].clone()), (0, whole.steps[55].clone()));
    assert_eq!((part.unusable.beliefs, part.last.position_rmse), (0, whole.steps[55].position_rmse));
}

/// Something without a heading among four beacons, as a pose that always looks along x: the beacons are found, the way is
/// followed, and nothing turns.
#[test]
fn positions_among_beacons() {
    let beacons = [[0.0, 0.0], [9.0, 1.0], [1.0, 8.0], [8.0, 9.0]];
    let one = |number: u64| {
        let mut random = Random::stream(5, number);
        let mut at = [random.range(2.0, 7.0), random.range(2.0, 7.0)];
        let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..60 {
            let step = [0, 1].map(|k| (0.3 * random.normal()).clamp(1.0 - at[k], 8.0 - at[k]));
            if t > 0 {
                (0..2).for_each(|k| at[k] += step[k]);
            }
            moved.extend([0, 1].map(|k| (step[k] + 0.03 * random.normal()) as f32));
            moved.push(0.0);
            truth.extend([at[0] as f32, at[1] as f32, 0.0]);
            seen.extend(beacons.map(|[x, y]| ((at[0] - x).hypot(at[1] - y) + 0.1 * random.normal()) as f32));
        }
        let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
        Trajectory::new(Observations::Vectors(rows(4, seen)), rows(3, moved), Labels::all(rows(3, truth)))
            .unwrap()
    };
    let all: Vec<Trajectory> = (0..12).map(one).collect();
    let sensor =
        SensorSettings { kind: SensorKind::named("ranges"), columns: [0, 4], ..SensorSettings::default() };
    let state = StateSettings { kind: StateKind::Position, ..StateSettings::default() };
    let lessons = set(all[..8].to_vec(), 0.1);
    let statistics = Normalisation::measure_in(Frame::World, &lessons).unwrap();
    let mut method =
        build(&Experiment { state, sensor: vec![sensor], ..experiment("driftless") }, &statistics).unwrap();
    (1..=3).for_each(|epoch| drop(method.train(epoch, &lessons).unwrap()));
    for start in [RobotStart::Tracking, RobotStart::Global] {
        let found = medians(&*method, &all[8..], start);
        assert!(found.iter().all(|median| *median < 0.15), "{start:?}: {found:?}");
    }
    let track = &method.track(&[told(all[9].clone(), RobotStart::Global)], TRACKING).unwrap()[0];
    assert!(track.estimate.iter().all(|pose| pose.heading.abs() < 0.05), "{:?}", track.estimate);
}
