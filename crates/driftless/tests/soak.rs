//! Robots followed for very long, through missing, damaged, late and senseless inputs, carried off again and again: no
//! estimate is anything but finite, no step allocates, and robots are found.
//!
//! `DRIFTLESS_SOAK_STEPS=1000000 cargo test --release -p driftless --test soak` is the long version, with a better trained
//! network.

#[path = "../../driftless-kernels/tests/counting/mod.rs"]
mod counting;

use driftless::learn::{
    DataFiles, Experiment, Normalisation, RobotSettings, RunConfig, SensorKind, SensorSettings, Trained,
    TrainingSet, WorldKind,
};
use driftless::methods::build;
use driftless::online::{Estimate, Frame, Start, Step, Tracker};
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::pose::{Frame as MotionFrame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};

/// Robots at once, and steps until one is carried off.
const ROBOTS: usize = 8;
const WALK: usize = 250;
/// Pixels along an image's side.
const SIDE: usize = 16;
const BEACONS: [[f64; 2]; 4] = [[0.0, 0.0], [12.0, 0.0], [12.0, 9.0], [0.0, 9.0]];

/// What robots live through.
struct Life {
    name: &'static str,
    trained: Trained,
    walks: Vec<Trajectory>,
    /// Closer than this to the truth, a robot is found.
    near: f64,
}

/// What became of them.
#[derive(Default)]
struct Found {
    refused: usize,
    blind: usize,
    carried_off: usize,
    /// Steps until robots that were carried off were near the truth, for three steps at least.
    after: Vec<usize>,
}

fn trained(experiment: Experiment, walks: &[Trajectory], known: f64, image: [usize; 3]) -> Trained {
    let budget = LabelBudget::new(known, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(walks.to_vec()), 0..walks.len(), budget).unwrap();
    let normalisation = Normalisation::measure(&lessons).unwrap();
    let mut method = build(&experiment, &normalisation).unwrap();
    (1..=experiment.epochs).for_each(|epoch| _ = method.train(epoch, &lessons).unwrap());
    let data = DataFiles { image, ..DataFiles::default() };
    Trained { config: RunConfig::new(experiment, data), normalisation, method }
}

/// Without the depth behind the colours, as cameras have it.
fn in_colours(walk: Trajectory) -> Trajectory {
    let Observations::Images(Images { height, width, channels, pixels }) = &walk.observations else {
        return walk;
    };
    let colours =
        (0..walk.len() * height * width).flat_map(|i| [0, 1, 2].map(|k| pixels.get(i * channels + k) as u8));
    let images =
        Images { height: *height, width: *width, channels: 3, pixels: Pixels::Bytes(colours.collect()) };
    Trajectory { observations: Observations::Images(images), ..walk }
}

fn in_a_maze(epochs: u64) -> Life {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), SIDE, SIDE);
    let walk = |seed: u64, k: usize| {
        let mut random = Random::stream(seed, k as u64);
        in_colours(world.episode(seed, k, WALK).into_trajectory(0.1, &mut random).unwrap())
    };
    let lessons: Vec<Trajectory> = (0..40).map(|k| walk(1, k)).collect();
    let experiment = Experiment { epochs, label_fraction: 0.5, trajectories: 40, ..Experiment::default() };
    let trained = trained(experiment, &lessons, 0.5, [SIDE, SIDE, 3]);
    Life { name: "maze", trained, walks: (0..40).map(|k| walk(2, k)).collect(), near: 100.0 }
}

/// A robot that drives arcs between four beacons, and hears how far they are.
fn drive(number: u64) -> Trajectory {
    let mut random = Random::stream(5, number);
    let mut pose = Pose::new(random.range(3.0, 9.0), random.range(3.0, 6.0), random.range(-3.0, 3.0));
    let (mut heard, mut moved, mut truth) = (Vec::new(), Vec::new(), Labels::new(3));
    for _ in 0..WALK {
        // Away from the walls.
        let ahead = pose.moved([1.5, 0.0, 0.0], MotionFrame::Robot);
        let is_free = (0.0..12.0).contains(&ahead.x) && (0.0..9.0).contains(&ahead.y);
        let motion = if is_free { [0.25, 0.0, 0.2 * random.normal()] } else { [0.0, 0.0, 0.6] };
        pose = pose.moved(motion, MotionFrame::Robot);
        moved.extend(motion.map(|x| (x * (1.0 + 0.05 * random.normal())) as f32));
        heard.extend(BEACONS.map(|[x, y]| ((pose.x - x).hypot(pose.y - y) + 0.05 * random.normal()) as f32));
        truth.push(Some(&[pose.x as f32, pose.y as f32, pose.heading as f32]));
    }
    let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
    Trajectory::new(Observations::Vectors(rows(4, heard)), rows(3, moved), truth).unwrap()
}

fn between_beacons() -> Life {
    let walks: Vec<Trajectory> = (0..30).map(drive).collect();
    let sensor =
        SensorSettings { kind: SensorKind::named("ranges"), columns: [0, 4], ..SensorSettings::default() };
    let robot = RobotSettings { global_poses: 2000, global_particles: 1000, ..RobotSettings::default() };
    let world = WorldKind::Robot;
    let experiment = Experiment { world, sensor: vec![sensor], robot, epochs: 2, ..Experiment::default() };
    let trained = trained(experiment, &walks[..10], 1.0, [1, 4, 1]);
    Life { name: "beacons", trained, walks: walks[10..].to_vec(), near: 0.5 }
}

/// Numbers that no sensor should say.
const SENSELESS: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e-320, 0.0, -1.0];

/// Inputs of a step, in memory that is used again.
struct Inputs {
    pixels: Vec<u8>,
    readings: Vec<f32>,
    random: Random,
}

