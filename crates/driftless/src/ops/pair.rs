//! Images against places: what a sharp match of an image encoder and a place encoder sees, and learns by.

use super::by_name;
use super::dense::{chain, chain_gradient, layer, layer_gradient, load_chain, load_layer};
use super::images::{image_gradients, image_net, load_images};
use crate::dropout::Phase;
use crate::error::Result;
use crate::model::{MOST_LOG_SHARPNESS, SharpMatch};
use crate::nets::{Activation, ImageEncoder, PlaceEncoder, Projected, Turned, Waves};
use crate::parameters::{self, Named, Net};
use driftless_core::{Particles, Space};
use driftless_kernels::Cpu;
use driftless_kernels::contrast::{Atlas, Cost, Examples, Pair, PairGradient, PairMemory, Workspace};
use driftless_kernels::ranks::Ranks;

type Matcher = SharpMatch<Projected<ImageEncoder>, PlaceEncoder>;

/// A matcher's weights where the kernels want them.
#[derive(Clone)]
pub(crate) struct FrameEncoder {
    pair: Pair,
    waves: Waves,
    keep: f64,
    /// Whether κ is at a limit, where its gradient ends.
    bound: bool,
    cpu: Cpu,
}

/// Memory that is used again from one image to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncoderWorkspace {
    memory: PairMemory,
    turned: Turned,
    rows: Vec<f32>,
}

impl FrameEncoder {
    /// With the weights that the module has.
    pub(crate) fn of(matcher: &Matcher) -> Self {
        let pair = Pair {
            frame_encoder: image_net(&matcher.observation.inner),
            last: layer(&matcher.observation.last, Activation::Linear),
            places: chain(&matcher.state.mlp),
            sharpness: 1.0,
        };
        let keep = matcher.observation.inner.plan().keep;
        let waves = matcher.state.waves().clone();
        let mut encoder = Self { pair, waves, keep, bound: false, cpu: Cpu::best() };
        encoder.load(&parameters::values(matcher));
        encoder
    }

    /// For deployment: the same scores from fewer products, see [`Pair::rotated`].
    pub(crate) fn rotated(&self) -> Self {
        Self { pair: self.pair.rotated(), ..self.clone() }
    }

    /// The contrastive loss of images and as many poses for each, and its gradient; as
    /// [`SharpMatch::contrast`] of [`crate::model::Encoder::encode`] with one step for each image.
    pub(crate) fn contrast(
        &self,
        images: &[f32],
        poses: &Particles,
        phase: Phase,
        (ranks, workspace): (&dyn Ranks, &mut Workspace),
    ) -> Result<(f64, Vec<Named>)> {
        let count = images.len() / self.pair.frame_encoder.pixels();
        let masks = phase.masks(count, self.pair.frame_encoder.mask(), self.keep);
        let places = self.rows(poses);
        let examples = Examples { images, masks: masks.as_deref(), places: &places };
        let (loss, gradient) = self.pair.contrast(self.cpu, &examples, ranks, workspace)?;
        Ok((loss, self.named(&gradient)))
    }

    /// Any loss of the cosines of images and poses, as many for each image, and its gradient; nothing is dropped, so that
    /// cosines are those of a filter that uses the network.
    pub(crate) fn learn(
        &self,
        images: &[f32],
        poses: &Particles,
        cost: &Cost,
        (ranks, workspace): (&dyn Ranks, &mut Workspace),
    ) -> Result<(f64, Vec<Named>)> {
        let places = self.rows(poses);
        let examples = Examples { images, masks: None, places: &places };
        let (loss, gradient) = self.pair.learn(self.cpu, &examples, cost, ranks, workspace)?;
        Ok((loss, self.named(&gradient)))
    }

    fn rows(&self, poses: &Particles) -> Vec<f32> {
        let mut rows = Vec::new();
        self.waves.rows(poses, self.pair.places.input_width(), &mut Turned::default(), &mut rows);
        rows
    }

    /// Images one after the other, as features of length 1, which replace those there were; zeros for an image that is
    /// not finite.
    pub(crate) fn encode(&self, images: &[f32], workspace: &mut EncoderWorkspace, features: &mut Vec<f32>) {
        self.pair.see(self.cpu, images, &mut workspace.memory, features);
    }

    /// κ, by which cosines become scores.
    pub(crate) fn sharpness(&self) -> f32 {
        self.pair.sharpness
    }

    /// From the features of one image to those of the next.
    pub(crate) fn width(&self) -> usize {
        self.pair.width()
    }

    /// log l before tempering, of one image's features at each pose.
    pub(crate) fn scores(
        &self,
        features: &[f32],
        poses: &Particles,
        workspace: &mut EncoderWorkspace,
        scores: &mut [f32],
    ) {
        let EncoderWorkspace { memory, turned, rows } = workspace;
        self.waves.rows(poses, self.pair.places.input_width(), turned, rows);
        self.pair.scores(self.cpu, features, rows, memory, scores);
    }

    /// Memory to score so many poses, without scoring them.
    pub(crate) fn reserve(&self, count: usize, workspace: &mut EncoderWorkspace) {
        let poses = Particles::from_states(Space::SE2, vec![[0.0; 3]; count]);
        let EncoderWorkspace { memory, turned, rows } = workspace;
        self.waves.rows(&poses, self.pair.places.input_width(), turned, rows);
        self.pair.reserve(self.cpu, memory);
    }

    /// Poses to be compared with many images.
    pub(crate) fn atlas(&self, poses: &Particles) -> Atlas {
        self.pair.atlas(self.cpu, &self.rows(poses))
    }

    /// Cosines of some images' features and all poses of an atlas, a row for each image, padded.
    pub(crate) fn look_up(&self, features: &[f32], atlas: &Atlas, cosines: &mut Vec<f32>) {
        self.pair.look_up(self.cpu, features, atlas, cosines);
    }

    /// Derivatives by all parameters, in the order of the fields.
    fn named(&self, by: &PairGradient) -> Vec<Named> {
        let mut all = image_gradients("observation.inner", &self.pair.frame_encoder, &by.frame_encoder);
        all.extend(layer_gradient("observation.last", self.pair.last.shape(), &by.last));
        all.extend(chain_gradient("state.mlp", &self.pair.places, &by.places));
        let by_log = if self.bound { 0.0 } else { by.sharpness * f64::from(self.pair.sharpness) };
        all.push(Named::singles("log_sharpness".to_owned(), &[1], [by_log as f32]));
        all
    }
}

impl Net for FrameEncoder {
    fn load(&mut self, values: &[Named]) {
        let Pair { frame_encoder, last, places, sharpness } = &mut self.pair;
        load_images(frame_encoder, "observation.inner", values);
        load_layer(last, "observation.last", values);
        load_chain(places, "state.mlp", values);
        let log = f64::from(by_name(values, "log_sharpness")[0]);
        self.bound = log.abs() > MOST_LOG_SHARPNESS;
        *sharpness = log.clamp(-MOST_LOG_SHARPNESS, MOST_LOG_SHARPNESS).exp() as f32;
    }
}

#[cfg(test)]
mod tests;
