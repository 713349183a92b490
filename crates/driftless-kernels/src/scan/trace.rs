//! A filter's way through a sequence, and back again once a loss has said its gradients at the likelihoods.
//!
//! By stretches of steps, for an objective may know all derivatives by a stretch at its end, or only at the end of the
//! whole sequence. The layers of a short stretch are remembered; those of a long one would not stay in the caches, and
//! are computed a second time on the way back.

use super::step::Step;
use super::{Belief, Motion, PoseNet, Sequence};
use crate::Cpu;
use crate::mlp::MlpGradient;
use driftless_core::{FilterState, Reading, StepReport, Workspace};
use std::ops::Range;

/// Results of layers that are remembered, at most: 4 MB, about what a core has of the last cache.
const REMEMBERED: usize = 1 << 20;

/// What became of N particles in T steps of a filter, this scan or the core's; numbers of a step side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Positions and headings.
    pub poses: [Vec<f32>; 3],
    /// Cosines and sines of headings, where the scan needs them again.
    turned: [Vec<f32>; 2],
    /// Which particle of the step before each one descends from.
    pub ancestors: Vec<u32>,
    /// log l; 0 where there was no reading.
    pub log_likelihoods: Vec<f32>,
    /// Normalised weights after what was seen.
    pub weights: Vec<f32>,
    /// Whether particles were resampled before a step, or are those of the step before.
    pub resampled: Vec<bool>,
    /// Whether a step's log l made its weights: not where there was no reading, nor where it collapsed.
    pub weighed: Vec<bool>,
    /// Whether no particle could explain what was seen; weights are those before it.
    pub collapsed: Vec<bool>,
}

/// A workspace, kept from one sequence to the next.
#[derive(Clone, Debug, Default)]
pub struct TraceMemory {
    belief: Belief,
    /// Those of the steps `remembered`, and at least one.
    steps: Vec<Step>,
    remembered: Range<usize>,
}

/// How the first step is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// As all others: particles are moved and weighted.
    Moves,
    /// It is the first belief itself: its log l are noted, but nothing is moved or weighted.
    Stays,
}

impl Trace {
    /// Steps so far.
    pub fn len(&self) -> usize {
        self.collapsed.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.collapsed.is_empty()
    }

    /// Writes down a step of the core's filter, after those there are.
    ///
    /// # Panics
    /// If particles were injected: those have no ancestors.
    pub fn push(&mut self, state: &FilterState, workspace: &Workspace, report: &StepReport) {
        assert_eq!(report.injected, 0, "every particle of a trace has an ancestor");
        let (belief, is_read) = (&state.belief, report.reading == Reading::Present);
        let columns = belief.particles.columns();
        self.poses.iter_mut().zip(columns).for_each(|(all, column)| all.extend_from_slice(column));
        self.ancestors.extend_from_slice(&workspace.ancestors);
        let read = |&log: &f32| if is_read { log } else { 0.0 };
        self.log_likelihoods.extend(workspace.log_likelihoods.iter().map(read));
        self.weights.extend_from_slice(belief.weights.linear());
        self.resampled.push(report.resampled);
        self.weighed.push(is_read && !report.collapsed);
        self.collapsed.push(report.collapsed);
    }

    fn clear(&mut self) {
        self.poses.iter_mut().chain(&mut self.turned).for_each(Vec::clear);
        self.ancestors.clear();
        self.log_likelihoods.clear();
        self.weights.clear();
        let steps = [&mut self.resampled, &mut self.weighed, &mut self.collapsed];
        steps.into_iter().for_each(Vec::clear);
    }

    /// Writes down a step of the scan, whose first may stay.
    fn note(&mut self, belief: &Belief, step: &Step, stays: bool, collapsed: bool) {
        let all = self.poses.iter_mut().chain(&mut self.turned);
        let columns = belief.poses.iter().chain(&belief.turned);
        all.zip(columns).for_each(|(all, column)| all.extend_from_slice(column));
        self.ancestors.extend_from_slice(&belief.ancestors);
        self.log_likelihoods.extend(step.likelihoods().iter().map(|l| l.ln()));
        self.weights.extend_from_slice(&belief.weights);
        self.resampled.push(!stays);
        self.weighed.push(!stays && !collapsed);
        self.collapsed.push(collapsed);
    }
}

