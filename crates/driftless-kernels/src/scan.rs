//! A particle filter over one sequence, with the two losses of semi-supervised learning and their gradient.
//!
//! At each step particles are drawn anew, systematically, moved by odometry and noise, encoded, and weighted by
//! l = 1 / (ε + 1 - cos(e, ê)). Gradients end where particles are drawn, so poses are constants and only the weights
//! lead back to the networks: a block of steps is followed forward, and, as soon as its last weights are known,
//! backward out of the caches. Equation numbers are those of the paper.

mod belief;
mod block;
mod trace;

pub use belief::Belief;
pub use trace::{First, Trace, TraceMemory};

use crate::Cpu;
use crate::mlp::{Mlp, MlpGradient};
use block::{Block, Gains};

/// Features of poses, as the maze experiments have them: place, cosine and sine of the heading, through layers with
/// ReLU.
#[derive(Clone, Debug)]
pub struct PoseNet {
    /// From four numbers to features.
    pub layers: Mlp,
    /// What is subtracted from a position.
    pub centre: [f32; 2],
    /// What it is then divided by.
    pub extent: [f32; 2],
    /// ε.
    pub epsilon: f32,
}

/// How particles move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// 1 if the second number of an action points to the left of the robot, -1 if to the right.
    pub side: f32,
    /// Standard deviations of the noise of a step.
    pub noise: [f32; 3],
}

/// What is minimised: `labels` times the negative log-density of known poses, minus `paths` times Q of each block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// Steps in a block, L; the last may be shorter.
    pub block: usize,
    /// Standard deviations of the kernels on particles.
    pub kernel: [f32; 3],
    /// Factor of each label.
    pub labels: f32,
    /// Factor of each block.
    pub paths: f32,
}

/// One sequence of T steps, with all random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// N first particles.
    pub first: &'a [[f32; 3]],
    /// T actions.
    pub actions: &'a [[f32; 3]],
    /// T N standard normal numbers for each coordinate.
    pub noise: &'a [[f32; 3]],
    /// T numbers from 0 to 1, by which particles are drawn.
    pub offsets: &'a [f32],
    /// T poses, where known.
    pub labels: &'a [Option<[f32; 3]>],
    /// T rows of features of length 1.
    pub seen: &'a [f32],
}

/// What a sequence came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Σ -log p(label).
    pub labels: f64,
    /// Σ Q over blocks.
    pub paths: f64,
    /// Labels there were.
    pub known: usize,
}

/// Room to work, kept from one sequence to the next.
#[derive(Clone, Debug, Default)]
pub struct ScanMemory {
    belief: Belief,
    block: Block,
}

impl PoseNet {
    /// Filters a sequence. Adds the derivatives of the objective by all layers, and writes those by the features seen.
    ///
    /// # Panics
    /// If the parts of the sequence have not T steps and N particles.
    pub fn scan(
        &self,
        cpu: Cpu,
        (motion, objective): (&Motion, &Objective),
        sequence: &Sequence,
        memory: &mut ScanMemory,
        (sum, by_seen): (&mut MlpGradient, &mut Vec<f32>),
    ) -> Losses {
        let (steps, count) = (sequence.actions.len(), sequence.first.len());
        sequence.check();
        let width = self.layers.width();
        by_seen.clear();
        by_seen.resize(steps * width, 0.0);
        let ScanMemory { belief, block } = memory;
        belief.start(sequence.first);
        let mut losses = Losses::default();
        for first in (0..steps).step_by(objective.block) {
            let last = (first + objective.block).min(steps);
            for t in first..last {
                let seen = &sequence.seen[t * width..][..width];
                let step = block.step(t - first);
                let noise = &sequence.noise[t * count..][..count];
                belief.advance(motion, &sequence.actions[t], noise, sequence.offsets[t]);
                step.weigh(self, cpu, belief, seen);
                let density = motion.log_density(noise);
                step.remember(belief, density, t > first);
                if let Some(label) = &sequence.labels[t] {
                    losses.known += 1;
                    losses.labels += step.learn_label(belief, label, objective);
                }
                step.hand_over(belief);
            }
            losses.paths += block.close(last - first, objective.paths);
            let mut gains = Gains { sum: &mut *sum, by_seen: &mut by_seen[first * width..last * width] };
            block.backward(self, cpu, &sequence.seen[first * width..last * width], &mut gains);
        }
        losses
    }
}

impl Sequence<'_> {
    fn check(&self) {
        let (steps, count) = (self.actions.len(), self.first.len());
        assert!(count > 0, "a filter has particles");
        assert_eq!(self.noise.len(), steps * count, "noise of each particle and step");
        assert_eq!(
            (self.offsets.len(), self.labels.len()),
            (steps, steps),
            "an offset and a label each step"
        );
    }
}

impl Motion {
    /// log N(noise) of each particle's displacement, Σ_k -log σ_k - log √2π - z_k² / 2.
    fn log_density<'a>(&self, noise: &'a [[f32; 3]]) -> impl Iterator<Item = f32> + use<'a> {
        let constant = -self.noise.iter().map(|std| std.ln() + 0.5 * std::f32::consts::TAU.ln()).sum::<f32>();
        noise.iter().map(move |z| constant - 0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2]))
    }
}

#[cfg(test)]
mod tests;
