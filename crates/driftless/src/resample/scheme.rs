//! The classical schemes: how uniform numbers become ancestors.
//!
//! All are unbiased: particle i has N w_i children in expectation. Their variance differs
//! (Douc, Cappé & Moulines 2005).

use super::{Resampled, Resampler, gather_states, no_mass};
use crate::belief::Belief;
use burn::tensor::{Int, Tensor, TensorData};

/// A way to draw ancestors. New weights are equal, and the gradient does not know how they became so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// N independent draws: Var n_i = N w_i (1 - w_i).
    Multinomial,
    /// One draw from each of N equal strata: never more variance than multinomial.
    Stratified,
    /// One number u for all strata, markers (j + u) / N: n_i is N w_i rounded down or up.
    Systematic,
    /// ⌊N w_i⌋ children for certain, the rest by independent draws from what is left.
    Residual,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Multinomial, Self::Stratified, Self::Systematic, Self::Residual];

    /// Draws ancestors in proportion to `weights` [B, N], which need not sum to 1. [B, count]
    pub(crate) fn ancestors(self, weights: &Tensor<2>, count: usize, uniforms: &[f64]) -> Tensor<2, Int> {
        let [batch, particles] = weights.dims();
        let (given, needed) = (uniforms.len() / batch, self.uniforms(count));
        assert!(count > 0, "somebody must be drawn");
        assert!(uniforms.len() == batch * given && given >= needed, "numbers for {batch} rows of {needed}");
        // The indices are constants; weights are read back to the host, which is free on the CPU.
        let host = weights.try_to_vec_as::<f64>().expect("weights are numbers");
        let ancestors: Vec<i64> = host
            .chunks_exact(particles)
            .zip(uniforms.chunks_exact(given))
            .flat_map(|(weights, uniforms)| self.row(weights, count, uniforms))
            .map(|ancestor| ancestor as i64)
            .collect();
        Tensor::from_data(TensorData::new(ancestors, [batch, count]), &weights.device())
    }

    /// Ancestors for one sequence.
    fn row(self, weights: &[f64], count: usize, uniforms: &[f64]) -> Vec<usize> {
        let stratum = |j: usize, u: f64| (j as f64 + u) / count as f64;
        match self {
            Self::Multinomial => by_markers(weights, uniforms[..count].iter().copied()),
            Self::Stratified => by_markers(weights, (0..count).map(|j| stratum(j, uniforms[j]))),
            Self::Systematic => by_markers(weights, (0..count).map(|j| stratum(j, uniforms[0]))),
            Self::Residual => residual(weights, count, uniforms),
        }
    }
}

impl Resampler for Scheme {
    fn uniforms(&self, particles: usize) -> usize {
        if *self == Self::Systematic { 1 } else { particles }
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let ancestors = self.ancestors(&belief.weights.exp(), count, uniforms);
        let log_mass = no_mass(&belief);
        let states = gather_states(belief.states, ancestors.clone());
        Resampled { belief: Belief::uniform(states), ancestors, log_mass }
    }
}

/// Ancestor of a marker m in [0, 1): the first particle whose cumulative weight exceeds m.
pub(crate) fn by_markers(weights: &[f64], markers: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut chosen = Vec::new();
    choose_by_markers(weights, markers, &mut Vec::new(), &mut chosen);
    chosen
}

/// The same in memory that is used again: `cumulative` is room to work, `chosen` is replaced.
pub(crate) fn choose_by_markers(
    weights: &[f64],
    markers: impl Iterator<Item = f64>,
    cumulative: &mut Vec<f64>,
    chosen: &mut Vec<usize>,
) {
    let mut sum = 0.0;
    cumulative.clear();
    cumulative.extend(weights.iter().map(|weight| {
        sum += weight;
        sum
    }));
    // Rounding may push a marker beyond the end: the last particle with weight is meant.
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    // Scaled by the sum, the last cumulative weight is 1 whatever the rounding.
    let ancestor = |marker: f64| cumulative.partition_point(|&upto| upto <= marker * sum).min(last);
    chosen.clear();
    chosen.extend(markers.map(ancestor));
}

/// Certain children first, then draws from the fractions of M w that are left, M = `count`.
fn residual(weights: &[f64], count: usize, uniforms: &[f64]) -> Vec<usize> {
    let scale = count as f64 / weights.iter().sum::<f64>();
    let mut ancestors = Vec::with_capacity(count);
    let mut left = Vec::with_capacity(weights.len());
    for (i, weight) in weights.iter().enumerate() {
        // M w = 3 often comes out as 2.999…: that is three children, not two and almost surely one.
        let certain = (weight * scale + 1e-9).floor();
        left.push((weight * scale - certain).max(0.0));
        ancestors.extend(std::iter::repeat_n(i, certain as usize));
    }
    let missing = count.saturating_sub(ancestors.len());
    ancestors.truncate(count);
    ancestors.extend(by_markers(&left, uniforms[..missing].iter().copied()));
    ancestors
}

#[cfg(test)]
mod tests;
