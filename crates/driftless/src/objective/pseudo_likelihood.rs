//! The block pseudo-likelihood: what the filter's own paths say about the parameters, without labels.

use super::Objective;
use crate::batch::Batch;
use crate::belief::{IMPOSSIBLE, impossible, log_sum_exp};
use crate::filter::Rollout;
use crate::filter::moving::log_density;
use crate::model::{Measurement, Model, Observations};
use crate::prior::Prior;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// log w of a removed particle where Q reads it: that of the smallest positive number of 32 bits, roughly, so that Q stays
/// a number of usual size.
const LEAST_LOG_WEIGHT: f64 = -100.0;

/// -Q̂ with Q̂ = 1/m Σ_b Σ_i w_b^i log η_b^i over m whole blocks: paper section on the objective.
/// Steps after the last whole block do not count.
///
/// A likelihood of zero, or none at all (NaN), counts as e^-100, without gradient. The line of a
/// proposed particle starts with it, as if a block did: it has the law of a block's first state.
///
/// Each field is a choice on which the paper and the authors' code differ, or which the paper
/// leaves open; [`PseudoLikelihood::paper`] and [`PseudoLikelihood::released`] fix all of them.
#[derive(Clone, Debug)]
pub struct PseudoLikelihood {
    /// Steps in a block, L.
    pub block: usize,
    /// The law of the first state of a block.
    pub start: BlockStart,
    /// What stands for l(o | s).
    pub likelihoods: Likelihoods,
    /// Whose paths count.
    pub genealogy: Genealogy,
    /// Whether l(o_1 | s_1) enters the first block; otherwise 1 / N stands for it.
    pub first_likelihood: bool,
    /// Whether positions are constants. If not, log g has no gradient for a motion's mean, and asks
    /// its noise to vanish.
    pub hold_positions: bool,
    /// Whether weights are constants, as in an EM step. If not, low posterior entropy is rewarded
    /// as well, which is unbounded for a learned observation noise.
    pub hold_weights: bool,
}

/// The law of the first state of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockStart {
    /// μ at the start of each block.
    Prior(Prior),
    /// A constant log-density. For a uniform μ, out of whose box noise carries particles: there μ
    /// itself would say -∞.
    Flat(f64),
    /// The constant for the first block; the transition from the block before for all others.
    Carried(f64),
}

/// What stands for l(o | s) in η.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Likelihoods {
    /// l itself. If it is no density over observations, as with matched features, it is made large
    /// by features that are all alike.
    Literal,
    /// l_i / Σ_j l_j at each step: only differences between particles count.
    Normalised,
    /// The weights at each step, but l itself at the last of the sequence: the authors' code.
    Released,
}

/// Whose paths count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Genealogy {
    /// Those alive at the end of the block.
    BlockEnd,
    /// Those of the particles at the end of the sequence, each with the weight its ancestor had at
    /// the end of the block; these need not sum to 1. The authors' code.
    Final,
}

impl PseudoLikelihood {
    /// As the paper states it. A uniform prior is taken as flat.
    pub fn paper(block: usize, prior: Prior) -> Self {
        let start = flat_density(&prior).map_or(BlockStart::Prior(prior), BlockStart::Flat);
        Self {
            block,
            start,
            likelihoods: Likelihoods::Literal,
            genealogy: Genealogy::BlockEnd,
            first_likelihood: true,
            hold_positions: true,
            hold_weights: true,
        }
    }

    /// As the authors' code computes it, for particles uniform over a box of this log-density.
    pub fn released(block: usize, log_density: f64) -> Self {
        Self {
            block,
            start: BlockStart::Carried(log_density),
            likelihoods: Likelihoods::Released,
            genealogy: Genealogy::Final,
            first_likelihood: false,
            hold_positions: false,
            hold_weights: false,
        }
    }

    /// The whole blocks of a sequence.
    pub fn blocks(&self, steps: usize) -> Vec<Range<usize>> {
        (0..steps / self.block).map(|b| b * self.block..(b + 1) * self.block).collect()
    }

