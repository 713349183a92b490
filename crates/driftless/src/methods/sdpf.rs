//! The semi-supervised filter and its supervised twin: as the paper states them, as the code computes them.

use super::filtering::{Course, FilterMethod};
use crate::batch::LabelMean;
use crate::error::Result;
use crate::filter::Filter;
use crate::learn::{Experiment, Method, Normalisation};
use crate::model::{
    ActionTransformer, ActionTransformerConfig, FeatureMatch, GaussianMotion, GivenOdometry, Model,
    StateSpace,
};
use crate::nets::{Activation, ConvPlan, ImageDecoder, ImageEncoder, PoseEncoder, StateFeatures};
use crate::objective::{
    Autoencoding, KernelDensity, Objective, PseudoLikelihood, Reconstruction, SquaredError, WeightedSum,
};
use crate::parameters::Init;
use crate::prior::Prior;
use crate::resample::{Resampler, ResamplerSettings, Scheme, Truncate, WhenBelow};
use crate::space::Space;
use burn::tensor::{DType, Device};
use driftless_world::random::Random;
use std::sync::Arc;

mod fused;
mod learned;
pub(super) mod robot;
mod short;

type Match = FeatureMatch<ImageEncoder, PoseEncoder>;
type Given = StateSpace<GaussianMotion<GivenOdometry>, Match>;
type Learned = StateSpace<GaussianMotion<ActionTransformer>, Match>;

/// Standard deviations of the process noise, in units of the maze and radians.
pub const PROCESS_NOISE: [f64; 3] = [20.0, 20.0, 0.5];
/// σ of the kernels on particles, in step sizes.
const BANDWIDTH: f64 = 0.2;
/// Steps in a block, L; a shorter sequence is one block.
pub const BLOCK: usize = 20;

/// Whose SDPF it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As the paper states it: the method `sdpf`.
    Paper,
    /// As the authors' code computes it: `sdpf-released`.
    Released,
    /// What the authors' code calls DPF, the loss at labels alone: `sdpf-supervised`.
    Supervised,
}

/// What the paper and the authors' code decide differently, besides the pseudo-likelihood, whose choices
/// are [`PseudoLikelihood::paper`] and [`PseudoLikelihood::released`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choices {
    /// Resampling only below this share of N effective particles, multinomial and seen by the gradient;
    /// otherwise at every step, systematic, and the gradient stops there.
    pub threshold: Option<f64>,
    /// Whether the motion's displacement is learned; otherwise odometry is taken as given.
    pub learned_motion: bool,
    /// The share of features that dropout keeps.
    pub keep: f64,
    /// Whether labels train by the density of particles around them; otherwise by the squared error.
    pub kernel_density: bool,
    /// Weight of the loss at labels.
    pub labels: f64,
    /// Weight of -Q.
    pub paths: f64,
    /// Weight of the autoencoder's loss.
    pub reconstruction: f64,
}

impl Choices {
    /// As the paper states it: λ₁ = 10, λ₂ = 0.01. N_thres has no value there and is N / 2 here; the
    /// action transformer's widths are those of DPF's learned odometry.
    pub const PAPER: Self = Self {
        threshold: Some(0.5),
        learned_motion: true,
        keep: 1.0,
        kernel_density: false,
        labels: 10.0,
        paths: 0.01,
        reconstruction: 0.0,
    };

    /// As the authors' code computes it.
    pub const RELEASED: Self = Self {
        threshold: None,
        learned_motion: false,
        keep: 0.3,
        kernel_density: true,
        labels: 10.0,
        paths: 0.01,
        reconstruction: 200.0,
    };

    /// The choices of a variant for an experiment. Without labels there is no loss at labels. The code has that
    /// loss alone where all steps are labelled, as its supervised variant always has; without the autoencoder it
    /// weights it by 1.
    pub fn of(variant: Variant, experiment: &Experiment) -> Self {
        let choices = if variant == Variant::Paper { Self::PAPER } else { Self::RELEASED };
        let all = variant == Variant::Released && experiment.label_fraction >= 1.0;
        if variant == Variant::Supervised || all {
            return Self { labels: 1.0, paths: 0.0, reconstruction: 0.0, ..choices };
        }
        Self { labels: if experiment.label_fraction > 0.0 { choices.labels } else { 0.0 }, ..choices }
    }

    /// How and when particles are resampled, and where gradients end; as an experiment says, or as published. The
    /// authors' code lets no gradient through a scheme.
    pub fn resampler(&self, settings: Option<&ResamplerSettings>) -> Result<Box<dyn Resampler>> {
        if let Some(settings) = settings {
            let chosen = settings.differentiable(Space::SE2)?;
            let stops = self.threshold.is_none() && settings.is_scheme();
            return Ok(if stops { Box::new(Truncate(chosen)) } else { chosen });
        }
        Ok(self.published_resampler())
    }

    fn published_resampler(&self) -> Box<dyn Resampler> {
        match self.threshold {
            Some(fraction) => Box::new(WhenBelow { fraction, inner: Box::new(Scheme::Multinomial) }),
            None => Box::new(Truncate(Box::new(Scheme::Systematic))),
        }
    }

    /// The losses that need nothing of the model but that it filters.
    fn losses<M: Model>(
        &self,
        experiment: &Experiment,
        normalisation: &Normalisation,
    ) -> Vec<(f64, Box<dyn Objective<M>>)> {
        let mut parts: Vec<(f64, Box<dyn Objective<M>>)> = Vec::new();
        let scale = normalisation.step_size.to_vec();
        if self.labels > 0.0 && self.kernel_density {
            let over = LabelMean::Share(experiment.label_fraction);
            parts.push((self.labels, Box::new(KernelDensity { scale, bandwidth: BANDWIDTH, over })));
        } else if self.labels > 0.0 {
            parts.push((self.labels, Box::new(SquaredError { scale, over: LabelMean::Known })));
        }
        if self.paths > 0.0 {
            parts.push((self.paths, Box::new(short::ShortToo(self.pseudo_likelihood(normalisation)))));
        }
        parts
    }

