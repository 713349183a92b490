//! A filter's way through a sequence, and back again once somebody has said what pulls at its likelihoods.
//!
//! For objectives that need the whole sequence before they know any derivative. Layers are computed a second time on
//! the way back, step by step, instead of being remembered: a step's stay in the caches, a sequence's would not.

use super::step::Step;
use super::{Belief, Motion, PoseNet, Sequence};
use crate::Cpu;
use crate::mlp::MlpGradient;

/// What became of N particles in T steps; numbers of a step side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Positions, headings, and cosines and sines of these.
    pub poses: [Vec<f32>; 5],
    /// Which particle of the step before each one descends from.
    pub ancestors: Vec<u32>,
    /// log l.
    pub log_likelihoods: Vec<f32>,
    /// l / Σ l, or 1 / N where nothing was weighed.
    pub weights: Vec<f32>,
}

/// Room to work, kept from one sequence to the next.
#[derive(Clone, Debug, Default)]
pub struct TraceMemory {
    belief: Belief,
    step: Step,
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
    fn clear(&mut self) {
        self.poses.iter_mut().for_each(Vec::clear);
        self.ancestors.clear();
        self.log_likelihoods.clear();
        self.weights.clear();
    }

    fn note(&mut self, belief: &Belief, step: &Step) {
        let columns = belief.poses.iter().chain(&belief.turned);
        self.poses.iter_mut().zip(columns).for_each(|(all, column)| all.extend_from_slice(column));
        self.ancestors.extend_from_slice(&belief.ancestors);
        self.log_likelihoods.extend(step.likelihoods().iter().map(|l| l.ln()));
        self.weights.extend_from_slice(&belief.weights);
    }
}

impl PoseNet {
    /// Filters a sequence and writes down all of it.
    ///
    /// # Panics
    /// If the parts of the sequence have not T steps and N particles.
    pub fn follow(
        &self,
        cpu: Cpu,
        (motion, begin): (&Motion, First),
        sequence: &Sequence,
        memory: &mut TraceMemory,
        trace: &mut Trace,
    ) {
        sequence.check();
        trace.clear();
        let (width, count) = (self.layers.width(), sequence.first.len());
        let TraceMemory { belief, step } = memory;
        belief.start(sequence.first);
        for (t, action) in sequence.actions.iter().enumerate() {
            let stays = t == 0 && begin == First::Stays;
            if stays {
                belief.are_their_own_ancestors();
            } else {
                belief.advance(motion, action, &sequence.noise[t * count..][..count], sequence.offsets[t]);
            }
            step.weigh(self, cpu, belief, &sequence.seen[t * width..][..width]);
            if !stays {
                belief.reweight(step.likelihoods());
            }
            trace.note(belief, step);
        }
    }

    /// Adds the derivatives by all layers, and writes those by the features seen, given those by all log l of a trace.
    ///
    /// # Panics
    /// If there are not as many as log l.
    pub fn go_back(
        &self,
        cpu: Cpu,
        (trace, pulls, seen): (&Trace, &[f32], &[f32]),
        memory: &mut TraceMemory,
        (sum, by_seen): (&mut MlpGradient, &mut Vec<f32>),
    ) {
        assert_eq!(pulls.len(), trace.log_likelihoods.len(), "a derivative for each log l");
        let TraceMemory { belief, step } = memory;
        let (width, count) = (self.layers.width(), belief.weights.len());
        by_seen.clear();
        by_seen.resize(seen.len(), 0.0);
        let rows = seen.chunks_exact(width).zip(by_seen.chunks_exact_mut(width));
        for (t, ((seen, by_seen), pulls)) in rows.zip(pulls.chunks_exact(count)).enumerate() {
            // Steps at which nothing pulls teach nothing.
            if pulls.iter().all(|&pull| pull == 0.0) {
                continue;
            }
            belief.stand(std::array::from_fn(|k| &trace.poses[k][t * count..][..count]));
            step.weigh(self, cpu, belief, seen);
            step.backward(self, cpu, (seen, pulls), (&mut *sum, by_seen));
        }
    }
}