impl TraceMemory {
    /// Layers of all steps are to be computed again.
    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        self.remembered = 0..0;
    }

    /// Room for a stretch of N particles, with results of so many numbers each; for one step if that is too much.
    fn make_room(&mut self, steps: &Range<usize>, numbers: usize) {
        let all = steps.len().saturating_mul(numbers) <= REMEMBERED;
        self.remembered = if all { steps.clone() } else { 0..0 };
        let needed = self.remembered.len().max(1);
        self.steps.resize_with(needed.max(self.steps.len()), Step::default);
    }
}

impl PoseNet {
    /// Filters a stretch of a sequence and writes down all of it, after what is there of the steps before.
    ///
    /// # Panics
    /// If the parts of the sequence have not T steps and N particles, or the steps before are missing.
    pub fn follow(
        &self,
        cpu: Cpu,
        (motion, begin): (&Motion, First),
        (sequence, steps): (&Sequence, Range<usize>),
        memory: &mut TraceMemory,
        trace: &mut Trace,
    ) {
        sequence.check();
        let (width, count) = (self.layers.width(), sequence.first.len());
        memory.make_room(&steps, count * self.layers.results());
        let TraceMemory { belief, steps: workspace, remembered } = memory;
        if steps.start == 0 {
            trace.clear();
            belief.start(sequence.first);
        }
        assert_eq!(trace.weights.len(), steps.start * count, "the steps before");
        for t in steps {
            let step = &mut workspace[if remembered.contains(&t) { t - remembered.start } else { 0 }];
            let stays = t == 0 && begin == First::Stays;
            if stays {
                belief.are_their_own_ancestors();
            } else {
                let noise = &sequence.noise[t * count..][..count];
                belief.advance(motion, &sequence.actions[t], noise, sequence.offsets[t]);
            }
            step.weigh(self, cpu, belief, &sequence.seen[t * width..][..width]);
            let collapsed = !stays && belief.reweight(step.likelihoods());
            trace.note(belief, step, stays, collapsed);
        }
    }

    /// Adds the derivatives by all layers, and by the features seen at all steps, given those by all log l of the
    /// stretch that was followed last.
    ///
    /// # Panics
    /// If there are not as many as log l.
    pub fn go_back(
        &self,
        cpu: Cpu,
        (trace, steps, log_gradients, seen): (&Trace, Range<usize>, &[f32], &[f32]),
        memory: &mut TraceMemory,
        (sum, by_seen): (&mut MlpGradient, &mut [f32]),
    ) {
        let TraceMemory { belief, steps: workspace, remembered } = memory;
        let (width, count) = (self.layers.width(), belief.weights.len());
        assert_eq!(log_gradients.len(), steps.len() * count, "a derivative for each log l");
        let ([x, y, heading], [cosines, sines]) = (&trace.poses, &trace.turned);
        let columns = [x, y, heading, cosines, sines];
        let standing = |t: usize| columns.map(|column| &column[t * count..][..count]);
        for (t, log_gradients) in steps.clone().zip(log_gradients.chunks_exact(count)) {
            // Steps without gradients train nothing.
            if log_gradients.iter().all(|&pull| pull == 0.0) {
                continue;
            }
            let seen = &seen[t * width..][..width];
            let step = if remembered.contains(&t) {
                &mut workspace[t - remembered.start]
            } else {
                belief.stand(standing(t));
                workspace[0].weigh(self, cpu, belief, seen);
                &mut workspace[0]
            };
            step.backward(self, cpu, (seen, log_gradients), (&mut *sum, &mut by_seen[t * width..][..width]));
        }
        if let Some(last) = steps.last() {
            belief.stand(standing(last));
        }
    }
}
