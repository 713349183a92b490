//! Losses of a filter's trace, and their derivatives by the log-likelihoods of all particles.
//!
//! Poses do not depend on what is learned, so everything is a function of log l_t(i), step t, particle i:
//!
//! log w_t = log w'_t + log l_t, normalised, and log w'_{t+1} = log w_t; where particles are resampled, softly, ancestors
//! come from q = α w + (1-α) / N, and log w' = log w - log q of the ancestor: all alike for α = 1.
//!
//! L is a sum of losses of beliefs, functions of log w_t that somebody else knows, and of -Q of blocks,
//! Q = Σ_i m(i) w_T(i) log η(i), log η = Σ_t (log p(s_t | s_{t-1}) + log l_t) along each particle's line in the block, with
//! log μ for the first p; m(i) counts the particles at the end of the sequence that descend from it, or is 1.

use crate::objective::Likelihoods;
use driftless_core::IMPOSSIBLE;
use driftless_core::exponential::log_sum_exp_64;
use driftless_kernels::scan::Trace;
use std::ops::Range;

/// log w and log l of a removed particle where Q reads them, as for tensors: Q stays a number of usual size.
const LEAST_LOG_WEIGHT: f64 = -100.0;

/// The choices of Q that a trace knows of; [`crate::objective::PseudoLikelihood`] tells more of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paths {
    /// What stands for log l.
    pub(super) likelihoods: Likelihoods,
    /// Whether l(o_1 | s_1) counts; otherwise 1 / N stands for it.
    pub(super) first_likelihood: bool,
    /// Whether the weights at a block's end are constants.
    pub(super) hold_weights: bool,
    /// Where the trace begins in its sequence, and the sequence's steps.
    pub(super) from: usize,
    pub(super) steps: usize,
}

/// What stands for log l of a step in Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Literal,
    /// Less the log of the sum over all particles.
    Normalised,
    /// The weights after the step.
    Weights,
    /// 1 / N.
    Constant,
}

impl Paths {
    /// Of step t of the trace.
    fn stand(&self, t: usize) -> Stand {
        let at = self.from + t;
        if at == 0 && !self.first_likelihood {
            return Stand::Constant;
        }
        match self.likelihoods {
            Likelihoods::Released if at + 1 < self.steps => Stand::Weights,
            Likelihoods::Literal | Likelihoods::Released => Stand::Literal,
            Likelihoods::Normalised => Stand::Normalised,
        }
    }
}

/// A loss that is added up, with its derivatives so far.
pub(super) struct TraceLoss<'a> {
    trace: &'a Trace,
    count: usize,
    /// By log w of each step's normalised weights.
    by_weights: Vec<f64>,
    /// By log l, apart from what goes through weights.
    direct: Vec<f64>,
}

impl<'a> TraceLoss<'a> {
    /// Zero, for so many particles.
    pub(super) fn new(trace: &'a Trace, count: usize) -> Self {
        let zeros = vec![0.0; trace.weights.len()];
        Self { trace, count, by_weights: zeros.clone(), direct: zeros }
    }

    /// The numbers of a step.
    pub(super) fn own(&self, t: usize) -> Range<usize> {
        t * self.count..(t + 1) * self.count
    }

    /// The derivatives by log w of a step, to which a loss of its belief adds its own.
    pub(super) fn by_weights(&mut self, t: usize) -> &mut [f64] {
        let own = self.own(t);
        &mut self.by_weights[own]
    }

    /// Adds `factor` Q of a block, and says Q; given log p of all states of the trace, and m of the block's last
    /// particles.
    pub(super) fn add_paths(
        &mut self,
        paths: &Paths,
        block: Range<usize>,
        law: &[f64],
        (heirs, factor): (&[f64], f64),
    ) -> f64 {
        let eta = self.log_eta(paths, block.clone(), law);
        let end = self.own(block.end - 1);
        let (mut sum, mut lines) = (0.0, Vec::with_capacity(self.count));
        for ((i, eta), heirs) in end.zip(&eta).zip(heirs) {
            let share = heirs * f64::from(self.trace.weights[i]);
            sum += share * eta;
            if !paths.hold_weights {
                self.by_weights[i] += factor * share * eta;
            }
            lines.push(factor * share);
        }
        self.lead_back(paths, block, lines);
        sum
    }

    /// log η of the line that leads to each particle at the end of a block.
    pub(super) fn log_eta(&self, paths: &Paths, block: Range<usize>, law: &[f64]) -> Vec<f64> {
        let mut eta = Vec::new();
        for t in block.clone() {
            let (own, stand) = (self.own(t), paths.stand(t));
            let whole = if stand == Stand::Normalised { self.log_total(t) } else { 0.0 };
            let term = |i: usize| law[i] + self.stand_in(stand, i, whole);
            let before =
                |i: usize| if t == block.start { 0.0 } else { eta[self.trace.ancestors[i] as usize] };
            eta = own.map(|i| before(i) + term(i)).collect();
        }
        eta
    }

