//! Layers one after the other, on some hundred rows at a time; forward and backward.

use crate::dense::{Layer, LayerGradient, Rows};
use crate::{Cpu, padded};

/// Layers, all but perhaps the last with ReLU.
#[derive(Clone, Debug)]
pub struct Mlp {
    layers: Vec<Layer>,
}

/// What a backward pass needs of a forward pass; and room to work.
#[derive(Clone, Debug, Default)]
pub struct MlpMemory {
    count: usize,
    /// The results of each layer.
    levels: Vec<Vec<f32>>,
    by_level: [Vec<f32>; 2],
    counted: Vec<f32>,
}

impl MlpMemory {
    /// The results of the last forward pass, rows of [`Mlp::width`] numbers.
    pub fn results(&self) -> &[f32] {
        self.levels.last().map_or(&[], |last| &last[..])
    }

    /// Takes the room that another one works in: many of them need it one after the other.
    pub fn take_room(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.by_level, &mut other.by_level);
        std::mem::swap(&mut self.counted, &mut other.counted);
    }
}

/// The derivatives of a loss by all weights, layer by layer.
pub type MlpGradient = Vec<LayerGradient>;

impl Mlp {
    /// Layers of zeros from so many inputs; the last one with ReLU if `relu`.
    ///
    /// # Panics
    /// If there are no layers.
    pub fn new(inputs: usize, widths: &[usize], relu: bool) -> Self {
        assert!(!widths.is_empty(), "a network has layers");
        let before = std::iter::once(inputs).chain(widths.iter().copied());
        let last = widths.len() - 1;
        let layer = |(k, (from, &to)): (usize, (usize, &usize))| Layer::new([from, to], k < last || relu);
        Self { layers: before.zip(widths).enumerate().map(layer).collect() }
    }

    /// The layers, to set their weights.
    pub fn layers_mut(&mut self) -> &mut [Layer] {
        &mut self.layers
    }

    /// The layers.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// From one row of results to the next.
    pub fn width(&self) -> usize {
        self.layers[self.layers.len() - 1].width()
    }

    /// Numbers that a forward pass remembers of each row.
    pub fn results(&self) -> usize {
        self.layers.iter().map(Layer::width).sum()
    }

    /// From one row of inputs to the next.
    pub fn input_width(&self) -> usize {
        padded(self.layers[0].shape()[0])
    }

    /// Results of so many rows of inputs, [`Mlp::input_width`] apart.
    pub fn forward(&self, cpu: Cpu, inputs: &[f32], count: usize, memory: &mut MlpMemory) {
        memory.count = count;
        memory.levels.resize(self.layers.len(), Vec::new());
        for (number, layer) in self.layers.iter().enumerate() {
            let (before, after) = memory.levels.split_at_mut(number);
            let numbers = before.last().map_or(inputs, |last| &last[..]);
            let stride = padded(layer.shape()[0]);
            after[0].resize(count * layer.width(), 0.0);
            layer.forward(cpu, Rows { numbers, stride }, count, &mut after[0]);
        }
    }

    /// Adds the derivatives by all weights, given those by the results of the last forward pass of these inputs;
    /// which have been led back through the last ReLU, if there is one.
    pub fn backward(
        &self,
        cpu: Cpu,
        inputs: &[f32],
        by_results: &[f32],
        memory: &mut MlpMemory,
        sum: &mut MlpGradient,
    ) {
        sum.resize(self.layers.len(), LayerGradient::default());
        self.descend(cpu, inputs, by_results, memory, |number, rows, by, count| {
            self.layers[number].differentiate(cpu, rows, by, count, &mut sum[number]);
        });
    }

    /// The same, with each row counted as often as a factor says in the derivatives by weights, and once in those by
    /// inputs: a row's own derivatives are linear in it, so that two losses need not go back one after the other.
    pub fn backward_counted(
        &self,
        cpu: Cpu,
        (inputs, by_results): (&[f32], &[f32]),
        factors: &[f32],
        memory: &mut MlpMemory,
        sum: &mut MlpGradient,
    ) {
        sum.resize(self.layers.len(), LayerGradient::default());
        let mut counted = std::mem::take(&mut memory.counted);
        self.descend(cpu, inputs, by_results, memory, |number, rows, by, count| {
            let layer = &self.layers[number];
            counted.resize(by.len().max(counted.len()), 0.0);
            let width = layer.width();
            let both = by.chunks_exact(width).zip(counted.chunks_exact_mut(width));
            for ((row, to), factor) in both.zip(factors) {
                to.iter_mut().zip(row).for_each(|(to, x)| *to = factor * x);
            }
            layer.differentiate(cpu, rows, &counted, count, &mut sum[number]);
        });
        memory.counted = counted;
    }

