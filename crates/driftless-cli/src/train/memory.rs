//! Whether a training fits into memory, asked before it is taken.

use crate::output::{bytes, grouped};
use anyhow::{Result, ensure};
use driftless::learn::{Experiment, Gathered, WorldKind};
use driftless::methods::Learns;

/// Bytes that a particle of one step takes until its gradient is known: with fused kernels 148 and more were measured,
/// with tensors 3,784 and more. Less is assumed, so that nothing is refused that would fit.
const BY_HAND: f64 = 100.0;
const IN_TENSORS: f64 = 3000.0;

/// Fails if a training from what was gathered surely needs more memory than there is.
pub fn check(experiment: &Experiment, gathered: &Gathered) -> Result<()> {
    let (trajectories, steps) = (gathered.material.training.len(), gathered.data.steps);
    let Some(there) = available() else { return Ok(()) };
    let Experiment { particles, batch_size, .. } = experiment;
    let together = if is_original(experiment) { *batch_size } else { (*batch_size).min(trajectories) };
    let each = bytes_of_particle(experiment);
    let needed = each * *particles as f64 * together as f64 * steps.min(longest(experiment)) as f64;
    ensure!(
        needed <= there as f64,
        "particles={particles} batch_size={batch_size}: {} particles in each of {} trajectories take at least {} of memory, and \
         {} are free; take fewer particles or a smaller batch",
        grouped(*particles),
        grouped(together),
        bytes(needed as u64),
        bytes(there)
    );
    Ok(())
}

/// The original filter draws windows of trajectories, as many as `batch_size` says.
fn is_original(experiment: &Experiment) -> bool {
    experiment.method.id == "dpf"
}

fn longest(experiment: &Experiment) -> usize {
    if is_original(experiment) { 20 } else { usize::MAX }
}

fn bytes_of_particle(experiment: &Experiment) -> f64 {
    if experiment.method.learns == Learns::Nothing {
        return 0.0;
    }
    match (experiment.method.id, experiment.world) {
        ("lstm", _) => 0.0,
        ("sdpf" | "dpf", _) | (_, WorldKind::House) => IN_TENSORS,
        ("sdpf-released" | "sdpf-supervised", _) if experiment.kernels => BY_HAND,
        ("sdpf-released" | "sdpf-supervised", _) => IN_TENSORS,
        // Paths between labels are no particles, and of methods that are not known here nothing is claimed.
        _ => 0.0,
    }
}

/// Bytes of memory that can be had without swapping, where the system tells.
fn available() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(1024 * line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
}
