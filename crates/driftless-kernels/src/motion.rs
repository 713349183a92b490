//! A learned motion: how far poses go by an action, and the way back to its layers and to the poses.

use crate::Cpu;
use crate::mlp::{Mlp, MlpGradient, MlpMemory};
use crate::places::{Box2, add_by_poses, place_rows};

/// Displacements of poses: place, cosine and sine of the heading and the action, through layers with ReLU between them.
#[derive(Clone, Debug)]
pub struct MotionNet {
    /// From seven numbers to three.
    pub layers: Mlp,
    /// What is subtracted from a position.
    pub centre: [f32; 2],
    /// What it is then divided by.
    pub extent: [f32; 2],
    /// What actions are divided by.
    pub action: [f32; 3],
    /// What the results are multiplied by.
    pub step: [f32; 3],
}

/// What a step is remembered by, and room to work.
#[derive(Clone, Debug, Default)]
pub struct MotionStep {
    inputs: Vec<f32>,
    layers: MlpMemory,
    by_results: Vec<f32>,
    by_inputs: Vec<f32>,
}

/// Numbers of a pose that come before those of an action.
const OF_POSES: usize = 4;

impl MotionNet {
    fn place(&self) -> Box2 {
        Box2 { centre: self.centre, extent: self.extent }
    }
}

impl MotionStep {
    /// Sends poses, given as columns (positions, cosines and sines of headings), through the layers.
    pub fn displace(&mut self, net: &MotionNet, cpu: Cpu, columns: [&[f32]; 4], action: [f32; 3]) {
        let width = net.layers.input_width();
        place_rows(net.place(), columns, width, &mut self.inputs);
        let action = [0, 1, 2].map(|k| action[k] / net.action[k]);
        for row in self.inputs.chunks_exact_mut(width) {
            row[OF_POSES..OF_POSES + 3].copy_from_slice(&action);
        }
        net.layers.forward(cpu, &self.inputs, columns[0].len(), &mut self.layers);
    }

    /// How far each pose goes.
    pub fn displacements<'a>(&'a self, net: &'a MotionNet) -> impl Iterator<Item = [f32; 3]> + 'a {
        let rows = self.layers.results().chunks_exact(net.layers.width());
        rows.map(|row| [0, 1, 2].map(|k| row[k] * net.step[k]))
    }

    /// Adds the derivatives by all weights, given those by displacements. Where poses are not constants, `moving` is the
    /// part of them that goes on to the poses, and is added to those by the poses.
    pub fn backward(
        &mut self,
        net: &MotionNet,
        cpu: Cpu,
        (learned, moving): (&[Vec<f32>; 3], Option<&[Vec<f32>; 3]>),
        sum: &mut MlpGradient,
        by_poses: &mut [Vec<f32>; 3],
    ) {
        let Self { inputs, layers, by_results, by_inputs } = self;
        results(net, learned, by_results);
        net.layers.backward(cpu, inputs, by_results, layers, sum);
        let Some(moving) = moving else { return };
        results(net, moving, by_results);
        net.layers.lead_back(cpu, by_results, layers, by_inputs);
        let ones = vec![1.0; moving[0].len()];
        add_by_poses(net.place(), (inputs, by_inputs), net.layers.input_width(), &ones, by_poses);
    }

    /// Takes the room that another step works in.
    pub fn take_room(&mut self, other: &mut Self) {
        self.layers.take_room(&mut other.layers);
        std::mem::swap(&mut self.by_results, &mut other.by_results);
        std::mem::swap(&mut self.by_inputs, &mut other.by_inputs);
    }
}

