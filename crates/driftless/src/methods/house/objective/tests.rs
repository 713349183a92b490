//! The gradients against differences of the loss, said once more with loops in 64 bits.

use super::*;
use crate::objective::{Genealogy, Likelihoods};
use driftless_core::motion::Noise;
use driftless_core::sensor::{Reading, Sensor};
use driftless_core::{Belief, Draws, FilterState, Motion, Particles, Space, Stream, Workspace};
use driftless_world::random::Random;
use std::f64::consts::{PI, TAU};

const COUNT: usize = 5;
const STEPS: usize = 3;
const TRUTH: State = [1.0, -2.0, 3.0];

fn terms(known: f64, pseudo: f64) -> Terms {
    let switches = HousePseudoLikelihood::default();
    Terms { known, pseudo, switches, softness: 0.0, threshold: 1.0, steps: usize::MAX }
}

/// Says of all particles what it is told.
struct Told<'a>(&'a [f32]);

impl Sensor for Told<'_> {
    fn log_likelihoods(&mut self, _: &Particles, log: &mut [f32]) -> Reading {
        log.copy_from_slice(self.0);
        Reading::Present
    }
}

/// A little, in any direction.
struct Jitter;

impl Motion for Jitter {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let noise = noise.draw(3, particles.len(), draws);
        for (column, noise) in particles.columns_mut().iter_mut().zip(noise) {
            column.iter_mut().zip(noise).for_each(|(x, z)| *x += z);
        }
        true
    }
}

/// Follows steps of which a network says this, from particles with these weights.
fn follow(terms: &Terms, log_weights: &[f32], said: &[f32]) -> Followed {
    let (count, mut random) = (log_weights.len(), Random::new(3));
    let poses = (0..count).map(|_| [0; 3].map(|_| 20.0 * random.normal() as f32));
    let belief = Belief::weighted(Particles::from_states(Space::SE2, poses), log_weights);
    let (mut state, mut workspace) = (FilterState::new(belief), Workspace::new(Space::SE2));
    let (filter, mut draws) = (terms.filter(count), Stream::new(3, 0));
    let mut followed = Followed::default();
    for (t, said) in said.chunks(count).enumerate() {
        let filter =
            Filter { resample_below: if t == 0 { 0.0 } else { filter.resample_below }, ..filter.clone() };
        let report = filter.step(&mut state, &mut Jitter, &mut Told(said), &mut draws, &mut workspace);
        followed.trace.push(&state, &workspace, &report);
        followed.law.extend((0..count).map(|_| random.normal()));
    }
    followed
}

fn log_gradients(
    terms: &Terms,
    followed: &Followed,
    labels: &[Option<State>],
    heirs: Option<&[f64]>,
) -> Vec<f32> {
    let mut log_gradients = vec![0.0; followed.law.len()];
    terms.gradient((0, followed), labels, heirs, &mut log_gradients);
    log_gradients
}

fn normalise(numbers: &mut [f64]) {
    let sum = numbers.iter().map(|x| x.exp()).sum::<f64>().ln();
    for x in numbers {
        *x -= sum;
    }
}

/// log w before a step, given those of the step before.
fn resampled(terms: &Terms, ancestors: &[u32], log_w: &[f64]) -> Vec<f64> {
    let alpha = terms.softness;
    let corrected = |&i: &u32| {
        let log_w = log_w[i as usize];
        if alpha >= 1.0 { 0.0 } else { log_w - (alpha * log_w.exp() + (1.0 - alpha) / COUNT as f64).ln() }
    };
    let mut log_w: Vec<f64> = ancestors.iter().map(corrected).collect();
    normalise(&mut log_w);
    log_w
}

/// What stands for log l in Q.
fn stands(terms: &Terms, t: usize, a: &[f64], log_w: &[f64]) -> Vec<f64> {
    let HousePseudoLikelihood { likelihoods, first_likelihood, .. } = terms.switches;
    let mut normalised = a.to_vec();
    normalise(&mut normalised);
    if t == 0 && !first_likelihood {
        return vec![-(COUNT as f64).ln(); COUNT];
    }
    match likelihoods {
        Likelihoods::Normalised => normalised,
        Likelihoods::Released if t + 1 < terms.steps => log_w.to_vec(),
        _ => a.to_vec(),
    }
}

