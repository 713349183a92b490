//! From derivatives by features to derivatives by weights.

use super::{ImageGradient, ImageMemory, ImageNet, at_once};
use crate::Cpu;
use crate::dense::{Layer, LayerGradient, Rows};
use crate::patches::Patches;
use crate::relu::close;

impl ImageNet {
    /// Adds the derivatives by all weights, given those by the features of the images seen last (rows as
    /// [`ImageMemory::features`], which are used up), and the masks of then.
    pub fn backward(
        &self,
        cpu: Cpu,
        by_features: &mut [f32],
        masks: Option<&[f32]>,
        memory: &mut ImageMemory,
        sum: &mut ImageGradient,
    ) {
        let ImageMemory { count, levels, features, patches: workspace, by_level } = memory;
        let ([by_this, by_before], count) = (by_level, *count);
        close(cpu, by_features, features);
        sum.convs.resize(self.convs.len(), LayerGradient::default());
        let (flat, last) = (self.dense.shape()[0], self.convs.len());
        by_this.resize(count * flat, 0.0);
        self.dense.differentiate(
            cpu,
            Rows { numbers: &levels[last], stride: flat },
            by_features,
            count,
            &mut sum.dense,
        );
        self.dense.backward(cpu, by_features, count, Some(&levels[last]), by_this);
        if let Some(masks) = masks {
            self.drop_out(by_this, masks);
        }
        for (number, (patches, layer)) in self.convs.iter().enumerate().rev() {
            let by_x = if number == 0 { None } else { Some(&mut *by_before) };
            let step = Step { cpu, patches, layer, x: &levels[number], by_y: by_this };
            step.run(workspace, by_x, &mut sum.convs[number]);
            std::mem::swap(by_this, by_before);
        }
    }
}

/// Back through one convolution of all images.
struct Step<'a> {
    cpu: Cpu,
    patches: &'a Patches,
    layer: &'a Layer,
    x: &'a [f32],
    by_y: &'a [f32],
}

impl Step<'_> {
    fn run(&self, workspace: &mut [f32], mut by_x: Option<&mut Vec<f32>>, sum: &mut LayerGradient) {
        let Self { cpu, patches, layer, .. } = *self;
        let (group, stride) = (at_once(patches), patches.stride());
        let (images, results) = (group * patches.image(), group * patches.count() * layer.width());
        if let Some(by_x) = &mut by_x {
            by_x.resize(self.x.len(), 0.0);
        }
        let parts = self.x.chunks(images).zip(self.by_y.chunks(results));
        for (number, (x, by_y)) in parts.enumerate() {
            let count = x.len() / patches.image() * patches.count();
            let rows = workspace.chunks_exact_mut(patches.count() * stride);
            x.chunks_exact(patches.image())
                .zip(rows)
                .for_each(|(image, rows)| patches.gather(cpu, image, rows));
            layer.differentiate(cpu, Rows { numbers: workspace, stride }, by_y, count, sum);
            if let Some(by_x) = &mut by_x {
                layer.backward(cpu, by_y, count, None, workspace);
                let to = &mut by_x[number * images..][..x.len()];
                let rows = workspace.chunks_exact(patches.count() * stride);
                to.chunks_exact_mut(patches.image())
                    .zip(rows)
                    .for_each(|(image, rows)| patches.scatter(cpu, rows, &[], false, image));
                close(cpu, to, x);
            }
        }
    }
}
