//! The LSTM against loops over its formula in 64 bits, and differences of those.

use super::*;
use crate::testing::numbers;
use proptest::prelude::*;

/// Sizes of a case.
#[derive(Clone, Copy, Debug)]
struct Case {
    steps: usize,
    sequences: usize,
    inputs: usize,
    units: usize,
}

/// All numbers in 64 bits: weights, biases, inputs, and derivatives of a loss by the outputs.
#[derive(Clone)]
struct Numbers {
    case: Case,
    weight: Vec<f64>,
    bias: Vec<f64>,
    x: Vec<f64>,
    pull: Vec<f64>,
}

fn f32s(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&x| x as f32).collect()
}

/// Rows without gaps as rows that are padded.
pub(super) fn wide(numbers: &[f64], width: usize) -> Vec<f32> {
    let row = |row: &[f64]| {
        let mut row = f32s(row);
        row.resize(padded(width), 0.0);
        row
    };
    numbers.chunks_exact(width).flat_map(row).collect()
}

impl Numbers {
    fn new(case: Case) -> Self {
        let Case { steps, sequences, inputs, units } = case;
        let f64s = |count: usize, salt: u64, scale: f64| -> Vec<f64> {
            numbers(count, salt).into_iter().map(|x| f64::from((f64::from(x) * scale) as f32)).collect()
        };
        let scale = 2.0 / ((inputs + units) as f64).sqrt();
        Self {
            case,
            weight: f64s((inputs + units) * 4 * units, 1, scale),
            bias: f64s(4 * units, 2, 1.0),
            x: f64s(steps * sequences * inputs, 3, 1.0),
            pull: f64s(steps * sequences * units, 4, 1.0),
        }
    }

    /// h of all steps, by loops.
    fn outputs(&self) -> Vec<f64> {
        let Case { steps, sequences, inputs, units } = self.case;
        let logistic = |z: f64| 1.0 / (1.0 + (-z).exp());
        let mut all = vec![0.0; steps * sequences * units];
        for sequence in 0..sequences {
            let (mut h, mut c) = (vec![0.0; units], vec![0.0; units]);
            for t in 0..steps {
                let row = t * sequences + sequence;
                let joint = [&self.x[row * inputs..][..inputs], &h[..]].concat();
                let gate = |k: usize, unit: usize| {
                    let column = k * units + unit;
                    let terms =
                        joint.iter().enumerate().map(|(i, v)| v * self.weight[i * 4 * units + column]);
                    self.bias[column] + terms.sum::<f64>()
                };
                for (u, c) in c.iter_mut().enumerate() {
                    *c = logistic(gate(2, u) + 1.0) * *c + logistic(gate(0, u)) * gate(1, u).tanh();
                }
                h = (0..units).map(|u| c[u].tanh() * logistic(gate(3, u))).collect();
                all[row * units..][..units].copy_from_slice(&h);
            }
        }
        all
    }

    /// Σ pull ⊙ h.
    fn loss(&self) -> f64 {
        self.outputs().iter().zip(&self.pull).map(|(h, pull)| h * pull).sum()
    }

    /// Weights, biases or inputs.
    fn part(&mut self, part: usize) -> &mut Vec<f64> {
        [&mut self.weight, &mut self.bias, &mut self.x].into_iter().nth(part).expect("three parts")
    }

    /// Outputs and derivatives by weights, biases and inputs, by the kernels.
    fn learned(&self, cpu: Cpu, memory: &mut LstmMemory) -> (Vec<f32>, [Vec<f32>; 3]) {
        let Case { steps, sequences, inputs, units } = self.case;
        let lstm = Lstm::new([inputs, units], &f32s(&self.weight), &f32s(&self.bias));
        let x = wide(&self.x, inputs);
        let rows = Rows { numbers: &x, stride: padded(inputs) };
        lstm.forward(cpu, rows, [steps, sequences], memory);
        let narrow = |numbers: &[f32], width: usize| -> Vec<f32> {
            numbers.chunks_exact(padded(width)).flat_map(|row| row[..width].to_vec()).collect()
        };
        let outputs = narrow(memory.outputs(), units);
        let (mut gradient, mut by_x) = (LstmGradient::default(), vec![5.0; 3]);
        let pull = wide(&self.pull, units);
        lstm.backward(cpu, rows, &pull, memory, (&mut gradient, Some(&mut by_x)));
        let [weight, bias] = lstm.gradient(&gradient);
        (outputs, [weight, bias, narrow(&by_x, inputs)])
    }

    /// Fails unless outputs, and some derivatives of each kind, are those of the loops. Numbers of order 1 go through
    /// steps · (inputs + units) roundings of 6e-8 at most, and derivatives add up as many rows.
    fn check(&self, cpu: Cpu, memory: &mut LstmMemory) {
        let (outputs, gradients) = self.learned(cpu, memory);
        for (found, expected) in outputs.iter().zip(self.outputs()) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{:?}: {found} {expected}", self.case);
        }
        for (part, found) in gradients.iter().enumerate() {
            let mut moved = self.clone();
            let count = moved.part(part).len();
            assert_eq!(found.len(), count);
            let largest = found.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
            // Twelve places without a pattern: a step would always meet the same gate.
            for at in numbers(12, 9).into_iter().map(|x| (count as f32 * x.abs()) as usize % count) {
                let mut at_step = |step: f64| {
                    moved.part(part)[at] += step;
                    let loss = moved.loss();
                    moved.part(part)[at] -= step;
                    loss
                };
                let expected = (at_step(1e-5) - at_step(-1e-5)) / 2e-5;
                let error = (f64::from(found[at]) - expected).abs();
                let close = error < 1e-5 * f64::from(largest) + 1e-7;
                assert!(close, "{:?} {part} {at}: {} {expected}", self.case, found[at]);
            }
        }
    }
}

/// One of everything; units that are not whole lines; more than one part; more than one block of rows, of columns and
/// of sums.
#[test]
fn outputs_and_gradients_are_those_of_the_formula() {
    let cases = [[1, 1, 1, 1], [3, 2, 5, 7], [4, 3, 16, 33], [2, 1, 3, 70], [9, 31, 2, 3], [2, 50, 270, 2]];
    for [steps, sequences, inputs, units] in cases {
        for cpu in Cpu::all() {
            let numbers = Numbers::new(Case { steps, sequences, inputs, units });
            numbers.check(cpu, &mut LstmMemory::default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Two cases after each other in the same memory.
    #[test]
    fn of_any_sizes(sizes in prop::array::uniform8(1_usize..9), many in 1_usize..40) {
        let [steps, sequences, inputs, units, later, others, wider, thinner] = sizes;
        let mut memory = LstmMemory::default();
        Numbers::new(Case { steps, sequences, inputs, units: units * many }).check(Cpu::best(), &mut memory);
        let after = Case { steps: later, sequences: others, inputs: wider, units: thinner * 9 };
        Numbers::new(after).check(Cpu::best(), &mut memory);
    }
}

/// All that is computed, on a pool of so many threads.
pub(super) fn on<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(job)
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let numbers = Numbers::new(Case { steps: 5, sequences: 13, inputs: 20, units: 150 });
    let one = on(1, || numbers.learned(Cpu::best(), &mut LstmMemory::default()));
    for threads in [2, 3] {
        assert_eq!(on(threads, || numbers.learned(Cpu::best(), &mut LstmMemory::default())), one);
    }
}
