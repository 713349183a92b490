//! One update: which images belong to which poses.

use crate::dropout::Phase;
use crate::error::Result;
use crate::ops::FrameEncoder;
use crate::parameters::Named;
use driftless_core::{Particles, Space};
use driftless_kernels::contrast::Workspace;
use driftless_kernels::ranks::Ranks;
use driftless_world::random::Random;

/// Images of an update, and poses of each.
const IMAGES: usize = 128;
const POSES: usize = 4;

/// An image, and poses where it may have been taken.
pub struct Example<'a> {
    pub pixels: &'a [f32],
    pub poses: &'a [[f32; 3]],
}

/// The contrastive loss of images drawn at random, and its gradient.
pub fn loss(
    encoder: &FrameEncoder,
    examples: &[Example<'_>],
    shared: (&dyn Ranks, &mut Workspace),
    random: &mut Random,
) -> Result<(f64, Vec<Named>)> {
    let count = IMAGES.min(examples.len());
    let (mut pixels, mut poses) = (Vec::new(), Particles::new(Space::SE2));
    poses.reserve(count * POSES);
    for _ in 0..count {
        let example = &examples[random.below(examples.len())];
        pixels.extend_from_slice(example.pixels);
        (0..POSES).for_each(|_| poses.push(&example.poses[random.below(example.poses.len())]));
    }
    let phase = Phase::Training { seed: random.bits() };
    encoder.contrast(&pixels, &poses, phase, shared)
}
