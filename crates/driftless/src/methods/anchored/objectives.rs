//! Objectives of a filter over unlabelled steps, and their gradient: the M-step beside the contrast.
//!
//! Of blocks b with steps t and particles i, log l_t(i) = τ κ cos(e_t, ê_i):
//!
//! -Q = -1/T Σ_b Σ_i w_b(i) Σ_t log l_t(i) along each particle's line, weights and poses held (the paper's section on the
//! objective; log g and log μ are constants here, as neither has parameters that are learned by it), or with l_t(i) / Σ_j l_t(j);
//! -log p = -1/T Σ_b Σ_t log Σ_i w'_t(i) l_t(i), whose weights are not held: its gradient goes back through them until
//! particles were drawn. Normalised, it has l_t(i) / mean_s l_t(s) of poses s all over the maze in place of l_t(i).
//!
//! T is the number of steps, so that all are nats a step. Where nothing was resampled the gradients of Q and of the
//! evidence are the same (Fisher's identity).

use super::blocks::{self, Block, Followed, TEMPERING};
use crate::error::Result;
use crate::learn::{Experiment, Unlabelled};
use crate::methods::trace_loss::{Paths, TraceLoss};
use crate::objective::Likelihoods;
use crate::ops::FrameEncoder;
use crate::parameters::Named;
use driftless_core::exponential::{exponentials, log_sum_exp};
use driftless_core::motion::Odometry;
use driftless_core::{Cpu, Particles, Space, Stream, effective_sample_size};
use driftless_kernels::contrast::Workspace;
use driftless_kernels::ranks::Ranks;
use driftless_world::random::Random;
use rayon::prelude::*;

/// Blocks of an update.
const BLOCKS: usize = 2;
/// Poses all over the maze that are added for each image; all images are compared with all of these.
const SPREAD: usize = 8;

/// Which objectives count, and how much.
pub(super) struct Objectives {
    weights: Vec<(Unlabelled, f64)>,
}

/// What an update learns from blocks, in nats a step and before weights.
pub(super) struct Said {
    pub(super) losses: Vec<(&'static str, f64)>,
    /// The sum of the losses with their weights.
    pub(super) value: f64,
    pub(super) effective_sample_size: f64,
    pub(super) gradients: Vec<Named>,
}

/// What the filter moves by, and the box that the maze is in.
pub(super) struct World {
    pub(super) odometry: Odometry,
    pub(super) bounds: [[f64; 2]; 2],
}

impl Objectives {
    /// Those of an experiment, but for soft labels.
    pub(super) fn of(experiment: &Experiment) -> Self {
        let weight = |&one: &Unlabelled| experiment.unlabelled_weights.of(one).map(|weight| (one, weight));
        Self { weights: experiment.unlabelled.iter().filter_map(weight).collect() }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    fn weight(&self, objective: Unlabelled) -> Option<f64> {
        self.weights.iter().find(|(known, _)| *known == objective).map(|(_, weight)| *weight)
    }

    /// The objectives of blocks drawn at random, and their gradient; nothing if no block can be drawn.
    pub(super) fn loss(
        &self,
        (encoder, world): (&FrameEncoder, &World),
        all: &[Block],
        shared: (&dyn Ranks, &mut Workspace),
        random: &mut Random,
    ) -> Result<Option<Said>> {
        let (drawn, seed) = (blocks::drawn(all, BLOCKS, random), random.bits());
        if drawn.is_empty() {
            return Ok(None);
        }
        let follow = |(number, block): (usize, &&Block)| {
            block.follow(encoder, &world.odometry, Stream::new(seed, number as u64))
        };
        let followed: Vec<Followed> = drawn.par_iter().enumerate().map(follow).collect();
        let spread = if self.weight(Unlabelled::EvidenceNormalised).is_some() { SPREAD } else { 0 };
        self.learn(encoder, (&drawn, &followed), &Spread::drawn(spread, world.bounds, random), shared)
            .map(Some)
    }

    /// The same of blocks that a filter went through.
    fn learn(
        &self,
        encoder: &FrameEncoder,
        (drawn, followed): (&[&Block], &[Followed]),
        spread: &Spread,
        shared: (&dyn Ranks, &mut Workspace),
    ) -> Result<Said> {
        let steps: usize = followed.iter().map(|one| one.trace.len()).sum();
        let parts: Vec<BySteps> = followed.iter().map(|one| self.by_steps(one, steps)).collect();
        let (poses, each) = spread.beside(followed);
        let log_gradients: Vec<f32> =
            parts.iter().flat_map(|part| part.log_gradients.iter().copied()).collect();
        let factor = self.weight(Unlabelled::EvidenceNormalised).unwrap_or_default() / steps as f64;
        let scale = TEMPERING * encoder.sharpness();
        let cost = |image: usize, cosines: &mut [f32]| {
            let own = &log_gradients[image * blocks::PARTICLES..][..blocks::PARTICLES];
            through_scores(cosines, own, (image, each), [scale, factor as f32])
        };
        let pixels: Vec<f32> = drawn.iter().flat_map(|block| block.pixels.iter().copied()).collect();
        let (log_means, gradients) = encoder.learn(&pixels, &poses, &cost, shared)?;
        let sum = |objective: Unlabelled| {
            parts
                .iter()
                .flat_map(|part| &part.said)
                .filter(|(of, _)| *of == objective)
                .map(|(_, q)| q)
                .sum::<f64>()
        };
        let loss = |objective: Unlabelled| match objective {
            Unlabelled::EvidenceNormalised => log_means - sum(objective),
            _ => -sum(objective),
        } / steps as f64;
        let losses: Vec<_> = self.weights.iter().map(|(one, _)| (one.name(), loss(*one))).collect();
        Ok(Said {
            value: self.weights.iter().zip(&losses).map(|((_, weight), (_, loss))| weight * loss).sum(),
            losses,
            effective_sample_size: parts.iter().map(|part| part.effective).sum::<f64>() / steps as f64,
            gradients,
        })
    }

    /// All objectives of a block, and their derivatives by log l, of so many steps in all.
    fn by_steps(&self, Followed { trace, log_evidence }: &Followed, steps: usize) -> BySteps {
        let count = blocks::PARTICLES;
        let (own, law, heirs) = (trace.len(), vec![0.0; trace.weights.len()], vec![1.0; count]);
        let (mut loss, mut said) = (TraceLoss::new(trace, count), Vec::new());
        for &(objective, weight) in &self.weights {
            let factor = -weight / steps as f64;
            let likelihoods = match objective {
                Unlabelled::PseudoLikelihood => Likelihoods::Literal,
                Unlabelled::PseudoLikelihoodNormalised => Likelihoods::Normalised,
                _ => {
                    (0..own).for_each(|t| loss.add_evidence(t, factor, 1.0));
                    said.push((objective, *log_evidence));
                    continue;
                }
            };
            let paths =
                Paths { likelihoods, first_likelihood: true, hold_weights: true, from: 0, steps: own };
            said.push((objective, loss.add_paths(&paths, 0..own, &law, (&heirs, factor))));
        }
        let mut log_gradients = vec![0.0; trace.weights.len()];
        loss.write(1.0, &mut log_gradients);
        let effective = trace.weights.chunks_exact(count).map(effective_sample_size).sum();
        BySteps { said, log_gradients, effective }
    }
}

struct BySteps {
    said: Vec<(Unlabelled, f64)>,
    log_gradients: Vec<f32>,
    /// Effective sample sizes, added up.
    effective: f64,
}

/// Poses all over the maze, some for each image of an update.
struct Spread {
    each: usize,
    bounds: [[f64; 2]; 2],
    random: Random,
}

impl Spread {
    fn drawn(each: usize, bounds: [[f64; 2]; 2], random: &mut Random) -> Self {
        Self { each, bounds, random: Random::new(random.bits()) }
    }

