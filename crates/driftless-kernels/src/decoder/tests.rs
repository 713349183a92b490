//! The decoder against loops over its formula in 64 bits, and differences of those.

use super::*;
use crate::images::Padding;
use crate::padded;
use crate::testing::numbers;

struct Reference {
    plan: ImagePlan,
    /// [features, channel · row · column] and biases, then [inputs, outputs, 3, 3] and biases of each convolution.
    layers: Vec<[Vec<f64>; 2]>,
    relu: bool,
}

fn f32s(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&x| x as f32).collect()
}

impl Reference {
    fn new(plan: &ImagePlan, relu: bool) -> Self {
        let f64s =
            |count, salt| numbers(count, salt).into_iter().map(|x| 0.4 * f64::from(x)).collect::<Vec<f64>>();
        let patches = plan.patches();
        let inner = patches[patches.len() - 1].count() * plan.channels[plan.channels.len() - 1];
        let mut layers = vec![[f64s(plan.features * inner, 1), f64s(inner, 2)]];
        for (k, (patches, inputs)) in patches.iter().zip(&plan.channels).rev().enumerate() {
            let salt = 10 + 2 * k as u64;
            layers.push([f64s(inputs * patches.length(), salt), f64s(patches.channels, salt + 1)]);
        }
        Self { plan: plan.clone(), layers, relu }
    }

    fn kernel(&self) -> DecoderNet {
        let mut net = DecoderNet::new(self.plan.clone(), self.relu);
        let [weight, bias] = &self.layers[0];
        let count = bias.len();
        net.set_dense(|input, output| weight[input * count + output] as f32, &f32s(bias));
        for (number, [weight, bias]) in self.layers[1..].iter().enumerate() {
            net.set_deconv(number, &f32s(weight), &f32s(bias));
        }
        net
    }

    /// The image of one row of features, channel after channel.
    fn image(&self, features: &[f32]) -> Vec<f64> {
        let [weight, bias] = &self.layers[0];
        let inner = bias.len();
        let term =
            |j: usize| features.iter().enumerate().map(move |(i, &x)| f64::from(x) * weight[i * inner + j]);
        let mut x: Vec<f64> = (0..inner).map(|j| (bias[j] + term(j).sum::<f64>()).max(0.0)).collect();
        let levels = self.plan.patches();
        for (k, (level, [weight, bias])) in levels.iter().rev().zip(&self.layers[1..]).enumerate() {
            let ([h, w], [rows, columns], outputs) = (level.large, level.small, level.channels);
            let mut y: Vec<f64> = (0..outputs * h * w).map(|at| bias[at / (h * w)]).collect();
            for (at, x) in x.iter().enumerate() {
                let (i, r, c) = (at / (rows * columns), at / columns % rows, at % columns);
                for (o, u, v) in (0..outputs * 9).map(|k| (k / 9, k / 3 % 3, k % 3)) {
                    let p = (2 * r + u).wrapping_sub(level.before[0]);
                    let q = (2 * c + v).wrapping_sub(level.before[1]);
                    if p < h && q < w {
                        y[(o * h + p) * w + q] += x * weight[(i * outputs + o) * 9 + 3 * u + v];
                    }
                }
            }
            let relu = self.relu || k + 1 < levels.len();
            x = y.into_iter().map(|y| if relu { y.max(0.0) } else { y }).collect();
        }
        x
    }

    /// Σ (image - wanted)².
    fn error(&self, features: &[f32], wanted: &[f32]) -> f64 {
        let pixels = self.plan.image.iter().product();
        let rows = features.chunks_exact(padded(self.plan.features)).zip(wanted.chunks_exact(pixels));
        let of = |(row, wanted): (&[f32], &[f32])| {
            let image = self.image(&row[..self.plan.features]);
            image.iter().zip(wanted).map(|(x, &y)| (x - f64::from(y)).powi(2)).sum::<f64>()
        };
        rows.map(of).sum()
    }
}

const COUNT: usize = 5;

