//! A report on invented runs: `cargo run --release -p driftless-report --example report -- OUT`.
//!
//! Worlds, walks and images are simulated; the "methods" are one particle filter with a range finder
//! of different quality, and their training curves are invented. Nothing here says anything about SDPF.

use driftless_report::paired::Pairs;
use driftless_report::{Metrics, Report, Run};
use driftless_world::evaluation::{Particle, Plan, Seen};
use driftless_world::files::atomic::{NewFile, Overwrite};
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use driftless_world::{About, Episode, Error, Evaluation, Pose, Result, Track, Trajectory};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

const STEPS: usize = 60;
const TRACKS: usize = 24;
const PARTICLES: usize = 300;
const STEP_SIZES: [f64; 3] = [45.0, 45.0, 0.45];
/// Directions of the range finder.
const RAYS: [f64; 5] = [0.0, 1.2, -1.2, 2.4, -2.4];

fn main() -> Result<()> {
    let target = std::env::args().nth(1).ok_or_else(|| Error::new("name the folder to be written"))?;
    let world = MazeWorld::new(Layout::built_in("maze1").expect("it is built in"), 32, 32);
    let walks: Vec<Trajectory> = (0..TRACKS)
        .map(|i| world.episode(7, i, STEPS).into_trajectory(0.1, &mut Random::stream(8, i as u64)))
        .collect::<Result<_>>()?;
    let mut runs = vec![Run { name: "unfinished".into(), metrics: Some(curve(9, 4.0)?), ..Run::default() }];
    for (method, spread) in [("fine ranges", 60.0), ("coarse ranges", 150.0), ("fading guess", 0.0)] {
        for (labels, factor) in [(0.05, 1.5), (0.1, 1.0), (0.5, 0.8)] {
            for seed in 1..=2 {
                let about = About {
                    method: method.replace(' ', "-"),
                    label: method.into(),
                    world: "maze1".into(),
                    label_fraction: labels,
                    seed,
                    particles: if spread > 0.0 { PARTICLES } else { 0 },
                    odometry_noise: 0.1,
                    data: "simulated, seed 7".into(),
                    ..About::default()
                };
                runs.push(run(about, spread * factor, factor, &world, &walks)?);
            }
        }
    }
    save(&runs, Path::new(&target))
}

fn save(runs: &[Run], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| Error::io("cannot create", source).in_file(folder))?;
    let pairs = Pairs::parse("fine-ranges:coarse-ranges,fine-ranges:fading-guess")?;
    for (name, bytes) in Report::with(runs, &pairs)? {
        let mut file = NewFile::create(folder.join(name), Overwrite::Replace)?;
        file.write_all(&bytes).map_err(|source| Error::io("cannot write", source))?;
        file.commit()?;
    }
    Ok(())
}

fn run(about: About, spread: f64, factor: f64, world: &MazeWorld, walks: &[Trajectory]) -> Result<Run> {
    let seed = about.seed;
    let name = format!("{}-{}-seed{}", about.method, 100.0 * about.label_fraction, seed);
    let mut tracks = Vec::new();
    let mut episodes = Vec::new();
    for (i, walk) in walks.iter().enumerate() {
        let mut random = Random::stream(about.seed, i as u64);
        let mut episode =
            Episode::new(format!("test trajectory {i}"), about.clone(), Plan::of_maze(world.layout()))?;
        tracks.push(follow(world, walk, spread, factor, &mut episode, &mut random)?);
        if i < 2 && about.seed == 1 && about.label_fraction == 0.1 {
            episodes.push(episode);
        }
    }
    let metrics = Some(curve(about.seed, factor * (1.0 + spread / 100.0))?);
    let evaluation = Some(Evaluation::of(about, STEP_SIZES, &tracks)?);
    Ok(Run {
        name,
        config: Some(format!("seed = {seed}\nspread = {spread}\n")),
        metrics,
        evaluation,
        episodes,
        ..Run::default()
    })
}

/// An invented training curve that ends near `floor`.
fn curve(seed: u64, floor: f64) -> Result<Metrics> {
    let mut random = Random::stream(seed, floor.to_bits());
    let mut text = String::from("epoch,update,seconds,loss,validation_rmse\n");
    for epoch in 0..60 {
        let error = floor + 14.0 * (-f64::from(epoch) / 11.0).exp() + 0.25 * random.normal().abs();
        writeln!(text, "{epoch},{},{},{},{error}", 12 * epoch, 70 * epoch, 2.0 * error)
            .expect("it is a string");
    }
    Metrics::parse(&text)
}

fn pose_at(walk: &Trajectory, t: usize) -> Pose {
    let state = walk.states.get(t).expect("all states are known");
    Pose::new(f64::from(state[0]), f64::from(state[1]), f64::from(state[2]))
}