    /// The particles of each step, each with its share of these behind; and how many all these are for a step.
    fn beside(&self, followed: &[Followed]) -> (Particles, usize) {
        let (mut poses, mut random, count) =
            (Particles::new(Space::SE2), self.random.clone(), blocks::PARTICLES);
        let ([low, high], turn) = (self.bounds, std::f64::consts::PI);
        for trace in followed.iter().map(|one| &one.trace) {
            for t in 0..trace.len() {
                (t * count..(t + 1) * count).for_each(|i| poses.push(&[0, 1, 2].map(|k| trace.poses[k][i])));
                for _ in 0..self.each {
                    let place = [0, 1].map(|k| random.range(low[k], high[k]) as f32);
                    poses.push(&[place[0], place[1], random.range(-turn, turn) as f32]);
                }
            }
        }
        (poses, count + self.each)
    }
}

/// Derivatives in place of one image's cosines, given those by log l of its own particles; the log mean of l over the
/// poses all over the maze, which counts `factor` times; and the derivative by κ.
fn through_scores(
    cosines: &mut [f32],
    own: &[f32],
    (image, each): (usize, usize),
    [scale, factor]: [f32; 2],
) -> (f64, f64) {
    let mine = cosines[image * each..][..own.len()].to_vec();
    let spread: Vec<f32> =
        cosines.chunks_exact(each).flat_map(|poses| &poses[own.len()..]).copied().collect();
    let all = log_sum_exp(Cpu::best(), &spread, scale);
    let (mut terms, mut by_scale) = (Vec::new(), 0.0);
    exponentials(Cpu::best(), &spread, scale, &mut terms);
    let sum = terms.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    cosines.fill(0.0);
    let places = cosines.chunks_exact_mut(each).flat_map(|poses| &mut poses[own.len()..]);
    for ((to, term), cosine) in places.zip(&terms).zip(&spread) {
        let by = factor * term / sum;
        by_scale += f64::from(by * cosine);
        *to = scale * by;
    }
    for ((to, by), cosine) in cosines[image * each..].iter_mut().zip(own).zip(&mine) {
        by_scale += f64::from(by * cosine);
        *to = scale * by;
    }
    let log_mean = if spread.is_empty() { 0.0 } else { all - (spread.len() as f64).ln() };
    (log_mean, f64::from(TEMPERING) * by_scale)
}

#[cfg(test)]
mod tests;
