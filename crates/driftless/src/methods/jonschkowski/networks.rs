//! The networks of Jonschkowski, Rastogi & Brock (2018), with first weights.

use crate::learn::Normalisation;
use crate::methods::own_log::wander;
use crate::methods::sdpf;
use crate::model::{
    ActionSampler, ActionSamplerConfig, GivenOdometry, LikelihoodNetwork, LikelihoodWidths, ParticleProposer,
    StateBox, StateSpace, WhereSeen, WithProposer,
};
use crate::nets::{ConvPlan, ImageEncoder, ReadingEncoder, ReadingPlan, StateFeatures};
use crate::parameters::Init;
use crate::prior::Prior;
use crate::space::Space;
use burn::tensor::{DType, Device};
use driftless_world::pose::Frame;
use driftless_world::random::Random;

/// Motion, measurement and proposer; the last two share an encoder.
pub(super) type Networks<L> = WithProposer<StateSpace<ActionSampler<GivenOdometry>, L>, ParticleProposer>;
/// What images of mazes are measured by.
pub(super) type OfImages = LikelihoodNetwork<ImageEncoder>;
/// What the readings of a robot's own log are measured by.
pub(super) type OfReadings = WhereSeen<LikelihoodNetwork<ReadingEncoder>>;

/// Units of the hidden layers that make noise.
const NOISE_UNITS: [usize; 2] = [32, 32];
/// The least standard deviation of the motion's density, in step sizes. Nothing here asks for a density.
const DENSITY_FLOOR: f64 = 0.01;
/// A unit of noise in logs, whose lengths are in any unit, in standard deviations of actions: the noise that the authors
/// give odometry.
const NOISE_UNIT: f64 = 0.1;
/// The share of features that dropout keeps.
pub(super) const KEEP: f64 = 0.3;

/// The networks named by `seed`: as released, odometry given, its noise learned.
pub(super) fn in_mazes(seed: u64, normalisation: &Normalisation, device: &Device) -> Networks<OfImages> {
    let mut init = first(seed, device);
    let encoder = ImageEncoder::new(ConvPlan::released(normalisation.pixels.shape()), &mut init);
    let widths = LikelihoodWidths::RELEASED;
    let measurement = LikelihoodNetwork::new(encoder, widths, features(normalisation), &mut init);
    let transition = ActionSampler::new(GivenOdometry::default(), sampler(normalisation), &mut init);
    WithProposer {
        model: StateSpace { transition, measurement },
        proposer: proposer(normalisation, &mut init),
    }
}

/// The same for a robot's own log.
pub(super) fn in_logs(
    seed: u64,
    plan: &ReadingPlan,
    frame: Frame,
    normalisation: &Normalisation,
    device: &Device,
) -> Networks<OfReadings> {
    let mut init = first(seed, device);
    let encoder = ReadingEncoder::new(plan.clone(), &mut init);
    let widths = LikelihoodWidths::RELEASED;
    let inner = LikelihoodNetwork::new(encoder, widths, features(normalisation), &mut init);
    let transition = ActionSampler::new(GivenOdometry::new(frame), sampler(normalisation), &mut init)
        .in_units(normalisation.action_std.map(|std| NOISE_UNIT * std).to_vec())
        .wandering(wander(normalisation));
    let model = StateSpace { transition, measurement: WhereSeen { inner } };
    WithProposer { model, proposer: proposer(normalisation, &mut init) }
}

fn first(seed: u64, device: &Device) -> Init {
    Init::new(Random::stream(seed, 0).bits(), device, DType::F32)
}

fn features(normalisation: &Normalisation) -> StateFeatures {
    StateFeatures::new(Space::SE2, normalisation.state_mean.to_vec(), normalisation.state_std.to_vec())
}

fn sampler(normalisation: &Normalisation) -> ActionSamplerConfig {
    ActionSamplerConfig {
        hidden: NOISE_UNITS.to_vec(),
        action_std: normalisation.action_std.to_vec(),
        space: Space::SE2,
        floor: normalisation.step_size.map(|size| DENSITY_FLOOR * size).to_vec(),
    }
}

fn proposer(normalisation: &Normalisation, init: &mut Init) -> ParticleProposer {
    ParticleProposer::new(LikelihoodWidths::RELEASED.encoding, within(normalisation), init)
}

/// The box of known poses, in which particles are proposed.
fn within(normalisation: &Normalisation) -> StateBox {
    match sdpf::prior(normalisation) {
        Prior::Uniform { low, high } => StateBox { low: [low[0], low[1]], high: [high[0], high[1]] },
        _ => unreachable!("the prior over all known poses is a box"),
    }
}