/// The loss of numbers of a network, for the poses and ancestors of a trace, with labels in two of three steps; and the
/// weights that Q has, which can be given.
fn loss(
    terms: &Terms,
    followed: &Followed,
    (first, network): (&[f32], &[f64]),
    heirs: &[f64],
    held: Option<&[f64]>,
) -> (f64, Vec<f64>) {
    let trace = &followed.trace;
    let mut log_w: Vec<f64> = first.iter().map(|&w| f64::from(w)).collect();
    let (mut past, mut error) = (vec![0.0; COUNT], 0.0);
    for (t, a) in network.chunks(COUNT).enumerate() {
        let ancestors = &trace.ancestors[t * COUNT..][..COUNT];
        if trace.resampled[t] {
            log_w = resampled(terms, ancestors, &log_w);
        }
        log_w.iter_mut().zip(a).for_each(|(w, a)| *w += a);
        normalise(&mut log_w);
        let stands = stands(terms, t, a, &log_w);
        past = (0..COUNT)
            .map(|i| past[ancestors[i] as usize] + followed.law[t * COUNT + i] + stands[i])
            .collect();
        if t != 1 {
            let apart = |i: usize, k: usize| f64::from(trace.poses[k][t * COUNT + i]) - TRUTH[k];
            let mean = |of: &dyn Fn(usize) -> f64| (0..COUNT).map(|i| log_w[i].exp() * of(i)).sum::<f64>();
            let metres = [0, 1].map(|k| mean(&|i| 0.02 * apart(i, k)));
            let heading = mean(&|i| (apart(i, 2) + PI).rem_euclid(TAU) - PI);
            error += metres[0].powi(2) + metres[1].powi(2) + 0.36 * heading.powi(2);
        }
    }
    let weights: Vec<f64> = log_w.iter().map(|w| w.exp()).collect();
    let counts = held.unwrap_or(&weights).iter().zip(heirs);
    let q: f64 = counts.zip(&past).map(|((w, m), past)| w * m * past).sum();
    (terms.known * error - terms.pseudo * q, weights)
}

/// Every gradient against a difference, and the loss itself.
fn assert_derivatives(terms: &Terms) {
    let first = [-0.3_f32, 0.9, -1.2, 0.1, 0.4];
    let said = numbers();
    let followed = follow(terms, &first, &said);
    let is_final = terms.switches.genealogy == Genealogy::Final;
    let heirs = is_final.then(|| vec![0.0, 3.0, 1.0, 0.0, 1.0]);
    let (counts, labels) =
        (heirs.clone().unwrap_or_else(|| vec![1.0; COUNT]), [Some(TRUTH), None, Some(TRUTH)]);
    let mut network: Vec<f64> = said.iter().map(|&a| f64::from(a)).collect();
    let (whole, weights) = loss(terms, &followed, (&first, &network), &counts, None);
    let held = terms.switches.hold_weights.then_some(&weights[..]);
    let mut found = vec![0.0; said.len()];
    let sums = terms.gradient((0, &followed), &labels, heirs.as_deref(), &mut found);
    let value = terms.known * sums.error - terms.pseudo * sums.pseudo;
    assert!((value - whole).abs() < 1e-5 * (1.0 + whole.abs()) && sums.known == 2.0, "{value} {whole}");
    for (k, &gradient) in found.iter().enumerate() {
        let mut at = |step: f64| {
            network[k] += step;
            let (loss, _) = loss(terms, &followed, (&first, &network), &counts, held);
            network[k] -= step;
            loss
        };
        let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
        // The filter's weights have 32 bits, and are within 1e-6 of themselves after three steps; a gradient is a
        // difference of terms of about 10.
        let error = (f64::from(gradient) - expected).abs();
        assert!(error < 1e-5 * (1.0 + expected.abs()), "{terms:?} {k}: {gradient} {expected}");
    }
}

fn numbers() -> Vec<f32> {
    let mut random = Random::new(7);
    (0..STEPS * COUNT).map(|_| random.normal() as f32).collect()
}

#[test]
fn gradients_are_derivatives() {
    for softness in [0.0, 0.6, 1.0] {
        for (known, pseudo) in [(1.3, 0.0), (0.0, 0.7), (1.3, 0.7)] {
            assert_derivatives(&Terms { softness, ..terms(known, pseudo) });
        }
    }
}

