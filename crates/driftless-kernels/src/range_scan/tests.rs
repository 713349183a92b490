//! The range network against loops in 64 bits and finite differences.

use super::*;
use crate::testing::numbers;

fn plan() -> ScanPlan {
    ScanPlan { image: [11, 9], channels: 2, bins: 7 }
}

fn weights(plan: &ScanPlan) -> Vec<Vec<f32>> {
    let tensors = plan.tensors().into_iter().enumerate();
    let drawn = tensors.map(|(number, tensor)| {
        let (outputs, rest) = tensor.shape.split_last().expect("a tensor has sizes");
        let inputs: usize = rest.iter().product();
        let scale = if rest.is_empty() { 0.1 } else { (3.0 / inputs as f32).sqrt() };
        numbers(inputs.max(1) * outputs, number as u64).iter().map(|x| scale * x).collect()
    });
    drawn.collect()
}

/// A convolution of one image of pixels with all channels beside each other, zeros outside; `same` outputs.
struct Loop<'a> {
    image: &'a [f64],
    size: [usize; 2],
    channels: usize,
    kernel: [usize; 2],
    stride: [usize; 2],
    before: [usize; 2],
    dilation: usize,
    places: [usize; 2],
}

impl Loop<'_> {
    fn run(&self, weight: &[f64], bias: &[f64]) -> Vec<f64> {
        let (mut all, outputs) = (Vec::new(), bias.len());
        for place in 0..self.places[0] * self.places[1] {
            for (output, bias) in bias.iter().enumerate() {
                let mut sum = *bias;
                for u in 0..self.kernel[0] {
                    for v in 0..self.kernel[1] {
                        let row = place / self.places[1] * self.stride[0] + u;
                        let column = place % self.places[1] * self.stride[1] + v * self.dilation;
                        let inside = (self.before[0]..self.size[0] + self.before[0]).contains(&row)
                            && (self.before[1]..self.size[1] + self.before[1]).contains(&column);
                        if !inside {
                            continue;
                        }
                        let pixel = (row - self.before[0]) * self.size[1] + column - self.before[1];
                        for c in 0..self.channels {
                            let tap = (u * self.kernel[1] + v) * self.channels + c;
                            let x = self.image[pixel * self.channels + c];
                            sum += x * weight[tap * outputs + output];
                        }
                    }
                }
                all.push(sum.max(0.0));
            }
        }
        all
    }
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|x| f64::from(*x)).collect()
}

/// What the first four convolutions make of an image.
fn to_columns(plan: &ScanPlan, weights: &[Vec<f64>], image: &[f32]) -> Vec<f64> {
    let [height, width] = plan.image;
    let columns = width.div_ceil(2);
    let rows = [height, height.div_ceil(2), height.div_ceil(4), height.div_ceil(8)];
    let mut level = wide(image);
    let (mut size, mut channels) = ([height, width], plan.channels);
    for number in 0..4 {
        let (kernel, stride, before) = match number {
            0 => ([5, 5], [2, 2], [2, 2]),
            3 => ([rows[3], 3], [1, 1], [0, 1]),
            _ => ([3, 3], [2, 1], [1, 1]),
        };
        let places = [if number == 3 { 1 } else { rows[number + 1] }, columns];
        let conv = Loop { image: &level, size, channels, kernel, stride, before, dilation: 1, places };
        level = conv.run(&weights[2 * number], &weights[2 * number + 1]);
        (size, channels) = (places, FILTERS[number]);
    }
    level
}

/// The network as its description says it, in 64 bits.
fn reference(plan: &ScanPlan, weights: &[Vec<f64>], image: &[f32], mask: Option<&[f32]>) -> Vec<f64> {
    let (level, columns) = (to_columns(plan, weights, image), plan.columns());
    let residual = |level: &[f64], number: usize, dilation: usize| -> Vec<f64> {
        let before = [0, 2 * dilation];
        let sizes = [1, columns];
        let conv = Loop {
            image: level,
            size: sizes,
            channels: 64,
            kernel: [1, 5],
            stride: [1, 1],
            before,
            dilation,
            places: sizes,
        };
        let seen = conv.run(&weights[2 * number], &weights[2 * number + 1]);
        level.iter().zip(seen).map(|(x, y)| x + y).collect()
    };
    let level = residual(&level, 4, 1);
    let mean: Vec<f64> =
        (0..64).map(|k| level.iter().skip(k).step_by(64).sum::<f64>() / columns as f64).collect();
    let dense = |x: &[f64], number: usize, outputs: usize| -> Vec<f64> {
        let of = |output: usize| {
            let terms = x.iter().enumerate().map(|(i, x)| x * weights[2 * number][i * outputs + output]);
            terms.sum::<f64>() + weights[2 * number + 1][output]
        };
        (0..outputs).map(of).collect()
    };
    let term = dense(&mean, 6, 64);
    let level: Vec<f64> = level.iter().enumerate().map(|(i, x)| x + term[i % 64]).collect();
    let mut level = residual(&level, 5, 2);
    level.iter_mut().zip(mask.into_iter().flatten()).for_each(|(x, mask)| *x *= f64::from(*mask));
    level.chunks_exact(64).flat_map(|column| dense(column, 7, plan.bins)).collect()
}

