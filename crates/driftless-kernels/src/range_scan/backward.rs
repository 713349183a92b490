//! The way back through the range network.

use super::{FEATURES, ScanGradient, ScanMemory, ScanNet};
use crate::Cpu;
use crate::dense::{LayerGradient, Rows};
use crate::ranks::{Message, Wire};

impl ScanGradient {
    /// Zeros for all weights of a network.
    pub fn reset(&mut self, net: &ScanNet) {
        self.layers.resize(net.convs.len() + 2, LayerGradient::default());
        let (convs, last) = self.layers.split_at_mut(net.convs.len());
        net.convs.iter().zip(convs).for_each(|(conv, gradient)| conv.reset(gradient));
        [&net.mean, &net.bins].iter().zip(last).for_each(|(layer, gradient)| gradient.reset(layer));
    }

    /// Adds those of another part of the data.
    pub fn add(&mut self, other: &Self) {
        self.layers.iter_mut().zip(&other.layers).for_each(|(sum, part)| sum.add(part));
    }

    /// Derivatives by each tensor, in the order of [`super::ScanPlan::tensors`].
    pub fn tensors(&self, net: &ScanNet) -> Vec<Vec<f32>> {
        let shapes = net.convs.iter().map(super::Conv::shape);
        let shapes = shapes.chain([net.mean.shape(), net.bins.shape()]);
        let parts = self.layers.iter().zip(shapes).flat_map(|(layer, [inputs, outputs])| {
            let weight = (0..inputs * outputs).map(|i| layer.of(i / outputs, i % outputs, outputs)).collect();
            [weight, layer.bias[..outputs].to_vec()]
        });
        parts.collect()
    }
}

impl Message for ScanGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.layers.pass(wire);
    }
}

/// Where a ReLU's result is 0, nothing goes back.
fn gate(by: &mut [f32], result: &[f32]) {
    by.iter_mut().zip(result).for_each(|(by, x)| *by = if *x > 0.0 { *by } else { 0.0 });
}

impl ScanNet {
    /// Adds the derivatives by all weights, given those by the scores of the forward pass before, with the same masks.
    pub fn backward(
        &self,
        cpu: Cpu,
        by_scores: &[f32],
        masks: Option<&[f32]>,
        memory: &mut ScanMemory,
        gradient: &mut ScanGradient,
    ) {
        let (mut by, mut other) = (memory.by.pop().unwrap_or_default(), memory.by.pop().unwrap_or_default());
        let columns = memory.count * self.plan.columns();
        by.clear();
        by.resize(columns * FEATURES, 0.0);
        let seen = Rows { numbers: &memory.features, stride: FEATURES };
        self.bins.differentiate(cpu, seen, by_scores, columns, &mut gradient.layers[7]);
        self.bins.backward(cpu, by_scores, columns, None, &mut by);
        if let Some(masks) = masks {
            by.iter_mut().zip(masks).for_each(|(by, mask)| *by *= mask);
        }
        let ScanMemory { levels, second, rows, .. } = memory;
        self.residual(cpu, 5, (second, &levels[6]), rows, gradient, (&mut by, &mut other));
        self.back_means(cpu, memory, gradient, &mut by, &mut other);
        let ScanMemory { levels, rows, .. } = memory;
        self.residual(cpu, 4, (&levels[4], &levels[5]), rows, gradient, (&mut by, &mut other));
        for number in (0..4).rev() {
            gate(&mut by, &levels[number + 1]);
            other.clear();
            other.resize(levels[number].len(), 0.0);
            let by_images = (number > 0).then_some(&mut other[..]);
            let conv = &self.convs[number];
            conv.backward(cpu, &levels[number], &by, rows, &mut gradient.layers[number], by_images);
            std::mem::swap(&mut by, &mut other);
        }
        memory.by.extend([by, other]);
    }

    /// Back through y = x + relu(conv x): `by` becomes that of x.
    fn residual(
        &self,
        cpu: Cpu,
        number: usize,
        (x, result): (&[f32], &[f32]),
        rows: &mut Vec<f32>,
        gradient: &mut ScanGradient,
        (by, other): (&mut Vec<f32>, &mut Vec<f32>),
    ) {
        other.clone_from(by);
        gate(other, result);
        self.convs[number].backward(cpu, x, other, rows, &mut gradient.layers[number], Some(by));
    }

    /// Back through second = first + W mean(first) + b.
    fn back_means(
        &self,
        cpu: Cpu,
        memory: &ScanMemory,
        gradient: &mut ScanGradient,
        by: &mut [f32],
        other: &mut Vec<f32>,
    ) {
        let (columns, count) = (self.plan.columns(), memory.count);
        other.clear();
        other.resize(2 * count * FEATURES, 0.0);
        let (by_term, by_mean) = other.split_at_mut(count * FEATURES);
        for (image, sum) in by.chunks_exact(columns * FEATURES).zip(by_term.chunks_exact_mut(FEATURES)) {
            for column in image.chunks_exact(FEATURES) {
                sum.iter_mut().zip(column).for_each(|(sum, x)| *sum += x);
            }
        }
        let seen = Rows { numbers: &memory.means[..count * FEATURES], stride: FEATURES };
        self.mean.differentiate(cpu, seen, by_term, count, &mut gradient.layers[6]);
        self.mean.backward(cpu, by_term, count, None, by_mean);
        for (image, by_mean) in by.chunks_exact_mut(columns * FEATURES).zip(by_mean.chunks_exact(FEATURES)) {
            for column in image.chunks_exact_mut(FEATURES) {
                column.iter_mut().zip(by_mean).for_each(|(by, mean)| *by += mean / columns as f32);
            }
        }
    }
}
