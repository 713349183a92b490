//! The networks of Jonschkowski, Rastogi & Brock (2018), with first weights.

use crate::learn::Normalisation;
use crate::methods::sdpf;
use crate::model::{
    ActionSampler, ActionSamplerConfig, GivenOdometry, LikelihoodNetwork, LikelihoodWidths, ParticleProposer,
    StateBox, StateSpace, WithProposer,
};
use crate::nets::{ConvPlan, ImageEncoder, StateFeatures};
use crate::parameters::Init;
use crate::prior::Prior;
use crate::space::Space;
use burn::tensor::{DType, Device};
use driftless_world::random::Random;

/// Motion, measurement and proposer; the last two share an encoder.
pub(super) type Networks =
    WithProposer<StateSpace<ActionSampler<GivenOdometry>, LikelihoodNetwork<ImageEncoder>>, ParticleProposer>;

/// Units of the hidden layers that make noise.
const NOISE_UNITS: [usize; 2] = [32, 32];
/// The least standard deviation of the motion's density, in step sizes. Nothing here asks for a density.
const DENSITY_FLOOR: f64 = 0.01;

/// The networks named by `seed`: as released, odometry given, its noise learned.
pub(super) fn networks(seed: u64, normalisation: &Normalisation, device: &Device) -> Networks {
    let mut init = Init::new(Random::stream(seed, 0).bits(), device, DType::F32);
    let plan = ConvPlan::released(normalisation.pixels.shape());
    let features =
        StateFeatures::new(Space::SE2, normalisation.state_mean.to_vec(), normalisation.state_std.to_vec());
    let encoder = ImageEncoder::new(plan, &mut init);
    let measurement = LikelihoodNetwork::new(encoder, LikelihoodWidths::RELEASED, features, &mut init);
    let config = ActionSamplerConfig {
        hidden: NOISE_UNITS.to_vec(),
        action_std: normalisation.action_std.to_vec(),
        space: Space::SE2,
        floor: normalisation.step_size.map(|size| DENSITY_FLOOR * size).to_vec(),
    };
    let transition = ActionSampler::new(GivenOdometry::default(), config, &mut init);
    let proposer =
        ParticleProposer::new(LikelihoodWidths::RELEASED.encoding, within(normalisation), &mut init);
    WithProposer { model: StateSpace { transition, measurement }, proposer }
}

/// The box of known poses, in which particles are proposed.
fn within(normalisation: &Normalisation) -> StateBox {
    match sdpf::prior(normalisation) {
        Prior::Uniform { low, high } => StateBox { low: [low[0], low[1]], high: [high[0], high[1]] },
        _ => unreachable!("the prior over all known poses is a box"),
    }
}
