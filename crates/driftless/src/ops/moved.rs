//! The filter of SDPF's paper: poses that a network moves, matched with features by their directions.

use super::dense::{chain, chain_gradient};
use super::matched::pose_net;
use crate::model::ActionTransformer;
use crate::nets::PoseEncoder;
use crate::parameters::Named;
use driftless_kernels::mlp::MlpGradient;
use driftless_kernels::motion::MotionNet;
use driftless_kernels::ranks::{Message, Wire};
use driftless_kernels::scan::PoseNet;

/// The networks that see particles, and what they are called among a model's parameters.
pub(crate) struct Moved<'a> {
    pub motion: (&'a str, &'a ActionTransformer),
    pub states: (&'a str, &'a PoseEncoder),
    /// ε of likelihoods.
    pub epsilon: f64,
}

/// The same where the kernels want them.
pub(crate) struct MovedNets {
    pub motion: MotionNet,
    pub poses: PoseNet,
}

/// The derivatives by all their weights.
#[derive(Default)]
pub(crate) struct MovedGradient {
    pub motion: MlpGradient,
    pub poses: MlpGradient,
}

impl Moved<'_> {
    /// Their weights.
    pub(crate) fn networks(&self) -> MovedNets {
        let (_, transformer) = self.motion;
        let (mean, scale) = transformer.features().normalisation();
        let config = transformer.config();
        let motion = MotionNet {
            layers: chain(transformer.net()),
            centre: [mean[0] as f32, mean[1] as f32],
            extent: [scale[0] as f32, scale[1] as f32],
            action: std::array::from_fn(|k| config.action_std[k] as f32),
            step: std::array::from_fn(|k| config.step_size[k] as f32),
        };
        MovedNets { motion, poses: pose_net(self.states.1, self.epsilon) }
    }

    /// Derivatives by all parameters.
    pub(crate) fn named(&self, nets: &MovedNets, by: &MovedGradient) -> Vec<Named> {
        let mut all = chain_gradient(&format!("{}.net", self.motion.0), &nets.motion.layers, &by.motion);
        all.extend(chain_gradient(&format!("{}.mlp", self.states.0), &nets.poses.layers, &by.poses));
        all
    }
}

impl MovedGradient {
    /// Zeros for all weights.
    pub(crate) fn zeros(nets: &MovedNets) -> Self {
        let zeros = |layers: &driftless_kernels::mlp::Mlp| {
            let zero = |layer| {
                let mut by = driftless_kernels::dense::LayerGradient::default();
                by.reset(layer);
                by
            };
            layers.layers().iter().map(zero).collect()
        };
        Self { motion: zeros(&nets.motion.layers), poses: zeros(&nets.poses.layers) }
    }

    /// Adds those of another part of the data.
    pub(crate) fn add(&mut self, other: &Self) {
        let both = self.motion.iter_mut().chain(&mut self.poses);
        both.zip(other.motion.iter().chain(&other.poses)).for_each(|(sum, part)| sum.add(part));
    }
}

impl Message for MovedGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.motion.pass(wire);
        self.poses.pass(wire);
    }
}