    /// The derivatives by the inputs alone, [`Mlp::input_width`] apart; weights are constants.
    pub fn lead_back(&self, cpu: Cpu, by_results: &[f32], memory: &mut MlpMemory, by_inputs: &mut Vec<f32>) {
        self.descend(cpu, &[], by_results, memory, |_, _, _, _| ());
        by_inputs.resize(memory.count * self.input_width(), 0.0);
        self.by_inputs(cpu, memory, by_inputs);
    }

    /// Goes back through all layers but the first; at each, says its number, its inputs and the derivatives by its results.
    fn descend(
        &self,
        cpu: Cpu,
        inputs: &[f32],
        by_results: &[f32],
        memory: &mut MlpMemory,
        mut at: impl FnMut(usize, Rows, &[f32], usize),
    ) {
        let MlpMemory { count, levels, by_level: [by_this, by_before], .. } = memory;
        let count = *count;
        by_this.clear();
        by_this.extend_from_slice(&by_results[..count * self.width()]);
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let stride = padded(layer.shape()[0]);
            let x = number.checked_sub(1).map(|before| &levels[before][..]);
            at(number, Rows { numbers: x.unwrap_or(inputs), stride }, by_this, count);
            if let Some(x) = x {
                by_before.resize(count * stride, 0.0);
                layer.backward(cpu, by_this, count, Some(x), by_before);
                std::mem::swap(by_this, by_before);
            }
        }
    }
}

