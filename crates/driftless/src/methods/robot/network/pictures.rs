//! Images for a network: normalised pixel by pixel; in training moved a little, as a camera that looks elsewhere.

use super::super::walks::Measured;
use super::input::{Input, World};
use crate::batch::PixelScale;
use crate::nets::ConvPlan;
use driftless_world::random::Random;

/// The share of features that dropout keeps.
const KEEP: f64 = 0.5;
/// Images are moved by this part of their sides, at most.
const MOVED: usize = 8;

/// A camera's images, whose sizes and statistics the data told.
#[derive(Clone)]
pub(in crate::methods::robot) struct Pictures {
    pixels: PixelScale,
}

impl Pictures {
    /// As they were measured with everything else.
    pub(in crate::methods::robot) fn new(world: &World) -> Self {
        Self { pixels: world.normalisation.pixels.clone() }
    }
}

impl Input for Pictures {
    fn plan(&self) -> ConvPlan {
        ConvPlan { keep: KEEP, ..ConvPlan::released(self.pixels.shape()) }
    }

    fn measure(&mut self, _: &[Measured]) {}

    fn write(&self, seen: &Measured, training: Option<&mut Random>, to: &mut Vec<f32>) -> bool {
        let Some((images, number)) = seen.image else { return false };
        let by = training.map_or([0; 2], |random| {
            [images.height, images.width].map(|side| {
                let most = side / MOVED;
                random.below(2 * most + 1) as isize - most as isize
            })
        });
        self.pixels.normalise_moved(images, number, by, to)
    }

    fn scale(&self) -> Vec<f64> {
        Vec::new()
    }

    fn set_scale(&mut self, scale: &[f64]) -> bool {
        scale.is_empty()
    }
}