/// Derivatives by the last layer's results, of those by displacements.
fn results(net: &MotionNet, by: &[Vec<f32>; 3], rows: &mut Vec<f32>) {
    let width = net.layers.width();
    rows.clear();
    rows.resize(by[0].len() * width, 0.0);
    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
        (0..3).for_each(|k| row[k] = by[k][i] * net.step[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::angles::turn;
    use crate::testing::numbers;

    const COUNT: usize = 5;
    const ACTION: [f32; 3] = [0.3, -0.1, 0.2];

    fn net() -> MotionNet {
        let mut layers = Mlp::new(7, &[20, 3], false);
        for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
            let [inputs, outputs] = layer.shape();
            let (weight, bias) = (numbers(inputs * outputs, k as u64), numbers(outputs, 9 + k as u64));
            layer.set_by(|i, o| weight[i * outputs + o], &bias);
        }
        MotionNet {
            layers,
            centre: [0.2, -0.1],
            extent: [2.0, 0.5],
            action: [0.5, 0.25, 0.1],
            step: [3.0, 2.0, 0.5],
        }
    }

    /// Σ pull ⊙ displacement of poses x, y, heading, one number after the other, in 64 bits.
    fn along(net: &MotionNet, poses: &[f64], pull: &[Vec<f32>; 3]) -> f64 {
        let of = |i: usize| {
            let [x, y, heading] = [0, 1, 2].map(|k| poses[k * COUNT + i]);
            let mut row = vec![
                (x - f64::from(net.centre[0])) / f64::from(net.extent[0]),
                (y - f64::from(net.centre[1])) / f64::from(net.extent[1]),
                heading.cos(),
                heading.sin(),
            ];
            row.extend((0..3).map(|k| f64::from(ACTION[k]) / f64::from(net.action[k])));
            for (number, layer) in net.layers.layers().iter().enumerate() {
                let [inputs, outputs] = layer.shape();
                let sum = |o: usize| {
                    let terms = (0..inputs).map(|i| row[i] * f64::from(layer.weight(i, o)));
                    terms.sum::<f64>() + f64::from(layer.bias()[o])
                };
                row = (0..outputs).map(|o| if number == 0 { sum(o).max(0.0) } else { sum(o) }).collect();
            }
            (0..3).map(|k| row[k] * f64::from(net.step[k]) * f64::from(pull[k][i])).sum::<f64>()
        };
        (0..COUNT).map(of).sum()
    }

    /// Differences in 64 bits; 32 bits are exact within 1e-4 of numbers of order 10.
    #[test]
    fn displacements_and_their_derivatives() {
        let (net, poses) = (net(), numbers(3 * COUNT, 40));
        let pull: [Vec<f32>; 3] = std::array::from_fn(|k| numbers(COUNT, 50 + k as u64));
        let (mut cosines, mut sines) = (vec![0.0; COUNT], vec![0.0; COUNT]);
        turn(Cpu::best(), &poses[2 * COUNT..], [&mut cosines, &mut sines]);
        let mut step = MotionStep::default();
        let columns = [&poses[..COUNT], &poses[COUNT..2 * COUNT], &cosines, &sines];
        step.displace(&net, Cpu::best(), columns, ACTION);
        let exact: Vec<f64> = poses.iter().map(|&x| f64::from(x)).collect();
        let found: f64 = step.displacements(&net).enumerate().fold(0.0, |sum, (i, by)| {
            sum + (0..3).map(|k| f64::from(by[k]) * f64::from(pull[k][i])).sum::<f64>()
        });
        assert!((found - along(&net, &exact, &pull)).abs() < 1e-4);
        let (mut sum, mut by_poses) =
            (MlpGradient::default(), [vec![0.0; COUNT], vec![0.0; COUNT], vec![0.0; COUNT]]);
        step.backward(&net, Cpu::best(), (&pull, Some(&pull)), &mut sum, &mut by_poses);
        for k in 0..3 * COUNT {
            let at = |by: f64| {
                let mut poses = exact.clone();
                poses[k] += by;
                along(&net, &poses, &pull)
            };
            let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
            let found = f64::from(by_poses[k / COUNT][k % COUNT]);
            assert!((found - expected).abs() < 1e-3, "{k}: {found}, not {expected}");
        }
        // The last layer's biases move all results alike.
        for (k, pull) in pull.iter().enumerate() {
            let expected = f64::from(net.step[k] * pull.iter().sum::<f32>());
            assert!((f64::from(sum[1].bias[k]) - expected).abs() < 1e-4);
        }
    }
}