/// Scores of a few units through eight layers of at most 512 inputs in 32 bits: 1e-4 is a hundred roundings of them.
#[test]
fn scores_are_those_of_loops() {
    let plan = plan();
    let (weights, images) = (weights(&plan), numbers(3 * plan.pixels(), 99));
    let mut net = ScanNet::new(plan);
    net.set(&weights);
    let weights: Vec<Vec<f64>> = weights.iter().map(|tensor| wide(tensor)).collect();
    for cpu in Cpu::all() {
        let mut memory = ScanMemory::default();
        net.forward(cpu, &images, None, &mut memory);
        for (number, image) in images.chunks_exact(plan.pixels()).enumerate() {
            let expected = reference(&plan, &weights, image, None);
            let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            for (i, expected) in expected.iter().enumerate() {
                let row = number * plan.columns() + i / plan.bins;
                let found = f64::from(memory.scores()[row * plan.width() + i % plan.bins]);
                assert!((found - expected).abs() < 1e-4 * largest.max(1.0), "{found} {expected}");
            }
        }
    }
}

/// Every tensor by central differences, in 64 bits, of Σ by · scores along a direction of its own, with dropout. A step
/// of 1e-6 meets no kink of a ReLU but by chance, and errs by 1e-9; derivatives are sums in 32 bits.
#[test]
fn derivatives_by_finite_differences() {
    let plan = plan();
    let images = numbers(2 * plan.pixels(), 5);
    let masks = numbers(2 * plan.mask(), 6);
    let masks: Vec<f32> = masks.iter().map(|x| if *x > 0.6 { 0.0 } else { 1.25 }).collect();
    let by = numbers(2 * plan.columns() * plan.width(), 7);
    let counts = |(i, x): (usize, &f32)| if i % plan.width() < plan.bins { *x } else { 0.0 };
    let by: Vec<f32> = by.iter().enumerate().map(counts).collect();
    let (cpu, mut net, start) = (Cpu::best(), ScanNet::new(plan), weights(&plan));
    net.set(&start);
    let (mut memory, mut gradient) = (ScanMemory::default(), ScanGradient::default());
    // Twice, so that what the memory keeps does no harm.
    for _ in 0..2 {
        gradient.reset(&net);
        net.forward(cpu, &images, Some(&masks), &mut memory);
        net.backward(cpu, &by, Some(&masks), &mut memory, &mut gradient);
    }
    let start: Vec<Vec<f64>> = start.iter().map(|tensor| wide(tensor)).collect();
    let loss = |weights: &[Vec<f64>]| -> f64 {
        let of_image = |number: usize| {
            let image = &images[number * plan.pixels()..][..plan.pixels()];
            let scores =
                reference(&plan, weights, image, Some(&masks[number * plan.mask()..][..plan.mask()]));
            let row = |i: usize| number * plan.columns() + i / plan.bins;
            let by = |i: usize| f64::from(by[row(i) * plan.width() + i % plan.bins]);
            scores.iter().enumerate().map(|(i, x)| x * by(i)).sum::<f64>()
        };
        of_image(0) + of_image(1)
    };
    for (number, (tensor, found)) in plan.tensors().iter().zip(gradient.tensors(&net)).enumerate() {
        let direction = numbers(found.len(), 50 + number as u64);
        let moved = |h: f64| {
            let mut weights = start.clone();
            weights[number].iter_mut().zip(&direction).for_each(|(x, d)| *x += h * f64::from(*d));
            weights
        };
        let h = 1e-6;
        let slope = (loss(&moved(h)) - loss(&moved(-h))) / (2.0 * h);
        let dot: f64 = found.iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let size = found.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        assert!((slope - dot).abs() < 1e-4 * size, "{}: {slope} {dot} {size}", tensor.name);
    }
}
