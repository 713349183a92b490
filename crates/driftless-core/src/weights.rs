//! Weights that are normalised by construction; whoever normalises them is told the evidence.

use crate::cpu::{Cpu, Work};
use crate::exponential::{exp_of_negative, highest};

/// The finite stand-in for log 0: its exponential is exactly 0, and sums over time stay finite. A log-likelihood that is
/// NaN, or not above it, is impossible.
pub const IMPOSSIBLE: f64 = -1e30;

/// Weights of N particles and their logarithms. **Invariant: weights sum to 1 up to rounding, none is NaN.**
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    log: Vec<f32>,
    linear: Vec<f32>,
}

/// What reweighting found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reweighted {
    /// log Σ w l: how well the belief had predicted the reading. [`IMPOSSIBLE`] where it collapsed, which no other step
    /// can fall below.
    pub log_evidence: f64,
    /// Whether no particle could explain the reading; weights were kept.
    pub collapsed: bool,
}

impl Weights {
    /// All equal.
    pub fn uniform(count: usize) -> Self {
        let mut weights = Self::default();
        weights.set_uniform(count);
        weights
    }

    /// Normalises logarithms up to a constant; equal where none is possible.
    pub fn normalised(logs: &[f32]) -> Self {
        let mut weights = Self::uniform(logs.len());
        weights.reweight(logs);
        weights
    }

    /// These logarithms and weights, bit by bit, if they keep the invariant.
    pub(crate) fn exactly(pairs: &[[f32; 2]]) -> Option<Self> {
        let (log, linear): (Vec<f32>, Vec<f32>) = pairs.iter().map(|[log, linear]| (*log, *linear)).unzip();
        let sum: f64 = linear.iter().map(|&w| f64::from(w)).sum();
        // Rounded one by one, and by each of the sums they were divided by.
        let is_sound = log.iter().all(|log| *log <= 0.01) && linear.iter().all(|w| (0.0..=1.01).contains(w));
        (is_sound && (sum - 1.0).abs() < 0.01).then_some(Self { log, linear })
    }

    /// All equal, in the same memory.
    pub fn set_uniform(&mut self, count: usize) {
        let share = 1.0 / count.max(1) as f32;
        self.linear.clear();
        self.linear.resize(count, share);
        self.log.clear();
        self.log.resize(count, -(count.max(1) as f32).ln());
    }

    /// Those of another, in the same memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.log.clone_from(&other.log);
        self.linear.clone_from(&other.linear);
    }

    /// Memory for so many.
    pub fn reserve(&mut self, count: usize) {
        for column in [&mut self.log, &mut self.linear] {
            column.reserve(count.saturating_sub(column.len()));
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// The weights.
    pub fn linear(&self) -> &[f32] {
        &self.linear
    }

    /// Their logarithms; [`IMPOSSIBLE`] or less for a weight of 0.
    pub fn log(&self) -> &[f32] {
        &self.log
    }

    /// 1 / Σ w², between 1 (one particle has all weight) and N (all equal).
    pub fn effective_sample_size(&self) -> f64 {
        effective_sample_size(&self.linear)
    }

    /// Bayes' rule: w_i ← w_i l_i / Σ_j w_j l_j.
    ///
    /// A likelihood of zero (log -∞) or NaN removes a particle. Where all are removed the weights are kept, and the
    /// step says that it collapsed: one policy for every filter.
    ///
    /// # Panics
    /// If there are not as many log-likelihoods as weights.
    pub fn reweight(&mut self, log_likelihoods: &[f32]) -> Reweighted {
        assert_eq!(log_likelihoods.len(), self.len(), "a log-likelihood for each weight");
        let mut highest = f32::NEG_INFINITY;
        Cpu::best().run(Highest { log: &self.log, likelihoods: log_likelihoods, found: &mut highest });
        if highest <= IMPOSSIBLE as f32 {
            return Reweighted { log_evidence: IMPOSSIBLE, collapsed: true };
        }
        let mut sum = 0.0;
        let Self { log, linear } = self;
        Cpu::best().run(Exponents { log, linear, likelihoods: log_likelihoods, highest, sum: &mut sum });
        let log_sum = sum.ln();
        Cpu::best().run(Shift { log, linear, by: log_sum as f32, share: sum.recip() as f32 });
        Reweighted { log_evidence: f64::from(highest) + log_sum, collapsed: false }
    }

    /// Corrects by a factor each, as an importance sampler does; returns the logarithm of the sum it is divided by.
    pub(crate) fn set_from_linear(&mut self, unnormalised: impl Iterator<Item = f32>) -> f64 {
        self.linear.clear();
        self.linear.extend(unnormalised);
        let sum: f64 = self.linear.iter().map(|&w| f64::from(w)).sum();
        let share = sum.recip() as f32;
        self.log.clear();
        for weight in &mut self.linear {
            *weight *= share;
            self.log.push(if *weight > 0.0 { weight.ln() } else { IMPOSSIBLE as f32 });
        }
        sum.ln()
    }

    /// The weights shrink to a share of 1 and `count` more, equal ones, take the rest; already normalised logarithms.
    pub(crate) fn make_room_for(&mut self, count: usize, share: f64) {
        let kept = 1.0 - share;
        let log_kept = kept.ln().max(IMPOSSIBLE) as f32;
        self.linear.iter_mut().for_each(|weight| *weight *= kept as f32);
        self.log.iter_mut().for_each(|log| *log += log_kept);
        let each = share / count.max(1) as f64;
        self.linear.resize(self.linear.len() + count, each as f32);
        self.log.resize(self.log.len() + count, each.ln() as f32);
    }
}

/// 1 / Σ w² of weights that sum to 1.
pub fn effective_sample_size(weights: &[f32]) -> f64 {
    weights.iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>().recip()
}

/// The highest of log w + log l, -∞ if none is above the impossible.
struct Highest<'a> {
    log: &'a [f32],
    likelihoods: &'a [f32],
    found: &'a mut f32,
}

