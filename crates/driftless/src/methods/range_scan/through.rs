//! Training through the filter: a block of steps is followed, and what is believed of it tells the network what to change.
//!
//! log l_t(i) = τ Σ_columns log p(the distance that particle i's ray meets), and the loss is, of what the block knows,
//!
//! - density: -1/|T₁| Σ_{t in T₁} log Σ_i w_t(i) K(s*_t - s_t(i)), Gaussian kernels at poses that are known;
//! - evidence: -1/T Σ_t log Σ_i w_{t-1}(i) l_t(i), which needs no pose.
//!
//! Particles do not depend on the network, so all derivatives go through log l ([`TraceLoss`]); they end where particles are
//! resampled. A block begins at a pose that is known or drawn, told to the filter as wrongly as it will be in use.

use super::bins::{self, BINS, clamped};
use super::sensor::{RangeSensor, Scans};
use super::updates::{Trainer, Workspace};
use super::views::View;
use super::walks::Walk;
use crate::learn::ThroughFilter;
use crate::methods::prior::around;
use crate::methods::trace_loss::TraceLoss;
use driftless_core::angles::wrapped;
use driftless_core::exponential::log_sum_exp_64;
use driftless_core::filter::Tempering;
use driftless_core::motion::{Odometry, Still};
use driftless_core::{Belief, Cpu, Filter, FilterState, Motion, Space, Stream, Workspace as FilterWorkspace};
use driftless_kernels::scan::Trace;
use driftless_world::random::Random;
use driftless_world::trajectory::Start;

/// Blocks of an update, and steps of a block, at most.
pub(super) const BLOCKS: usize = 8;
pub(super) const STEPS: usize = 8;
const PARTICLES: usize = 100;
/// Standard deviations of the density's kernels: centimetres and radians.
const KERNEL: [f32; 3] = [10.0, 10.0, 0.1];
/// What the loss counts beside the mean cross-entropy of a column, if nothing is said.
pub(super) const WEIGHT: f64 = 0.1;

/// Some steps of an episode, and about where they begin.
pub(in crate::methods) struct Block<'a> {
    pub(super) walk: &'a Walk,
    pub(super) first: usize,
    pub(super) pose: [f32; 3],
}

impl Block<'_> {
    fn steps(&self) -> std::ops::Range<usize> {
        self.first..(self.first + STEPS).min(self.walk.actions.len())
    }

    /// How much of what a loss looks at there is in the block.
    fn count(&self, kind: ThroughFilter) -> usize {
        match kind {
            ThroughFilter::Density => self.walk.labels[self.steps()].iter().flatten().count(),
            ThroughFilter::Evidence => self.steps().len(),
        }
    }
}

/// The filter that blocks are followed by, and what it is to make small.
pub(in crate::methods) struct Through<'a> {
    pub(super) kind: ThroughFilter,
    pub(super) weight: f64,
    pub(super) tempering: f32,
    pub(super) odometry: Odometry,
    /// How wrongly a block's first pose is told.
    pub(super) spread: [f32; 3],
    pub(super) blocks: Vec<Block<'a>>,
}

