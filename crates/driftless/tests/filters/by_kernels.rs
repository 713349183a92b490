//! The LSTM baseline on the kernels, against the same with tensors and automatic differentiation.

use crate::common::numbers;
use crate::differences::TRAINING;
use crate::recurrent::{ROUNDING, assert_near, batch, exact, net};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::baseline::KernelWorkspace;
use driftless::optimise::{Adam, Optimiser, Rule, Skipped};
use driftless::parameters::{Named, gradients, values, with_values};
use driftless::{LabelMean, Phase};
use driftless_world::random::Random;

/// Values, and derivatives by all parameters, against those of 64 bits; in room that other cases used before.
///
/// [`ROUNDING`] is for 5 steps of 7 units; the longest way of a number grows with both. Where ReLUs close a network, a
/// gradient may be anything down to 0: what counts is then the largest of all.
fn compare([size, steps, units]: [usize; 3], phase: Phase, room: &mut KernelWorkspace) {
    let case = format!("{size} {steps} {units} {phase:?}");
    let net = net(units, DType::F32);
    let exact = exact(&net, units);
    let (here, there) = (batch(size, steps, DType::F32), batch(size, steps, DType::F64));
    let over = LabelMean::Share(0.3);
    let expected = exact.loss(&there, over, phase);
    let (value, found) = net.loss_by_kernels(&here, over, phase, room).expect(&case);
    assert_near(&[value], &numbers(&expected), &case);
    let expected = gradients(&exact, &expected.backward());
    let names = |all: &[Named]| all.iter().map(|p| (p.name.clone(), p.shape.clone())).collect::<Vec<_>>();
    assert_eq!(names(&found), names(&values(&net)), "{case}");
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let most = expected.iter().map(|by| largest(&by.values)).fold(0.0, f64::max);
    assert!(most > 0.1, "{case}: nothing to compare");
    let rounding = ROUNDING * (steps * units) as f64 / 35.0;
    for (found, expected) in found.iter().zip(&expected) {
        let within = rounding.max(ROUNDING) * largest(&expected.values).max(0.01 * most);
        for (k, (found, by)) in found.values.iter().zip(&expected.values).enumerate() {
            assert!((found - by).abs() <= within, "{case} {} {k}: {found} is not {by}", expected.name);
        }
    }
    let said = net.estimates_by_kernels(&here.observations, &here.actions, phase, room);
    let expected = exact.estimates(&there.observations, &there.actions, phase);
    assert_near(&numbers(&said.expect(&case)), &numbers(&expected), &case);
}

/// One of everything, whole lines and parts of units, and sizes without a pattern.
#[test]
fn against_automatic_differentiation() {
    let mut room = KernelWorkspace::default();
    compare([1, 1, 1], Phase::Evaluation, &mut room);
    compare([3, 5, 7], TRAINING, &mut room);
    compare([3, 1, 70], TRAINING, &mut room);
    compare([1, 4, 16], TRAINING, &mut room);
    let mut random = Random::new(4);
    for case in 0..20 {
        let mut up_to = |most: usize| 1 + random.below(most);
        let sizes = [up_to(12), up_to(9), up_to(36)];
        let phase = if case % 3 == 0 { Phase::Evaluation } else { TRAINING };
        compare(sizes, phase, &mut room);
    }
}

/// What kernels cannot do is told, so that tensors do it.
#[test]
fn what_is_left_to_tensors() {
    let mut room = KernelWorkspace::default();
    let mut learn = |precision, batch: &_| {
        let net = net(7, precision);
        net.loss_by_kernels(batch, LabelMean::Known, TRAINING, &mut room).is_some()
    };
    let whole = batch(3, 5, DType::F32);
    assert!(learn(DType::F32, &whole));
    assert!(!learn(DType::F64, &batch(3, 5, DType::F64)));
    for lost in [f32::NAN, f32::INFINITY] {
        let mut spoilt = whole.clone();
        let mut pixels = spoilt.observations.try_to_vec_as::<f32>().unwrap();
        pixels[77] = lost;
        let data = TensorData::new(pixels, spoilt.observations.dims());
        spoilt.observations = Tensor::from_data(data, (&Device::flex().autodiff(), DType::F32));
        assert!(!learn(DType::F32, &spoilt), "{lost}");
    }
}

/// An action that is not finite counts as zeros, as with tensors.
#[test]
fn lost_actions_are_screened() {
    let (net, mut batch) = (net(7, DType::F32), batch(3, 5, DType::F32));
    let mut actions = batch.actions.try_to_vec_as::<f32>().unwrap();
    actions[4] = f32::NAN;
    let data = TensorData::new(actions, batch.actions.dims());
    batch.actions = Tensor::from_data(data, (&Device::flex().autodiff(), DType::F32));
    let found =
        net.loss_by_kernels(&batch, LabelMean::Known, TRAINING, &mut KernelWorkspace::default()).unwrap();
    let expected = net.loss(&batch, LabelMean::Known, TRAINING);
    assert_near(&[found.0], &numbers(&expected), "lost action");
}

/// More than one part of units, more than one sequence a group; every bit.
#[test]
fn the_same_bits_on_any_number_of_threads() {
    let (net, batch) = (net(70, DType::F32), batch(11, 4, DType::F32));
    let learned = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut room = KernelWorkspace::default();
        pool.install(|| net.loss_by_kernels(&batch, LabelMean::Known, TRAINING, &mut room).unwrap())
    };
    let one = learned(1);
    assert!([2, 3].iter().all(|&threads| learned(threads) == one));
}

/// A weight that is not finite, in the head or in a cell: nothing is learned, and nothing changes.
#[test]
fn what_is_not_finite_is_skipped() {
    let (net, batch) = (net(7, DType::F32), batch(3, 5, DType::F32));
    for spoilt in ["head.layers.2.weight", "cells.1.gates.weight", "cells.0.gates.bias"] {
        let mut parameters: Vec<Named> = values(&net);
        let found = parameters.iter_mut().find(|parameter| parameter.name == spoilt);
        found.unwrap_or_else(|| panic!("no {spoilt}")).values[0] = f64::NAN;
        let net = with_values(net.clone(), &parameters);
        let mut room = KernelWorkspace::default();
        let loss = net.loss_by_kernels(&batch, LabelMean::Known, TRAINING, &mut room);
        let (loss, by) = loss.expect("weights are not asked");
        let mut optimiser = Optimiser::new(Rule::Adam(Adam::default()), 1e-3);
        let (_, report) = optimiser.step_by(net, loss, &by);
        assert_eq!(report.skipped, Some(Skipped::Loss), "{spoilt}");
    }
}
