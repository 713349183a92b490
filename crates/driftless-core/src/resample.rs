//! Resampling: how weights and uniform numbers become ancestors.

use crate::cpu::{Cpu, Work};
use crate::draws::Draws;
use crate::weights::Weights;

/// A way to resample.
pub trait Resampler: std::fmt::Debug + Send + Sync {
    /// Draws `count` ancestors of particles with these weights, and sets the weights of their descendants. Returns the
    /// logarithm of the mass those had before they were normalised: 0 if they are equal.
    fn resample(
        &self,
        weights: &mut Weights,
        count: usize,
        draws: &mut dyn Draws,
        ancestors: &mut Vec<u32>,
    ) -> f64;
}

/// The classical schemes. All are unbiased: particle i has N w_i children in expectation. Their variance differs
/// (Douc, Cappé & Moulines 2005).
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

    /// What it is called in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Multinomial => "multinomial",
            Self::Stratified => "stratified",
            Self::Systematic => "systematic",
            Self::Residual => "residual",
        }
    }

    /// How many uniform numbers it needs for `count` particles.
    pub const fn uniforms(self, count: usize) -> usize {
        if matches!(self, Self::Systematic) { 1 } else { count }
    }

    /// Ancestors in proportion to weights, which need not sum to 1; they replace those there were.
    pub fn ancestors<W: Copy + Into<f64>>(
        self,
        weights: &[W],
        count: usize,
        mut uniform: impl FnMut() -> f64,
        ancestors: &mut Vec<u32>,
    ) {
        ancestors.clear();
        match self {
            Self::Systematic => {
                let u = uniform();
                Cpu::best().run(Systematic { weights, count, u, ancestors });
            }
            Self::Stratified => by_strata(weights, count, uniform, ancestors),
            Self::Multinomial => by_markers(weights, (0..count).map(|_| uniform()), ancestors),
            Self::Residual => residual(weights, count, uniform, ancestors),
        }
    }
}

impl Resampler for Scheme {
    fn resample(
        &self,
        weights: &mut Weights,
        count: usize,
        draws: &mut dyn Draws,
        ancestors: &mut Vec<u32>,
    ) -> f64 {
        self.ancestors(weights.linear(), count, || draws.uniform(), ancestors);
        weights.set_uniform(count);
        0.0
    }
}

/// Soft resampling (Karkus, Hsu & Lee 2018): ancestors by q = α w + (1 - α) / N, weights w / q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Soft {
    /// α, from 0 (all alike) to 1 (by weight alone).
    pub alpha: f64,
    /// How ancestors are drawn from q.
    pub scheme: Scheme,
}

impl Resampler for Soft {
    fn resample(
        &self,
        weights: &mut Weights,
        count: usize,
        draws: &mut dyn Draws,
        ancestors: &mut Vec<u32>,
    ) -> f64 {
        let size = weights.len() as f64;
        let mixed = |w: f32| self.alpha * f64::from(w) + (1.0 - self.alpha) / size;
        let chances: Vec<f64> = weights.linear().iter().map(|&w| mixed(w)).collect();
        self.scheme.ancestors(&chances, count, || draws.uniform(), ancestors);
        let new: Vec<f32> = ancestors
            .iter()
            .map(|&i| (f64::from(weights.linear()[i as usize]) / chances[i as usize]) as f32)
            .collect();
        // Of mass M instead of `count`, on average equal to it.
        weights.set_from_linear(new.into_iter()) - (count as f64).ln()
    }
}

fn total<W: Copy + Into<f64>>(weights: &[W]) -> f64 {
    weights.iter().map(|&w| w.into()).sum()
}

/// The last particle with weight: rounding may push a marker beyond the end.
fn last<W: Copy + Into<f64>>(weights: &[W]) -> usize {
    weights.iter().rposition(|&w| w.into() > 0.0).unwrap_or(0)
}

