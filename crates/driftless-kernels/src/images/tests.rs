//! The image network against loops over its formula in 64 bits, and differences of those.

use super::*;
use crate::dense::LayerGradient;
use crate::testing::numbers;

struct Reference {
    plan: ImagePlan,
    /// [outputs, inputs, 3, 3] and biases of each convolution.
    convs: Vec<[Vec<f64>; 2]>,
    /// [inputs, features] and biases.
    dense: [Vec<f64>; 2],
}

fn f64s(count: usize, salt: u64, scale: f64) -> Vec<f64> {
    numbers(count, salt).into_iter().map(|x| f64::from(x) * scale).collect()
}

fn f32s(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&x| x as f32).collect()
}

impl Reference {
    fn new(plan: &ImagePlan) -> Self {
        let [mut depth, mut h, mut w] = plan.image;
        let mut convs = Vec::new();
        for (salt, &next) in plan.channels.iter().enumerate() {
            let salt = 10 + salt as u64;
            convs.push([f64s(next * depth * 9, salt, 0.4), f64s(next, salt + 10, 0.2)]);
            (depth, h, w) = (next, h.div_ceil(2), w.div_ceil(2));
        }
        let dense = [f64s(depth * h * w * plan.features, 40, 0.3), f64s(plan.features, 41, 0.1)];
        Self { plan: plan.clone(), convs, dense }
    }

    fn kernel(&self) -> ImageNet {
        let mut net = ImageNet::new(self.plan.clone());
        for (number, [weight, bias]) in self.convs.iter().enumerate() {
            net.set_conv(number, &f32s(weight), &f32s(bias));
        }
        let (weight, features) = (f32s(&self.dense[0]), self.plan.features);
        net.set_dense(|input, output| weight[input * features + output], &f32s(&self.dense[1]));
        net
    }

    /// Weights or biases of a convolution, or of the last layer.
    fn tensor(&mut self, number: usize, part: usize) -> &mut Vec<f64> {
        self.convs.get_mut(number).map_or(&mut self.dense[part], |conv| &mut conv[part])
    }

    /// Features of one image.
    fn features(&self, image: &[f32], mask: Option<&[f32]>) -> Vec<f64> {
        let [mut depth, mut h, mut w] = self.plan.image;
        let mut x: Vec<f64> = image.iter().map(|&x| f64::from(x)).collect();
        for ([weight, bias], &next) in self.convs.iter().zip(&self.plan.channels) {
            let before = |size: usize| if self.plan.padding == Padding::One { 1 } else { size % 2 };
            let (rows, columns) = (h.div_ceil(2), w.div_ceil(2));
            let mut y = vec![0.0; next * rows * columns];
            for (at, y) in y.iter_mut().enumerate() {
                let (o, r, c) = (at / columns / rows, at / columns % rows, at % columns);
                let mut sum = bias[o];
                for (i, u, v) in (0..depth * 9).map(|k| (k / 9, k / 3 % 3, k % 3)) {
                    let (p, q) = ((2 * r + u).wrapping_sub(before(h)), (2 * c + v).wrapping_sub(before(w)));
                    if p < h && q < w {
                        sum += x[(i * h + p) * w + q] * weight[(o * depth + i) * 9 + 3 * u + v];
                    }
                }
                *y = f64::max(sum, 0.0);
            }
            (x, depth, h, w) = (y, next, rows, columns);
        }
        if let Some(mask) = mask {
            x.iter_mut().zip(mask).for_each(|(x, &m)| *x *= f64::from(m));
        }
        let n = self.plan.features;
        let feature = |j: usize| x.iter().enumerate().map(|(i, x)| x * self.dense[0][i * n + j]).sum::<f64>();
        (0..n).map(|j| f64::max(feature(j) + self.dense[1][j], 0.0)).collect()
    }
}

fn plans() -> Vec<ImagePlan> {
    let plan = |image, channels: &[usize], features, padding| {
        let channels = channels.to_vec();
        ImagePlan { image, channels, features, padding }
    };
    vec![
        plan([3, 24, 24], &[16, 32, 64], 128, Padding::Same),
        plan([3, 8, 8], &[16, 32], 20, Padding::One),
        plan([1, 5, 4], &[6, 8], 10, Padding::Same),
        plan([2, 1, 1], &[3], 1, Padding::One),
    ]
}

fn masks(net: &ImageNet, count: usize) -> Vec<f32> {
    numbers(count * net.mask(), 77).into_iter().map(|x| if x > 0.0 { 2.0 } else { 0.0 }).collect()
}

