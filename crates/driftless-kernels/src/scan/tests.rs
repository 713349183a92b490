//! A filter and its gradient against the same said with loops in 64 bits, and differences of those.

use super::*;
use crate::Cpu;
use crate::mlp::MlpGradient;
use crate::padded;
use crate::testing::numbers;
use std::ops::Range;

const SIZES: [usize; 3] = [4, 10, 16];
const COUNT: usize = 7;

struct Given {
    first: Vec<[f32; 3]>,
    actions: Vec<[f32; 3]>,
    noise: Vec<[f32; 3]>,
    offsets: Vec<f32>,
    seen: Vec<f32>,
}

fn triples(count: usize, salt: u64, scale: [f32; 3]) -> Vec<[f32; 3]> {
    let flat = numbers(3 * count, salt);
    flat.chunks_exact(3).map(|x| [0, 1, 2].map(|k| x[k] * scale[k])).collect()
}

impl Given {
    fn new(steps: usize, width: usize) -> Self {
        let row = |t: usize| {
            let mut row = numbers(SIZES[2], 90 + t as u64);
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            row = row.into_iter().map(|x| x.abs() / length).collect();
            row.resize(width, 0.0);
            row
        };
        Self {
            first: triples(COUNT, 1, [30.0, 30.0, 3.0]),
            actions: triples(steps, 2, [5.0, 5.0, 0.5]),
            noise: triples(steps * COUNT, 3, [1.0; 3]),
            offsets: numbers(steps, 4).into_iter().map(f32::abs).collect(),
            seen: (0..steps).flat_map(row).collect(),
        }
    }

    fn sequence(&self) -> Sequence<'_> {
        let Self { first, actions, noise, offsets, seen } = self;
        Sequence { first, actions, noise, offsets, seen }
    }
}

const MOTION: Motion = Motion { side: -1.0, noise: [4.0, 3.0, 0.2] };

/// Weights and biases, and the network made of them.
fn network() -> (Vec<[Vec<f64>; 2]>, PoseNet) {
    let mut layers = Mlp::new(SIZES[0], &SIZES[1..], true);
    let mut all = Vec::new();
    for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
        let ([inputs, outputs], salt) = (layer.shape(), 20 + 2 * k as u64);
        let (weight, bias) = (numbers(inputs * outputs, salt), numbers(outputs, salt + 1));
        layer.set_by(|i, o| weight[i * outputs + o], &bias);
        all.push([weight, bias].map(|part| part.into_iter().map(f64::from).collect()));
    }
    (all, PoseNet { layers, centre: [5.0, -5.0], extent: [30.0; 2], epsilon: 1e-2 })
}

/// log l of all particles and steps, for given ancestors; and Σ pull log l.
fn reference(
    layers: &[[Vec<f64>; 2]],
    given: &Given,
    ancestors: &[u32],
    (seen, log_gradients): (&[f64], &[f32]),
) -> (Vec<f64>, f64) {
    let mut poses: Vec<[f64; 3]> = given.first.iter().map(|p| p.map(f64::from)).collect();
    let (steps, mut logs) = (given.actions.len(), Vec::new());
    let width = seen.len() / steps;
    for t in 0..steps {
        let own = |i: usize| t * COUNT + i;
        let parent = |i: usize| poses[ancestors[own(i)] as usize];
        poses = (0..COUNT).map(|i| moved(parent(i), given.actions[t], given.noise[own(i)])).collect();
        logs.extend(poses.iter().map(|p| likelihood(layers, p, &seen[t * width..][..width]).ln()));
    }
    let sum = logs.iter().zip(log_gradients).map(|(log, &pull)| log * f64::from(pull)).sum();
    (logs, sum)
}

fn moved(pose: [f64; 3], action: [f32; 3], z: [f32; 3]) -> [f64; 3] {
    let ([ahead, aside, turn], (sine, cosine)) = (action.map(f64::from), pose[2].sin_cos());
    let aside = aside * f64::from(MOTION.side);
    let way = [ahead * cosine - aside * sine, ahead * sine + aside * cosine, turn];
    [0, 1, 2].map(|k| pose[k] + way[k] + f64::from(MOTION.noise[k]) * f64::from(z[k]))
}

