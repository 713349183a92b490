//! Convolutions against loops in 64 bits.

use super::*;
use crate::testing::numbers;
use proptest::prelude::*;

/// Σ over taps and channels of image times weight at each place, plus the bias.
fn by_loops(plan: &ConvPlan, outputs: usize, image: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f64> {
    let mut results = Vec::new();
    for place in 0..plan.count() {
        for (output, bias) in bias.iter().enumerate() {
            let mut sum = f64::from(*bias);
            for input in 0..plan.inputs() {
                let (tap, channel) = (input / plan.channels, input % plan.channels);
                let row = (place / plan.places[1] * plan.stride[0] + tap / plan.kernel[1]) as isize;
                let column = (place % plan.places[1] * plan.stride[1]) as isize;
                let column = column + (tap % plan.kernel[1] * plan.dilation) as isize;
                let [row, column] = [row - plan.before[0] as isize, column - plan.before[1] as isize];
                let inside = (0..plan.image[0] as isize).contains(&row)
                    && (0..plan.image[1] as isize).contains(&column);
                if inside {
                    let pixel = row as usize * plan.image[1] + column as usize;
                    sum += f64::from(image[pixel * plan.pitch + channel])
                        * f64::from(weight[input * outputs + output]);
                }
            }
            results.push(sum);
        }
    }
    results
}

fn plan() -> impl Strategy<Value = ConvPlan> {
    let sizes = ([1_usize..9, 1_usize..9], [1_usize..5, 1_usize..5], [1_usize..3, 1_usize..3]);
    (sizes, [0_usize..3, 0_usize..3], 1_usize..3, 1_usize..5, 0_usize..2).prop_map(
        |((image, kernel, stride), before, dilation, channels, gap)| ConvPlan {
            image,
            channels,
            pitch: channels + gap,
            kernel,
            stride,
            before,
            dilation,
            places: [image[0].div_ceil(stride[0]), image[1].div_ceil(stride[1])],
        },
    )
}

proptest! {
    /// Sums of at most 64 products of numbers below 1, in 32 bits: 65 roundings of 6e-8 of at most 64.
    #[test]
    fn results_and_derivatives(plan in plan(), outputs in 1_usize..20, images in 1_usize..4) {
        let mut conv = Conv::new(plan, outputs, false);
        let weight = numbers(plan.inputs() * outputs, 1);
        let bias = numbers(outputs, 2);
        conv.set(&weight, &bias);
        let seen = numbers(images * plan.image_numbers(), 3);
        let by = numbers(images * conv.result(), 4);
        let width = padded(outputs);
        for cpu in Cpu::all() {
            let (mut rows, mut results) = (Vec::new(), vec![0.0; images * conv.result()]);
            conv.forward(cpu, &seen, &mut rows, &mut results);
            let mut gradient = LayerGradient::default();
            conv.reset(&mut gradient);
            let mut by_seen = vec![0.0; seen.len()];
            // What pads results has no derivative.
            let by: Vec<f32> = by.iter().enumerate().map(|(i, x)| if i % width < outputs { *x } else { 0.0 }).collect();
            conv.backward(cpu, &seen, &by, &mut rows, &mut gradient, Some(&mut by_seen));
            // The loss Σ by · result is bilinear: its parts say what both derivatives must sum to.
            let mut loss = 0.0;
            for (number, image) in seen.chunks_exact(plan.image_numbers()).enumerate() {
                let expected = by_loops(&plan, outputs, image, &weight, &bias);
                for (i, expected) in expected.iter().enumerate() {
                    let at = number * conv.result() + i / outputs * width + i % outputs;
                    prop_assert!((f64::from(results[at]) - expected).abs() < 3e-4, "{} {expected}", results[at]);
                    loss += f64::from(by[at]) * (expected - f64::from(bias[i % outputs]));
                }
            }
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            let by_weight: f64 = (0..plan.inputs() * outputs)
                .map(|i| f64::from(gradient.of(i / outputs, i % outputs, outputs)) * f64::from(weight[i]))
                .sum();
            // Up to 3 · 64 places times 20 outputs of such sums.
            let close = |x: f64| (x - loss).abs() < 1e-4 * (1.0 + loss.abs() + (plan.count() * images * outputs) as f64);
            prop_assert!(close(by_weight), "{by_weight} {loss}");
            prop_assert!(close(dot(&by_seen, &seen)), "{} {loss}", dot(&by_seen, &seen));
            for output in 0..outputs {
                let sum: f64 = by.iter().skip(output).step_by(width).map(|x| f64::from(*x)).sum();
                prop_assert!((f64::from(gradient.bias[output]) - sum).abs() < 1e-3);
            }
        }
    }
}
