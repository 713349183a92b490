//! The online filter against the scan of a sequence, formulas in 64 bits, and itself.

use super::*;
use crate::images::{ImagePlan, Padding};
use crate::mlp::Mlp;
use crate::normal::{fill_normal, uniform};
use crate::scan::{First, Sequence, Trace, TraceMemory};
use crate::testing::numbers;

const MOTION: Motion = Motion { side: -1.0, noise: [2.0, 2.0, 0.2] };
const MISSING: [f32; 2] = [30.0, 1.0];
const SEED: u64 = 11;

fn frame_encoder() -> ImageNet {
    let plan = ImagePlan { image: [2, 6, 5], channels: vec![16, 20], features: 18, padding: Padding::Same };
    let mut frame_encoder = ImageNet::new(plan);
    frame_encoder.set_conv(0, &numbers(16 * 18, 1), &numbers(16, 2));
    frame_encoder.set_conv(1, &numbers(20 * 16 * 9, 3), &numbers(20, 4));
    let weight = numbers(frame_encoder.mask() * 18, 5);
    frame_encoder.set_dense(|i, o| weight[i * 18 + o], &numbers(18, 6));
    frame_encoder
}

fn poses() -> PoseNet {
    let mut layers = Mlp::new(4, &[10, 18], true);
    for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
        let ([inputs, outputs], salt) = (layer.shape(), 7 + 2 * k as u64);
        let weight = numbers(inputs * outputs, salt);
        layer.set_by(|i, o| weight[i * outputs + o], &numbers(outputs, salt + 1));
    }
    PoseNet { layers, centre: [3.0, -4.0], extent: [30.0, 20.0], epsilon: 1e-2 }
}

fn triples(count: usize, salt: u64, scale: [f32; 3]) -> Vec<[f32; 3]> {
    let flat = numbers(3 * count, salt);
    flat.chunks_exact(3).map(|x| [0, 1, 2].map(|k| x[k] * scale[k])).collect()
}

fn first(count: usize) -> Vec<[f32; 3]> {
    triples(count, 40, [30.0, 20.0, 3.0])
}

fn image(t: u64) -> Vec<f32> {
    numbers(frame_encoder().pixels(), 60 + t)
}

fn online(count: usize) -> Online {
    Online::new((frame_encoder(), poses()), MOTION, MISSING, &first(count), SEED)
}

fn particles(online: &Online) -> impl Iterator<Item = ([f32; 3], f32)> {
    let Belief { particles, weights } = online.belief();
    let pose = |i: usize| [0, 1, 2].map(|k| particles.column(k)[i]);
    (0..particles.len()).map(move |i| (pose(i), weights.linear()[i]))
}

/// The same steps by the scan, given the same noise and offsets.
fn scanned(count: usize, actions: &[[f32; 3]]) -> Trace {
    let (steps, blocks) = (actions.len(), count.div_ceil(64) as u64);
    let column = |t: u64, k: u64| {
        let mut column = vec![0.0; count];
        fill_normal(Cpu::best(), SEED, (3 * t + k) * blocks, &mut column);
        column
    };
    let noise = (0..steps as u64).flat_map(|t| {
        let columns = [0, 1, 2].map(|k| column(t, k));
        (0..count).map(move |i| [0, 1, 2].map(|k| columns[k][i]))
    });
    let noise: Vec<[f32; 3]> = noise.collect();
    let offsets: Vec<f32> = (0..steps as u64).map(|t| uniform(!SEED, t)).collect();
    let (frame_encoder, mut memory, mut lengths) = (frame_encoder(), ImageMemory::default(), Vec::new());
    let images: Vec<f32> = (0..steps as u64).flat_map(image).collect();
    frame_encoder.forward(Cpu::best(), &images, None, &mut memory);
    let mut seen = memory.features().to_vec();
    to_units(Cpu::best(), &mut seen, frame_encoder.width(), &mut lengths);
    let first = first(count);
    let sequence = Sequence { first: &first, actions, noise: &noise, offsets: &offsets, seen: &seen };
    let (mut workspace, mut trace) = <(TraceMemory, Trace)>::default();
    poses().follow(Cpu::best(), (&MOTION, First::Moves), (&sequence, 0..steps), &mut workspace, &mut trace);
    trace
}

