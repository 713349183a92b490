//! SDPF for a robot's own log: the paper's filter and losses, networks that fit the sensors, odometry in the log's frame.

use super::learned::{Parts, by_kernels};
use super::{BLOCK, Choices, Variant, init, transformer};
use crate::error::Result;
use crate::learn::{Experiment, Method, Normalisation};
use crate::methods::filtering::FilterMethod;
use crate::methods::own_log::{reading_plan, wander};
use crate::methods::windows::Windows;
use crate::model::{
    ActionTransformer, FeatureMatch, GaussianMotion, GivenOdometry, Motion, StateSpace, Transition, Wander,
    WhereSeen,
};
use crate::nets::{PoseEncoder, ReadingEncoder, ReadingPlan, StateFeatures};
use crate::objective::WeightedSum;
use crate::ops::Moved;
use crate::parameters::Init;
use crate::space::Space;
use burn::tensor::Device;

/// Standard deviations of the process noise, in mean steps: the tenth by which DPF's authors take odometry to be wrong. The
/// paper has numbers for its mazes and houses only. With half a step, validation episodes of a real log were followed twice
/// as badly as by odometry alone.
const PROCESS_NOISE: f64 = 0.1;

type Match = WhereSeen<FeatureMatch<ReadingEncoder, PoseEncoder>>;
pub(super) type Rover<F> = StateSpace<GaussianMotion<F>, Match>;

/// A model with first weights, and a displacement of its own.
pub(super) fn rover<F: Motion>(
    plan: ReadingPlan,
    normalisation: &Normalisation,
    init: &mut Init,
    motion: impl FnOnce(&mut Init) -> F,
) -> Rover<F> {
    let mean = normalisation.state_mean.to_vec();
    let features = StateFeatures::new(Space::SE2, mean, normalisation.state_std.to_vec());
    let observation = ReadingEncoder::new(plan, init);
    let inner = FeatureMatch::new(observation, PoseEncoder::new(features, &PoseEncoder::RELEASED, init));
    let noise = normalisation.step_size.map(|size| PROCESS_NOISE * size);
    let transition =
        GaussianMotion::new(motion(init), noise.to_vec(), Space::SE2).wandering(wander(normalisation));
    StateSpace { transition, measurement: WhereSeen { inner } }
}

/// What kernels want to know of a model.
pub(super) fn parts(model: &Rover<ActionTransformer>) -> Parts<'_> {
    let (transition, matched) = (&model.transition, &model.measurement.inner);
    Parts {
        networks: Moved {
            motion: ("transition.motion", &transition.motion),
            states: ("measurement.inner.state", &matched.state),
            epsilon: matched.epsilon(),
        },
        frames: None,
        noise: (transition.std(), transition.wander().map(Wander::std)),
        silence: true,
    }
}

/// The filter of an experiment, not trained yet. Only what needs no decoder is there for logs: the paper's SDPF, and SDPF
/// without Q.
pub(in crate::methods) fn build(
    variant: Variant,
    experiment: &Experiment,
    normalisation: &Normalisation,
) -> Result<Box<dyn Method>> {
    let choices = Choices::of(variant, experiment);
    let resampler = choices.resampler(experiment.resampler.as_ref())?;
    let plan = reading_plan(experiment, normalisation, choices.keep)?;
    let (seed, own, windows) = (experiment.seed, normalisation.clone(), Windows::of(experiment, BLOCK));
    let frame = experiment.frame();
    if choices.learned_motion {
        let make = move |device: &Device| {
            let motion = |init: &mut Init| transformer(&own, init);
            rover(plan.clone(), &own, &mut init(seed, device), motion)
        };
        let losses = WeightedSum(choices.losses(experiment, normalisation));
        let course = Choices::course(losses, normalisation, resampler);
        let fused = by_kernels(choices, experiment, parts);
        let method = FilterMethod::new(experiment, course, Box::new(make)).windowed(windows);
        return Ok(Box::new(method.fused(fused)));
    }
    let make = move |device: &Device| {
        let motion = |_: &mut Init| GivenOdometry::new(frame);
        rover(plan.clone(), &own, &mut init(seed, device), motion)
    };
    let losses = WeightedSum(choices.losses(experiment, normalisation));
    let course = Choices::course(losses, normalisation, resampler);
    Ok(Box::new(FilterMethod::new(experiment, course, Box::new(make)).windowed(windows)))
}
