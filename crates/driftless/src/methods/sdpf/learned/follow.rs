//! The filter over one sequence, with all that the way back needs.

use super::material::Material;
use super::steps::{Matching, Moving, Nets, StepMemory, Turned};
use driftless_core::motion::Still;
use driftless_core::resample::Scheme;
use driftless_core::{Belief, Filter, FilterState, Particles, Replay, Space, StepReport, Workspace};
use driftless_kernels::scan::Trace;
use std::f64::consts::TAU;
use std::sync::Arc;

/// A workspace, kept from one sequence to the next.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) steps: Vec<StepMemory>,
    /// Room that steps work in on the way back, one after the other.
    pub(super) room: StepMemory,
    turned: [Turned; 2],
}

/// What became of a sequence.
pub(super) struct Followed {
    pub(super) trace: Trace,
    /// log g of each state; 0 at the first step.
    pub(super) law: Vec<f64>,
}

/// Filters a sequence and says what came of each step. `None` if a particle went where nothing is finite.
fn run(
    nets: &Nets,
    (material, k): (&Material, usize),
    memory: &mut Memory,
    mut at: impl FnMut(&FilterState, &Workspace, &StepReport),
) -> Option<()> {
    let [_, steps, count] = material.sizes;
    let filter = Filter {
        resampler: Arc::new(Scheme::Multinomial),
        resample_below: nets.threshold,
        ..Filter::bootstrap(count)
    };
    let first = Particles::from_states(Space::SE2, material.first(k));
    let (mut state, mut workspace) = (FilterState::new(Belief::new(first)), Workspace::new(Space::SE2));
    for t in 0..steps {
        let now = material.at(k, t);
        let StepMemory { motion, matched } = &mut memory.steps[t];
        let [before, after] = &mut memory.turned;
        let mut sensor = Matching { nets, seen: now.seen, memory: matched, turned: after, counts: t > 0 };
        let mut draws = Replay { uniforms: now.uniforms.iter().copied().collect(), ..Replay::default() };
        if t == 0 {
            let report = filter.step(&mut state, &mut Still, &mut sensor, &mut draws, &mut workspace);
            at(&state, &workspace, &report);
            continue;
        }
        let (action, noise) = (now.action, now.noise);
        let mut moving = Moving { nets, action, noise, memory: motion, turned: before, lost: false };
        let report = filter.step(&mut state, &mut moving, &mut sensor, &mut draws, &mut workspace);
        if moving.lost {
            return None;
        }
        at(&state, &workspace, &report);
    }
    Some(())
}

/// Filters a sequence for the way back.
pub(super) fn follow(nets: &Nets, material: &Material, k: usize, memory: &mut Memory) -> Option<Followed> {
    let [_, steps, count] = material.sizes;
    memory.steps.resize_with(steps.max(1), StepMemory::default);
    let mut trace = Trace::default();
    run(nets, (material, k), memory, |state, workspace, report| {
        trace.push(state, workspace, report);
        // The first step has likelihoods, though weights do not know of them.
        if trace.len() == 1 {
            trace.log_likelihoods.copy_from_slice(&workspace.log_likelihoods);
        }
    })?;
    let mut law = vec![0.0; count];
    law.extend((1..steps).flat_map(|t| log_motion(nets, material, k, t)));
    Some(Followed { trace, law })
}

/// log g of the states that a sequence moves to in a step: that of the noise.
fn log_motion(nets: &Nets, material: &Material, k: usize, t: usize) -> Vec<f64> {
    let now = material.at(k, t);
    let std = nets.deviations(now.action).map(f64::from);
    let peak: f64 = std.iter().map(|std| -std.ln() - 0.5 * TAU.ln()).sum();
    let squares = |z: &[f32; 3]| residuals(*z, std[2] as f32).iter().map(|z| f64::from(z * z)).sum::<f64>();
    now.noise.iter().map(|z| peak - 0.5 * squares(z)).collect()
}

/// The noise that a density sees: that of a heading is known only within a turn.
pub(super) fn residuals([x, y, heading]: [f32; 3], std: f32) -> [f32; 3] {
    [x, y, driftless_core::angles::wrapped(heading * std) / std]
}