fn likelihood(layers: &[[Vec<f64>; 2]], pose: &[f64; 3], seen: &[f64]) -> f64 {
    let mut x = vec![(pose[0] - 5.0) / 30.0, (pose[1] + 5.0) / 30.0, pose[2].cos(), pose[2].sin()];
    for [weight, bias] in layers {
        let n = bias.len();
        let y = |o: usize| bias[o] + x.iter().enumerate().map(|(i, x)| x * weight[i * n + o]).sum::<f64>();
        x = (0..n).map(|o| y(o).max(0.0)).collect();
    }
    let length = (x.iter().map(|x| x * x).sum::<f64>() + 1e-12).sqrt();
    let cosine = x.iter().zip(seen).map(|(x, e)| x * e).sum::<f64>() / length;
    1.0 / (1e-2 + 1.0 - cosine)
}

/// A trace, and where given gradients lead back to.
fn there_and_back(net: &PoseNet, given: &Given, log_gradients: &[f32]) -> (Trace, MlpGradient, Vec<f32>) {
    let (mut memory, mut trace, mut sum) = <(TraceMemory, Trace, MlpGradient)>::default();
    let (all, mut by_seen) = (0..given.actions.len(), vec![0.0; given.seen.len()]);
    let way = (&MOTION, First::Moves);
    net.follow(Cpu::best(), way, (&given.sequence(), all.clone()), &mut memory, &mut trace);
    net.go_back(
        Cpu::best(),
        (&trace, all, log_gradients, &given.seen),
        &mut memory,
        (&mut sum, &mut by_seen),
    );
    (trace, sum, by_seen)
}

fn assert_close(found: f32, expected: f64) {
    assert!((f64::from(found) - expected).abs() < 1e-3 * (0.1 + expected.abs()), "{found} {expected}");
}

/// (f(1e-6) - f(-1e-6)) / 2e-6.
fn slope(mut f: impl FnMut(f64) -> f64) -> f64 {
    (f(1e-6) - f(-1e-6)) / 2e-6
}

/// log l, and derivatives of Σ pull log l by some weights and by what was seen.
#[test]
fn likelihoods_and_gradients_are_those_of_the_formula() {
    for steps in [1, 11] {
        let (mut layers, net) = network();
        let given = Given::new(steps, padded(SIZES[2]));
        let log_gradients = numbers(steps * COUNT, 33);
        let (trace, sum, by_seen) = there_and_back(&net, &given, &log_gradients);
        let mut seen: Vec<f64> = given.seen.iter().map(|&x| f64::from(x)).collect();
        let (logs, _) = reference(&layers, &given, &trace.ancestors, (&seen, &log_gradients));
        trace.log_likelihoods.iter().zip(logs).for_each(|(&found, expected)| assert_close(found, expected));
        for k in 0..layers.len() {
            let outputs = SIZES[k + 1];
            for at in (0..SIZES[k] * outputs).step_by(5) {
                let found = [sum[k].of(at / outputs, at % outputs, outputs), sum[k].bias[at % outputs]];
                for (part, at) in [at, at % outputs].into_iter().enumerate() {
                    let expected = slope(|step| {
                        layers[k][part][at] += step;
                        let (_, loss) = reference(&layers, &given, &trace.ancestors, (&seen, &log_gradients));
                        layers[k][part][at] -= step;
                        loss
                    });
                    assert_close(found[part], expected);
                }
            }
        }
        for at in (0..seen.len()).step_by(3) {
            let expected = slope(|step| {
                seen[at] += step;
                let (_, loss) = reference(&layers, &given, &trace.ancestors, (&seen, &log_gradients));
                seen[at] -= step;
                loss
            });
            assert_close(by_seen[at], expected);
        }
    }
}

/// Weights are l / Σ l, and particles are drawn by them.
#[test]
fn weights_and_ancestors_follow_from_likelihoods() {
    let (_, net) = network();
    let given = Given::new(11, padded(SIZES[2]));
    let (trace, ..) = there_and_back(&net, &given, &[0.0; 11 * COUNT]);
    for (t, logs) in trace.log_likelihoods.chunks_exact(COUNT).enumerate() {
        let whole: f32 = logs.iter().map(|log| log.exp()).sum();
        let weights = &trace.weights[t * COUNT..][..COUNT];
        weights.iter().zip(logs).for_each(|(&w, log)| assert_close(w, f64::from(log.exp() / whole)));
        let next = trace.ancestors.get((t + 1) * COUNT..(t + 2) * COUNT).unwrap_or_default();
        for (i, &ancestor) in next.iter().enumerate() {
            let marker = (i as f32 + given.offsets[t + 1]) / COUNT as f32;
            let below: f32 = weights[..ancestor as usize].iter().sum();
            assert!(below <= marker + 1e-6 && marker <= below + weights[ancestor as usize] + 1e-6);
        }
    }
}