/// For all switches of Q, with and without resampling.
#[test]
fn switches_are_followed_by_gradients() {
    let values = [Likelihoods::Literal, Likelihoods::Normalised, Likelihoods::Released];
    for (likelihoods, genealogy) in
        values.into_iter().flat_map(|l| [Genealogy::BlockEnd, Genealogy::Final].map(|g| (l, g)))
    {
        for (hold_weights, first_likelihood) in [(true, true), (true, false), (false, true), (false, false)] {
            let switches = HousePseudoLikelihood {
                likelihoods,
                genealogy,
                first_likelihood,
                hold_weights,
                ..HousePseudoLikelihood::default()
            };
            for (softness, steps) in [(0.0, 9), (0.6, STEPS), (1.0, STEPS)] {
                assert_derivatives(&Terms { switches, softness, threshold: 0.9, steps, ..terms(1.3, 0.7) });
            }
        }
    }
}

/// Expectation maximisation: with equal weights before, and one step, the weights are those that Q asks for, and
/// nothing is learned. With weights that are not held, Q is -entropy: beliefs are made sharp.
#[test]
fn a_uniform_belief_and_one_step_teach_nothing() {
    let found = |hold_weights: bool| {
        let switches = HousePseudoLikelihood { hold_weights, ..HousePseudoLikelihood::default() };
        let terms = Terms { switches, ..terms(0.0, 1.0) };
        log_gradients(&terms, &follow(&terms, &[0.0; COUNT], &numbers()[..COUNT]), &[None], None)
    };
    assert!(HousePseudoLikelihood::default().hold_weights);
    // Weights and shares are the same numbers but for rounding of 32 bits.
    assert!(found(true).iter().all(|gradient| gradient.abs() < 1e-6), "{:?}", found(true));
    assert!(found(false).iter().any(|gradient| gradient.abs() > 0.01), "{:?}", found(false));
}

/// Particles are resampled where few of them count, never without softness, and at every step where all must.
#[test]
fn resampled_below_the_threshold() {
    let resampled = |softness: f64, a: f32, threshold: f64| {
        let terms = Terms { softness, threshold, ..terms(1.0, 0.0) };
        follow(&terms, &[0.0; 2], &[a, 0.0, 0.0, 0.0]).trace.resampled[1]
    };
    // Weights 3/4 and 1/4 count as 1.6 particles of 2.
    let a = 3.0_f32.ln();
    assert!(!resampled(1.0, a, 0.79) && resampled(1.0, a, 0.81) && resampled(0.5, a, 0.81));
    assert!(resampled(1.0, 0.0, 1.0) && !resampled(0.0, a, 1.0));
}

/// Two particles, one step, by hand: weights 1/4 and 3/4, errors 1 m and 0.
#[test]
fn by_hand() {
    let mut followed = follow(&terms(2.0, 1.0), &[0.0; 2], &[0.0, 3.0_f32.ln()]);
    followed.trace.poses = [vec![50.0, 0.0], vec![0.0; 2], vec![0.0; 2]];
    followed.law.fill(0.0);
    let sums = terms(2.0, 1.0).gradient((0, &followed), &[Some([0.0; 3])], None, &mut [0.0; 2]);
    let entropy = 0.25 * 0.25_f64.ln() + 0.75 * 0.75_f64.ln();
    assert!((sums.error - 1.0 / 16.0).abs() < 1e-7 && (sums.pseudo - entropy).abs() < 1e-6, "{sums:?}");
    assert!((sums.effective - 1.6).abs() < 1e-6 && sums.known == 1.0, "{sums:?}");
}

/// Numbers beyond all reason, and none at all, neither spread NaN nor vanish.
#[test]
fn extreme_numbers() {
    for likelihoods in [Likelihoods::Literal, Likelihoods::Normalised, Likelihoods::Released] {
        for said in
            [[-1e30, 1e30, 0.0, 1.0], [f32::NAN, 1.0, 2.0, 0.0], [f32::NAN, f32::NEG_INFINITY, 1.0, 0.0]]
        {
            let switches = HousePseudoLikelihood { likelihoods, ..HousePseudoLikelihood::default() };
            let terms = Terms { softness: 0.5, switches, ..terms(1.0, 1.0) };
            let followed = follow(&terms, &[0.0; 2], &said);
            let found = log_gradients(&terms, &followed, &[Some(TRUTH); 2], None);
            assert!(found.iter().all(|gradient| gradient.is_finite()), "{said:?}: {found:?}");
            assert!(found[0] == 0.0, "a removed particle learns nothing: {found:?}");
        }
    }
}
