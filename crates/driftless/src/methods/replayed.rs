//! A filter's series, replayed with log-likelihoods that somebody else computes, and gradients with respect to them.
//!
//! Where a program of one's own scores particles, say a network in PyTorch, the filter runs once, and says which particles
//! it had and whose descendants they are. With those as constants, weights and evidence are functions of the
//! log-likelihoods, which are given as often as somebody likes.

use super::trace_loss::TraceLoss;
use driftless_core::IMPOSSIBLE;
use driftless_core::exponential::log_sum_exp_64;
use driftless_kernels::scan::Trace;

/// T steps of N particles.
#[derive(Clone, Debug)]
pub struct Replayed {
    trace: Trace,
    count: usize,
    /// α of soft resampling; 1 for other schemes, at which gradients end.
    softness: f64,
    /// Log-weights after each step, in 64 bits.
    log_weights: Vec<f64>,
    log_evidence: Vec<f64>,
}

impl Replayed {
    /// A series of a filter: for each step the ancestors of all particles, whether they were resampled, and whether there
    /// was a reading. First weights are equal.
    ///
    /// # Panics
    /// If there are not as many ancestors as particles in all steps.
    pub fn new(
        count: usize,
        softness: f64,
        ancestors: Vec<u32>,
        resampled: Vec<bool>,
        weighed: Vec<bool>,
    ) -> Self {
        assert_eq!(ancestors.len(), count * resampled.len(), "ancestors of all steps");
        let mut trace = Trace::default();
        trace.collapsed = vec![false; resampled.len()];
        (trace.ancestors, trace.resampled, trace.weighed) = (ancestors, resampled, weighed);
        let size = trace.ancestors.len();
        (trace.log_likelihoods, trace.weights) = (vec![0.0; size], vec![0.0; size]);
        let steps = trace.len();
        Self { trace, count, softness, log_weights: vec![0.0; size], log_evidence: vec![0.0; steps] }
    }

    /// Normalised log-weights after each step, for the log-likelihoods of all particles of all steps. Those of steps
    /// without a reading are not looked at. A likelihood of NaN or log 0 removes a particle; where all are removed, weights
    /// are kept.
    ///
    /// # Panics
    /// If there are not as many as particles in all steps.
    pub fn forward(&mut self, log_likelihoods: &[f64]) {
        assert_eq!(log_likelihoods.len(), self.log_weights.len(), "a log-likelihood for each particle");
        let mut weights = vec![-(self.count as f64).ln(); self.count];
        for t in 0..self.trace.len() {
            let own = t * self.count..(t + 1) * self.count;
            let mut log_mass = 0.0;
            if self.trace.resampled[t] {
                (weights, log_mass) = self.inherited(&weights, &self.trace.ancestors[own.clone()]);
            }
            self.log_evidence[t] = 0.0;
            let scored =
                |(w, l): (&f64, &f64)| if *l > IMPOSSIBLE { (w + l).max(IMPOSSIBLE) } else { IMPOSSIBLE };
            let joint: Vec<f64> = weights.iter().zip(&log_likelihoods[own.clone()]).map(scored).collect();
            self.trace.collapsed[t] = self.trace.weighed[t] && !joint.iter().any(|x| *x > IMPOSSIBLE);
            if self.trace.collapsed[t] {
                self.log_evidence[t] = IMPOSSIBLE;
            } else if self.trace.weighed[t] {
                let whole = log_sum_exp_64(&joint);
                self.log_evidence[t] = whole + log_mass;
                weights = joint.iter().map(|x| (x - whole).max(IMPOSSIBLE)).collect();
            }
            for (i, log) in own.zip(&weights) {
                self.log_weights[i] = *log;
                self.trace.weights[i] = log.exp() as f32;
            }
        }
    }

    /// Weights behind a resampling: equal, or w / q of the ancestors; and the log of their mass.
    fn inherited(&self, weights: &[f64], ancestors: &[u32]) -> (Vec<f64>, f64) {
        let each = -(self.count as f64).ln();
        if self.softness >= 1.0 {
            return (vec![each; self.count], 0.0);
        }
        let corrected = |&ancestor: &u32| {
            let log = weights[ancestor as usize];
            let chance = self.softness * log.exp() + (1.0 - self.softness) / self.count as f64;
            (log - chance.ln() + each).max(IMPOSSIBLE)
        };
        let new: Vec<f64> = ancestors.iter().map(corrected).collect();
        let mass = log_sum_exp_64(&new);
        (new.iter().map(|log| (log - mass).max(IMPOSSIBLE)).collect(), mass)
    }

