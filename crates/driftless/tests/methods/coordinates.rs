//! States of named coordinates, through the door that experiments use: a random walk against the Kalman filter, and an arm
//! of two joints whose angles wrap.

use driftless::learn::{Detail, Experiment, Method, Normalisation, Tracking, TrainingSet};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start as OnlineStart};
use driftless_world::Track;
use driftless_world::evaluation::{About, Evaluation, Thresholds};
use driftless_world::labels::LabelBudget;
use driftless_world::pose::wrap;
use driftless_world::random::Random;
use driftless_world::trajectory::{Coordinates, Labels, Observations, Rows, Start, Trajectory};

const COORDINATES: usize = 4;
const READINGS: usize = 5;
/// Standard deviations of a step, of a reading, and of what is told of the first state.
const STEP: f64 = 0.1;
const NOISE: f64 = 0.3;
const TOLD: f64 = 0.05;

/// What readings are of a state.
const SEEN: [[f64; COORDINATES]; READINGS] = [
    [1.0, 0.5, 0.0, -0.3],
    [0.0, 1.2, -0.4, 0.0],
    [0.6, 0.0, 0.9, 0.2],
    [-0.2, 0.3, 0.0, 1.1],
    [0.5, -0.5, 0.5, 0.5],
];

fn rows(width: usize, values: Vec<f64>) -> Rows {
    Rows::new(width, values.into_iter().map(|x| x as f32).collect()).unwrap()
}

/// A random walk that is seen through normal noise, and told about where it starts.
fn walk(number: u64, steps: usize) -> Trajectory {
    let mut random = Random::stream(23, number);
    let mut state = [(); COORDINATES].map(|()| 0.5 * random.normal());
    let (mut states, mut seen) = (Vec::new(), Vec::new());
    for t in 0..steps {
        state = state.map(|x| if t > 0 { x + STEP * random.normal() } else { x });
        states.extend(state);
        let read =
            SEEN.map(|row| row.iter().zip(state).map(|(h, x)| h * x).sum::<f64>() + NOISE * random.normal());
        seen.extend(read);
    }
    let mean: Vec<f64> = states[..COORDINATES].iter().map(|x| x + TOLD * random.normal()).collect();
    let [mean, spread] = [&mean[..], &[TOLD; COORDINATES]].map(|numbers| Coordinates::new(numbers).unwrap());
    let unknown = rows(COORDINATES, vec![f64::NAN; states.len()]);
    let labels = Labels::all(rows(COORDINATES, states));
    let seen = Observations::Vectors(rows(READINGS, seen));
    Trajectory {
        start: Some(Start::State { mean, spread }),
        ..Trajectory::new(seen, unknown, labels).unwrap()
    }
}

/// The exact filter of such a walk: its errors at each step, one reading after the other.
fn kalman(episode: &Trajectory) -> Vec<[f64; COORDINATES]> {
    let (Some(Start::State { mean, .. }), Observations::Vectors(seen)) =
        (episode.start, &episode.observations)
    else {
        panic!("told, and vectors");
    };
    let mut mean: [f64; COORDINATES] = std::array::from_fn(|k| mean[k]);
    let mut covariance = [[0.0; COORDINATES]; COORDINATES];
    (0..COORDINATES).for_each(|k| covariance[k][k] = TOLD * TOLD);
    let mut errors = Vec::new();
    for t in 0..episode.len() {
        if t > 0 {
            (0..COORDINATES).for_each(|k| covariance[k][k] += STEP * STEP);
        }
        for (h, z) in SEEN.iter().zip(seen.row(t)) {
            let spread: [f64; COORDINATES] =
                std::array::from_fn(|i| (0..COORDINATES).map(|j| covariance[i][j] * h[j]).sum());
            let variance = NOISE * NOISE + h.iter().zip(spread).map(|(h, s)| h * s).sum::<f64>();
            let surprise = f64::from(*z) - h.iter().zip(mean).map(|(h, x)| h * x).sum::<f64>();
            for i in 0..COORDINATES {
                mean[i] += spread[i] / variance * surprise;
                (0..COORDINATES).for_each(|j| covariance[i][j] -= spread[i] * spread[j] / variance);
            }
        }
        let truth = episode.states.get(t).unwrap();
        errors.push(std::array::from_fn(|k| mean[k] - f64::from(truth[k])));
    }
    errors
}