/// Numbers of order 1, sums of at most some hundred products, three layers deep: 1e-4 is more than rounding
/// makes of them, and less than any mistake.
#[test]
fn features_are_those_of_the_formula() {
    for plan in plans() {
        let (reference, count) = (Reference::new(&plan), 7);
        let net = reference.kernel();
        let images = numbers(count * net.pixels(), 5);
        for masks in [None, Some(masks(&net, count))] {
            for cpu in Cpu::all() {
                let mut memory = ImageMemory::default();
                net.forward(cpu, &images, masks.as_deref(), &mut memory);
                for (number, row) in memory.features().chunks_exact(net.width()).enumerate() {
                    let mask = masks.as_ref().map(|masks| &masks[number * net.mask()..][..net.mask()]);
                    let expected = reference.features(&images[number * net.pixels()..][..net.pixels()], mask);
                    for (found, expected) in row.iter().zip(expected) {
                        assert!((f64::from(*found) - expected).abs() < 1e-4, "{plan:?} {found} {expected}");
                    }
                }
            }
        }
    }
}

/// Some images with masks, and the derivatives of a loss by their features.
struct Lesson {
    images: Vec<f32>,
    masks: Vec<f32>,
    pull: Vec<f32>,
}

const COUNT: usize = 5;

impl Lesson {
    fn new(net: &ImageNet) -> Self {
        let images = numbers(COUNT * net.pixels(), 5);
        Self { images, masks: masks(net, COUNT), pull: numbers(COUNT * net.plan.features, 9) }
    }

    /// Σ g ⊙ features, by the loops.
    fn loss(&self, reference: &Reference, net: &ImageNet) -> f64 {
        let of = |number: usize| {
            let image = &self.images[number * net.pixels()..][..net.pixels()];
            let mask = &self.masks[number * net.mask()..][..net.mask()];
            let features = reference.features(image, Some(mask));
            let pull = &self.pull[number * features.len()..];
            features.iter().zip(pull).map(|(x, &g)| x * f64::from(g)).sum::<f64>()
        };
        (0..COUNT).map(of).sum()
    }

    /// Its derivatives by each tensor, by the kernels: of convolutions, and then of the last layer; weights and
    /// biases.
    fn gradients(&self, net: &ImageNet) -> Vec<[Vec<f32>; 2]> {
        let (mut sum, mut memory) = (ImageGradient::default(), ImageMemory::default());
        net.forward(Cpu::best(), &self.images, Some(&self.masks), &mut memory);
        let mut by = vec![0.0; COUNT * net.width()];
        let features = net.plan.features;
        for (row, from) in by.chunks_exact_mut(net.width()).zip(self.pull.chunks_exact(features)) {
            row[..features].copy_from_slice(from);
        }
        net.backward(Cpu::best(), &mut by, Some(&self.masks), &mut memory, &mut sum);
        let conv = |(number, by): (usize, &LayerGradient)| [net.conv_gradient(number, &sum), by.bias.clone()];
        let convs = sum.convs.iter().enumerate().map(conv);
        convs.chain([[net.dense_gradient(&sum), sum.dense.bias.clone()]]).collect()
    }
}

/// A few derivatives by every tensor, against differences of the loops: ReLUs make them piecewise linear, so that a
/// small step in 64 bits is exact but where it meets a bend.
#[test]
fn gradients_are_those_of_the_formula() {
    for plan in plans() {
        let mut reference = Reference::new(&plan);
        let net = reference.kernel();
        let lesson = Lesson::new(&net);
        for (number, tensors) in lesson.gradients(&net).into_iter().enumerate() {
            for (part, found) in tensors.into_iter().enumerate() {
                let count = reference.tensor(number, part).len();
                for at in (0..count).step_by(count.div_ceil(5)) {
                    let mut at_step = |step: f64| {
                        reference.tensor(number, part)[at] += step;
                        let loss = lesson.loss(&reference, &net);
                        reference.tensor(number, part)[at] -= step;
                        loss
                    };
                    let expected = (at_step(1e-6) - at_step(-1e-6)) / 2e-6;
                    let error = (f64::from(found[at]) - expected).abs();
                    assert!(
                        error < 1e-3 * (1.0 + expected.abs()),
                        "{plan:?} {number} {part} {at}: {expected}"
                    );
                }
            }
        }
    }
}

/// Rows of other images, and what was there before, make no difference.
#[test]
fn images_do_not_depend_on_each_other() {
    let net = Reference::new(&plans()[0]).kernel();
    let images = numbers(9 * net.pixels(), 5);
    let (mut together, mut alone) = (ImageMemory::default(), ImageMemory::default());
    net.forward(Cpu::best(), &images, None, &mut together);
    for (number, image) in images.chunks_exact(net.pixels()).enumerate() {
        net.forward(Cpu::best(), image, None, &mut alone);
        assert_eq!(alone.features(), &together.features()[number * net.width()..][..net.width()]);
    }
}
