//! The whole estimator against differences of itself, and the same for any number of threads.

use super::*;
use crate::images::{ImagePlan, Padding};
use crate::recurrent::tests::{on, wide};
use crate::testing::numbers;

const SIZES: [usize; 2] = [3, 11];

/// An estimator of so many cells, two at most, its weights moved by `step` along a direction without a pattern.
fn estimator(cells: usize, step: f32) -> Estimator {
    let moved = |count: usize, salt: u64, scale: f32| -> Vec<f32> {
        let (weights, way) = (numbers(count, salt), numbers(count, salt + 100));
        weights.iter().zip(way).map(|(x, way)| scale * x + step * way).collect()
    };
    let plan = ImagePlan { image: [2, 6, 5], channels: vec![16, 20], features: 18, padding: Padding::Same };
    let mut frame_encoder = ImageNet::new(plan);
    frame_encoder.set_conv(0, &moved(16 * 18, 1, 0.5), &numbers(16, 2));
    frame_encoder.set_conv(1, &moved(20 * 16 * 9, 3, 0.3), &numbers(20, 4));
    let weight = moved(frame_encoder.mask() * 18, 5, 0.3);
    frame_encoder.set_dense(|i, o| weight[i * 18 + o], &numbers(18, 6));
    let cell = |inputs: usize, units: usize, salt: u64| {
        let bias = moved(4 * units, salt + 1, 1.0);
        Lstm::new([inputs, units], &moved((inputs + units) * 4 * units, salt, 0.4), &bias)
    };
    let cells = [cell(20, 21, 10), cell(21, 19, 20)][..cells].to_vec();
    let mut head = Mlp::new(cells.last().map_or(20, Lstm::units), &[10, 3], false);
    for (k, layer) in head.layers_mut().iter_mut().enumerate() {
        let ([inputs, outputs], salt) = (layer.shape(), 30 + 2 * k as u64);
        let weight = moved(inputs * outputs, salt, 0.8);
        layer.set_by(|i, o| weight[i * outputs + o], &numbers(outputs, salt + 1));
    }
    Estimator { frame_encoder, cells, head }
}

/// Σ pull ⊙ what is said, and its gradient.
fn trained(net: &Estimator) -> (f64, EstimatorGradient) {
    let [steps, sequences] = SIZES;
    let images = numbers(steps * sequences * net.frame_encoder.pixels(), 40);
    let masks = numbers(steps * sequences * net.frame_encoder.mask(), 41).into_iter();
    let masks: Vec<f32> = masks.map(|x| if x > 0.0 { 2.0 } else { 0.0 }).collect();
    let beside = numbers(steps * sequences * 2, 42);
    let seen = SequenceFrames { images: &images, masks: Some(&masks), beside: &beside, sizes: SIZES };
    let pull: Vec<f64> = numbers(steps * sequences * 3, 43).into_iter().map(f64::from).collect();
    let pull = wide(&pull, 3);
    let (mut memory, mut gradient) = <(EstimatorMemory, EstimatorGradient)>::default();
    net.forward(Cpu::best(), &seen, &mut memory);
    let loss = memory.said().iter().zip(&pull).map(|(x, g)| f64::from(*x) * f64::from(*g)).sum();
    net.backward(Cpu::best(), &seen, &pull, &mut memory, &mut gradient);
    (loss, gradient)
}

/// The gradient along the direction of [`estimator`].
fn along(net: &Estimator, by: &EstimatorGradient) -> f64 {
    let layer = |k: usize| {
        let [inputs, outputs] = net.head.layers()[k].shape();
        (0..inputs * outputs).map(|at| by.head[k].of(at / outputs, at % outputs, outputs)).collect()
    };
    let mut parts: Vec<(Vec<f32>, u64)> = vec![
        (net.frame_encoder.conv_gradient(0, &by.frame_encoder), 1),
        (net.frame_encoder.conv_gradient(1, &by.frame_encoder), 3),
        (net.frame_encoder.dense_gradient(&by.frame_encoder), 5),
        (layer(0), 30),
        (layer(1), 32),
    ];
    for ((cell, by), salt) in net.cells.iter().zip(&by.cells).zip([10, 20]) {
        let [weight, bias] = cell.gradient(by);
        parts.extend([(weight, salt), (bias, salt + 1)]);
    }
    let dot = |(gradient, salt): &(Vec<f32>, u64)| {
        let way = numbers(gradient.len(), salt + 100);
        gradient.iter().zip(way).map(|(g, way)| f64::from(g * way)).sum::<f64>()
    };
    parts.iter().map(dot).sum()
}

/// Differences of 32 bits: a loss of some tens rounds by 1e-6 of itself, over a step of 1e-3 to either side. Tensors
/// are the better judgement of each derivative; here all must meet.
#[test]
fn the_whole_estimator_learns() {
    for cells in [2, 0] {
        let net = estimator(cells, 0.0);
        let (_, gradient) = trained(&net);
        let step = 5e-4;
        let [up, down] = [step, -step].map(|step| trained(&estimator(cells, step)).0);
        let (found, expected) = (along(&net, &gradient), (up - down) / f64::from(2.0 * step));
        assert!((found - expected).abs() < 0.02 * expected.abs(), "{cells} cells: {found} {expected}");
        assert!(expected.abs() > 1.0, "{cells} cells: {expected}");
        for threads in [1, 2, 3] {
            assert_eq!(on(threads, || trained(&net)).1, gradient, "{cells} cells, {threads} threads");
        }
    }
}
