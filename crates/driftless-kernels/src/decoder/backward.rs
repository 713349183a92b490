//! From images to derivatives by features and weights.

use super::error::by_images;
use super::{DecoderGradient, DecoderMemory, DecoderNet, Deconv};
use crate::Cpu;
use crate::dense::{LayerGradient, Rows, add_rows};
use crate::relu::close;

impl DecoderNet {
    /// Σ (image - wanted)² of the last forward pass; adds the derivatives of it times `factor` by all weights, and
    /// those by the features to rows of their own, which are as far apart as the features.
    pub fn squared_error(
        &self,
        cpu: Cpu,
        features: Rows,
        (wanted, factor): (&[f32], f32),
        memory: &mut DecoderMemory,
        (sum, by_features): (&mut DecoderGradient, &mut Vec<f32>),
    ) -> f64 {
        sum.deconvs.resize(self.deconvs.len(), LayerGradient::default());
        let DecoderMemory { count, levels, patches: workspace, by_level: [by_this, by_before] } = memory;
        let last = self.deconvs.len();
        by_this.resize(levels[last].len(), 0.0);
        let [channels, height, width] = self.plan.image;
        let error = by_images(cpu, (&levels[last], wanted), [channels, height * width], factor, by_this);
        if self.relu {
            close(cpu, by_this, &levels[last]);
        }
        for (number, deconv) in self.deconvs.iter().enumerate().rev() {
            by_before.resize(levels[number].len(), 0.0);
            deconv.backward(cpu, &levels[number], by_this, workspace, by_before, &mut sum.deconvs[number]);
            std::mem::swap(by_this, by_before);
        }
        self.dense.differentiate(cpu, features, by_this, *count, &mut sum.dense);
        by_features.resize(*count * crate::padded(self.dense.shape()[0]), 0.0);
        self.dense.backward(cpu, by_this, *count, None, by_features);
        error
    }
}

impl Deconv {
    /// Sums over pixels; those of the last images have few channels.
    fn differentiate_bias(&self, cpu: Cpu, by_large: &[f32], sum: &mut Vec<f32>) {
        let pitch = self.patches.pitch;
        if pitch.is_multiple_of(crate::LANES) {
            add_rows(cpu, by_large, pitch, sum);
            return;
        }
        sum.resize(pitch, 0.0);
        for image in by_large.chunks_exact(self.patches.image()) {
            for (channel, sum) in sum.iter_mut().enumerate() {
                *sum += image.iter().skip(channel).step_by(pitch).sum::<f32>();
            }
        }
    }

    fn backward(
        &self,
        cpu: Cpu,
        small: &[f32],
        by_large: &[f32],
        workspace: &mut Vec<f32>,
        by_small: &mut [f32],
        sum: &mut LayerGradient,
    ) {
        let (rows, stride) = (self.patches.count(), crate::padded(self.layer.shape()[0]));
        let group = crate::images::at_once(&self.patches);
        workspace.resize(group * rows * self.patches.stride(), 0.0);
        self.differentiate_bias(cpu, by_large, &mut sum.bias);
        let parts = small.chunks(group * rows * stride).zip(by_small.chunks_mut(group * rows * stride));
        for ((small, by_small), by_large) in parts.zip(by_large.chunks(group * self.patches.image())) {
            let patches = workspace.chunks_exact_mut(rows * self.patches.stride());
            for (image, patches) in by_large.chunks_exact(self.patches.image()).zip(patches) {
                self.patches.gather(cpu, image, patches);
            }
            let count = small.len() / stride;
            self.layer.differentiate_weight(cpu, Rows { numbers: small, stride }, workspace, count, sum);
            self.layer.backward(cpu, workspace, count, Some(small), by_small);
        }
    }
}
