//! The scan against itself said with loops in 64 bits, and differences of those.

use super::*;
use crate::padded;
use crate::testing::numbers;
use std::f64::consts::{PI, TAU};

const SIZES: [usize; 3] = [4, 10, 16];
const COUNT: usize = 7;

struct Given {
    first: Vec<[f32; 3]>,
    actions: Vec<[f32; 3]>,
    noise: Vec<[f32; 3]>,
    offsets: Vec<f32>,
    labels: Vec<Option<[f32; 3]>>,
    seen: Vec<f32>,
}

fn triples(count: usize, salt: u64, scale: [f32; 3]) -> Vec<[f32; 3]> {
    let flat = numbers(3 * count, salt);
    flat.chunks_exact(3).map(|x| [0, 1, 2].map(|k| x[k] * scale[k])).collect()
}

impl Given {
    fn new(steps: usize, width: usize) -> Self {
        let labels = triples(steps, 5, [20.0, 20.0, 3.0]);
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
            labels: labels.into_iter().enumerate().map(|(t, label)| (t % 3 == 1).then_some(label)).collect(),
            seen: (0..steps).flat_map(row).collect(),
        }
    }

    fn sequence(&self) -> Sequence<'_> {
        let Self { first, actions, noise, offsets, labels, seen } = self;
        Sequence { first, actions, noise, offsets, labels, seen }
    }
}

const MOTION: Motion = Motion { side: -1.0, noise: [4.0, 3.0, 0.2] };
const OBJECTIVE: Objective = Objective { block: 4, kernel: [8.0, 9.0, 0.7], labels: 0.3, paths: 0.05 };

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

