//! What was measured, for people to read.

use super::online::{OnlineTimes, SingleSteps};
use super::{Agreement, Measured, Training};
use crate::output::{aligned, grouped};

type Row = [String; 2];

/// All of it, a line for each number.
pub(super) fn of(measured: &Measured) -> String {
    let machine = format!("{}, {} threads", measured.cpu, measured.threads);
    let best = format!("{:.0} GFLOP/s", measured.gemm_gflops);
    let mut rows: Vec<Row> =
        vec![["machine".to_owned(), machine], ["matrix products at best".to_owned(), best]];
    rows.extend(training(&measured.training));
    rows.extend(measured.online.iter().map(online));
    rows.extend(more(measured));
    rows.extend(measured.peers.iter().flat_map(peers));
    aligned(&rows.into_iter().map(Vec::from).collect::<Vec<Vec<String>>>())
}

fn training(of: &Training) -> [Row; 3] {
    let [batch, steps, count] = of.sizes;
    let memory = of.peak_memory_mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib:.0} MiB"));
    let share =
        format!("{:.0} %, {:.1} GFLOP at {:.0} GFLOP/s", 100.0 * of.share_of_peak, of.gflop, of.gflops);
    [
        [
            format!("training step, {batch} trajectories, {steps} steps, {count} particles"),
            format!("{:.4} s at best, {:.4} s in the middle", of.seconds.min, of.seconds.median),
        ],
        ["  of the products' best".to_owned(), share],
        ["  memory of the process".to_owned(), memory],
    ]
}

fn online(of: &OnlineTimes) -> Row {
    [
        format!("online step, {} particles", grouped(of.particles)),
        format!("{:.1} us at best, {:.1} us in the middle", of.microseconds.min, of.microseconds.median),
    ]
}

fn more(measured: &Measured) -> [Row; 2] {
    let SingleSteps { particles, steps, p50, p99, worst } = measured.single_steps;
    [
        [
            format!("  one by one, {particles} particles, {} steps", grouped(steps)),
            format!("p50 {p50:.1} us, p99 {p99:.1} us, worst {worst:.1} us"),
        ],
        [
            "  time goes with particles to the power of".to_owned(),
            format!("{:.2}", measured.exponent_of_particles),
        ],
    ]
}

fn peers(of: &Agreement) -> [Row; 3] {
    let norms = of.norms_of_weights.iter().map(|norm| format!("{norm:.4}")).collect::<Vec<_>>().join(" ");
    [
        ["loss on the contenders' inputs".to_owned(), format!("{:.2}", of.loss)],
        ["  norm of its gradient".to_owned(), format!("{:.2}", of.gradient_norm)],
        ["  by weights".to_owned(), norms],
    ]
}