fn trained(
    experiment: &Experiment,
    episodes: Vec<Trajectory>,
) -> (Box<dyn Method>, Normalisation, TrainingSet) {
    let (count, budget) = (episodes.len(), LabelBudget::new(experiment.label_fraction, 1).unwrap());
    let set = TrainingSet::new(Box::new(episodes), 0..count, budget).unwrap();
    let normalisation = Normalisation::measure_for(experiment, &set).unwrap();
    let mut method = build(experiment, &normalisation).unwrap();
    for epoch in 1..=experiment.epochs {
        method.train(epoch, &set).unwrap();
    }
    (method, normalisation, set)
}

fn experiment(readings: usize, settings: &[&str]) -> Experiment {
    let text = format!(
        "world = 'robot'\nparticles = 300\nodometry_noise = 0.0\n\
         [[sensor]]\nname = 'all'\nkind = 'vector'\nencoder = 'gaussian'\ncolumns = [0, {readings}]\n"
    );
    Experiment::parse(&text, &settings.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
}

fn evaluation(normalisation: &Normalisation, tracks: &[Track]) -> Evaluation {
    let thresholds = Thresholds { lost: 1.0, localised: 1.0 };
    normalisation.evaluation(About::default(), thresholds, tracks).unwrap()
}

fn how(particles: usize) -> Tracking {
    Tracking { particles, seed: 4, detail: Detail::Densities }
}

/// From one state in ten the readings' law, their noise and that of the walk are learned, and fresh walks are followed almost
/// as well as by the exact filter, which is told all of it; and better than from labels alone.
#[test]
fn almost_as_good_as_the_kalman_filter() {
    let walks =
        |first: u64, count: u64| -> Vec<Trajectory> { (first..first + count).map(|n| walk(n, 80)).collect() };
    let settings = |more: &[&str]| {
        let names =
            ["state.coordinates=['a', 'b', 'c', 'd']", "motion.kind=none", "label_fraction=0.1", "epochs=4"];
        experiment(READINGS, &[&names[..], more].concat())
    };
    let test = walks(100, 20);
    let exact: Vec<f64> =
        test.iter().flat_map(kalman).map(|e| e.iter().map(|x| x * x).sum::<f64>()).collect();
    let exact = (exact.iter().sum::<f64>() / exact.len() as f64).sqrt();
    let error = |experiment: &Experiment| {
        let (method, normalisation, _) = trained(experiment, walks(0, 16));
        let seen = evaluation(&normalisation, &method.track(&test, how(1000)).unwrap());
        let squares = seen.coordinates.iter().map(|one| one.rmse.unwrap().value.powi(2));
        let coverage = seen.last.coverage.unwrap().value;
        (squares.sum::<f64>().sqrt(), coverage)
    };
    let (ours, coverage) = error(&settings(&[]));
    let (labels_only, _) = error(&settings(&["method=driftless-supervised", "epochs=1"]));
    // A thousand particles in four dimensions, tempering and what was learned cost some per cent.
    assert!(ours < 1.12 * exact, "{ours} against {exact}");
    assert!(ours < labels_only, "{ours} against {labels_only} from labels alone");
    // Of 20 truths 18 are in a region that holds 90 %; of a right filter 14 or fewer in 1 % of the cases.
    assert!(coverage > 0.7, "{coverage}");
}

/// Two joints that turn on and on, with encoders whose increments err in scale and by noise; the arm's end and elbow are
/// seen.
fn arm(number: u64, steps: usize) -> Trajectory {
    let mut random = Random::stream(29, number);
    let mut angles = [random.range(-3.1, 3.1), random.range(-3.1, 3.1)];
    let mut speed = [0.0; 2];
    let (mut states, mut seen, mut moved) = (Vec::new(), Vec::new(), Vec::new());
    for t in 0..steps {
        speed = speed.map(|v| 0.9 * v + 0.06 * random.normal());
        if t > 0 {
            angles = [0, 1].map(|k| wrap(angles[k] + speed[k]));
        }
        let said = [1.1 * speed[0] + 0.03 * random.normal(), 0.92 * speed[1] + 0.03 * random.normal()];
        moved.extend(if t > 0 { said } else { [0.0; 2] });
        states.extend(angles);
        let whole = angles[0] + angles[1];
        let elbow = [angles[0].cos(), angles[0].sin()];
        let end = [elbow[0] + 0.7 * whole.cos(), elbow[1] + 0.7 * whole.sin()];
        seen.extend([elbow[0], elbow[1], end[0], end[1]].map(|x| x + 0.15 * random.normal()));
    }
    let first = [0, 1].map(|k| wrap(states[k] + 0.1 * random.normal()));
    let [mean, spread] = [first, [0.1; 2]].map(|numbers| Coordinates::new(&numbers).unwrap());
    let labels = Labels::all(rows(2, states));
    let episode = Trajectory::new(Observations::Vectors(rows(4, seen)), rows(2, moved), labels).unwrap();
    Trajectory { start: Some(Start::State { mean, spread }), ..episode }
}

fn of_arm(more: &[&str]) -> Experiment {
    let named = ["state.coordinates=['shoulder', 'elbow']", "state.angles=['shoulder', 'elbow']", "epochs=4"];
    experiment(4, &[&named[..], more].concat())
}

fn arms(first: u64, count: u64) -> Vec<Trajectory> {
    (first..first + count).map(|number| arm(number, 60)).collect()
}

/// From one state in ten, fresh arms are followed better than from labels alone and than by their encoders; also where
/// nothing is told of the first state. Online and afterwards the same numbers come out.
#[test]
fn an_arm_of_wrapped_angles() {
    let test = arms(100, 15);
    let error = |experiment: &Experiment, test: &[Trajectory]| {
        let (method, normalisation, _) = trained(experiment, arms(0, 12));
        let seen = evaluation(&normalisation, &method.track(test, how(300)).unwrap());
        seen.coordinates.iter().map(|one| one.rmse.unwrap().value).sum::<f64>()
    };
    let ours = error(&of_arm(&[]), &test);
    let labels_only = error(&of_arm(&["method=driftless-supervised", "epochs=1"]), &test);
    let reckoned = error(&of_arm(&["method=odometry"]), &test);
    assert!(ours < labels_only && ours < 0.5 * reckoned, "{ours}, {labels_only}, {reckoned}");
    assert!(ours < 0.2, "{ours} rad for both joints");
    let lost: Vec<Trajectory> =
        test.iter().map(|episode| Trajectory { start: Some(Start::House), ..episode.clone() }).collect();
    let found = error(&of_arm(&[]), &lost);
    assert!(found < 0.4, "{found} rad for both joints");
}

/// Restored parameters and memory go on exactly, and a filter online says what an evaluation says.
#[test]
fn taken_up_exactly_and_online() {
    let experiment = of_arm(&["epochs=2"]);
    let (mut whole, normalisation, set) = trained(&experiment, arms(0, 6));
    let mut other = build(&experiment, &normalisation).unwrap();
    other.restore(&whole.parameters(), Some(&whole.memory())).unwrap();
    assert_eq!(whole.train(3, &set).unwrap(), other.train(3, &set).unwrap());
    assert_eq!((whole.parameters(), whole.memory()), (other.parameters(), other.memory()));
    let test = arms(100, 1);
    let track = whole.track(&test, how(200)).unwrap().pop().unwrap();
    let Some(Start::State { mean, spread }) = test[0].start else { panic!("told") };
    let start = OnlineStart { seed: 4, place: Place::State { mean, spread }, ..OnlineStart::default() };
    let mut filter = whole.online_filter(200, &start).unwrap().unwrap();
    let Observations::Vectors(seen) = &test[0].observations else { panic!("vectors") };
    for (t, estimate) in track.states.unwrap().estimate.iter().enumerate() {
        let change = Some(test[0].actions.row(t));
        let observation = Observation { readings: Some(seen.row(t)), change, ..Observation::default() };
        assert_eq!(filter.step(observation).state.unwrap().mean, *estimate, "step {t}");
    }
}

#[test]
fn methods_of_the_plane_are_refused() {
    let (_, normalisation, _) = trained(&of_arm(&["method=odometry"]), arms(0, 1));
    for id in ["sdpf", "dpf", "lstm", "mcl", "sdpf-supervised"] {
        let error = build(&of_arm(&[&format!("method={id}")]), &normalisation).err().unwrap().to_string();
        let expected = "with state.coordinates there are driftless, driftless-supervised, odometry";
        assert!(error.contains(expected), "{error}");
    }
}