/// Ancestors, poses: what does not depend on the layers but through ancestors, which are given.
fn reference(layers: &[[Vec<f64>; 2]], given: &Given, ancestors: &[Vec<u32>], seen: &[f64]) -> f64 {
    let (mut poses, mut loss) = (given.first.iter().map(|p| p.map(f64::from)).collect::<Vec<_>>(), 0.0);
    let (steps, width) = (given.actions.len(), seen.len() / given.actions.len());
    let mut paths = vec![0.0; COUNT];
    for t in 0..steps {
        let noise = &given.noise[t * COUNT..][..COUNT];
        let moved = |(i, z): (usize, &[f32; 3])| moved(poses[ancestors[t][i] as usize], given.actions[t], *z);
        let now: Vec<[f64; 3]> = noise.iter().enumerate().map(moved).collect();
        poses = now;
        let l: Vec<f64> = poses.iter().map(|p| likelihood(layers, p, &seen[t * width..][..width])).collect();
        let whole: f64 = l.iter().sum();
        let density = |z: &[f32; 3]| {
            let term =
                |k: usize| -f64::from(MOTION.noise[k]).ln() - 0.5 * TAU.ln() - 0.5 * f64::from(z[k]).powi(2);
            (0..3).map(term).sum::<f64>()
        };
        let before = |i: usize| if t % OBJECTIVE.block == 0 { 0.0 } else { paths[ancestors[t][i] as usize] };
        paths = (0..COUNT).map(|i| before(i) + l[i].ln() + density(&noise[i])).collect();
        if let Some(label) = given.labels[t] {
            let p: f64 = (0..COUNT).map(|i| l[i] / whole * kernel(&poses[i], &label)).sum();
            loss -= f64::from(OBJECTIVE.labels) * p.ln();
        }
        if (t + 1) % OBJECTIVE.block == 0 || t + 1 == steps {
            let q: f64 = (0..COUNT).map(|i| l[i] / whole * paths[i]).sum();
            loss -= f64::from(OBJECTIVE.paths) * q;
        }
    }
    loss
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

fn kernel(pose: &[f64; 3], label: &[f32; 3]) -> f64 {
    let density = |k: usize| {
        let (apart, std) = (pose[k] - f64::from(label[k]), f64::from(OBJECTIVE.kernel[k]));
        let apart = if k == 2 { (apart + PI).rem_euclid(TAU) - PI } else { apart };
        (-0.5 * (apart / std).powi(2)).exp() / (std * TAU.sqrt())
    };
    (0..3).map(density).product()
}

/// The ancestors that a scan drew.
fn ancestors(net: &PoseNet, given: &Given) -> Vec<Vec<u32>> {
    let one_block = Objective { block: given.actions.len(), ..OBJECTIVE };
    let (mut memory, mut sum, mut by_seen) = Default::default();
    let sinks = (&mut sum, &mut by_seen);
    net.scan(Cpu::best(), (&MOTION, &one_block), &given.sequence(), &mut memory, sinks);
    memory.block.ancestors()
}

/// What a scan found of a sequence: the objective, derivatives by layers and by what was seen, labels.
fn scanned(net: &PoseNet, given: &Given) -> (f64, MlpGradient, Vec<f32>, usize) {
    let (mut memory, mut sum, mut by_seen) = Default::default();
    let sinks = (&mut sum, &mut by_seen);
    let found = net.scan(Cpu::best(), (&MOTION, &OBJECTIVE), &given.sequence(), &mut memory, sinks);
    let value = f64::from(OBJECTIVE.labels) * found.labels - f64::from(OBJECTIVE.paths) * found.paths;
    (value, sum, by_seen, found.known)
}

fn assert_close(found: f32, expected: f64) {
    assert!((f64::from(found) - expected).abs() < 1e-3 * (0.1 + expected.abs()), "{found} {expected}");
}

/// (f(1e-6) - f(-1e-6)) / 2e-6.
fn slope(mut f: impl FnMut(f64) -> f64) -> f64 {
    (f(1e-6) - f(-1e-6)) / 2e-6
}

/// Losses and derivatives by a few weights and by what was seen, for whole and partial blocks, and for one step.
#[test]
fn losses_and_gradients_are_those_of_the_formula() {
    for steps in [1, 4, 11] {
        let (mut layers, net) = network();
        let given = Given::new(steps, padded(SIZES[2]));
        let ancestors = ancestors(&net, &given);
        let (value, sum, by_seen, known) = scanned(&net, &given);
        let mut seen: Vec<f64> = given.seen.iter().map(|&x| f64::from(x)).collect();
        let expected = reference(&layers, &given, &ancestors, &seen);
        assert!((value - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{value} {expected}");
        assert_eq!(known, (0..steps).filter(|t| t % 3 == 1).count());
        for k in 0..layers.len() {
            let outputs = SIZES[k + 1];
            for at in (0..SIZES[k] * outputs).step_by(5) {
                let found = [sum[k].of(at / outputs, at % outputs, outputs), sum[k].bias[at % outputs]];
                for (part, at) in [at, at % outputs].into_iter().enumerate() {
                    let expected = slope(|step| {
                        layers[k][part][at] += step;
                        let loss = reference(&layers, &given, &ancestors, &seen);
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
                let loss = reference(&layers, &given, &ancestors, &seen);
                seen[at] -= step;
                loss
            });
            assert_close(by_seen[at], expected);
        }
    }
}

/// A memory that has seen another sequence leaves no trace.
#[test]
fn the_same_bytes_again() {
    let (_, net) = network();
    let run = |memory: &mut ScanMemory, steps: usize| {
        let given = Given::new(steps, padded(SIZES[2]));
        let (mut sum, mut by_seen) = Default::default();
        let sinks = (&mut sum, &mut by_seen);
        let losses = net.scan(Cpu::best(), (&MOTION, &OBJECTIVE), &given.sequence(), memory, sinks);
        format!("{losses:?} {sum:?} {by_seen:?}")
    };
    let mut used = ScanMemory::default();
    run(&mut used, 11);
    assert_eq!(run(&mut used, 5), run(&mut ScanMemory::default(), 5));
}

/// There and back: the same particles, and with the same pulls the same derivatives, bit for bit.
#[test]
fn a_trace_leads_back_as_a_scan_does() {
    let (_, net) = network();
    let given = Given::new(11, padded(SIZES[2]));
    let one_block = Objective { block: 11, ..OBJECTIVE };
    let (mut memory, mut sum, mut by_seen) = <(ScanMemory, MlpGradient, Vec<f32>)>::default();
    let rules = (&MOTION, &one_block);
    net.scan(Cpu::best(), rules, &given.sequence(), &mut memory, (&mut sum, &mut by_seen));
    let (mut room, mut trace, mut sum_again, mut by_again) = Default::default();
    net.follow(Cpu::best(), (&MOTION, First::Moves), &given.sequence(), &mut room, &mut trace);
    assert_eq!(trace.ancestors, memory.block.ancestors().concat());
    let way = (&trace, &memory.block.pulls()[..], &given.seen[..]);
    net.go_back(Cpu::best(), way, &mut room, (&mut sum_again, &mut by_again));
    assert_eq!((sum_again, by_again), (sum, by_seen));
}

/// Where the first step stays, it is the first belief.
#[test]
fn a_first_step_can_stay() {
    let (_, net) = network();
    let given = Given::new(3, padded(SIZES[2]));
    let (mut room, mut trace) = Default::default();
    net.follow(Cpu::best(), (&MOTION, First::Stays), &given.sequence(), &mut room, &mut trace);
    let first: Vec<f32> = given.first.iter().map(|pose| pose[1]).collect();
    assert_eq!(trace.poses[1][..COUNT], first);
    assert_eq!(trace.weights[..COUNT], [1.0 / COUNT as f32; COUNT]);
    assert_eq!(trace.ancestors[..COUNT], [0, 1, 2, 3, 4, 5, 6]);
    // Equal weights and any offset draw each particle once.
    assert_eq!(trace.ancestors[COUNT..2 * COUNT], [0, 1, 2, 3, 4, 5, 6]);
    assert!(trace.log_likelihoods[..COUNT].iter().any(|&log| log != trace.log_likelihoods[0]));
}
