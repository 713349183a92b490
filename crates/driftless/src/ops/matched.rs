//! The filter of the published methods: images and poses matched by the directions of their features.

use super::decoder::{decoder_gradients, decoder_net};
use super::dense::{chain, chain_gradient};
use super::images::{image_gradients, image_net, image_plan};
use crate::model::FeatureMatch;
use crate::nets::{ImageDecoder, ImageEncoder, PoseEncoder};
use crate::parameters::Named;
use driftless_kernels::decoder::DecoderNet;
use driftless_kernels::scan::PoseNet;
use driftless_kernels::training::{Gradient, Networks};

/// A measurement, perhaps with a decoder beside it, and what they are called among a model's parameters.
pub(crate) struct Matched<'a> {
    pub measurement: (&'a str, &'a FeatureMatch<ImageEncoder, PoseEncoder>),
    pub decoder: Option<(&'a str, &'a ImageDecoder)>,
}

/// The features of poses, for likelihoods with this ε.
pub(super) fn pose_net(encoder: &PoseEncoder, epsilon: f64) -> PoseNet {
    let (mean, scale) = encoder.features().normalisation();
    PoseNet {
        layers: chain(&encoder.mlp),
        centre: [mean[0] as f32, mean[1] as f32],
        extent: [scale[0] as f32, scale[1] as f32],
        epsilon: epsilon as f32,
    }
}

impl Matched<'_> {
    /// Their weights where the kernels want them.
    pub(crate) fn networks(&self) -> Networks {
        let (_, measurement) = self.measurement;
        let poses = pose_net(&measurement.state, measurement.epsilon());
        let plan = image_plan(measurement.observation.plan());
        let decoder = self.decoder.map_or_else(|| DecoderNet::new(plan, true), |(_, net)| decoder_net(net));
        Networks { frame_encoder: image_net(&measurement.observation), poses, decoder }
    }

    /// Derivatives by all parameters.
    pub(crate) fn named(&self, nets: &Networks, by: &Gradient) -> Vec<Named> {
        let (name, _) = self.measurement;
        let mut all = image_gradients(&format!("{name}.observation"), &nets.frame_encoder, &by.frame_encoder);
        all.extend(chain_gradient(&format!("{name}.state.mlp"), &nets.poses.layers, &by.poses));
        if let Some((name, decoder)) = self.decoder {
            all.extend(decoder_gradients(name, decoder, &nets.decoder, &by.decoder));
        }
        all
    }
}