impl Work for Highest<'_> {
    #[inline(always)]
    fn run(self) {
        *self.found = highest(self.log.iter().zip(self.likelihoods).map(|(log, l)| log + l));
    }
}

/// w ← exp(log w + log l - highest), log w ← its exponent, and their sum.
struct Exponents<'a> {
    log: &'a mut [f32],
    linear: &'a mut [f32],
    likelihoods: &'a [f32],
    highest: f32,
    sum: &'a mut f64,
}

impl Work for Exponents<'_> {
    #[inline(always)]
    fn run(self) {
        const LANES: usize = crate::LANES;
        let mut sums = [0.0_f64; LANES];
        let rows = self.log.chunks_mut(LANES).zip(self.linear.chunks_mut(LANES));
        for ((log, linear), likelihoods) in rows.zip(self.likelihoods.chunks(LANES)) {
            for k in 0..log.len() {
                let joint = log[k] + likelihoods[k] - self.highest;
                let joint = if joint > IMPOSSIBLE as f32 { joint } else { IMPOSSIBLE as f32 };
                log[k] = joint;
                linear[k] = exp_of_negative(joint);
            }
            sums.iter_mut().zip(&*linear).for_each(|(sum, &w)| *sum += f64::from(w));
        }
        *self.sum = sums.iter().sum();
    }
}

/// Both divided by the sum.
struct Shift<'a> {
    log: &'a mut [f32],
    linear: &'a mut [f32],
    by: f32,
    share: f32,
}

impl Work for Shift<'_> {
    #[inline(always)]
    fn run(self) {
        self.linear.iter_mut().for_each(|weight| *weight *= self.share);
        self.log.iter_mut().for_each(|log| *log -= self.by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    /// Against 64 bits; sums of 32-bit exponentials are within two roundings each.
    #[test]
    fn bayes_rule() {
        for count in [1, 7, 16, 1000] {
            let (before, logs) =
                (numbers(count, 1), numbers(count, 2).iter().map(|x| 9.0 * x).collect::<Vec<_>>());
            let mut weights = Weights::normalised(&before);
            let whole: f64 = before.iter().map(|&x| f64::from(x).exp()).sum();
            let joint: Vec<f64> = before
                .iter()
                .zip(&logs)
                .map(|(&w, &l)| f64::from(w).exp() / whole * f64::from(l).exp())
                .collect();
            let evidence: f64 = joint.iter().sum();
            let found = weights.reweight(&logs);
            assert!(!found.collapsed && (found.log_evidence - evidence.ln()).abs() < 1e-5, "{found:?}");
            for (i, joint) in joint.iter().enumerate() {
                let expected = joint / evidence;
                assert!((f64::from(weights.linear[i]) / expected - 1.0).abs() < 2e-6 * (1.0 + 20.0), "{i}");
                assert!((f64::from(weights.log[i]) - expected.ln()).abs() < 4e-6, "{i}");
            }
        }
    }

    #[test]
    fn impossible_particles_go_and_an_impossible_reading_is_reported() {
        let mut weights = Weights::normalised(&[0.0, 3.0_f32.ln()]);
        let before = weights.clone();
        for logs in [[f32::NEG_INFINITY, f32::NAN], [-1e30, f32::NEG_INFINITY]] {
            assert_eq!(weights.reweight(&logs), Reweighted { log_evidence: IMPOSSIBLE, collapsed: true });
            assert_eq!(weights, before, "weights are kept");
        }
        let found = weights.reweight(&[f32::NAN, 2.0]);
        assert_eq!(weights.linear(), [0.0, 1.0]);
        assert!((found.log_evidence - (2.0 + 0.75_f64.ln())).abs() < 1e-6);
        // A removed particle stays removed, whatever is seen later.
        weights.reweight(&[80.0, -80.0]);
        assert_eq!(weights.linear(), [0.0, 1.0]);
    }

    #[test]
    fn room_for_others() {
        let mut weights = Weights::normalised(&[0.0, 0.0]);
        weights.make_room_for(4, 0.2);
        for (found, expected) in weights.linear().iter().zip([0.4, 0.4, 0.05, 0.05, 0.05, 0.05]) {
            assert!((found - expected).abs() < 1e-7);
        }
        assert!(weights.log().iter().zip(weights.linear()).all(|(log, w)| (log - w.ln()).abs() < 1e-6));
        let mut replaced = Weights::uniform(3);
        replaced.make_room_for(2, 1.0);
        assert_eq!(replaced.linear(), [0.0, 0.0, 0.0, 0.5, 0.5]);
        assert_eq!(replaced.effective_sample_size(), 2.0);
    }
}
