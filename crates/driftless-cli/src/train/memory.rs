//! Whether a training fits into memory, asked before it is taken.

use crate::output::{bytes, grouped};
use anyhow::{Result, ensure};
use driftless::learn::{Experiment, MethodName, PresetName, WorldKind};

/// Bytes that a particle of one step takes until its gradient is known: with kernels by hand 148 and more were measured,
/// with tensors 3,784 and more. Less is assumed, so that nothing is refused that would fit.
const BY_HAND: f64 = 100.0;
const IN_TENSORS: f64 = 3000.0;

/// Fails if a training with so many trajectories of so many steps surely needs more memory than there is.
pub fn check(experiment: &Experiment, trajectories: usize, steps: usize) -> Result<()> {
    let Some(there) = available() else { return Ok(()) };
    let Experiment { particles, batch, .. } = experiment;
    let together = if is_original(experiment) { *batch } else { (*batch).min(trajectories) };
    let each = bytes_of_particle(experiment);
    let needed = each * *particles as f64 * together as f64 * steps.min(longest(experiment)) as f64;
    ensure!(
        needed <= there as f64,
        "particles={particles} batch={batch}: {} particles in each of {} trajectories take at least {} of memory, and \
         {} are free; take fewer particles or a smaller batch",
        grouped(*particles),
        grouped(together),
        bytes(needed as u64),
        bytes(there)
    );
    Ok(())
}

/// The original filter draws windows of trajectories, as many as `batch` says.
fn is_original(experiment: &Experiment) -> bool {
    experiment.method == MethodName::DpfJonschkowski
}

fn longest(experiment: &Experiment) -> usize {
    if is_original(experiment) { 20 } else { usize::MAX }
}

fn bytes_of_particle(experiment: &Experiment) -> f64 {
    match (experiment.method, experiment.preset, experiment.world) {
        (MethodName::Lstm | MethodName::Odometry | MethodName::Classical, ..) => 0.0,
        (MethodName::DpfJonschkowski, ..) | (_, PresetName::Paper, _) | (.., WorldKind::House) => IN_TENSORS,
        // Paths between labels are no particles.
        (_, PresetName::Driftless, _) => 0.0,
        (_, PresetName::ReleasedCode, _) if experiment.kernels => BY_HAND,
        (_, PresetName::ReleasedCode, _) => IN_TENSORS,
    }
}

/// Bytes of memory that can be had without swapping, where the system tells.
fn available() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(1024 * line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
}
