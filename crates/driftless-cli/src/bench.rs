//! `driftless bench`: how fast training and online steps are, and of what the machine can do.

mod default;
mod house;
mod job;
mod objective;
mod online;
mod peak;
mod range_scan;
mod table;
mod weights;

use crate::args::{Bench, BenchWorld};
use crate::output;
use crate::usage::misused;
use anyhow::Result;
use driftless_kernels::Cpu;
use driftless_kernels::training::Workspace;
use job::{Draws, Job, SIZES};
use online::{OnlineTimes, SingleSteps};
use serde::Serialize;
use std::time::Instant;
use weights::Weights;

const PARTICLES: [usize; 4] = [100, 1000, 10_000, 100_000];

/// The least and the middle of some measurements.
#[derive(Serialize)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
}

impl Spread {
    pub fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        Self { min: numbers[0], median: numbers[numbers.len() / 2] }
    }
}

/// How long something takes.
pub fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Everything that was measured.
#[derive(Serialize)]
struct Measured {
    cpu: String,
    threads: usize,
    gemm_gflops: f64,
    training: Training,
    online: Vec<OnlineTimes>,
    single_steps: SingleSteps,
    /// Of the time a step takes beyond that of one particle.
    exponent_of_particles: f64,
    peers: Option<Agreement>,
}

#[derive(Serialize)]
struct Training {
    /// Trajectories, steps, particles.
    sizes: [usize; 3],
    seconds: Spread,
    gflop: f64,
    gflops: f64,
    share_of_peak: f64,
    /// Largest size of the process so far, if the system says it.
    peak_memory_mib: Option<f64>,
}

/// What the contenders print on their fixed inputs.
#[derive(Serialize)]
struct Agreement {
    loss: f64,
    gradient_norm: f64,
    norms_of_weights: Vec<f64>,
}

pub fn run(wanted: &Bench) -> Result<()> {
    if wanted.world == BenchWorld::Default {
        return default::run(usize::from(wanted.rounds).min(4), wanted.json);
    }
    if wanted.world == BenchWorld::House {
        if wanted.peer_data.is_some() {
            misused!(
                "--peer-data is for mazes; in houses a test compares with benches/side_by_side/house_torch.py"
            );
        }
        return house::run(usize::from(wanted.rounds), wanted.json);
    }
    let peers = wanted.peer_data.as_deref().map(agreement).transpose()?;
    let before = peak::gflops();
    let mut training = training(usize::from(wanted.rounds));
    let gemm_gflops = before.max(peak::gflops());
    training.share_of_peak = training.gflops / gemm_gflops;
    let nets = Weights::new().networks();
    let online: Vec<OnlineTimes> = PARTICLES.iter().map(|&n| online::times(&nets, n)).collect();
    let exponent_of_particles = exponent(&online, online::times(&nets, 1).microseconds.min);
    let measured = Measured {
        cpu: format!("{:?}", Cpu::best()),
        threads: rayon::current_num_threads(),
        gemm_gflops,
        training,
        online,
        single_steps: online::single_steps(&nets, 100, wanted.single_steps as usize),
        exponent_of_particles,
        peers,
    };
    let text =
        if wanted.json { serde_json::to_string_pretty(&measured)? + "\n" } else { table::of(&measured) };
    output::print(&text)
}

/// Steps as in earnest: new random numbers, both ways, Adam, and weights arranged again.
fn training(rounds: usize) -> Training {
    let (job, mut weights) = (Job::new(SIZES), Weights::new());
    let (mut draws, mut workspace) = (Draws::default(), Workspace::default());
    let mut one = |seed: u64| {
        draws.draw(SIZES, seed);
        let nets = weights.networks();
        let outcome = job.step(&nets, &draws, &mut workspace);
        weights.update(Weights::gradients(&nets, &outcome.gradient));
    };
    (0..2).for_each(&mut one);
    let times = (0..rounds as u64).map(|round| seconds(|| one(100 + round))).collect();
    let gflop = 1e-9 * job.flops(&weights.networks());
    let seconds = Spread::of(times);
    let gflops = gflop / seconds.min;
    Training { sizes: SIZES, gflop, gflops, share_of_peak: 0.0, seconds, peak_memory_mib: peak_memory() }
}

fn agreement(folder: &std::path::Path) -> Result<Agreement> {
    let ((job, draws), nets) = (Job::of_peers(folder)?, Weights::of_peers(folder)?.networks());
    let outcome = job.step(&nets, &draws, &mut Workspace::default());
    let gradients = Weights::gradients(&nets, &outcome.gradient);
    let squares: Vec<f64> =
        gradients.iter().map(|array| array.iter().map(|&x| f64::from(x).powi(2)).sum()).collect();
    Ok(Agreement {
        loss: outcome.loss,
        gradient_norm: squares.iter().sum::<f64>().sqrt(),
        norms_of_weights: squares.iter().step_by(2).map(|square| square.sqrt()).collect(),
    })
}

/// The slope of log time over log particles, without the time of the image.
fn exponent(times: &[OnlineTimes], fixed: f64) -> f64 {
    let point =
        |time: &OnlineTimes| ((time.particles as f64).ln(), (time.microseconds.min - fixed).max(1e-3).ln());
    let points: Vec<(f64, f64)> = times.iter().map(point).collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x).powi(2))
}

/// The largest size of this process so far.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kib| kib / 1024.0)
}
