//! The features of both branches themselves, for networks that go on otherwise than PF-net does.

use super::map::PIXELS;
use super::observation::FEATURES;
use super::second::MAP_FEATURES;
use super::{PfnetGradient, PfnetMemory, PfnetNet};
use crate::Cpu;

/// Numbers that describe a step: features of the view, then those of the image, pixel after pixel.
pub const DESCRIPTION: usize = PIXELS * (MAP_FEATURES + FEATURES);
const OF_MAP: usize = PIXELS * MAP_FEATURES;

impl PfnetNet {
    /// Describes a step whose image was seen, by it and by one view of the map.
    ///
    /// # Panics
    /// If the image was not seen for one particle, or not remembered.
    pub fn describe(&self, cpu: Cpu, step: usize, view: &[f32], memory: &mut PfnetMemory, out: &mut [f32]) {
        assert!(memory.particles == 1 && memory.remembers && step < memory.steps, "an image for one view");
        let (of_map, of_image) = out[..DESCRIPTION].split_at_mut(OF_MAP);
        self.map.forward(cpu, view, &mut memory.views[step], &mut memory.map, of_map);
        memory.joined.images.each(FEATURES, step, |k, number| of_image[k] = *number);
    }

    /// Adds the derivatives by all weights of both branches, given those by all descriptions, which are used up.
    ///
    /// # Panics
    /// If there is not one row of derivatives a step.
    pub fn backward_described(
        &self,
        cpu: Cpu,
        by: &mut [f32],
        memory: &mut PfnetMemory,
        sum: &mut PfnetGradient,
    ) {
        let PfnetMemory { steps, encoded_frames, views, observation, map, .. } = memory;
        assert_eq!(by.len(), *steps * DESCRIPTION, "derivatives of all steps");
        for ((by, view), encoded_frame) in by.chunks_exact_mut(DESCRIPTION).zip(views).zip(encoded_frames) {
            let (of_map, of_image) = by.split_at_mut(OF_MAP);
            self.map.backward(cpu, view, of_map, map, &mut sum.map);
            self.observation.backward(cpu, encoded_frame, of_image, observation, &mut sum.observation);
        }
    }
}