    /// What step t adds to log η, [B, N].
    fn term<M: Model>(&self, model: &M, rollout: &Rollout<M>, actions: &Tensor<3>, t: usize) -> Tensor<2> {
        let moved = || {
            let (parents, states) = (rollout.infos[t].parents.clone(), rollout.beliefs[t].states.clone());
            log_density(model, self.held(parents), self.held(states), actions, t)
        };
        let likelihood = self.log_likelihood(model, rollout, t);
        let started = match &self.start {
            BlockStart::Prior(prior) => {
                prior.log_density(&self.held(rollout.beliefs[t].states.clone()), rollout.space)
            }
            BlockStart::Flat(log) | BlockStart::Carried(log) => likelihood.full_like(*log),
        };
        let carried = t > 0 && matches!(self.start, BlockStart::Carried(_));
        let law = if carried || !t.is_multiple_of(self.block) {
            // The square of a very long way can be infinite.
            rollout.infos[t].with_proposed(moved().clamp_min(IMPOSSIBLE), started)
        } else {
            started
        };
        law + likelihood
    }

    fn log_likelihood<M: Model>(&self, model: &M, rollout: &Rollout<M>, t: usize) -> Tensor<2> {
        let stored = &rollout.infos[t].log_likelihood;
        if t == 0 && !self.first_likelihood {
            return stored.full_like(-(stored.dims()[1] as f64).ln());
        }
        if self.likelihoods == Likelihoods::Released && t + 1 < rollout.beliefs.len() {
            let weights = rollout.beliefs[t].weights.log();
            return weights.clone().mask_fill(impossible(&weights), LEAST_LOG_WEIGHT);
        }
        let literal = if self.hold_positions {
            let states = rollout.beliefs[t].states.clone().detach();
            model.measurement().log_likelihood(&rollout.cues, t, states)
        } else {
            stored.clone()
        };
        let removed = impossible(&literal);
        let literal = literal.mask_fill(removed.clone(), IMPOSSIBLE);
        let value = match self.likelihoods {
            Likelihoods::Normalised => literal.clone() - log_sum_exp(literal, 1),
            Likelihoods::Literal | Likelihoods::Released => literal,
        };
        // A particle without weight must add nothing, and 0 · ∞ is not 0; one that has weight all the
        // same, in a collapsed row for instance, must not drown all others.
        value.mask_fill(removed, LEAST_LOG_WEIGHT)
    }

    fn held(&self, states: Tensor<3>) -> Tensor<3> {
        if self.hold_positions { states.detach() } else { states }
    }

    /// Σ_i w_b^i log η_b^i of one block, [B, 1].
    fn block_value<M: Model>(
        &self,
        model: &M,
        rollout: &Rollout<M>,
        actions: &Tensor<3>,
        block: Range<usize>,
    ) -> Tensor<2> {
        let end = block.end;
        let mut log_eta = rollout.sum_along_paths(block, |t| self.term(model, rollout, actions, t));
        let weights = &rollout.beliefs[end - 1].weights;
        let mut weights = if self.hold_weights { weights.exp().detach() } else { weights.exp() };
        if self.genealogy == Genealogy::Final {
            for info in &rollout.infos[end..] {
                log_eta = info.inherit(log_eta);
                weights = info.inherit(weights);
            }
        }
        (weights * log_eta).sum_dim(1)
    }
}

/// -log volume of a uniform prior.
fn flat_density(prior: &Prior) -> Option<f64> {
    match prior {
        Prior::Uniform { low, high } => Some(-low.iter().zip(high).map(|(l, h)| (h - l).ln()).sum::<f64>()),
        Prior::Normal { .. } | Prior::Each(_) => None,
    }
}

impl<M: Model> Objective<M> for PseudoLikelihood {
    fn name(&self) -> &'static str {
        "pseudo-likelihood"
    }

    /// # Panics
    /// If the sequence is shorter than a block.
    fn loss(&self, model: &M, rollout: &Rollout<M>, batch: &Batch<Observations<M>>) -> Tensor<1> {
        let steps = rollout.beliefs.len();
        let blocks = self.blocks(steps);
        assert!(!blocks.is_empty(), "{steps} steps hold no block of {}", self.block);
        let value = |block| self.block_value(model, rollout, &batch.actions, block);
        -Tensor::cat(blocks.into_iter().map(value).collect(), 1).mean()
    }
}
