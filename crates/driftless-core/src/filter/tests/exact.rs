//! Filter and smoother against Kalman's filter, Rauch, Tung & Striebel's smoother, and an exact filter on a grid.

use crate::draws::{Draws, Stream};
use crate::filter::{Filter, FilterState, Workspace};
use crate::motion::{Motion, Noise, Still};
use crate::resample::{Scheme, Soft};
use crate::sensor::Likelihood;
use crate::smooth::{Transition, backward_simulation};
use crate::{Belief, Particles, Space};
use std::sync::Arc;

/// x_t = 0.9 x_{t-1} + N(0, 0.5²), y_t = x_t + N(0, 0.8²).
const KEEP: f32 = 0.9;
const MOVE: f32 = 0.5;
const SEE: f32 = 0.8;
const READINGS: [f32; 8] = [0.3, -0.4, 1.2, 2.0, 1.4, 0.2, -1.0, -0.7];

struct Decay;

impl Motion for Decay {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let noise = noise.draw(1, particles.len(), draws);
        particles.columns_mut()[0].iter_mut().zip(&noise[0]).for_each(|(x, z)| *x = KEEP * *x + MOVE * z);
        true
    }
}

impl Transition for Decay {
    fn log_density(&mut self, _: usize, from: &Particles, _: usize, to: &[f32], log: &mut [f32]) {
        let far = |x: f32| (to[0] - KEEP * x) / MOVE;
        log.iter_mut().zip(from.column(0)).for_each(|(log, &x)| *log = -0.5 * far(x) * far(x));
    }
}

fn log_normal(x: f64, std: f64) -> f64 {
    -0.5 * (x / std).powi(2) - std.ln() - 0.5 * std::f64::consts::TAU.ln()
}

/// Means and variances after each reading, and the log evidence of all.
fn kalman() -> (Vec<[f64; 2]>, f64) {
    let (keep, see) = (f64::from(KEEP), f64::from(SEE).powi(2));
    let (mut mean, mut variance, mut evidence) = (0.0, 1.0, 0.0);
    let mut all = Vec::new();
    for (t, &reading) in READINGS.iter().enumerate() {
        if t > 0 {
            (mean, variance) = (keep * mean, keep * keep * variance + f64::from(MOVE).powi(2));
        }
        let apart = f64::from(reading) - mean;
        evidence += log_normal(apart, (variance + see).sqrt());
        let gain = variance / (variance + see);
        (mean, variance) = (mean + gain * apart, (1.0 - gain) * variance);
        all.push([mean, variance]);
    }
    (all, evidence)
}

/// Rauch, Tung & Striebel.
fn smoothed(filtered: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let keep = f64::from(KEEP);
    let mut all = filtered.to_vec();
    for t in (0..filtered.len() - 1).rev() {
        let [mean, variance] = filtered[t];
        let predicted = keep * keep * variance + f64::from(MOVE).powi(2);
        let gain = keep * variance / predicted;
        let [next_mean, next_variance] = all[t + 1];
        all[t] =
            [mean + gain * (next_mean - keep * mean), variance + gain * gain * (next_variance - predicted)];
    }
    all
}

fn run(filter: &Filter, count: usize, seed: u64) -> (Vec<Belief>, f64) {
    let mut draws = Stream::new(seed, 0);
    let mut first = vec![0.0; count];
    draws.normals(&mut first);
    let first = Particles::from_states(Space::linear(1), first.iter().map(|&x| [x]));
    let (mut state, mut workspace) = (FilterState::new(Belief::new(first)), Workspace::new(Space::linear(1)));
    let (mut beliefs, mut evidence) = (Vec::new(), 0.0);
    for (t, &reading) in READINGS.iter().enumerate() {
        let log = |x: &[f32]| log_normal(f64::from(reading - x[0]), f64::from(SEE)) as f32;
        let motion: &mut dyn Motion = if t == 0 { &mut Still } else { &mut Decay };
        let report = filter.step(&mut state, motion, &mut Likelihood(log), &mut draws, &mut workspace);
        evidence += report.log_evidence;
        beliefs.push(state.belief.clone());
    }
    (beliefs, evidence)
}

/// Every scheme, every threshold, and soft resampling: means, variances and evidence are Kalman's. With 40,000 particles
/// the standard error of a mean is 0.6 / 200 = 0.003, more where weights are uneven: ten of them.
#[test]
fn kalman_filter() {
    let (exact, log_evidence) = kalman();
    let with = |resampler: Arc<dyn crate::Resampler>, resample_below: f64| Filter {
        resampler,
        resample_below,
        ..Filter::bootstrap(40_000)
    };
    let mut filters: Vec<Filter> =
        Scheme::ALL.into_iter().flat_map(|s| [0.0, 0.5, 2.0].map(|below| with(Arc::new(s), below))).collect();
    filters.push(with(Arc::new(Soft { alpha: 0.5, scheme: Scheme::Systematic }), 2.0));
    for filter in &filters {
        let (beliefs, evidence) = run(filter, 40_000, 3);
        for (belief, [mean, variance]) in beliefs.iter().zip(&exact) {
            assert!((belief.mean()[0] - mean).abs() < 0.03, "{filter:?}");
            assert!((belief.covariance()[0] / variance - 1.0).abs() < 0.1, "{filter:?}");
        }
        assert!((evidence - log_evidence).abs() < 0.05, "{filter:?}: {evidence} {log_evidence}");
    }
}

