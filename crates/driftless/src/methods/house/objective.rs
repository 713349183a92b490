//! What trains PF-net's filter: the squared error at known poses and the pseudo-likelihood of a block, and how they
//! pull at the log-likelihoods of all particles.
//!
//! Poses do not depend on the network, so everything is a function of its numbers a_t(i), step t, particle i:
//!
//! log w_t = log w_{t-1} + a_t, normalised for every use; resampled after a step where few particles count, if at all:
//! q = α w + (1-α)/K, ancestors from q, log w ← log w - log q (PF-net's soft resampling; all alike for α = 1)
//!
//! L = λ₁ Σ_known (|0.02 (Σ w x - x*)|² + 0.36 (Σ w wrap(θ - θ*))²) - λ₂ Q, or, in the method `driftless`,
//! L = -λ₁ Σ_known log Σ w exp(-½ (|0.02 (x - x*)|² / h² + wrap(θ - θ*)² / k²)): how dense the belief is at the truth.
//! Q = Σ_i m(i) w_T(i) log η(i), log η = log μ(s_1) + log l_1 + Σ_{t>1} (log p(s_t | s_{t-1}) + log l_t), over each
//! particle's own past in the block; m(i) counts its children in the end where these decide, and is 1 otherwise.
//! In Q weights belong to the parameters that were, and are constants unless a switch says otherwise.

mod back;
mod terms;

pub(super) use terms::{LabelLoss, Terms};

use crate::objective::Likelihoods;
use back::{add_through_softmax, to_parents};
use driftless_core::exponential::log_sum_exp_64;
use driftless_core::resample::by_markers;
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::wrap;

/// What a squared radian counts beside a squared metre: PF-net's.
pub(super) const HEADING: f64 = 0.36;
/// The least weight of which a logarithm is taken.
const LEAST: f64 = 1e-300;

/// What stands for log l of a step in Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Literal,
    /// Less the log of the sum over all particles.
    Normalised,
    /// The weights after the step.
    Weights,
    /// 1 / K.
    Constant,
}

/// One step, as the way back needs it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    stand: Stand,
    /// l / Σ l of all particles.
    shares: Vec<f64>,
    /// Normalised weights after the network, before resampling; and log η so far.
    weighted: Vec<f64>,
    past: Vec<f64>,
    /// Whose child each particle is, if they were resampled.
    ancestors: Option<Vec<usize>>,
    /// Normalised weights in the end.
    weights: Vec<f64>,
    /// ∂L/∂log w, by what is known of the pose; and whether that was looked at before resampling.
    by_log_weights: Option<Vec<f64>>,
    known_first: bool,
}

/// h in metres and k in radians.
const WIDTHS: [f64; 2] = [0.15, 0.175];

/// A trajectory's block of steps.
#[derive(Clone, Debug)]
pub(super) struct Block {
    terms: Terms,
    /// log w of all particles, normalised.
    log_weights: Vec<f64>,
    /// log η along each particle's past in this block.
    past: Vec<f64>,
    /// How many children each particle of the last step has at the end of the sequence, if they count.
    children: Option<Vec<f64>>,
    steps: Vec<Step>,
    /// The squared errors, before their weight.
    pub(super) error: f64,
    /// The loss of beliefs at labels, before its weight.
    pub(super) evaluated: f64,
    /// How many poses were known, by how surely.
    pub(super) known: f64,
}

fn normalise(numbers: &mut [f64]) {
    let sum = log_sum_exp_64(numbers);
    for x in numbers {
        *x -= sum;
    }
}

fn exponentials(logs: &[f64]) -> Vec<f64> {
    logs.iter().map(|log| log.exp()).collect()
}

fn effective_sample_size(weights: &[f64]) -> f64 {
    weights.iter().map(|w| w * w).sum::<f64>().recip()
}

impl Block {
    /// Begins with carried weights, which are constants.
    pub(super) fn new(terms: Terms, log_weights: Vec<f64>, children: Option<Vec<f64>>) -> Self {
        let past = vec![0.0; log_weights.len()];
        Self { terms, log_weights, past, children, steps: Vec::new(), error: 0.0, evaluated: 0.0, known: 0.0 }
    }

    /// log μ of all first states, or the log density of the move that all particles have just made.
    pub(super) fn came(&mut self, log_densities: impl Iterator<Item = f64>) {
        self.past.iter_mut().zip(log_densities).for_each(|(past, log_p)| *past += log_p);
    }

    /// What the network says of all particles.
    pub(super) fn weigh(&mut self, mut log_l: Vec<f64>) {
        self.log_weights.iter_mut().zip(&log_l).for_each(|(w, a)| *w += a);
        normalise(&mut self.log_weights);
        let (stand, literal) = (self.stand(), log_l.clone());
        normalise(&mut log_l);
        let uniform = -(log_l.len() as f64).ln();
        for (i, past) in self.past.iter_mut().enumerate() {
            *past += match stand {
                Stand::Literal => literal[i],
                Stand::Normalised => log_l[i],
                Stand::Weights => self.log_weights[i],
                Stand::Constant => uniform,
            };
        }
        let weighted = exponentials(&self.log_weights);
        self.steps.push(Step {
            stand,
            shares: exponentials(&log_l),
            weights: weighted.clone(),
            weighted,
            past: self.past.clone(),
            ancestors: None,
            by_log_weights: None,
            known_first: false,
        });
    }

    /// Of the step that comes.
    fn stand(&self) -> Stand {
        let step = self.steps.len();
        if self.terms.is_first && step == 0 && !self.terms.switches.first_likelihood {
            return Stand::Constant;
        }
        match self.terms.switches.likelihoods {
            Likelihoods::Released if self.terms.last != Some(step) => Stand::Weights,
            Likelihoods::Literal | Likelihoods::Released => Stand::Literal,
            Likelihoods::Normalised => Stand::Normalised,
        }
    }