/// A memory that has seen another sequence leaves no trace.
#[test]
fn the_same_bytes_again() {
    let (_, net) = network();
    let run = |memory: &mut TraceMemory, steps: usize| {
        let given = Given::new(steps, padded(SIZES[2]));
        let (mut trace, mut sum) = <(Trace, MlpGradient)>::default();
        let mut by_seen = vec![0.0; given.seen.len()];
        net.follow(Cpu::best(), (&MOTION, First::Moves), (&given.sequence(), 0..steps), memory, &mut trace);
        let (log_gradients, sinks) = (numbers(steps * COUNT, 33), (&mut sum, &mut by_seen[..]));
        net.go_back(Cpu::best(), (&trace, 0..steps, &log_gradients, &given.seen), memory, sinks);
        (trace, sum, by_seen)
    };
    let mut used = TraceMemory::default();
    run(&mut used, 11);
    assert_eq!(run(&mut used, 5), run(&mut TraceMemory::default(), 5));
}

/// Where the first step stays, it is the first belief.
#[test]
fn a_first_step_can_stay() {
    let (_, net) = network();
    let given = Given::new(3, padded(SIZES[2]));
    let (mut workspace, mut trace) = Default::default();
    net.follow(Cpu::best(), (&MOTION, First::Stays), (&given.sequence(), 0..3), &mut workspace, &mut trace);
    let first: Vec<f32> = given.first.iter().map(|pose| pose[1]).collect();
    assert_eq!(trace.poses[1][..COUNT], first);
    assert_eq!(trace.weights[..COUNT], [1.0 / COUNT as f32; COUNT]);
    assert_eq!(trace.ancestors[..COUNT], [0, 1, 2, 3, 4, 5, 6]);
    // Equal weights and any offset draw each particle once.
    assert_eq!(trace.ancestors[COUNT..2 * COUNT], [0, 1, 2, 3, 4, 5, 6]);
    assert!(trace.log_likelihoods[..COUNT].iter().any(|&log| log != trace.log_likelihoods[0]));
}

/// What is too much to be remembered is computed a second time: the same bytes.
#[test]
fn forgotten_layers_are_computed_again() {
    let (_, net) = network();
    let given = Given::new(4, padded(SIZES[2]));
    let log_gradients = numbers(4 * COUNT, 33);
    let (mut memory, mut trace) = <(TraceMemory, Trace)>::default();
    let way = (&MOTION, First::Moves);
    net.follow(Cpu::best(), way, (&given.sequence(), 0..4), &mut memory, &mut trace);
    let back = |memory: &mut TraceMemory| {
        let (mut sum, mut by_seen) = (MlpGradient::default(), vec![0.0; given.seen.len()]);
        net.go_back(
            Cpu::best(),
            (&trace, 0..4, &log_gradients, &given.seen),
            memory,
            (&mut sum, &mut by_seen),
        );
        (sum, by_seen)
    };
    let remembered = back(&mut memory);
    memory.forget();
    assert_eq!(back(&mut memory), remembered);
}

/// Going back through a stretch leaves the filter where it was, though nothing pulled at the last steps.
#[test]
fn the_next_stretch_goes_on() {
    let (_, net) = network();
    let (given, way) = (Given::new(6, padded(SIZES[2])), (&MOTION, First::Moves));
    let follow = |steps: Range<usize>, memory: &mut TraceMemory, trace: &mut Trace| {
        net.follow(Cpu::best(), way, (&given.sequence(), steps), memory, trace);
    };
    let (mut memory, mut whole, mut trace) = <(TraceMemory, Trace, Trace)>::default();
    follow(0..6, &mut memory, &mut whole);
    follow(0..3, &mut memory, &mut trace);
    memory.forget();
    let log_gradients = [numbers(COUNT, 33), vec![0.0; 2 * COUNT]].concat();
    let (mut sum, mut by_seen) = (MlpGradient::default(), vec![0.0; given.seen.len()]);
    net.go_back(
        Cpu::best(),
        (&trace, 0..3, &log_gradients, &given.seen),
        &mut memory,
        (&mut sum, &mut by_seen),
    );
    follow(3..6, &mut memory, &mut trace);
    assert_eq!(trace, whole);
}
