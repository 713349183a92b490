//! The gradient of the LSTM baseline through time by hand, against automatic differentiation.

mod common;
mod differences;
mod recurrent;

use burn::module::Module;
use burn::tensor::{DType, Tensor};
use common::numbers;
use differences::TRAINING;
use driftless::baseline::{CellKind, LossByHand};
use driftless::optimise::{Adam, Optimiser, Rule, Skipped};
use driftless::parameters::{Named, gradients, values, with_values};
use driftless::{Batch, LabelMean, Phase};
use recurrent::{Net, assert_near, batch, exact, net, noise};

/// Values, and gradients by the parameters of the encoder, both cells and the head, against those of
/// 64 bits.
#[test]
fn against_automatic_differentiation() {
    for (size, steps, tracking, phase) in [
        (3, 5, false, Phase::Evaluation),
        (3, 5, true, TRAINING),
        (3, 1, false, TRAINING),
        (1, 4, false, TRAINING),
    ] {
        let net = net(CellKind::Lstm, 7, tracking, DType::F32);
        let exact = exact(&net, 7, tracking);
        let case = format!("{size} {steps} {tracking} {phase:?}");
        let (here, there) = (batch(size, steps, DType::F32), batch(size, steps, DType::F64));
        let first = |precision| tracking.then(|| noise([size, 3], 21, precision));
        let expected = exact.loss(&there, first(DType::F64), LabelMean::Share(0.3), phase);
        let LossByHand { value, surrogate } =
            net.loss_by_hand(&here, first(DType::F32), LabelMean::Share(0.3), phase);
        assert_near(&[value], &numbers(&expected), &case);
        assert_eq!(numbers(&surrogate), [value], "{case}");
        let expected = gradients(&exact, &expected.backward());
        let found = gradients(&net, &surrogate.backward());
        assert_eq!(found.len(), values(&net).len(), "{case}: all parameters are reached");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.name, expected.name);
            assert_near(&found.values, &expected.values, &format!("{case} {}", found.name));
        }
        let said = |net: &Net, batch: &Batch<Tensor<5>>, by_hand: bool| {
            let (observations, actions) = (&batch.observations, &batch.actions);
            let first = first(actions.dtype());
            let estimates = if by_hand { Net::estimates_by_hand } else { Net::estimates };
            numbers(&estimates(net, observations, actions, first, phase))
        };
        assert_near(&said(&net, &here, true), &said(&exact, &there, false), &case);
    }
}

/// Other cells, and other precisions, are left to automatic differentiation.
#[test]
fn what_is_not_by_hand_is_the_reference() {
    for (cell, precision) in [(CellKind::Gru, DType::F32), (CellKind::Lstm, DType::F64)] {
        let (net, batch) = (net(cell, 7, false, precision), batch(3, 5, precision));
        let reference = net.loss(&batch, None, LabelMean::Known, TRAINING);
        let found = net.loss_by_hand(&batch, None, LabelMean::Known, TRAINING);
        assert_eq!([found.value], numbers(&reference)[..]);
        let found = gradients(&net, &found.surrogate.backward());
        assert_eq!(found, gradients(&net, &reference.backward()), "{cell:?} {precision:?}");
    }
}

/// The head, or the last cell, may be frozen: the others learn on, as they would otherwise.
#[test]
fn what_is_frozen_stays_so() {
    let batch = batch(3, 5, DType::F32);
    let by_hand = |net: &Net| {
        let loss = net.loss_by_hand(&batch, None, LabelMean::Known, TRAINING);
        gradients(net, &loss.surrogate.backward())
    };
    let whole = net(CellKind::Lstm, 7, false, DType::F32);
    let (mut no_head, mut no_cell) = (whole.clone(), whole.clone());
    no_head.head = no_head.head.no_grad();
    no_cell.cells[1] = no_cell.cells[1].clone().no_grad();
    for (frozen, net) in [("head", no_head), ("cells.1", no_cell)] {
        let expected: Vec<Named> =
            by_hand(&whole).into_iter().filter(|gradient| !gradient.name.starts_with(frozen)).collect();
        assert_eq!(by_hand(&net), expected, "{frozen}");
    }
}

/// Sizes at which products are cut into parts; every bit of the gradient.
#[test]
fn the_same_bits_on_any_number_of_threads() {
    let (net, batch) = (net(CellKind::Lstm, 70, false, DType::F32), batch(5, 9, DType::F32));
    let learned = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let loss = net.loss_by_hand(&batch, None, LabelMean::Known, TRAINING);
            (loss.value, gradients(&net, &loss.surrogate.backward()))
        })
    };
    let one = learned(1);
    assert!([2, 3].iter().all(|&threads| learned(threads) == one));
}

/// A weight that is not finite, in the head or in a cell: nothing is learned, and nothing changes.
#[test]
fn what_is_not_finite_is_skipped() {
    let (net, batch) = (net(CellKind::Lstm, 7, false, DType::F32), batch(3, 5, DType::F32));
    for spoilt in ["head.layers.2.weight", "cells.1.Lstm.gates.weight", "cells.0.Lstm.gates.bias"] {
        let mut parameters: Vec<Named> = values(&net);
        let found = parameters.iter_mut().find(|parameter| parameter.name == spoilt);
        found.unwrap_or_else(|| panic!("no {spoilt}")).values[0] = f64::NAN;
        let net = with_values(net.clone(), &parameters);
        let loss = net.loss_by_hand(&batch, None, LabelMean::Known, TRAINING);
        assert!(!loss.value.is_finite(), "{spoilt}");
        let mut optimiser = Optimiser::new(Rule::Adam(Adam::default()), 1e-3);
        let (after, report) = optimiser.step(net, &loss.surrogate);
        assert_eq!(report.skipped, Some(Skipped::Loss), "{spoilt}");
        let bits =
            |all: &[Named]| all.iter().flat_map(|p| p.values.clone()).map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&values(&after)), bits(&parameters), "{spoilt}");
    }
}