    /// Multinomial resampling from α w + (1-α)/K, where few particles count; `uniforms` choose ancestors. Returns them.
    pub(super) fn resample(&mut self, uniforms: &[f64]) -> Option<&[usize]> {
        let Terms { softness, threshold, .. } = self.terms;
        let step = self.steps.last_mut().expect("a step was weighed");
        let count = step.weighted.len();
        let few = threshold >= 1.0 || effective_sample_size(&step.weighted) < threshold * count as f64;
        if softness <= 0.0 || !few {
            return None;
        }
        let weighted = &step.weighted;
        let shares: Vec<f64> =
            weighted.iter().map(|w| softness * w + (1.0 - softness) / count as f64).collect();
        let mut ancestors = Vec::new();
        by_markers(&shares, uniforms[..count].iter().copied(), &mut ancestors);
        let ancestors: Vec<usize> = ancestors.iter().map(|&i| i as usize).collect();
        self.log_weights = ancestors.iter().map(|&i| (weighted[i].max(LEAST) / shares[i]).ln()).collect();
        if softness >= 1.0 {
            self.log_weights.fill(0.0);
        }
        normalise(&mut self.log_weights);
        self.past = ancestors.iter().map(|&i| self.past[i]).collect();
        step.weights = exponentials(&self.log_weights);
        step.known_first = step.by_log_weights.is_some();
        step.ancestors.insert(ancestors).as_slice().into()
    }

    /// The true pose of the step that was weighed last, and how certain it is, up to 1.
    pub(super) fn know(&mut self, poses: &[[f64; 3]], truth: [f64; 3], certainty: f64) {
        let step = self.steps.last_mut().expect("a step was weighed");
        let differences = |pose: &[f64; 3]| {
            let [x, y] = [0, 1].map(|k| METRES_PER_PIXEL * (pose[k] - truth[k]));
            [x, y, wrap(pose[2] - truth[2])]
        };
        let mut mean = [0.0; 3];
        for (pose, weight) in poses.iter().zip(&step.weights) {
            mean.iter_mut().zip(differences(pose)).for_each(|(mean, x)| *mean += weight * x);
        }
        let [x, y, heading] = mean;
        let error = x * x + y * y + HEADING * heading * heading;
        self.error += certainty * error;
        self.known += certainty;
        let (evaluated, mut by) = match self.terms.label_loss {
            LabelLoss::SquaredError => {
                let by = |pose: &[f64; 3]| {
                    let d = differences(pose);
                    2.0 * (x * d[0] + y * d[1] + HEADING * heading * d[2])
                };
                let (by, mut sum) = (poses.iter().map(by).collect::<Vec<f64>>(), vec![0.0; poses.len()]);
                add_through_softmax(&step.weights, &by, &mut sum);
                (error, sum)
            }
            LabelLoss::Density => density(&step.weights, poses.iter().map(differences)),
        };
        self.evaluated += certainty * evaluated;
        for by in &mut by {
            *by *= certainty * self.terms.known;
        }
        step.by_log_weights = Some(by);
    }

    /// Effective sample size of the step that was weighed last, before resampling.
    pub(super) fn effective_sample_size(&self) -> f64 {
        effective_sample_size(&self.last().weighted)
    }

    fn last(&self) -> &Step {
        self.steps.last().expect("a step was weighed")
    }

    /// What each particle counts in Q: m(i) w_T(i), before the last step's resampling.
    fn counts(&self) -> Vec<f64> {
        let weights = self.last().weighted.iter().enumerate();
        weights
            .map(|(i, weight)| self.children.as_ref().map_or(1.0, |children| children[i]) * weight)
            .collect()
    }

    /// Q.
    pub(super) fn pseudo_likelihood(&self) -> f64 {
        self.counts().iter().zip(&self.last().past).map(|(count, past)| count * past).sum()
    }

    /// Normalised log weights to carry on with.
    pub(super) fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// Children in the end of all particles of the last step, to those of the first step before this block's, given
    /// those of the first step after it.
    pub(super) fn children_before(&self, mut children: Vec<f64>, goes_on: bool) -> [Vec<f64>; 2] {
        let mut at_end = Vec::new();
        for (behind, step) in self.steps.iter().rev().enumerate() {
            // What is resampled after the last step of all has no time to matter.
            if let Some(ancestors) = step.ancestors.as_ref().filter(|_| goes_on || behind > 0) {
                children = to_parents(ancestors, &children);
            }
            if behind == 0 {
                at_end.clone_from(&children);
            }
        }
        [at_end, children]
    }
}

/// -log of a belief's density at the truth, and its derivatives by log w: the weights less those that knowing the
/// truth would give. Given how far each particle is from it, in metres and radians.
fn density(weights: &[f64], apart: impl Iterator<Item = [f64; 3]>) -> (f64, Vec<f64>) {
    let log_kernel = |[x, y, heading]: [f64; 3]| {
        -0.5 * ((x * x + y * y) / WIDTHS[0].powi(2) + (heading / WIDTHS[1]).powi(2))
    };
    let terms = weights.iter().zip(apart).map(|(weight, d)| weight.max(LEAST).ln() + log_kernel(d));
    let terms: Vec<f64> = terms.collect();
    let sum = log_sum_exp_64(&terms);
    (-sum, weights.iter().zip(&terms).map(|(weight, term)| weight - (term - sum).exp()).collect())
}

#[cfg(test)]
mod tests;