/// Follows a walk with particles, or, without a spread, with an invented error that fades.
fn follow(
    world: &MazeWorld,
    walk: &Trajectory,
    spread: f64,
    factor: f64,
    episode: &mut Episode,
    random: &mut Random,
) -> Result<Track> {
    let mut particles: Vec<Particle> = vec![];
    if spread > 0.0 {
        particles = (0..PARTICLES).map(|_| anywhere(world.layout(), random)).collect();
    }
    let mut track = Track::default();
    let (mut sizes, mut densities, mut covered) = (vec![], vec![], vec![]);
    let bias = [0, 1, 2].map(|_| random.normal());
    for t in 0..walk.len() {
        let truth = pose_at(walk, t);
        let action: [f64; 3] = std::array::from_fn(|k| f64::from(walk.actions.row(t)[k]));
        let evidence = update(world.layout(), &mut particles, truth, action, spread, random);
        let fade = 110.0 + 250.0 * factor * (-(t as f64) / 9.0).exp();
        let guess =
            Pose::new(truth.x + fade * bias[0], truth.y + fade * bias[1], truth.heading + 0.3 * bias[2]);
        let estimate = if particles.is_empty() { guess } else { mean(&particles) };
        let density: f64 = particles.iter().map(|p| p.weight * kernel(p.pose.distance(truth), 20.0)).sum();
        densities.push((density / (2.0 * std::f64::consts::PI * 400.0)).ln());
        sizes.push(1.0 / particles.iter().map(|particle| particle.weight.powi(2)).sum::<f64>());
        covered.push(density > 0.02);
        let image = camera(walk, t);
        let log_evidence = (!particles.is_empty()).then_some(evidence);
        let camera = Some((32, 32, image.as_slice()));
        episode.push(&Seen {
            truth,
            estimate,
            particles: &particles,
            camera,
            log_evidence,
            ..Seen::default()
        })?;
        track.truth.push(truth);
        track.estimate.push(estimate);
    }
    if !particles.is_empty() {
        track.effective_sample_size = Some(sizes);
        track.log_density = Some(densities);
        track.covered = Some(covered);
    }
    Ok(track)
}

fn camera(walk: &Trajectory, t: usize) -> Vec<u8> {
    let driftless_world::Observations::Images(images) = &walk.observations else { return vec![] };
    let pixel = |i: usize, c: usize| images.pixels.get(t * images.stride() + 4 * i + c) as u8;
    (0..32 * 32).flat_map(|i| [pixel(i, 0), pixel(i, 1), pixel(i, 2)]).collect()
}

fn anywhere(layout: &Layout, random: &mut Random) -> Particle {
    let [width, height] = layout.extent();
    let pose = Pose::new(random.range(0.0, width), random.range(0.0, height), random.range(-3.1, 3.1));
    Particle { pose, weight: 1.0 / PARTICLES as f64 }
}

fn kernel(distance: f64, spread: f64) -> f64 {
    (-0.5 * (distance / spread).powi(2)).exp()
}

/// Resamples, moves and reweights; returns the log evidence up to a constant.
fn update(
    layout: &Layout,
    particles: &mut Vec<Particle>,
    truth: Pose,
    action: [f64; 3],
    spread: f64,
    random: &mut Random,
) -> f64 {
    if particles.is_empty() {
        return 0.0;
    }
    let [width, height] = layout.extent();
    let seen = RAYS.map(|turn| layout.free_distance(truth.x, truth.y, truth.heading + turn));
    let start = random.unit() / PARTICLES as f64;
    let (mut next, mut passed, mut index) = (Vec::with_capacity(PARTICLES), particles[0].weight, 0);
    for k in 0..PARTICLES {
        while passed < start + k as f64 / PARTICLES as f64 && index + 1 < PARTICLES {
            index += 1;
            passed += particles[index].weight;
        }
        let noise = [12.0 * random.normal(), 12.0 * random.normal(), 0.12 * random.normal()];
        let moved = particles[index].pose.moved(action, Frame::Reflected);
        let pose = Pose::new(
            (moved.x + noise[0]).clamp(1.0, width - 1.0),
            (moved.y + noise[1]).clamp(1.0, height - 1.0),
            moved.heading + noise[2],
        );
        let ranges = RAYS.iter().zip(seen).map(|(turn, seen)| {
            (0.05 + kernel(layout.free_distance(pose.x, pose.y, pose.heading + turn) - seen, spread)).ln()
        });
        next.push(Particle { pose, weight: ranges.sum::<f64>().exp() });
    }
    let total: f64 = next.iter().map(|particle| particle.weight).sum();
    *particles = next.into_iter().map(|p| Particle { weight: p.weight / total, ..p }).collect();
    (total / PARTICLES as f64).ln()
}

fn mean(particles: &[Particle]) -> Pose {
    let sum = |f: fn(&Pose) -> f64| particles.iter().map(|p| p.weight * f(&p.pose)).sum::<f64>();
    Pose::new(sum(|p| p.x), sum(|p| p.y), sum(|p| p.heading.sin()).atan2(sum(|p| p.heading.cos())))
}