    /// Q and its choices.
    pub fn pseudo_likelihood(&self, normalisation: &Normalisation) -> PseudoLikelihood {
        let prior = prior(normalisation);
        match (self.threshold, &prior) {
            (None, Prior::Uniform { low, high }) => {
                let volume: f64 = low.iter().zip(high).map(|(low, high)| (high - low).ln()).sum();
                PseudoLikelihood::released(BLOCK, -volume)
            }
            _ => PseudoLikelihood::paper(BLOCK, prior),
        }
    }

    fn course<M: Model>(
        objective: WeightedSum<M>,
        normalisation: &Normalisation,
        resampler: Box<dyn Resampler>,
    ) -> Course<M> {
        let filter = Arc::new(Filter::new(Space::SE2, resampler));
        let (prior, normalisation) = (prior(normalisation), Arc::new(normalisation.clone()));
        Course { filter, told: None, prior, objective, normalisation }
    }

    fn plan(&self, normalisation: &Normalisation) -> ConvPlan {
        ConvPlan { keep: self.keep, ..ConvPlan::released(normalisation.pixels.shape()) }
    }

    fn measurement(&self, normalisation: &Normalisation, init: &mut Init) -> Match {
        let features = StateFeatures::new(
            Space::SE2,
            normalisation.state_mean.to_vec(),
            normalisation.state_std.to_vec(),
        );
        let observation = ImageEncoder::new(self.plan(normalisation), init);
        FeatureMatch::new(observation, PoseEncoder::new(features, &PoseEncoder::RELEASED, init))
    }
}

/// Uniform over the box of known poses. A side without extent, as where no pose is known, has ten steps to
/// either end, so that its density exists.
pub(super) fn prior(normalisation: &Normalisation) -> Prior {
    let extent = |k: usize| {
        let (low, high, reach) =
            (normalisation.low[k], normalisation.high[k], 10.0 * normalisation.step_size[k]);
        if high > low { (low, high) } else { (low - reach, high + reach) }
    };
    let (low, high) = [0, 1, 2].map(extent).into_iter().unzip();
    Prior::Uniform { low, high }
}

fn init(seed: u64, device: &Device) -> Init {
    Init::new(Random::stream(seed, 0).bits(), device, DType::F32)
}

fn given(choices: Choices, normalisation: &Normalisation, init: &mut Init) -> Given {
    let transition = GaussianMotion::new(GivenOdometry::default(), PROCESS_NOISE.to_vec(), Space::SE2);
    StateSpace { transition, measurement: choices.measurement(normalisation, init) }
}

/// The action transformer, with the widths of DPF's learned odometry.
fn transformer(normalisation: &Normalisation, init: &mut Init) -> ActionTransformer {
    let config = ActionTransformerConfig {
        hidden: vec![128; 3],
        space: Space::SE2,
        state_mean: normalisation.state_mean.to_vec(),
        state_std: normalisation.state_std.to_vec(),
        action_std: normalisation.action_std.to_vec(),
        step_size: normalisation.step_size.to_vec(),
    };
    ActionTransformer::new(config, init)
}

fn learned_model(choices: Choices, normalisation: &Normalisation, init: &mut Init) -> Learned {
    let measurement = choices.measurement(normalisation, init);
    let motion = transformer(normalisation, init);
    let transition = GaussianMotion::new(motion, PROCESS_NOISE.to_vec(), Space::SE2);
    StateSpace { transition, measurement }
}

/// The filter of an experiment, not trained yet.
pub(super) fn build(
    variant: Variant,
    experiment: &Experiment,
    normalisation: &Normalisation,
) -> Result<Box<dyn Method>> {
    let choices = Choices::of(variant, experiment);
    let resampler = choices.resampler(experiment.resampler.as_ref())?;
    let (seed, own) = (experiment.seed, normalisation.clone());
    if choices.reconstruction > 0.0 {
        let mut parts = choices.losses(experiment, normalisation);
        parts.push((choices.reconstruction, Box::new(Reconstruction)));
        let make = move |device: &Device| {
            let mut init = init(seed, device);
            let model = given(choices, &own, &mut init);
            let decoder = ImageDecoder::new(choices.plan(&own), Activation::Relu, &mut init);
            Autoencoding { model, decoder }
        };
        let course = Choices::course(WeightedSum(parts), normalisation, resampler);
        let fused = fused::autoencoding(choices, experiment);
        return Ok(Box::new(FilterMethod::new(experiment, course, Box::new(make)).fused(fused)));
    }
    if choices.learned_motion {
        let make = move |device: &Device| learned_model(choices, &own, &mut init(seed, device));
        let course =
            Choices::course(WeightedSum(choices.losses(experiment, normalisation)), normalisation, resampler);
        let fused = learned::in_mazes(choices, experiment);
        return Ok(Box::new(FilterMethod::new(experiment, course, Box::new(make)).fused(fused)));
    }
    let make = move |device: &Device| given(choices, &own, &mut init(seed, device));
    let course =
        Choices::course(WeightedSum(choices.losses(experiment, normalisation)), normalisation, resampler);
    let fused = fused::alone(choices, experiment);
    Ok(Box::new(FilterMethod::new(experiment, course, Box::new(make)).fused(fused)))
}