impl Inputs {
    /// A step as it was recorded, or what is left of it: a tenth is senseless, a tenth missing, a few of another size.
    fn of(&mut self, walk: &Trajectory, t: usize) -> Step<'_> {
        let Self { pixels, readings, random } = self;
        let mut odometry = Some([0, 1, 2].map(|k| f64::from(walk.actions.row(t)[k])));
        let (image, numbers) = match &walk.observations {
            Observations::Images(images) => {
                pixels.clear();
                let all = images.stride();
                pixels.extend((t * all..(t + 1) * all).map(|i| images.pixels.get(i) as u8));
                (true, false)
            }
            Observations::Vectors(rows) => {
                readings.clear();
                readings.extend_from_slice(rows.row(t));
                (false, true)
            }
        };
        match random.below(40) {
            0 | 1 => odometry = None,
            2 | 3 => odometry = Some([0; 3].map(|_| SENSELESS[random.below(SENSELESS.len())])),
            4 => pixels.iter_mut().for_each(|pixel| *pixel = random.below(256) as u8),
            5 => readings.iter_mut().for_each(|x| *x = SENSELESS[random.below(SENSELESS.len())] as f32),
            6 | 7 => return Step { odometry, ..Step::default() },
            8 => {
                pixels.pop();
                readings.push(1.0);
            }
            _ => {}
        }
        let image = image.then_some(Frame { size: [SIDE, SIDE, 3], pixels });
        Step { readings: numbers.then_some(readings), image, odometry, change: None, time: Some(-(t as f64)) }
    }
}

fn is_finite(estimate: &Estimate) -> bool {
    let Estimate { pose, covariance, effective_sample_size, lost, .. } = estimate;
    let all = [pose.x, pose.y, pose.heading, *effective_sample_size, lost.unwrap_or(0.0)];
    all.iter().chain(covariance.as_flattened()).all(|x| x.is_finite())
}

/// Follows one robot from walk to walk; where one ends, it is carried off to the next.
fn follow(life: &Life, robot: usize, steps: usize, found: &mut Found) {
    let mut tracker = Tracker::new(
        &life.trained,
        Start { particles: Some(100), seed: 7, episode: robot as u64, ..Start::default() },
    )
    .unwrap();
    let random = Random::stream(11, robot as u64);
    let mut inputs =
        Inputs { pixels: Vec::with_capacity(SIDE * SIDE * 3 + 1), readings: Vec::with_capacity(8), random };
    let (mut warm, mut near, mut missing) = (0, 0, false);
    for number in 0..steps {
        let (walk, t) = (&life.walks[(robot + number / WALK) % life.walks.len()], number % WALK);
        if t == 0 && number > 0 {
            found.carried_off += 1;
            (near, missing) = (0, true);
        }
        let before = counting::allocations();
        let Ok(estimate) = tracker.step(inputs.of(walk, t)) else {
            found.refused += 1;
            continue;
        };
        let allocated = counting::allocations() - before;
        warm += 1;
        // The first steps take the memory that all later ones use.
        assert!(allocated == 0 || warm < 3 * WALK, "{}, step {number}: {allocated} allocations", life.name);
        assert!(is_finite(&estimate), "{}, step {number}: {estimate:?}", life.name);
        found.blind += usize::from(!estimate.saw);
        let truth = walk.states.get(t).unwrap();
        let error = estimate.pose.distance(Pose::new(f64::from(truth[0]), f64::from(truth[1]), 0.0));
        near = if error < life.near { near + 1 } else { 0 };
        if missing && near == 3 {
            missing = false;
            found.after.push(t - 1);
        }
    }
}

/// Kilobytes of memory that the process has now.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}

/// Follows all robots of a life, one after the other; what became of them is printed.
fn soak(life: &Life, steps: usize, least: f64) {
    let (mut found, mut sizes) = (Found { after: Vec::with_capacity(steps), ..Found::default() }, Vec::new());
    for robot in 0..ROBOTS {
        follow(life, robot, steps / ROBOTS, &mut found);
        sizes.push(resident());
        tell(life.name, (robot + 1) * (steps / ROBOTS), &found, &sizes);
    }
    let (times, carried_off) = (found.after.len(), found.carried_off);
    assert!(times as f64 >= least * carried_off as f64, "{}: found {times} of {carried_off}", life.name);
}

fn tell(name: &str, steps: usize, found: &Found, sizes: &[usize]) {
    let Found { refused, blind, carried_off, after } = found;
    let mut after = after.clone();
    after.sort_unstable();
    let at = |share: f64| after.get((share * after.len() as f64) as usize).copied().unwrap_or(WALK);
    println!(
        "{name}: {steps} steps, {refused} refused, {blind} without a reading; carried off {carried_off} times, found {} \
         times, in step {} (median), {} (nine of ten); memory {} kB after the first robot, {} kB now",
        after.len(),
        at(0.5),
        at(0.9),
        sizes[0],
        sizes[sizes.len() - 1],
    );
}

/// No test of the usual harness: what that says after a minute takes memory, and would be counted. Names choose as they do
/// there.
fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|part| name.contains(part.as_str()));
    let steps: usize = std::env::var("DRIFTLESS_SOAK_STEPS").map_or(20_000, |steps| steps.parse().unwrap());
    if is_wanted("soak_between_beacons") {
        soak(&between_beacons(), steps / 2, 0.95);
    }
    if is_wanted("soak_in_a_maze") {
        // A network of two epochs barely knows its maze.
        let (epochs, least) = if steps > 100_000 { (20, 0.8) } else { (2, 0.3) };
        soak(&in_a_maze(epochs), steps / 2, least);
    }
}