    /// What stands for log l of particle i, of a step whose likelihoods have this log sum.
    fn stand_in(&self, stand: Stand, i: usize, whole: f64) -> f64 {
        match stand {
            Stand::Constant => -(self.count as f64).ln(),
            Stand::Weights if self.trace.weights[i] > 0.0 => f64::from(self.trace.weights[i].ln()),
            Stand::Literal | Stand::Normalised if self.is_possible(i) => {
                f64::from(self.trace.log_likelihoods[i]) - whole
            }
            _ => LEAST_LOG_WEIGHT,
        }
    }

    fn is_possible(&self, i: usize) -> bool {
        f64::from(self.trace.log_likelihoods[i]) > IMPOSSIBLE
    }

    /// log Σ l of a step.
    fn log_total(&self, t: usize) -> f64 {
        let possible = self.own(t).filter(|&i| self.is_possible(i));
        log_sum_exp_64(&possible.map(|i| f64::from(self.trace.log_likelihoods[i])).collect::<Vec<_>>())
    }

    /// Derivatives by the likelihoods along the lines of a block, given those by log η.
    fn lead_back(&mut self, paths: &Paths, block: Range<usize>, mut lines: Vec<f64>) {
        for t in block.rev() {
            let (own, stand) = (self.own(t), paths.stand(t));
            match stand {
                Stand::Constant => {}
                Stand::Weights => add(&mut self.by_weights[own.clone()], &lines),
                Stand::Literal | Stand::Normalised if !self.trace.weighed[t] => {}
                Stand::Literal => add(&mut self.direct[own.clone()], &lines),
                Stand::Normalised => {
                    let (whole, sum) = (self.log_total(t), lines.iter().sum::<f64>());
                    let possible: Vec<usize> = own.clone().filter(|&i| self.is_possible(i)).collect();
                    for i in possible {
                        let share = (f64::from(self.trace.log_likelihoods[i]) - whole).exp();
                        self.direct[i] += lines[i - own.start] - share * sum;
                    }
                }
            }
            lines = inherited(&self.trace.ancestors[own], &lines);
        }
    }

    /// Adds `factor` times the log evidence of a step, log Σ w' l, of which w' are not normalised behind a resampling.
    pub(super) fn add_evidence(&mut self, t: usize, factor: f64, softness: f64) {
        if !self.trace.weighed[t] || factor == 0.0 {
            return;
        }
        let own = self.own(t);
        let by: Vec<f64> = self.trace.weights[own.clone()].iter().map(|w| factor * f64::from(*w)).collect();
        add(&mut self.direct[own], &by);
        if t > 0 {
            let before = if self.trace.resampled[t] { self.to_ancestors(t, softness, &by) } else { by };
            add(self.by_weights(t - 1), &before);
        }
    }

    /// Writes the derivatives by each log l over zeros, given α of the resampling; for α = 1 gradients end there.
    pub(super) fn write(self, softness: f64, log_gradients: &mut [f32]) {
        let Self { trace, count, .. } = self;
        let mut later = vec![0.0; count];
        for t in (0..trace.len()).rev() {
            let own = self.own(t);
            let mut by: Vec<f64> =
                self.by_weights[own.clone()].iter().zip(&later).map(|(a, b)| a + b).collect();
            let sum: f64 = by.iter().sum();
            for ((i, by), log_gradient) in own.clone().zip(&mut by).zip(&mut log_gradients[own.clone()]) {
                // Weights are normalised: only differences count.
                *by -= f64::from(trace.weights[i]) * sum;
                if trace.weighed[t] {
                    *log_gradient = self.direct[i] as f32 + *by as f32;
                }
            }
            if t > 0 {
                later = if trace.resampled[t] { self.to_ancestors(t, softness, &by) } else { by };
            }
        }
    }

    /// By log w of the step before, through soft resampling: q's own derivative is α w / q.
    fn to_ancestors(&self, t: usize, softness: f64, by: &[f64]) -> Vec<f64> {
        if softness >= 1.0 {
            return vec![0.0; self.count];
        }
        let uniform = (1.0 - softness) / self.count as f64;
        let mut sums = inherited(&self.trace.ancestors[self.own(t)], by);
        for (sum, &weight) in sums.iter_mut().zip(&self.trace.weights[self.own(t - 1)]) {
            *sum *= uniform / (softness * f64::from(weight) + uniform);
        }
        sums
    }
}

fn add(sums: &mut [f64], numbers: &[f64]) {
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
}

/// Numbers of particles, added up at their ancestors.
pub(super) fn inherited(ancestors: &[u32], numbers: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; numbers.len()];
    ancestors.iter().zip(numbers).for_each(|(&ancestor, number)| sums[ancestor as usize] += number);
    sums
}

/// How many of a sequence's last particles descend from each one at the end of each of its whole blocks.
pub(super) fn heirs(ancestors: &[u32], count: usize, block: usize) -> Vec<Vec<f64>> {
    let (mut heirs, mut ends) = (vec![1.0; count], Vec::new());
    for t in (0..ancestors.len() / count).rev() {
        if (t + 1).is_multiple_of(block) {
            ends.push(heirs.clone());
        }
        heirs = inherited(&ancestors[t * count..][..count], &heirs);
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests;
