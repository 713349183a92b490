//! Gradients by differences of the objectives, written down a second time with frozen ancestors; and what theory says.

use super::*;
use crate::batch::PixelScale;
use crate::learn::{Normalisation, UnlabelledWeights};
use crate::methods::anchored::{noise, sensor};
use crate::ops::EncoderWorkspace;
use crate::parameters::{self, Net};
use burn::tensor::Device;
use driftless_core::exponential::log_sum_exp_64;
use driftless_kernels::ranks::Alone;
use driftless_world::pose::Frame;
use driftless_world::trajectory::{Images, Pixels};

const SIDE: usize = 12;

fn normalisation() -> Normalisation {
    let pixels = Pixels::Bytes((0..SIDE * SIDE * 3).map(|k| (k * 37 % 251) as u8).collect());
    let image = Images { height: SIDE, width: SIDE, channels: 3, pixels };
    Normalisation {
        pixels: PixelScale::measure([&image]).unwrap(),
        readings: crate::batch::ReadingScale::default(),
        state_mean: [0.0; 3],
        state_std: [1.0; 3],
        action_std: [1.0; 3],
        step_size: [1.0; 3],
        low: [0.0; 3],
        high: [9.0; 3],
        coordinates: Vec::new(),
    }
}

fn network(sharpness: f64) -> (FrameEncoder, Vec<Named>) {
    let matcher = sensor::matcher(&normalisation(), 3, &Device::flex());
    let mut values = parameters::values(&matcher);
    values.iter_mut().find(|one| one.name == "log_sharpness").unwrap().values[0] = sharpness.ln();
    let mut encoder = FrameEncoder::of(&matcher);
    encoder.load(&values);
    (encoder, values)
}

/// One of eight steps, one of five, with images of noise.
fn some_blocks(pixels: &[f32]) -> [Block<'_>; 2] {
    let block = |start: [f32; 3], range: std::ops::Range<usize>| Block {
        start,
        actions: vec![[0.5, 0.1, 0.3]; range.len()],
        pixels: &pixels[range.start * SIDE * SIDE * 3..range.end * SIDE * SIDE * 3],
    };
    [block([2.0, 3.0, 0.4], 0..8), block([6.0, 5.0, -2.0], 8..13)]
}

fn pixels() -> Vec<f32> {
    let mut random = Random::new(4);
    (0..13 * SIDE * SIDE * 3).map(|_| random.normal() as f32).collect()
}

fn followed(blocks: &[&Block], encoder: &FrameEncoder, least: f64) -> Vec<Followed> {
    let odometry = noise::motion([0.0, 0.0, 0.0, 0.0], [least; 2], Frame::Reflected, &normalisation());
    blocks
        .iter()
        .enumerate()
        .map(|(k, one)| one.follow(encoder, &odometry, Stream::new(9, k as u64)))
        .collect()
}

fn only(objective: Unlabelled) -> Objectives {
    let weights = UnlabelledWeights {
        pseudo_likelihood: 0.7,
        pseudo_likelihood_normalised: 0.7,
        evidence: 0.7,
        evidence_normalised: 0.7,
    };
    let experiment =
        Experiment { unlabelled: vec![objective], unlabelled_weights: weights, ..Experiment::default() };
    Objectives::of(&experiment)
}

const ALL: [Unlabelled; 4] = [
    Unlabelled::PseudoLikelihood,
    Unlabelled::PseudoLikelihoodNormalised,
    Unlabelled::Evidence,
    Unlabelled::EvidenceNormalised,
];

/// Blocks that a filter went through.
type Gone<'a> = (&'a [&'a Block<'a>], &'a [Followed]);

/// The log mean likelihood of the poses behind the particles of each step.
fn log_mean(scores: &[f32], each: usize) -> f64 {
    let spread = scores.chunks_exact(each).flat_map(|poses| &poses[blocks::PARTICLES..]);
    let logs: Vec<f64> = spread.map(|score| f64::from(TEMPERING * score)).collect();
    log_sum_exp_64(&logs) - (logs.len() as f64).ln()
}

/// The objective of blocks that were gone through before, by another network: ancestors, poses and the weights of Q stay.
fn again(objective: Unlabelled, encoder: &FrameEncoder, (blocks, followed): Gone, spread: &Spread) -> f64 {
    let (poses, each) = spread.beside(followed);
    let (mut memory, mut k, mut sum, mut scores) =
        (EncoderWorkspace::default(), 0, 0.0, vec![0.0; poses.len()]);
    let n = blocks::PARTICLES;
    for (block, Followed { trace, .. }) in blocks.iter().zip(followed) {
        let mut features = Vec::new();
        encoder.encode(block.pixels, &mut memory, &mut features);
        let (mut weights, mut lines) = (vec![-(n as f64).ln(); n], vec![0.0; n]);
        for (t, features) in features.chunks_exact(encoder.width()).enumerate() {
            encoder.scores(features, &poses, &mut memory, &mut scores);
            let log = |i: usize| f64::from(TEMPERING * scores[i]);
            let own: Vec<f64> = (k * each..k * each + n).map(log).collect();
            let normalised = objective == Unlabelled::PseudoLikelihoodNormalised;
            let whole = if normalised { log_sum_exp_64(&own) } else { 0.0 };
            let ancestors = &trace.ancestors[t * n..(t + 1) * n];
            if trace.resampled[t] {
                weights.fill(-(n as f64).ln());
            }
            weights.iter_mut().zip(&own).for_each(|(w, l)| *w += l);
            lines = (0..n).map(|i| lines[ancestors[i] as usize] + own[i] - whole).collect();
            let total = log_sum_exp_64(&weights);
            for w in &mut weights {
                *w -= total;
            }
            if matches!(objective, Unlabelled::Evidence | Unlabelled::EvidenceNormalised) {
                sum += total;
            }
            if objective == Unlabelled::EvidenceNormalised {
                sum -= log_mean(&scores, each);
            }
            k += 1;
        }
        if matches!(objective, Unlabelled::PseudoLikelihood | Unlabelled::PseudoLikelihoodNormalised) {
            let last = &trace.weights[trace.weights.len() - n..];
            sum += last.iter().zip(&lines).map(|(w, line)| f64::from(*w) * line).sum::<f64>();
        }
    }
    -sum / k as f64
}