fn cases() -> Vec<Reference> {
    let plan = |image, channels: &[usize], features, padding| ImagePlan {
        image,
        channels: channels.to_vec(),
        features,
        padding,
    };
    vec![
        Reference::new(&plan([3, 24, 24], &[16, 32, 64], 128, Padding::One), true),
        Reference::new(&plan([3, 8, 8], &[16, 32], 20, Padding::Same), false),
        Reference::new(&plan([1, 5, 4], &[6, 8], 10, Padding::Same), true),
        Reference::new(&plan([2, 1, 1], &[3], 1, Padding::One), false),
    ]
}

fn features(count: usize) -> Vec<f32> {
    let row = |k: usize| {
        let mut row = numbers(count, 70 + k as u64);
        row.resize(padded(count), 0.0);
        row
    };
    (0..COUNT).flat_map(row).collect()
}

/// Numbers of order 1, three layers deep: 1e-4 is more than rounding makes of them, and less than any mistake.
#[test]
fn images_are_those_of_the_formula() {
    for reference in cases() {
        let (net, rows) = (reference.kernel(), features(reference.plan.features));
        let stride = padded(reference.plan.features);
        for cpu in Cpu::all() {
            let mut memory = DecoderMemory::default();
            net.forward(cpu, Rows { numbers: &rows, stride }, COUNT, &mut memory);
            for (k, row) in rows.chunks_exact(stride).enumerate() {
                let expected = reference.image(&row[..reference.plan.features]);
                for (found, expected) in net.image(&memory, k).into_iter().zip(expected) {
                    assert!((f64::from(found) - expected).abs() < 1e-4, "{found} {expected}");
                }
            }
        }
    }
}

/// The squared error and a few derivatives by every tensor, and by features, against differences of the loops.
#[test]
fn gradients_are_those_of_the_formula() {
    for mut reference in cases() {
        let (net, mut rows) = (reference.kernel(), features(reference.plan.features));
        let stride = padded(reference.plan.features);
        let wanted = numbers(COUNT * reference.plan.image.iter().product::<usize>(), 6);
        let (mut memory, mut sum, mut by_features) = Default::default();
        let given = rows.clone();
        let given = Rows { numbers: &given, stride };
        net.forward(Cpu::best(), given, COUNT, &mut memory);
        let sinks = (&mut sum, &mut by_features);
        let error = net.squared_error(Cpu::best(), given, (&wanted, 0.5), &mut memory, sinks);
        assert!((error / reference.error(&rows, &wanted) - 1.0).abs() < 1e-5);
        let close = |found: f32, differences: f64| {
            let expected = 0.5 * differences;
            assert!(
                (f64::from(found) - expected).abs() < 2e-3 * (1.0 + expected.abs()),
                "{found} {expected}"
            );
        };
        for (number, tensors) in gradients(&net, &sum).into_iter().enumerate() {
            for (part, found) in tensors.into_iter().enumerate() {
                for at in (0..found.len()).step_by(found.len().div_ceil(5)) {
                    let mut at_step = |step: f64| {
                        reference.layers[number][part][at] += step;
                        let error = reference.error(&rows, &wanted);
                        reference.layers[number][part][at] -= step;
                        error
                    };
                    close(found[at], (at_step(1e-5) - at_step(-1e-5)) / 2e-5);
                }
            }
        }
        // A step that 32 bits hold exactly.
        let step = 2.0_f32.powi(-12);
        let mut at_step = |step: f32| {
            rows[0] += step;
            let error = reference.error(&rows, &wanted);
            rows[0] -= step;
            error
        };
        close(by_features[0], (at_step(step) - at_step(-step)) / (2.0 * f64::from(step)));
    }
}

fn gradients(net: &DecoderNet, sum: &DecoderGradient) -> Vec<[Vec<f32>; 2]> {
    let deconvs = (0..net.deconvs.len()).map(|number| net.deconv_gradient(number, sum));
    std::iter::once(net.dense_gradient(sum)).chain(deconvs).collect()
}