    /// Of the last [`Replayed::forward`], step after step.
    pub fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// log p of each step's reading given those before; 0 without a reading.
    pub fn log_evidence(&self) -> &[f64] {
        &self.log_evidence
    }

    /// The gradient with respect to all log-likelihoods of a loss whose derivatives by log-weights and by the log evidence
    /// of each step are given.
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn backward(&self, by_log_weights: &[f64], by_evidence: &[f64]) -> Vec<f32> {
        assert_eq!(by_log_weights.len(), self.log_weights.len(), "a derivative for each log-weight");
        assert_eq!(by_evidence.len(), self.trace.len(), "a derivative for each step");
        let mut trace = self.trace.clone();
        let moved = trace.weighed.iter_mut().zip(&trace.collapsed);
        moved.for_each(|(weighed, collapsed)| *weighed &= !collapsed);
        let mut loss = TraceLoss::new(&trace, self.count);
        for (t, by) in by_log_weights.chunks(self.count).enumerate() {
            loss.by_weights(t).iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
        }
        for (t, &factor) in by_evidence.iter().enumerate() {
            loss.add_evidence(t, factor, self.softness);
        }
        let mut gradient = vec![0.0; self.log_weights.len()];
        loss.write(self.softness, &mut gradient);
        gradient
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_core::random::Random;

    const COUNT: usize = 5;
    const STEPS: usize = 6;

    fn replayed(softness: f64) -> (Replayed, Vec<f64>, Vec<f64>, Vec<f64>) {
        let mut random = Random::new(7);
        let resampled = vec![false, true, false, true, true, false];
        let mut ancestors: Vec<u32> = (0..COUNT * STEPS).map(|_| random.below(COUNT) as u32).collect();
        for t in (0..STEPS).filter(|&t| !resampled[t]) {
            ancestors[t * COUNT..][..COUNT].iter_mut().enumerate().for_each(|(i, a)| *a = i as u32);
        }
        let weighed = vec![true, true, false, true, true, true];
        let mut draw = |n: usize| (0..n).map(|_| random.normal()).collect::<Vec<_>>();
        let [logs, by_weights] = [(); 2].map(|()| draw(COUNT * STEPS));
        let by_evidence = draw(STEPS);
        (Replayed::new(COUNT, softness, ancestors, resampled, weighed), logs, by_weights, by_evidence)
    }

    fn loss(replayed: &mut Replayed, logs: &[f64], by_weights: &[f64], by_evidence: &[f64]) -> f64 {
        replayed.forward(logs);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(replayed.log_weights(), by_weights) + dot(replayed.log_evidence(), by_evidence)
    }

    /// Against differences in 64 bits, by all log-likelihoods, also of a step without a reading. Where resampling is not
    /// soft, gradients end there as they do for differences, since descendants are equal.
    #[test]
    fn gradients_are_differences() {
        for softness in [0.4, 1.0] {
            let (mut replayed, logs, by_weights, by_evidence) = replayed(softness);
            loss(&mut replayed, &logs, &by_weights, &by_evidence);
            let gradient = replayed.backward(&by_weights, &by_evidence);
            for i in 0..logs.len() {
                let mut at = |step: f64| {
                    let mut logs = logs.clone();
                    logs[i] += step;
                    loss(&mut replayed, &logs, &by_weights, &by_evidence)
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                // Weights of 32 bits in a sum of some tens of terms of size 1.
                assert!((f64::from(gradient[i]) - difference).abs() < 1e-5, "{softness} {i}: {difference}");
            }
        }
    }

    /// A step that no particle explains keeps weights, and has no gradient.
    #[test]
    fn a_collapse_has_no_gradient() {
        let (mut replayed, mut logs, by_weights, by_evidence) = replayed(0.4);
        logs[3 * COUNT..][..COUNT].fill(f64::NAN);
        logs[0] = f64::NEG_INFINITY;
        replayed.forward(&logs);
        assert_eq!(replayed.log_evidence()[3], IMPOSSIBLE);
        assert!(replayed.log_weights().iter().all(|x| x.is_finite()));
        let gradient = replayed.backward(&by_weights, &by_evidence);
        assert!(gradient.iter().all(|x| x.is_finite()) && gradient[3 * COUNT..][..COUNT] == [0.0; COUNT]);
    }
}