/// Cosines and sines differ in their last bits, which three steps make some 1e-4 of; few and many particles.
#[test]
fn the_steps_of_the_scan() {
    for count in [1, 100, 512, 513, 1500] {
        let actions = triples(3, 50, [8.0, 3.0, 0.5]);
        let (mut online, trace) = (online(count), scanned(count, &actions));
        for (t, &action) in actions.iter().enumerate() {
            let estimate = online.step(&image(t as u64), Some(action));
            let own = t * count..(t + 1) * count;
            let mut size = 0.0;
            for (i, (pose, weight)) in own.zip(particles(&online)) {
                let apart = [0, 1, 2].map(|k| f64::from(pose[k]) - f64::from(trace.poses[k][i]));
                let turns = apart[2] / std::f64::consts::TAU;
                let far = apart[0].abs() + apart[1].abs() + (turns - turns.round()).abs();
                assert!(far < 2e-3, "{count} particles, step {t}, number {i}: {apart:?}");
                assert!((weight - trace.weights[i]).abs() < 1e-3 * trace.weights[i] + 1e-7);
                size += f64::from(trace.weights[i]).powi(2);
            }
            assert!((estimate.effective_sample_size * size - 1.0).abs() < 1e-3);
            assert!(estimate.moved && estimate.saw);
        }
    }
}

/// Mean, direction and covariance by loops over the particles themselves.
#[test]
fn estimates_are_those_of_the_formula() {
    for count in [100, 1500] {
        let mut online = online(count);
        let found = online.step(&image(1), Some([5.0, 1.0, 2.9]));
        let all: Vec<([f64; 3], f64)> =
            particles(&online).map(|(pose, weight)| (pose.map(f64::from), f64::from(weight))).collect();
        let mean = |of: &dyn Fn(&[f64; 3]) -> f64| all.iter().map(|(pose, w)| w * of(pose)).sum::<f64>();
        let heading = mean(&|p| p[2].sin()).atan2(mean(&|p| p[2].cos()));
        let centre = [mean(&|p| p[0]), mean(&|p| p[1]), heading];
        let apart = |p: &[f64; 3], k: usize| {
            let apart = p[k] - centre[k];
            if k == 2 {
                apart - (apart / std::f64::consts::TAU).round() * std::f64::consts::TAU
            } else {
                apart
            }
        };
        for i in 0..3 {
            assert!((found.pose[i] - centre[i]).abs() < 1e-4, "{:?} {centre:?}", found.pose);
            for j in 0..3 {
                let product = mean(&|p| apart(p, i) * apart(p, j));
                let around = mean(&|p| apart(p, i)) * mean(&|p| apart(p, j));
                let expected = if i == 2 && j == 2 { product } else { product - around };
                let error = (found.covariance[3 * i + j] - expected).abs();
                assert!(
                    error < 1e-4 * (1.0 + expected.abs()),
                    "{i} {j}: {} {expected}",
                    found.covariance[3 * i + j]
                );
            }
        }
    }
}

#[test]
fn what_is_not_finite_says_nothing_and_is_told() {
    let mut online = online(200);
    let mut broken = image(0);
    broken[7] = f32::NAN;
    let blind = online.step(&broken, Some([1.0, 0.0, 0.0]));
    assert!((blind.moved, blind.saw) == (true, false) && (blind.effective_sample_size - 200.0).abs() < 1e-3);
    let before = blind.pose;
    let stuck = online.step(&image(0), Some([f32::INFINITY, 0.0, 0.0]));
    assert_eq!((stuck.moved, stuck.saw), (false, true));
    let absurd = online.step(&image(0), Some([0.0, 0.0, 1e30]));
    let grown = (absurd.covariance[0] - blind.covariance[0]).sqrt();
    assert!(!absurd.moved && absurd.pose.iter().all(|x| x.is_finite()));
    // Twice 30 units in any direction, and what the images say.
    assert!((stuck.pose[0] - before[0]).abs() < 30.0 && grown > 20.0 && grown < 80.0, "{grown}");
}

#[test]
fn threads_make_no_difference() {
    let track = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut online = online(3000);
            (0..5).map(|t| online.step(&image(t), Some([3.0, 0.0, 0.3]))).collect::<Vec<Estimate>>()
        })
    };
    assert_eq!(track(1), track(3));
}
