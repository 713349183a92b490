//! What trains PF-net's filter: the squared error at known poses, and the pseudo-likelihood Q of a block.
//!
//! L = λ₁ Σ_known (|0.02 (Σ w x - x*)|² + 0.36 (Σ w wrap(θ - θ*))²) - λ₂ Q
//!
//! Both are losses of the filter's trace, in which poses are compared before particles are resampled. In Q weights
//! belong to the parameters that were, and are constants unless a switch says otherwise.

use super::particles::State;
use crate::learn::HousePseudoLikelihood;
use crate::methods::trace_loss::{Paths, TraceLoss};
use driftless_core::resample::{Scheme, Soft};
use driftless_core::{Filter, effective_sample_size};
use driftless_kernels::ranks::{Message, Wire};
use driftless_kernels::scan::Trace;
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::wrap;
use std::ops::Range;
use std::sync::Arc;

/// What a squared radian counts beside a squared metre: PF-net's.
pub(super) const HEADING: f64 = 0.36;

/// What counts how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// λ₁ over the number of poses that are known in a batch.
    pub(super) known: f64,
    /// λ₂ over the number of blocks.
    pub(super) pseudo: f64,
    /// Which of its readings Q has.
    pub(super) switches: HousePseudoLikelihood,
    /// α; 0 is no resampling.
    pub(super) softness: f64,
    /// The share of particles that must count lest they are resampled; 1 is at every step.
    pub(super) threshold: f64,
    /// Steps of a sequence.
    pub(super) steps: usize,
}

/// A block as the filter went through it.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) trace: Trace,
    /// log p of each state by the motion into it, or by the law of a block's first state.
    pub(super) law: Vec<f64>,
}

/// What blocks came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// Squared errors at known poses, and how many.
    pub(super) error: f64,
    pub(super) known: f64,
    /// The pseudo-likelihoods.
    pub(super) pseudo: f64,
    /// Effective sample sizes in the end.
    pub(super) effective: f64,
}

impl Sums {
    pub(super) fn add(&mut self, other: Self) {
        self.error += other.error;
        self.known += other.known;
        self.pseudo += other.pseudo;
        self.effective += other.effective;
    }
}

impl Message for Sums {
    fn pass(&mut self, wire: &mut Wire) {
        let Self { error, known, pseudo, effective } = self;
        for sum in [error, known, pseudo, effective] {
            sum.pass(wire);
        }
    }
}

impl Terms {
    /// A filter that resamples in this way.
    pub(super) fn filter(&self, particles: usize) -> Filter {
        let Self { softness, threshold, .. } = *self;
        let never = Filter { resample_below: 0.0, ..Filter::bootstrap(particles) };
        let resample_below = if threshold < 1.0 { threshold } else { 2.0 };
        if softness <= 0.0 {
            never
        } else if softness < 1.0 {
            let soft = Soft { alpha: softness, scheme: Scheme::Multinomial };
            Filter { resampler: Arc::new(soft), resample_below, ..never }
        } else {
            Filter { resampler: Arc::new(Scheme::Multinomial), resample_below, ..never }
        }
    }

    /// Writes the derivatives of the loss by each log l of a block over zeros, and says what it came to. `heirs` are
    /// the particles at the end of the sequence that descend from each one of the block's last, where these decide.
    pub(super) fn gradient(
        &self,
        (from, followed): (usize, &Followed),
        labels: &[Option<State>],
        heirs: Option<&[f64]>,
        log_gradients: &mut [f32],
    ) -> Sums {
        let Followed { trace, law } = followed;
        let count = trace.weights.len() / trace.len();
        let (mut loss, mut sums) = (TraceLoss::new(trace, count), Sums::default());
        for (t, label) in labels.iter().enumerate() {
            if let Some(truth) = label {
                sums.known += 1.0;
                sums.error += squared_error(trace, loss.own(t), *truth, (self.known, loss.by_weights(t)));
            }
        }
        let (ones, paths) = (vec![1.0; count], self.paths(from));
        let whole = (heirs.unwrap_or(&ones), -self.pseudo);
        sums.pseudo = loss.add_paths(&paths, 0..trace.len(), law, whole);
        sums.effective = effective_sample_size(&trace.weights[loss.own(trace.len() - 1)]);
        loss.write(self.softness, log_gradients);
        sums
    }

    /// Q of a block that begins at this step of its sequence.
    fn paths(&self, from: usize) -> Paths {
        let HousePseudoLikelihood { likelihoods, first_likelihood, hold_weights, .. } = self.switches;
        Paths { likelihoods, first_likelihood, hold_weights, from, steps: self.steps }
    }
}

/// The squared error of a belief's mean; adds its derivatives by log w, times a factor.
fn squared_error(trace: &Trace, own: Range<usize>, truth: State, (factor, by): (f64, &mut [f64])) -> f64 {
    let differences = |i: usize| {
        let [x, y, heading] = [0, 1, 2].map(|k| f64::from(trace.poses[k][i]) - truth[k]);
        [METRES_PER_PIXEL * x, METRES_PER_PIXEL * y, wrap(heading)]
    };
    let mut mean = [0.0; 3];
    for i in own.clone() {
        let weight = f64::from(trace.weights[i]);
        mean.iter_mut().zip(differences(i)).for_each(|(mean, x)| *mean += weight * x);
    }
    let [x, y, heading] = mean;
    for (by, i) in by.iter_mut().zip(own) {
        let d = differences(i);
        let slope = 2.0 * (x * d[0] + y * d[1] + HEADING * heading * d[2]);
        *by += factor * f64::from(trace.weights[i]) * slope;
    }
    x * x + y * y + HEADING * heading * heading
}

#[cfg(test)]
mod tests;