impl Mlp {
    /// The derivatives by the inputs, [`Mlp::input_width`] apart, of what the last backward pass went back through.
    pub fn by_inputs(&self, cpu: Cpu, memory: &MlpMemory, by_inputs: &mut [f32]) {
        self.layers[0].backward(cpu, &memory.by_level[0], memory.count, None, by_inputs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    const SIZES: [usize; 4] = [3, 20, 16, 5];

    /// Weights and biases in 64 bits, and the network in 32.
    fn network(relu: bool) -> (Vec<[Vec<f64>; 2]>, Mlp) {
        let f64s = |count, salt| numbers(count, salt).into_iter().map(f64::from).collect::<Vec<f64>>();
        let mut mlp = Mlp::new(SIZES[0], &SIZES[1..], relu);
        let mut all = Vec::new();
        for (k, layer) in mlp.layers_mut().iter_mut().enumerate() {
            let ([inputs, outputs], salt) = (layer.shape(), 3 * k as u64);
            let (weight, bias) = (f64s(inputs * outputs, salt), f64s(outputs, salt + 1));
            let bias32: Vec<f32> = bias.iter().map(|&x| x as f32).collect();
            layer.set_by(|i, o| weight[i * outputs + o] as f32, &bias32);
            all.push([weight, bias]);
        }
        (all, mlp)
    }

    fn reference(layers: &[[Vec<f64>; 2]], relu: bool, x: &[f32]) -> Vec<f64> {
        let mut x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        for (k, [weight, bias]) in layers.iter().enumerate() {
            let n = bias.len();
            let y =
                |o: usize| bias[o] + x.iter().enumerate().map(|(i, x)| x * weight[i * n + o]).sum::<f64>();
            let cut = |y: f64| if relu || k + 1 < layers.len() { y.max(0.0) } else { y };
            x = (0..n).map(|o| cut(y(o))).collect();
        }
        x
    }

    /// Inputs as rows, and derivatives of a loss by the results.
    fn lesson(mlp: &Mlp) -> (Vec<f32>, Vec<f32>) {
        let row = |width: usize, count: usize, salt: u64| {
            let mut row = numbers(count, salt);
            row.resize(width, 0.0);
            row
        };
        let rows = |width: usize, count: usize, salt: u64| -> Vec<f32> {
            (0..COUNT as u64).flat_map(|k| row(width, count, salt + k)).collect()
        };
        (rows(mlp.input_width(), SIZES[0], 50), rows(mlp.width(), SIZES[3], 90))
    }

    const COUNT: usize = 23;

    /// Σ g ⊙ results, by the loops.
    fn loss(layers: &[[Vec<f64>; 2]], relu: bool, mlp: &Mlp, inputs: &[f32], pull: &[f32]) -> f64 {
        let rows = inputs.chunks_exact(mlp.input_width()).zip(pull.chunks_exact(mlp.width()));
        let of = |(x, pull): (&[f32], &[f32])| {
            let y = reference(layers, relu, &x[..SIZES[0]]);
            y.iter().zip(pull).map(|(y, &g)| y * f64::from(g)).sum::<f64>()
        };
        rows.map(of).sum()
    }

    /// Sums of twenty products of order 1 in 32 bits are exact within 1e-5.
    #[test]
    fn results_are_those_of_the_formula() {
        for relu in [false, true] {
            let (layers, mlp) = network(relu);
            let (inputs, _) = lesson(&mlp);
            let mut memory = MlpMemory::default();
            mlp.forward(Cpu::best(), &inputs, COUNT, &mut memory);
            let rows = memory.results().chunks_exact(mlp.width());
            for (row, x) in rows.zip(inputs.chunks_exact(mlp.input_width())) {
                for (found, expected) in row.iter().zip(reference(&layers, relu, &x[..SIZES[0]])) {
                    assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
                }
            }
        }
    }

    /// Rows that count twice, not at all, or less than nothing: as if each had been so much larger. Inputs do not know.
    #[test]
    fn rows_are_counted() {
        let (_, mlp) = network(false);
        let (inputs, pull) = lesson(&mlp);
        let factors: Vec<f32> = (0..COUNT).map(|i| [2.0, 0.0, -0.5, 1.0][i % 4]).collect();
        let rows = pull.chunks_exact(mlp.width()).zip(&factors);
        let larger: Vec<f32> = rows.flat_map(|(row, factor)| row.iter().map(move |x| factor * x)).collect();
        let mut memory = MlpMemory::default();
        mlp.forward(Cpu::best(), &inputs, COUNT, &mut memory);
        let [mut found, mut expected] = [MlpGradient::default(), MlpGradient::default()];
        let [mut by_found, mut by_expected] = [vec![0.0; inputs.len()], vec![0.0; inputs.len()]];
        mlp.backward(Cpu::best(), &inputs, &pull, &mut memory, &mut expected);
        mlp.by_inputs(Cpu::best(), &memory, &mut by_expected);
        expected.clear();
        mlp.backward(Cpu::best(), &inputs, &larger, &mut memory, &mut expected);
        mlp.backward_counted(Cpu::best(), (&inputs, &pull), &factors, &mut memory, &mut found);
        mlp.by_inputs(Cpu::best(), &memory, &mut by_found);
        assert_eq!(by_found, by_expected);
        mlp.lead_back(Cpu::best(), &pull, &mut memory, &mut by_found);
        assert_eq!(by_found, by_expected);
        for (found, expected) in found.iter().zip(&expected) {
            // Sums of 23 products of order 1 in 32 bits.
            let apart = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(apart(&found.weight, &expected.weight) && apart(&found.bias, &expected.bias));
            assert!(found.weight.iter().any(|x| x.abs() > 0.1));
        }
    }

    /// Differences of loops in 64 bits are exact but for bends.
    #[test]
    fn gradients_are_those_of_the_formula() {
        for relu in [false, true] {
            let (mut layers, mlp) = network(relu);
            let (inputs, pull) = lesson(&mlp);
            let (mut memory, mut found) = (MlpMemory::default(), MlpGradient::default());
            mlp.forward(Cpu::best(), &inputs, COUNT, &mut memory);
            let open = |(&by, &y): (&f32, &f32)| if y > 0.0 || !relu { by } else { 0.0 };
            let by: Vec<f32> = pull.iter().zip(memory.results()).map(open).collect();
            mlp.backward(Cpu::best(), &inputs, &by, &mut memory, &mut found);
            for (k, gradient) in found.iter().enumerate() {
                let [rows, outputs] = mlp.layers()[k].shape();
                for (i, o) in (0..rows).flat_map(|i| (0..outputs).map(move |o| (i, o))).step_by(7) {
                    for (part, at, found) in
                        [(0, i * outputs + o, gradient.of(i, o, outputs)), (1, o, gradient.bias[o])]
                    {
                        let mut at_step = |step: f64| {
                            layers[k][part][at] += step;
                            let loss = loss(&layers, relu, &mlp, &inputs, &pull);
                            layers[k][part][at] -= step;
                            loss
                        };
                        let expected = (at_step(1e-6) - at_step(-1e-6)) / 2e-6;
                        let error = (f64::from(found) - expected).abs();
                        assert!(error < 1e-4 * (1.0 + expected.abs()), "layer {k}: {found} {expected}");
                    }
                }
            }
        }
    }
}