/// Along the gradient by each parameter the objective grows as fast as the gradient is long; says how many were tried.
fn climbs(
    objective: Unlabelled,
    (encoder, values): &(FrameEncoder, Vec<Named>),
    gone: Gone,
    spread: &Spread,
) -> usize {
    let shared = (&Alone as &dyn Ranks, &mut Workspace::default());
    let said = only(objective).learn(encoder, gone, spread, shared).unwrap();
    let exact = again(objective, encoder, gone, spread);
    assert!((said.losses[0].1 - exact).abs() < 1e-4 * (1.0 + exact.abs()), "{objective:?}: {exact}");
    assert!((said.value - 0.7 * said.losses[0].1).abs() < 1e-9);
    let mut tried = 0;
    for (k, by) in said.gradients.iter().enumerate() {
        let length = by.values.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length < 1e-3 {
            continue;
        }
        tried += 1;
        let at = |step: f64| {
            let (mut moved, mut encoder) = (values.clone(), encoder.clone());
            moved[k].values.iter_mut().zip(&by.values).for_each(|(x, g)| *x += step * g / length);
            encoder.load(&moved);
            0.7 * again(objective, &encoder, gone, spread)
        };
        let step = (1e-3 / length).min(1e-2);
        let found = (at(step) - at(-step)) / (2.0 * step);
        assert!((found - length).abs() < 0.03 * length, "{objective:?} {}: {found}, not {length}", by.name);
    }
    tried
}

/// A step of 2e-3 of a nat in all leaves roundings of 32 bits, a few 1e-6 of a mean over 13 steps, and bends of ReLU: three
/// per cent.
#[test]
fn gradients_are_those_of_the_objectives() {
    let network = network(20.0);
    let pixels = pixels();
    let blocks = some_blocks(&pixels);
    let followed = followed(&blocks.each_ref(), &network.0, 0.3);
    let resampled = followed.iter().flat_map(|one| &one.trace.resampled).filter(|one| **one).count();
    assert!((2..11).contains(&resampled), "{resampled} of 13 resampled");
    for objective in ALL {
        let each = if objective == Unlabelled::EvidenceNormalised { 3 } else { 0 };
        let spread = Spread::drawn(each, [[0.0; 2], [9.0; 2]], &mut Random::new(6));
        let tried = climbs(objective, &network, (&blocks.each_ref(), &followed), &spread);
        assert!(tried > 5, "{objective:?}: {tried} parameters");
    }
}

/// As long as nothing is resampled, the evidence's gradient is Q's (Fisher): Σ_t log Σ w' l telescopes to log 1/N Σ_i Π_t l_t(i).
#[test]
fn without_resampling_evidence_and_q_ask_for_the_same() {
    let (encoder, _) = network(1.0);
    let pixels = pixels();
    let blocks = some_blocks(&pixels);
    let followed = followed(&blocks.each_ref(), &encoder, 0.3);
    assert!(followed.iter().all(|one| !one.trace.resampled.contains(&true)));
    let by = |objective: Unlabelled| -> Vec<f32> {
        followed.iter().flat_map(|one| only(objective).by_steps(one, 13).log_gradients).collect()
    };
    let (q, evidence) = (by(Unlabelled::PseudoLikelihood), by(Unlabelled::Evidence));
    let size = q.iter().copied().fold(0.0, |a: f32, b| a.max(b.abs()));
    assert!(q.iter().zip(&evidence).all(|(a, b)| (a - b).abs() < 1e-5 * size), "{size}");
    // Both only ever ask for larger likelihoods, whatever is seen: nothing holds them but the contrast.
    assert!(q.iter().all(|by| *by <= 0.0));
    let normalised: Vec<f32> = by(Unlabelled::PseudoLikelihoodNormalised);
    for step in normalised.chunks_exact(blocks::PARTICLES) {
        assert!(step.iter().sum::<f32>().abs() < 1e-6 * size * blocks::PARTICLES as f32);
    }
}

/// Particles in one place can tell nothing apart: Q, normalised, has no gradient, and all weights stay the same.
#[test]
fn in_one_place_there_is_nothing_to_tell_apart() {
    let (encoder, _) = network(20.0);
    let pixels = pixels();
    let blocks = some_blocks(&pixels);
    let followed = followed(&blocks.each_ref(), &encoder, 0.0);
    for one in &followed {
        let by = only(Unlabelled::PseudoLikelihoodNormalised).by_steps(one, 13);
        assert!(by.log_gradients.iter().all(|by| by.abs() < 1e-8), "{:?}", by.log_gradients);
        assert!((by.said[0].1 + one.trace.len() as f64 * 50.0_f64.ln()).abs() < 1e-3);
        let literal = only(Unlabelled::PseudoLikelihood).by_steps(one, 13);
        assert!(
            (literal.log_gradients.iter().sum::<f32>() + 0.7 * one.trace.len() as f32 / 13.0).abs() < 1e-5
        );
    }
}