/// The ancestor of a marker m in [0, 1) is the first particle whose cumulative weight exceeds m: here for markers
/// (j + u_j) / N, which rise.
fn by_strata<W: Copy + Into<f64>>(
    weights: &[W],
    count: usize,
    mut uniform: impl FnMut() -> f64,
    ancestors: &mut Vec<u32>,
) {
    let (stratum, last) = (total(weights) / count as f64, last(weights));
    let (mut at, mut sum) = (0, weights.first().map_or(0.0, |&w| w.into()));
    for j in 0..count {
        let marker = (j as f64 + uniform()) * stratum;
        while sum <= marker && at < last {
            at += 1;
            sum += weights[at].into();
        }
        ancestors.push(at as u32);
    }
}

/// The same for one u, without a branch that depends on weights, which a processor cannot foresee: each particle writes
/// its number at the first marker that is not below the weights before it, and markers without a number have that of
/// the one before.
struct Systematic<'a, W> {
    weights: &'a [W],
    count: usize,
    u: f64,
    ancestors: &'a mut Vec<u32>,
}

impl<W: Copy + Into<f64>> Work for Systematic<'_, W> {
    #[inline(always)]
    fn run(self) {
        const BLOCK: usize = 64;
        let Self { weights, count, u, ancestors } = self;
        let (stratum, mut sum) = (total(weights) / count as f64, 0.0);
        ancestors.resize(count, 0);
        let mut before = [0.0; BLOCK];
        for (block, weights) in weights[..weights.len().min(last(weights) + 1)].chunks(BLOCK).enumerate() {
            for (before, &weight) in before.iter_mut().zip(weights) {
                *before = sum;
                sum += weight.into();
            }
            let mut first = [0_u32; BLOCK];
            for (first, before) in first.iter_mut().zip(before) {
                // A quotient may be off by a rounding; products decide, as they do for strata.
                let mut j = (before / stratum - u).ceil();
                j -= f64::from(u8::from((j - 1.0 + u) * stratum >= before));
                j += f64::from(u8::from((j + u) * stratum < before));
                *first = j as u32;
            }
            for (i, &first) in first[..weights.len()].iter().enumerate() {
                if let Some(ancestor) = ancestors.get_mut(first as usize) {
                    *ancestor = (block * BLOCK + i) as u32;
                }
            }
        }
        let mut highest = 0;
        for ancestor in ancestors {
            highest = highest.max(*ancestor);
            *ancestor = highest;
        }
    }
}

/// The ancestors of markers in [0, 1) in any order, added to those there are.
pub fn by_markers<W: Copy + Into<f64>>(
    weights: &[W],
    markers: impl Iterator<Item = f64>,
    ancestors: &mut Vec<u32>,
) {
    let mut sum = 0.0;
    let add = |&w: &W| {
        sum += w.into();
        sum
    };
    let cumulative: Vec<f64> = weights.iter().map(add).collect();
    let (whole, last) = (sum, last(weights));
    ancestors.extend(markers.map(|m| cumulative.partition_point(|&upto| upto <= m * whole).min(last) as u32));
}

/// Certain children first, then draws from the fractions of N w that are left.
fn residual<W: Copy + Into<f64>>(
    weights: &[W],
    count: usize,
    mut uniform: impl FnMut() -> f64,
    ancestors: &mut Vec<u32>,
) {
    let scale = count as f64 / total(weights);
    // Of single precision: N w = 3 often comes out as 2.999…: that is three children, not two and almost surely one.
    let rounding = 4.0 * f64::from(f32::EPSILON) * count as f64;
    let mut left = Vec::with_capacity(weights.len());
    for (i, &weight) in weights.iter().enumerate() {
        let exact = weight.into() * scale;
        let certain = (exact + rounding.min(1e-3)).floor();
        left.push((exact - certain).max(0.0));
        ancestors.extend(std::iter::repeat_n(i as u32, certain as usize));
    }
    ancestors.truncate(count);
    let missing = count - ancestors.len();
    by_markers(&left, (0..missing).map(|_| uniform()), ancestors);
}

#[cfg(test)]
mod tests;
