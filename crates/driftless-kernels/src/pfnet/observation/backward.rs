//! From derivatives by an image's features to those by the weights of the observation branch.

use super::{
    AROUND, EncodedFrame, FEATURES, KERNEL, LINE, MIDDLE, Observation, ObservationWorkspace, Pooled, SMALL,
    WIDE,
};
use crate::Cpu;
use crate::dense::add_rows;
use crate::gemm::{Epilogue, Left, Out, Right, product};
use crate::pfnet::many_scales::ManyScalesGradient;
use crate::pfnet::norm::Norm;
use crate::pfnet::observation::IMAGE_SIDE;
use crate::pfnet::pooling::unpool_row;

/// The derivatives by all weights of the branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::pfnet) struct ObservationGradient {
    pub(in crate::pfnet) first: ManyScalesGradient,
    pub(in crate::pfnet) first_norm: Norm,
    /// For each row of the kernels, [output, column · input].
    pub(in crate::pfnet) second: [Vec<f32>; KERNEL],
    pub(in crate::pfnet) second_bias: Vec<f32>,
    pub(in crate::pfnet) second_norm: Norm,
}

impl ObservationGradient {
    /// Zeros for all weights of a branch.
    pub(in crate::pfnet) fn reset(&mut self, net: &Observation) {
        net.first.reset(&mut self.first);
        self.first_norm = Norm::new(WIDE);
        self.second_norm = Norm::new(FEATURES);
        for rows in &mut self.second {
            rows.clear();
            rows.resize(FEATURES * LINE, 0.0);
        }
        self.second_bias = vec![0.0; FEATURES];
    }
}

impl Observation {
    /// Adds the derivatives by all weights, given those by the features of an image, which are used up.
    pub(in crate::pfnet) fn backward(
        &self,
        cpu: Cpu,
        encoded_frame: &EncodedFrame,
        by_features: &mut [f32],
        workspace: &mut ObservationWorkspace,
        sum: &mut ObservationGradient,
    ) {
        through_norm(cpu, &self.second_norm, &encoded_frame.second, by_features, &mut sum.second_norm);
        workspace.by_results.clear();
        workspace.by_results.resize(AROUND * AROUND * FEATURES, 0.0);
        unpool(by_features, &encoded_frame.second, &mut workspace.by_results);
        self.middle(cpu, &encoded_frame.first, &mut workspace.middle);
        self.back_through_second(cpu, workspace, sum);
        through_norm(
            cpu,
            &self.first_norm,
            &encoded_frame.first,
            &mut workspace.by_middle,
            &mut sum.first_norm,
        );
        self.back_through_first(cpu, encoded_frame, workspace, &mut sum.first);
    }

    /// From `by_results`, with zeros around it, to `by_middle`, without.
    fn back_through_second(
        &self,
        cpu: Cpu,
        workspace: &mut ObservationWorkspace,
        sum: &mut ObservationGradient,
    ) {
        let ObservationWorkspace { middle, by_middle, by_results, .. } = workspace;
        by_middle.resize(MIDDLE * MIDDLE * WIDE, 0.0);
        let taps = back_taps();
        for (y, by_row) in by_middle.chunks_exact_mut(MIDDLE * WIDE).enumerate() {
            let results = &by_results[((y + 1) * AROUND + 1) * FEATURES..];
            for (u, rows) in sum.second.iter_mut().enumerate() {
                let right = Right::rows(&middle[(y + u) * AROUND * WIDE..], WIDE);
                let mut out = Out { numbers: rows, stride: LINE };
                let left = Left::transposed(results, FEATURES);
                product(cpu, left, right, [FEATURES, MIDDLE, LINE], Epilogue::Add, &mut out);
            }
            add_rows(cpu, &results[..MIDDLE * FEATURES], FEATURES, &mut sum.second_bias);
            let left = Left::taps(&by_results[y * AROUND * FEATURES..], FEATURES, &taps);
            let shape = [MIDDLE, taps.len(), WIDE];
            let mut out = Out { numbers: by_row, stride: WIDE };
            product(cpu, left, self.second_back.right(), shape, Epilogue::Store, &mut out);
        }
    }

    /// Back through maxima and convolutions, three rows at a time.
    fn back_through_first(
        &self,
        cpu: Cpu,
        encoded_frame: &EncodedFrame,
        workspace: &mut ObservationWorkspace,
        sum: &mut ManyScalesGradient,
    ) {
        let ObservationWorkspace { rows, by_middle, .. } = workspace;
        for row in rows.iter_mut() {
            row.clear();
            row.resize(IMAGE_SIDE * WIDE, 0.0);
        }
        let line = MIDDLE * WIDE;
        let windows = by_middle.chunks_exact(line).zip(encoded_frame.first.places.chunks_exact(line));
        for (y, (by, places)) in windows.enumerate() {
            let [a, b, c] = &mut *rows;
            unpool_row(by, places, WIDE, &mut [a, b, c]);
            for (u, row) in rows.iter_mut().take(2).enumerate() {
                self.first.differentiate_row(cpu, &encoded_frame.image, 2 * y + u, row, sum);
                row.fill(0.0);
            }
            rows.swap(0, 2);
        }
    }
}

/// Where the derivatives by results lie that a pixel of the middle had a part in, from the one that its kernel's
/// last tap belongs to: tap (u, v) was used by the result at (1 - u, 1 - v) from the pixel.
fn back_taps() -> Vec<usize> {
    let taps = (0..KERNEL).flat_map(|u| (0..KERNEL).map(move |v| (KERNEL - 1 - u) * AROUND + KERNEL - 1 - v));
    taps.flat_map(|pixel| (0..FEATURES).map(move |output| pixel * FEATURES + output)).collect()
}

/// Back through ReLU and norm of maxima.
fn through_norm(cpu: Cpu, norm: &Norm, pooled: &Pooled, by: &mut [f32], sum: &mut Norm) {
    let x = (&pooled.kept[..], pooled.moments);
    let common = norm.back_through_relu(cpu, x, by, pooled.kept.len(), sum);
    norm.back(cpu, x, common, by);
}

/// Back through the second maxima, into an image with zeros around it.
fn unpool(by: &[f32], pooled: &Pooled, to: &mut [f32]) {
    let line = SMALL * FEATURES;
    for (y, (by, places)) in by.chunks_exact(line).zip(pooled.places.chunks_exact(line)).enumerate() {
        let mut rows = to.chunks_exact_mut(AROUND * FEATURES).skip(2 * y + 1);
        let mut next = || &mut rows.next().expect("rows of zeros are around")[FEATURES..];
        unpool_row(by, places, FEATURES, &mut [next(), next(), next()]);
    }
}