impl Through<'_> {
    /// What the loss of a block is multiplied by, so that all of them make a mean.
    fn share(&self) -> f64 {
        let count: usize = self.blocks.iter().map(|block| block.count(self.kind)).sum();
        1.0 / count.max(1) as f64
    }

    /// A block's share of the loss; the gradient is that of its weighted share, times `scale`.
    pub(super) fn part(
        &self,
        trainer: &Trainer,
        block: &Block,
        scale: f64,
        random: &mut Random,
    ) -> (f64, Workspace) {
        let (net, view) = (trainer.network.net(), trainer.lens.drawn(random));
        let mut seen = Vec::new();
        block.steps().for_each(|t| view.show(&block.walk.images, t, &mut seen));
        let Workspace { mut memory, mut gradient } = trainer.workspaces.take();
        gradient.reset(net);
        if seen.iter().any(|x| !x.is_finite()) {
            return (0.0, Workspace { memory, gradient });
        }
        net.forward(Cpu::best(), &seen, None, &mut memory);
        let mut scores = memory.scores().to_vec();
        let seed = random.bits();
        let loss = self.loss(trainer, (block, &view), (scale * self.weight) as f32, seed, &mut scores);
        net.backward(Cpu::best(), &scores, None, &mut memory, &mut gradient);
        (loss, Workspace { memory, gradient })
    }

    /// The loss of scores by step and column; these become its derivatives, times `factor`.
    fn loss(
        &self,
        trainer: &Trainer,
        (block, view): (&Block, &View),
        factor: f32,
        seed: u64,
        scores: &mut [f32],
    ) -> f64 {
        let plan = trainer.network.net().plan();
        let stride = plan.columns() * plan.width();
        let scan = |scores: &[f32]| {
            let mut log = vec![0.0; plan.columns() * BINS];
            for (column, log) in log.chunks_exact_mut(BINS).enumerate() {
                let seen = view.column(column, plan.columns()) * plan.width();
                log.copy_from_slice(&scores[seen..seen + BINS]);
                bins::log_probabilities(log);
            }
            Some(log)
        };
        let scans = Scans { log: scores.chunks_exact(stride).map(scan).collect() };
        let trace = self.follow(trainer, block, &scans, &mut Stream::new(seed, 0));
        let mut by_log = vec![0.0; trace.log_likelihoods.len()];
        let loss = self.of_trace(&trace, block, &mut by_log);
        for (k, scores) in scores.chunks_exact_mut(stride).enumerate() {
            let mut by = vec![0.0; plan.columns() * BINS];
            for (i, slope) in by_log[k * PARTICLES..(k + 1) * PARTICLES].iter().enumerate() {
                let pose = [0, 1, 2].map(|axis| trace.poses[axis][k * PARTICLES + i]);
                if *slope != 0.0 {
                    aim(trainer, block, pose, factor * slope, &mut by);
                }
            }
            let by_scan: Vec<f32> = scores.to_vec();
            scores.fill(0.0);
            for (column, by) in by.chunks_exact(BINS).enumerate() {
                let seen = view.column(column, plan.columns()) * plan.width();
                bins::by_scores(&by_scan[seen..seen + BINS], by, &mut scores[seen..seen + BINS]);
            }
        }
        loss
    }

    /// The filter over a block, as it is in use but for its number of particles and its one tempering.
    fn follow(&self, trainer: &Trainer, block: &Block, scans: &Scans, draws: &mut Stream) -> Trace {
        let Block { walk, first, pose } = block;
        let filter =
            Filter { tempering: Tempering::constant(self.tempering), ..Filter::bootstrap(PARTICLES) };
        let told = around(*pose, self.spread, 1, draws);
        let told = [0, 1, 2].map(|k| told.column(k)[0]);
        let mut state = FilterState::new(Belief::new(around(told, self.spread, PARTICLES, draws)));
        let (mut trace, mut workspace) = (Trace::default(), FilterWorkspace::new(Space::SE2));
        let (camera, walls) = (trainer.camera, &walk.house.walls);
        let mut sensor = RangeSensor { camera, walls, scans, t: 0, every: 1 };
        for t in block.steps() {
            sensor.t = t - first;
            let mut driven = self.odometry.by(Some(walk.actions[t]));
            let motion: &mut dyn Motion = if t > *first { &mut driven } else { &mut Still };
            let report = filter.step(&mut state, motion, &mut sensor, draws, &mut workspace);
            trace.push(&state, &workspace, &report);
        }
        trace
    }

    /// A trace's share of the loss, and its derivatives by each log l.
    fn of_trace(&self, trace: &Trace, block: &Block, by_log: &mut [f32]) -> f64 {
        let (mut losses, mut sum, share) = (TraceLoss::new(trace, PARTICLES), 0.0, self.share());
        for (k, t) in block.steps().enumerate() {
            match (self.kind, block.walk.labels[t]) {
                (ThroughFilter::Density, Some(label)) => {
                    let own = losses.own(k);
                    sum -= share * log_density(trace, own, label, (-share, losses.by_weights(k)));
                }
                (ThroughFilter::Density, None) => {}
                (ThroughFilter::Evidence, _) => {
                    sum -= share * self.log_evidence(trace, k);
                    losses.add_evidence(k, -share, 1.0);
                }
            }
        }
        losses.write(1.0, by_log);
        // Those by the network's own log-likelihoods, which are not tempered.
        for by in by_log.iter_mut() {
            *by *= self.tempering;
        }
        sum
    }

    /// log Σ w' l of a step of the trace, w' of the particles as they came to it.
    fn log_evidence(&self, trace: &Trace, k: usize) -> f64 {
        if !trace.weighed[k] {
            return 0.0;
        }
        let term = |i: usize| {
            let ancestor = trace.ancestors[k * PARTICLES + i] as usize;
            let evenly = k == 0 || trace.resampled[k];
            let before = if evenly {
                1.0 / PARTICLES as f64
            } else {
                f64::from(trace.weights[(k - 1) * PARTICLES + ancestor])
            };
            before.ln() + f64::from(self.tempering * trace.log_likelihoods[k * PARTICLES + i])
        };
        log_sum_exp_64(&(0..PARTICLES).map(term).collect::<Vec<_>>())
    }
}

/// Adds a particle's derivative to the bins that its rays end between.
fn aim(trainer: &Trainer, block: &Block, pose: [f32; 3], slope: f32, by: &mut [f32]) {
    trainer.camera.look(&block.walk.house.walls, pose, 1, |column, place| {
        let place = clamped(place);
        let below = (place as usize).min(BINS - 2);
        let share = place - below as f32;
        by[column * BINS + below] += slope * (1.0 - share);
        by[column * BINS + below + 1] += slope * share;
    });
}

/// log Σ_i w(i) K(s* - s(i)) of a step; adds its derivatives by log w, times a factor: those are w K over their sum.
fn log_density(
    trace: &Trace,
    own: std::ops::Range<usize>,
    label: [f32; 3],
    (factor, by): (f64, &mut [f64]),
) -> f64 {
    let term = |i: usize| {
        let apart = [0, 1, 2].map(|k| trace.poses[k][i] - label[k]);
        let apart = [apart[0], apart[1], wrapped(apart[2])];
        let z = apart.iter().zip(KERNEL).map(|(x, width)| x / width);
        f64::from(trace.weights[i].ln()) - 0.5 * z.map(|z| f64::from(z * z)).sum::<f64>()
    };
    let terms: Vec<f64> = own.map(term).collect();
    let log = log_sum_exp_64(&terms);
    for (by, term) in by.iter_mut().zip(&terms) {
        *by += factor * (term - log).exp();
    }
    log
}

/// How wrongly robots are told where they start, from the starts of episodes; else as far as PF-net has it.
pub(super) fn told_spread(walks: &[Walk]) -> [f32; 3] {
    let told = walks.iter().find_map(|walk| match walk.start {
        Start::About { spread, .. } => Some(spread),
        Start::State { .. } | Start::Room(_) | Start::House => None,
    });
    told.unwrap_or([30.0, 30.0, 0.5])
}

#[cfg(test)]
mod tests;
