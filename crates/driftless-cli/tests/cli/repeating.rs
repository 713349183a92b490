//! What the command does, a program can repeat to the last bit: noise and starts are the library's.

use crate::terminal::{Folder, read, run};
use driftless::learn::{
    Detail, Experiment, Files, Gathered, Purpose, Recordings, RunConfig, Session, Tracking, Trained,
};
use driftless::methods::build;
use driftless_world::Evaluation;

/// A maze with noise on everything.
const MAZE: &str =
    "method = 'sdpf-supervised'\nodometry_noise = 0.2\ncrop = 12\nparticles = 10\nbatch_size = 2\n";
/// Houses with noise on odometry and on what the robot is told of its first pose.
const HOUSE: &str = "method = 'sdpf'\nworld = 'house'\nodometry_noise = 0.2\nlabel_fraction = 0.5\n\
                     particles = 5\nbatch_size = 2\n[house]\nsteps = 8\n";
const SMALL: [&str; 3] = ["epochs=1", "trajectories=2", "validation_episodes=1"];
const SEED: u64 = 3;

/// Trains and evaluates by commands and by the library, and compares.
fn compare(folder: &Folder, text: &str, train: &str, test: &str) {
    let (file, here, there) = (folder.path("own.toml"), folder.path("here"), folder.path("there"));
    std::fs::write(&file, text).unwrap();
    run(0, &[&["train", &file, "--train", train, "--run", &here], &SMALL[..]].concat());
    let (json, _) = run(0, &["evaluate", &here, "--data", test, "--seed", &SEED.to_string(), "--json"]);

    let experiment = Experiment::parse(text, &SMALL.map(String::from)).unwrap();
    let files = Files { train: train.into(), ..Files::default() };
    let Gathered { material, data, .. } = Gathered::read(&experiment, &files).unwrap();
    let config = RunConfig::new(experiment.clone(), data);
    Session::begin(&there, config, material, &build).unwrap().run(&mut ()).unwrap();
    for name in ["config.toml", "normalisation.json", "best.safetensors"] {
        let [own, other] = [&here, &there].map(|folder| read(&format!("{folder}/{name}")));
        assert!(own == other, "{name}");
    }

    let trained = Trained::open(&there, &build).unwrap();
    let recordings = Recordings::open(test.as_ref(), None, &experiment, SEED, Purpose::Evaluation).unwrap();
    let how = Tracking { particles: experiment.particles, seed: SEED, detail: Detail::Means };
    let tracks = trained.follow(&recordings, 0..recordings.len(), how).unwrap();
    let expected = Evaluation::from_json(&json).unwrap();
    let found = Evaluation::of(expected.about.clone(), trained.normalisation.step_size, &tracks).unwrap();
    assert_eq!(found.position_errors, expected.position_errors);
}

#[test]
fn a_run_in_a_maze() {
    let folder = Folder::new("repeated-maze");
    let [train, test] = ["1", "2"].map(|seed| folder.recordings(&format!("{seed}.npz"), seed));
    compare(&folder, MAZE, &train, &test);
}

#[test]
fn a_run_in_houses() {
    let folder = Folder::new("repeated-house");
    let [train, test] = ["1", "2"].map(|seed| {
        let file = folder.path(&format!("{seed}.tfrecords"));
        run(0, &["simulate", "house", "-n", "3", "-t", "8", "-s", seed, "-o", &file]);
        file
    });
    compare(&folder, HOUSE, &train, &test);
}