/// E exp(log Ẑ) is the evidence, with few particles too: 4000 runs of eight particles, five standard errors.
#[test]
fn evidence_is_unbiased_with_few_particles() {
    let (_, exact) = kalman();
    let soft = Soft { alpha: 0.4, scheme: Scheme::Multinomial };
    let resamplers: [Arc<dyn crate::Resampler>; 2] = [Arc::new(Scheme::Systematic), Arc::new(soft)];
    for resampler in resamplers {
        let filter = Filter { resampler, resample_below: 2.0, ..Filter::bootstrap(8) };
        let ratios: Vec<f64> = (0..4000).map(|seed| (run(&filter, 8, seed).1 - exact).exp()).collect();
        let mean = ratios.iter().sum::<f64>() / 4000.0;
        let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 4000.0;
        assert!((mean - 1.0).abs() < 5.0 * (variance / 4000.0).sqrt(), "{filter:?}: {mean}");
    }
}

/// 1000 paths of 1000 particles: standard errors of 0.6 / √1000 = 0.02 for means, twice for ancestors in common.
#[test]
fn backward_simulation_is_the_smoother() {
    let (beliefs, _) = run(&Filter::bootstrap(1000), 1000, 5);
    let drawn = backward_simulation(&beliefs, &mut Decay, 1000, &mut Stream::new(6, 0));
    for (particles, [mean, variance]) in drawn.into_iter().zip(smoothed(&kalman().0)) {
        let belief = Belief::new(particles);
        assert!((belief.mean()[0] - mean).abs() < 0.1, "{} {mean}", belief.mean()[0]);
        assert!(
            (belief.covariance()[0] / variance - 1.0).abs() < 0.3,
            "{} {variance}",
            belief.covariance()[0]
        );
    }
}

/// A robot on a ring of 12 places that goes on, stays or falls back; sees its place with mistakes. The exact filter sums
/// over all places.
struct Ring;

impl Motion for Ring {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, _: &mut Noise) -> bool {
        for x in &mut particles.columns_mut()[0] {
            let u = draws.uniform();
            let step = if u < 0.7 {
                1.0
            } else if u < 0.9 {
                0.0
            } else {
                11.0
            };
            *x = (*x + step) % 12.0;
        }
        true
    }
}

#[test]
fn exact_filter_on_a_grid() {
    let likelihood = |place: usize, seen: usize| if place % 4 == seen { 0.6 } else { 0.4 / 3.0 };
    let seen = [1, 2, 3, 3, 0, 2, 2, 3];
    let mut exact = [1.0 / 12.0; 12];
    let start = Particles::from_states(Space::linear(1), (0..60_000).map(|i| [(i % 12) as f32]));
    let (mut state, mut workspace) = (FilterState::new(Belief::new(start)), Workspace::new(Space::linear(1)));
    let (filter, mut draws, mut evidence) = (Filter::bootstrap(60_000), Stream::new(2, 0), [0.0; 2]);
    for (t, &seen) in seen.iter().enumerate() {
        if t > 0 {
            exact = std::array::from_fn(|k| {
                0.7 * exact[(k + 11) % 12] + 0.2 * exact[k] + 0.1 * exact[(k + 1) % 12]
            });
        }
        let joint: [f64; 12] = std::array::from_fn(|k| exact[k] * likelihood(k, seen));
        let sum: f64 = joint.iter().sum();
        exact = joint.map(|x| x / sum);
        let log = |x: &[f32]| likelihood(x[0] as usize, seen).ln() as f32;
        let motion: &mut dyn Motion = if t == 0 { &mut Still } else { &mut Ring };
        let report = filter.step(&mut state, motion, &mut Likelihood(log), &mut draws, &mut workspace);
        evidence = [evidence[0] + sum.ln(), evidence[1] + report.log_evidence];
        let mut found = [0.0; 12];
        let belief = &state.belief;
        belief
            .particles
            .column(0)
            .iter()
            .zip(belief.weights.linear())
            .for_each(|(&x, &w)| found[x as usize] += f64::from(w));
        // Five standard errors of a share of ⅓ among 60,000, doubled for uneven weights: 0.02.
        assert!(found.iter().zip(exact).all(|(a, b)| (a - b).abs() < 0.02), "{found:?} {exact:?}");
    }
    assert!((evidence[0] - evidence[1]).abs() < 0.05, "{evidence:?}");
}
