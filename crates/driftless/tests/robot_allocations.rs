//! A robot with a log of its own is followed in memory that is used again, but for the ends of a scan's beams.

#[path = "../../driftless-kernels/tests/counting/mod.rs"]
mod counting;

use driftless::learn::{Experiment, Normalisation, SensorSettings, TrainingSet, WorldKind};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start};
use driftless_world::labels::LabelBudget;
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Observations, Rows, Trajectory};

const BEAMS: usize = 32;

/// A robot that turns on the spot in the middle of a round room: its scans are all alike.
fn episode(random: &mut Random) -> Trajectory {
    let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
    let seen: Vec<f32> = (0..20 * BEAMS).map(|_| (2.0 + 0.02 * random.normal()) as f32).collect();
    let truth: Vec<f32> = (0..20).flat_map(|t| [1.0, 2.0, 0.1 * t as f32]).collect();
    let moved: Vec<f32> = (0..20).flat_map(|_| [0.0, 0.0, 0.1]).collect();
    let states = Labels::all(rows(3, truth));
    Trajectory::new(Observations::Vectors(rows(BEAMS, seen)), rows(3, moved), states).unwrap()
}

/// One test alone in its process, so that nobody else allocates meanwhile.
#[test]
fn steps_allocate_the_ends_of_beams() {
    let mut random = Random::new(1);
    let episodes: Vec<Trajectory> = (0..4).map(|_| episode(&mut random)).collect();
    let budget = LabelBudget::new(1.0, 1).unwrap();
    let lessons = TrainingSet::new(Box::new(episodes.clone()), 0..4, budget).unwrap();
    let sensor = SensorSettings { columns: [0, BEAMS], ..SensorSettings::default() };
    let experiment = Experiment { world: WorldKind::Robot, sensor: vec![sensor], ..Experiment::default() };
    let mut method = build(&experiment, &Normalisation::measure(&lessons).unwrap()).unwrap();
    method.train(1, &lessons).unwrap();
    let place = Place::About { pose: [1.0, 2.0, 0.0], spread: [0.1, 0.1, 0.1] };
    let mut filter = method.online_filter(100, &Start { place, ..Start::default() }).unwrap().unwrap();
    let Observations::Vectors(rows) = &episodes[0].observations else { panic!("scans") };
    let seen = |t| Observation {
        readings: Some(rows.row(t)),
        action: Some([0.0, 0.0, 0.1]),
        ..Observation::default()
    };
    for t in 0..20 {
        filter.step(seen(t));
    }
    let before = counting::allocations();
    for t in (0..20).cycle().take(200) {
        filter.step(seen(t));
    }
    assert_eq!(counting::allocations() - before, 200, "one a step");
}
