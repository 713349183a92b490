//! How far classical Monte-Carlo localisation gets in houses: tracking from 0.3 m and 30 degrees, in cm.
//!
//! Run it on PF-net's records, for instance those of `driftless simulate house --split test`:
//! `cargo run --release -p driftless --example classical_house -- houses.tfrecords [settings.toml]`.

use driftless::classical::{ClassicalSettings, ModelName, track};
use driftless_world::Dataset;
use driftless_world::files::pfnet::{
    HouseEpisode, HouseObservation, METRES_PER_PIXEL, PfnetFile, PfnetOptions,
};
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::random::Random;
use driftless_world::trajectory::{Observations, Rows, Trajectory};
use std::error::Error;
use std::time::Instant;

const PARTICLES: usize = 1000;
/// Of the start, in metres and degrees.
const SPREAD: [f64; 2] = [0.3, 30.0];
/// Of odometry that is made noisy, a step, in metres and degrees.
const NOISE: [f64; 2] = [0.04, 5.0];

/// Sums over all steps of all episodes.
#[derive(Default)]
struct Sums {
    steps: f64,
    square_metres: f64,
    square_degrees: f64,
    /// Episodes that end with a quarter of steps all within a metre, as PF-net counts.
    successes: usize,
    effective: f64,
    seconds: f64,
}

fn normal(random: &mut Random, [metres, degrees]: [f64; 2]) -> [f64; 3] {
    let place = metres / METRES_PER_PIXEL;
    [place, place, degrees.to_radians()].map(|deviation| deviation * random.normal())
}

fn near(pose: Pose, spread: [f64; 2], random: &mut Random) -> Pose {
    let [x, y, turn] = normal(random, spread);
    Pose::new(pose.x + x, pose.y + y, pose.heading + turn)
}

fn noisy(actions: &Rows, random: &mut Random) -> Rows {
    let mut noisy = actions.clone();
    for row in noisy.values_mut().chunks_exact_mut(3).skip(1) {
        row.iter_mut().zip(normal(random, NOISE)).for_each(|(number, noise)| *number += noise as f32);
    }
    noisy
}

/// Where the start and odometry alone lead.
fn dead_reckoning(start: &[Pose], actions: &Rows) -> Vec<Pose> {
    let count = start.len() as f64;
    let mean = |of: &dyn Fn(&Pose) -> f64| start.iter().map(of).sum::<f64>() / count;
    let heading = mean(&|pose| pose.heading.sin()).atan2(mean(&|pose| pose.heading.cos()));
    let mut pose = Pose::new(mean(&|pose| pose.x), mean(&|pose| pose.y), heading);
    let mut poses = vec![pose];
    for t in 1..actions.len() {
        pose = pose.moved(std::array::from_fn(|k| f64::from(actions.row(t)[k])), Frame::Robot);
        poses.push(pose);
    }
    poses
}

impl Sums {
    fn add(&mut self, truth: &[[f32; 3]], estimates: &[Pose]) {
        let mut late = 0.0_f64;
        for (t, (truth, estimate)) in truth.iter().zip(estimates).enumerate() {
            let [x, y, heading] = truth.map(f64::from);
            let error = estimate.distance(Pose::new(x, y, heading)) * METRES_PER_PIXEL;
            self.steps += 1.0;
            self.square_metres += error * error;
            self.square_degrees += wrap(estimate.heading - heading).to_degrees().powi(2);
            if 4 * (estimates.len() - t) <= estimates.len() {
                late = late.max(error);
            }
        }
        self.successes += usize::from(late < 1.0);
    }
}

/// All episodes by one model, or by odometry alone.
fn evaluate(
    episodes: &[(HouseEpisode, Trajectory)],
    settings: Option<&ClassicalSettings>,
    with_noise: bool,
) -> Result<Sums, Box<dyn Error>> {
    let mut sums = Sums::default();
    for (number, (episode, trajectory)) in episodes.iter().enumerate() {
        let mut random = Random::stream(11, number as u64);
        let [x, y, heading] = episode.states[0].map(f64::from);
        let centre = near(Pose::new(x, y, heading), SPREAD, &mut random);
        let start: Vec<Pose> = (0..PARTICLES).map(|_| near(centre, SPREAD, &mut random)).collect();
        let actions =
            if with_noise { noisy(&trajectory.actions, &mut random) } else { trajectory.actions.clone() };
        let Observations::Images(depth) = &trajectory.observations else {
            unreachable!("depth was asked for")
        };
        let Some(settings) = settings else {
            sums.add(&episode.states, &dead_reckoning(&start, &actions));
            continue;
        };
        let begun = Instant::now();
        let found = track(&episode.maps, depth, &actions, &start, settings, &mut random, |_, _| ())?;
        sums.seconds += begun.elapsed().as_secs_f64();
        sums.effective += found.effective.iter().sum::<f64>();
        sums.add(&episode.states, &found.estimates);
    }
    Ok(sums)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which tfrecords?")?;
    let settings: ClassicalSettings = match arguments.next() {
        Some(path) => driftless::config::parse(&std::fs::read_to_string(path)?)?,
        None => ClassicalSettings::default(),
    };
    let file = PfnetFile::open(path, PfnetOptions { rgb: false, ..PfnetOptions::default() })?;
    let mut episodes = Vec::new();
    for index in 0..file.len() {
        let episode = file.get(index)?;
        let trajectory = episode.to_trajectory(HouseObservation::Depth)?;
        episodes.push((episode, trajectory));
    }
    println!("odometry  method             cm    deg  success  effective  ms/step");
    let models = [None, Some(ModelName::LikelihoodField), Some(ModelName::Beam)];
    for with_noise in [false, true] {
        for model in models {
            let settings = model.map(|model| ClassicalSettings { model, ..settings.clone() });
            let sums = evaluate(&episodes, settings.as_ref(), with_noise)?;
            println!(
                "{:9} {:16} {:5.1} {:6.2} {:5}/{:<3} {:8.0} {:8.2}",
                if with_noise { "noisy" } else { "as is" },
                model.map_or("odometry alone".into(), |model| format!("{model:?}")),
                100.0 * (sums.square_metres / sums.steps).sqrt(),
                (sums.square_degrees / sums.steps).sqrt(),
                sums.successes,
                episodes.len(),
                sums.effective / sums.steps,
                1e3 * sums.seconds / sums.steps,
            );
        }
    }
    Ok(())
}
