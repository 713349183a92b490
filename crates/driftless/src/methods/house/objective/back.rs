//! The way back through a block: how the loss gradients at the network's numbers.

use super::{Block, Stand, Step};

impl Block {
    /// ∂L/∂a for all particles, step after step.
    pub(in crate::methods::house) fn log_gradients(&self) -> Vec<f32> {
        let count = self.past.len();
        let mut log_gradients = vec![0.0; count * self.steps.len()];
        let (mut by_log_weights, mut by_past) = (vec![0.0; count], vec![0.0; count]);
        for (t, (step, log_gradients)) in
            self.steps.iter().zip(log_gradients.chunks_exact_mut(count)).enumerate().rev()
        {
            let known = |sum: &mut [f64]| {
                step.by_log_weights.iter().flatten().zip(sum).for_each(|(by, sum)| *sum += by);
            };
            if let Some(ancestors) = &step.ancestors {
                if !step.known_first {
                    known(&mut by_log_weights);
                }
                by_log_weights = self.back_to_parents(step, ancestors, &by_log_weights);
                by_past = to_parents(ancestors, &by_past);
            }
            if step.ancestors.is_none() || step.known_first {
                known(&mut by_log_weights);
            }
            if t + 1 == self.steps.len() {
                self.back_from_end(&mut by_log_weights, &mut by_past);
            }
            back_to_network(step, &mut by_log_weights, &by_past, log_gradients);
        }
        log_gradients
    }

    /// By log w and log η of the last step.
    fn back_from_end(&self, by_log_weights: &mut [f64], by_past: &mut [f64]) {
        let (last, counts) = (self.last(), self.counts());
        by_past.iter_mut().zip(&counts).for_each(|(by, count)| *by = -self.terms.pseudo * count);
        if !self.terms.switches.hold_weights {
            let by = |(i, past): (usize, &f64)| {
                -self.terms.pseudo * self.children.as_ref().map_or(1.0, |children| children[i]) * past
            };
            let by_weights: Vec<f64> = last.past.iter().enumerate().map(by).collect();
            add_through_softmax(&last.weighted, &by_weights, by_log_weights);
        }
    }

    /// Back through soft resampling: ∂ log w of parents, given those of children.
    fn back_to_parents(&self, step: &Step, ancestors: &[usize], by: &[f64]) -> Vec<f64> {
        let (softness, count) = (self.terms.softness, by.len() as f64);
        let uniform = (1.0 - softness) / count;
        let of_parents = to_parents(ancestors, by);
        let share = |(by, w): (&f64, &f64)| {
            // log w - log q: q's own derivative is α w / q; none is left where all weights became alike.
            if softness >= 1.0 { 0.0 } else { by * uniform / (softness * w + uniform) }
        };
        of_parents.iter().zip(&step.weighted).map(share).collect()
    }
}

/// From log w and log η to the network's numbers of a step; leaves derivatives by the log w before it.
fn back_to_network(step: &Step, by_log_weights: &mut [f64], by_past: &[f64], log_gradients: &mut [f32]) {
    if step.stand == Stand::Weights {
        by_log_weights.iter_mut().zip(by_past).for_each(|(sum, by)| *sum += by);
    }
    // Weights are normalised again after the network: only differences count.
    let sum: f64 = by_log_weights.iter().sum();
    by_log_weights.iter_mut().zip(&step.weighted).for_each(|(by, weight)| *by -= weight * sum);
    let total: f64 = by_past.iter().sum();
    for (i, pull) in log_gradients.iter_mut().enumerate() {
        let by_likelihood = match step.stand {
            Stand::Literal => by_past[i],
            Stand::Normalised => by_past[i] - step.shares[i] * total,
            Stand::Weights | Stand::Constant => 0.0,
        };
        *pull = (by_log_weights[i] + by_likelihood) as f32;
    }
}

/// Sums over children, parent by parent.
pub(super) fn to_parents(ancestors: &[usize], of_children: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; of_children.len()];
    ancestors.iter().zip(of_children).for_each(|(&parent, x)| sums[parent] += x);
    sums
}

/// Adds ∂ log w of normalised weights w.
pub(super) fn add_through_softmax(weights: &[f64], by: &[f64], sum: &mut [f64]) {
    let mean: f64 = weights.iter().zip(by).map(|(weight, by)| weight * by).sum();
    for ((sum, weight), by) in sum.iter_mut().zip(weights).zip(by) {
        *sum += weight * (by - mean);
    }
}
