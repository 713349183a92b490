//! Against the twin in plain Python, `checks/pf_rnn_twin.py`, whose numbers `golden.txt` holds.

use super::*;
use crate::baseline::particle_cell::ParticleCell;
use crate::parameters::{Named, values, with_values};
use crate::resample::{Scheme, Soft};
use crate::testing::{assert_close, numbers};
use burn::tensor::{DType, Device};

const BATCH: usize = 2;
const PARTICLES: usize = 3;
const HIDDEN: usize = 2;
const INPUTS: usize = 2;
const STEPS: usize = 3;
/// As the twin has it, where it says why.
const TOLERANCE: f64 = 1e-12;

fn wave(place: usize, index: usize) -> f64 {
    0.4 * (0.7 * index as f64 + 1.3 * place as f64 + 0.5).sin()
}

fn golden(name: &str) -> Vec<f64> {
    let lines = include_str!("golden.txt").lines();
    let found = lines.filter_map(|line| line.split_once(' ')).find(|(key, _)| *key == name);
    found.expect("a line").1.split(' ').map(|number| number.parse().unwrap()).collect()
}

fn waves<const D: usize>(place: usize, shape: [usize; D], of: impl Fn(f64) -> f64) -> Tensor<D> {
    let count = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| of(wave(place, i))).collect();
    Tensor::from_data(TensorData::new(values, shape), (&Device::flex().autodiff(), DType::F64))
}

fn init() -> Init {
    Init::new(3, &Device::flex().autodiff(), DType::F64)
}

fn cell(kind: CellKind) -> ParticleCell {
    let cell = ParticleCell::new(kind, [PARTICLES, HIDDEN, INPUTS], &mut init());
    let place = |name: &str| match name {
        "gates.weight" => 0,
        "gates.bias" => 1,
        "candidate.0.weight" => 2,
        "candidate.0.bias" => 3,
        "scale" => 4,
        "shift" => 5,
        "likelihood.weight" => 6,
        "likelihood.bias" => 7,
        other => panic!("{other}"),
    };
    let filled = |parameter: Named| {
        let (place, base) = (place(&parameter.name), if parameter.name == "scale" { 1.0 } else { 0.0 });
        let values = (0..parameter.values.len()).map(|i| base + wave(place, i)).collect();
        Named { values, ..parameter }
    };
    let all: Vec<Named> = values(&cell).into_iter().map(filled).collect();
    with_values(cell, &all)
}

/// Three steps of the twin's inputs.
fn run(cell: &ParticleCell, statistics: Option<&Statistics>) -> (Belief, Vec<Statistics>) {
    let resampler = Soft::new(0.5, Scheme::Systematic);
    let mut belief = Belief::uniform(waves(40, [BATCH, PARTICLES, cell.state()], |x| 0.5 + x));
    let mut found = Vec::new();
    for t in 0..STEPS {
        let uniforms: Vec<f64> = (0..BATCH).map(|s| 0.5 + wave(50 + t, s)).collect();
        let input = CellInput {
            weighed: waves(10 + t, [BATCH, INPUTS], |x| x),
            remembered: waves(20 + t, [BATCH, INPUTS], |x| x),
            noise: waves(30 + t, [BATCH, PARTICLES, HIDDEN], |x| 3.0 * x),
            uniforms: &uniforms,
            statistics,
        };
        let output = cell.step(belief, input, &resampler);
        belief = output.belief;
        found.push(output.statistics);
    }
    (belief, found)
}

#[test]
fn cells_are_the_twins() {
    for (kind, name) in [(CellKind::Lstm, "lstm"), (CellKind::Gru, "gru")] {
        let (belief, statistics) = run(&cell(kind), None);
        assert_close(&numbers(&belief.states), &golden(&format!("{name}.states")), TOLERANCE);
        assert_close(&numbers(&belief.weights.log()), &golden(&format!("{name}.log_weights")), TOLERANCE);
        let found = statistics.iter().flat_map(|found| found.mean.iter().chain(&found.variance).copied());
        assert_close(&found.collect::<Vec<f64>>(), &golden(&format!("{name}.statistics")), TOLERANCE);
    }
}

/// With given statistics each particle is normalised by those of its number: others' mean nothing to it.
#[test]
fn statistics_are_of_a_particle_number() {
    let cell = cell(CellKind::Gru);
    let given = Statistics { mean: vec![0.1, -0.2, 0.3], variance: vec![1.0, 0.5, 2.0] };
    let states = |given: &Statistics| {
        let input = CellInput {
            weighed: waves(10, [BATCH, INPUTS], |x| x),
            remembered: waves(20, [BATCH, INPUTS], |x| x),
            noise: waves(30, [BATCH, PARTICLES, HIDDEN], |x| 3.0 * x),
            uniforms: &[0.5; BATCH],
            statistics: Some(given),
        };
        let start = Belief::uniform(waves(40, [BATCH, PARTICLES, HIDDEN], |x| 0.5 + x));
        // Without weights to tell them apart, systematic numbers leave all where they are.
        let flat = with_values(
            cell.clone(),
            &[Named {
                name: "likelihood.weight".into(),
                shape: vec![HIDDEN + INPUTS, 1],
                precision: DType::F64,
                values: vec![0.0; HIDDEN + INPUTS],
            }],
        );
        numbers(&flat.step(start, input, &Soft::new(0.5, Scheme::Systematic)).belief.states)
    };
    let before = states(&given);
    let after = states(&Statistics { mean: vec![0.1, -0.2, 0.7], ..given });
    for (k, (a, b)) in before.iter().zip(&after).enumerate() {
        assert_eq!(a == b, (k / HIDDEN) % PARTICLES != 2, "{k}: {a} {b}");
    }
}

#[test]
fn losses_are_the_twins() {
    let units = ParticleUnits { low: [-1.0, 2.0], size: [4.0, 8.0], action_std: [1.0; 3] };
    let observation = Dense::new(1, 1, &mut init());
    let network = ParticleRnn::new(CellKind::Gru, (observation, 1), PARTICLES, units, &mut init());
    let truth: Vec<f64> = (0..BATCH * STEPS)
        .flat_map(|row| {
            let raw = [0, 1, 2].map(|n| wave(60, row * 3 + n));
            [1.0 + 4.0 * raw[0], 6.0 + 5.0 * raw[1], 5.0 * raw[2]]
        })
        .collect();
    let device = Device::flex().autodiff();
    let truth = Tensor::<3>::from_data(TensorData::new(truth, [BATCH, STEPS, 3]), (&device, DType::F64));
    let labels = Labels::new(truth, Tensor::from_data([[true, false, true], [true; 3]], &device));
    let rollout = ParticleRollout {
        said: waves(61, [BATCH, STEPS, 3], |x| 0.5 + x),
        each: (0..STEPS).map(|t| waves(62 + t, [BATCH, PARTICLES, 3], |x| 0.5 + x)).collect(),
        statistics: Vec::new(),
    };
    let [sum, mean] = network.losses(&rollout, &labels);
    assert_close(&[numbers(&sum)[0], numbers(&mean)[0]], &golden("losses"), TOLERANCE);
}
