//! One update: which images belong to which poses.

use super::sight::{Matcher, tensor};
use crate::dropout::Phase;
use crate::model::Encoder;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_world::random::Random;

/// Images of an update, and poses of each.
const IMAGES: usize = 128;
const POSES: usize = 4;

/// An image, and poses where it may have been taken.
pub struct Example<'a> {
    pub pixels: &'a [f32],
    pub poses: &'a [[f64; 3]],
}

/// The contrastive loss of images drawn at random, `[1]`.
pub fn loss(
    matcher: &Matcher,
    examples: &[Example<'_>],
    shape: [usize; 3],
    device: &Device,
    random: &mut Random,
) -> Tensor<1> {
    let count = IMAGES.min(examples.len());
    let (mut pixels, mut poses) = (Vec::new(), Vec::with_capacity(count * POSES));
    for _ in 0..count {
        let example = &examples[random.below(examples.len())];
        pixels.extend_from_slice(example.pixels);
        poses.extend((0..POSES).map(|_| example.poses[random.below(example.poses.len())]));
    }
    let [channels, height, width] = shape;
    // Sequences of one step each, so that each image has a dropout mask of its own.
    let data = TensorData::new(pixels, [count, 1, channels, height, width]);
    let images = Tensor::<5>::from_data(data, (device, DType::F32));
    let seen = matcher.observation.encode(images, Phase::Training { seed: random.bits() });
    matcher.contrast(seen.swap_dims(0, 1), tensor(&poses, device))
}
