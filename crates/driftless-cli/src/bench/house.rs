//! `driftless bench house`: the range scan on a robot, and PF-net's filter in training and in use, on simulated houses.

use super::range_scan::{self, OnlineScan};
use super::{Spread, peak, peak_memory, seconds};
use crate::output::{aligned, print};
use anyhow::Result;
use driftless::learn::{
    Detail, Experiment, HouseSettings, Method, Normalisation, Tracking, TrainingSet, WorldKind,
};
use driftless::methods::build;
use driftless_kernels::Cpu;
use driftless_world::house::{HouseWorld, Split};
use driftless_world::labels::LabelBudget;
use driftless_world::trajectory::{Start, Trajectory};
use serde::Serialize;

/// Trajectories, steps of a block, particles: PF-net's.
const SIZES: [usize; 3] = [24, 4, 30];
/// Particles in use, as in the paper.
const IN_USE: usize = 1000;
/// Billions of operations for an image, forward: 3136 places of 22,656 products and 784 of 55,296.
const IMAGE_FORWARD: f64 = 2e-9 * (3136.0 * 22_656.0 + 784.0 * 55_296.0);
/// Those of its way back: by the first layer's weights, by the second's, and by what the second saw.
const IMAGE_BACK: f64 = 2e-9 * (3136.0 * 22_656.0 + 2.0 * 784.0 * 55_296.0);
/// The same for a particle: 784 places of 1792, 196 of 8704, and 144 of 2176 (the image's part is counted there).
const PARTICLE_FORWARD: f64 = 2e-9 * (784.0 * 1792.0 + 196.0 * 8704.0 + 144.0 * 2176.0);
const PARTICLE_BACK: f64 = 2e-9 * (784.0 * 1792.0 + 2.0 * 196.0 * 8704.0 + 2.0 * 144.0 * 2176.0);

/// Everything that was measured.
#[derive(Serialize)]
struct Measured {
    cpu: String,
    threads: usize,
    gemm_gflops: f64,
    /// Trajectories, steps, particles.
    sizes: [usize; 3],
    training_seconds: Spread,
    /// Operations that any implementation needs; what is computed twice counts once.
    training_gflop: f64,
    share_of_peak: f64,
    peak_memory_mib: Option<f64>,
    particles_in_use: usize,
    seconds_a_step: Spread,
    range_scan: OnlineScan,
}

/// Measures and prints.
pub fn run(rounds: usize, json: bool) -> Result<()> {
    let (mut filter, lessons, episode) = made()?;
    let range_scan = range_scan::measure()?;
    let before = peak::gflops();
    let mut epoch = 0;
    let mut step = || {
        epoch += 1;
        filter.train(epoch, &lessons).map(|_| ())
    };
    step()?;
    let times = (0..rounds).map(|_| timed(&mut step)).collect::<Result<Vec<f64>>>()?;
    let memory = peak_memory();
    let tracking = Tracking { particles: IN_USE, seed: 1, detail: Detail::Means };
    let steps = episode.len() as f64;
    let mut track = || filter.track(std::slice::from_ref(&episode), tracking).map(|_| ());
    let in_use = (0..rounds.min(5)).map(|_| timed(&mut track)).collect::<Result<Vec<f64>>>()?;
    let [batch, block, particles] = SIZES;
    let images = (batch * block) as f64;
    let gflop = images * (IMAGE_FORWARD + IMAGE_BACK + particles as f64 * (PARTICLE_FORWARD + PARTICLE_BACK));
    let (training_seconds, gemm_gflops) = (Spread::of(times), before.max(peak::gflops()));
    let measured = Measured {
        cpu: format!("{:?}", Cpu::best()),
        threads: rayon::current_num_threads(),
        gemm_gflops,
        sizes: SIZES,
        share_of_peak: gflop / training_seconds.min / gemm_gflops,
        training_seconds,
        training_gflop: gflop,
        peak_memory_mib: memory,
        particles_in_use: IN_USE,
        seconds_a_step: Spread::of(in_use.into_iter().map(|time| time / steps).collect()),
        range_scan,
    };
    print(&if json { serde_json::to_string_pretty(&measured)? + "\n" } else { table(&measured) })
}

fn timed(work: &mut dyn FnMut() -> driftless::Result<()>) -> Result<f64> {
    let mut result = Ok(());
    let time = seconds(|| result = work());
    result?;
    Ok(time)
}

/// A filter that makes one update an epoch, its lessons, and an episode to follow.
fn made() -> Result<(Box<dyn Method>, TrainingSet, Trajectory)> {
    let [batch, block, particles] = SIZES;
    let house = HouseSettings { steps: block, block, ..HouseSettings::default() };
    let experiment = Experiment {
        method: "sdpf".parse()?,
        world: WorldKind::House,
        particles,
        batch_size: batch,
        odometry_noise: 0.0,
        house,
        ..Experiment::default()
    };
    let episodes: Vec<Trajectory> = (0..batch as u64).map(episode).collect::<Result<_>>()?;
    let one = episodes[0].clone();
    let lessons =
        TrainingSet::new(Box::new(episodes), 0..batch, LabelBudget::new(experiment.label_fraction, 1)?)?;
    let filter = build(&experiment, &Normalisation::measure(&lessons)?)?;
    Ok((filter, lessons, one))
}

fn episode(number: u64) -> Result<Trajectory> {
    let world = HouseWorld::new(1, Split::Train, number / 4)?;
    let recorded = world.episode(SIZES[1], number, HouseWorld::camera(56, 56));
    let [x, y, heading] = recorded.states[0];
    let start = Start::About { pose: [2.0 * x, 2.0 * y, heading], spread: [30.0, 30.0, 0.5] };
    let episode = recorded.in_centimetres(HouseSettings::default().observation())?;
    Ok(Trajectory { start: Some(start), ..episode })
}

fn table(of: &Measured) -> String {
    let [batch, steps, count] = of.sizes;
    let row = |name: String, text: String| vec![name, text];
    let memory = of.peak_memory_mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib:.0} MiB"));
    let training = &of.training_seconds;
    let gflops = of.training_gflop / training.min;
    let scan = &of.range_scan;
    aligned(&[
        row("machine".into(), format!("{}, {} threads", of.cpu, of.threads)),
        row(
            format!("range scan on a robot, {} particles", scan.particles),
            format!(
                "{:.2} ms a step in the middle, {:.2} at 99 % of {}: {:.0} a second",
                scan.p50_ms, scan.p99_ms, scan.steps, scan.steps_a_second
            ),
        ),
        row("matrix products at best".into(), format!("{:.0} GFLOP/s", of.gemm_gflops)),
        row(
            format!("PF-net: training step, {batch} trajectories, {steps} steps, {count} particles"),
            format!("{:.3} s at best, {:.3} s in the middle", training.min, training.median),
        ),
        row(
            "  of the products' best".into(),
            format!(
                "{:.0} %, {:.1} GFLOP at {gflops:.0} GFLOP/s",
                100.0 * of.share_of_peak,
                of.training_gflop
            ),
        ),
        row("  memory of the process".into(), memory),
        row(
            format!("PF-net: step in use, {} particles", of.particles_in_use),
            format!("{:.3} s at best, {:.1} a second", of.seconds_a_step.min, 1.0 / of.seconds_a_step.min),
        ),
    ])
}
