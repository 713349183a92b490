//! The range network: how its weights are drawn, and what it says of images.

use super::bins::{BINS, log_probabilities};
use super::sensor::Scans;
use super::updates::DECAY;
use super::views::Lens;
use super::{LEAST_RATE, RATE};
use crate::error::{Error, Result};
use crate::methods::learner::Learner;
use crate::optimise::{Adam, Optimiser, Rule, Schedule};
use crate::parameters::{Named, Net};
use burn::tensor::DType;
use driftless_kernels::Cpu;
use driftless_kernels::range_scan::{ScanMemory, ScanNet, ScanPlan, ScanTensor};
use driftless_world::random::Random;
use driftless_world::trajectory::Images;
use std::ops::Range;

/// Images that are seen at once.
const TOGETHER: usize = 8;

/// A range network that has not learned yet. First weights are normal with variance 2 / inputs (He et al. 2015), and zeros
/// in the last layer, so that the first scan says nothing.
pub(in crate::methods) fn learner(plan: ScanPlan, updates: u64, random: &mut Random) -> Learner<Network> {
    let values = plan.tensors().into_iter().map(|tensor| drawn(tensor, random)).collect();
    let schedule = Schedule::Cosine { updates, least: LEAST_RATE };
    let optimiser =
        Optimiser::new(Rule::Adam(Adam::default()), RATE).with_schedule(schedule).with_decay(DECAY);
    Learner::new(Network(ScanNet::new(plan)), values, optimiser)
}

/// The network as the kernels have it.
#[derive(Clone)]
pub(in crate::methods) struct Network(ScanNet);

impl Net for Network {
    fn load(&mut self, values: &[Named]) {
        let single = |value: &Named| value.values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let tensors: Vec<Vec<f32>> = values.iter().map(single).collect();
        self.0.set(&tensors);
    }
}

/// Derivatives by all parameters, tensor by tensor, with their names.
pub(in crate::methods) fn gradients(plan: ScanPlan, by: Vec<Vec<f32>>) -> Vec<Named> {
    let named = |(tensor, by): (ScanTensor, Vec<f32>)| Named::singles(tensor.name, &tensor.shape, by);
    plan.tensors().into_iter().zip(by).map(named).collect()
}

impl Network {
    /// The network of the kernels.
    pub(in crate::methods) fn net(&self) -> &ScanNet {
        &self.0
    }

    /// Fails unless images are as those that were learned from.
    fn check(&self, images: &Images) -> Result<()> {
        let plan = self.0.plan();
        if [images.height, images.width] == plan.image && images.channels == plan.channels {
            return Ok(());
        }
        let (own, given) =
            ([plan.image[1], plan.image[0], plan.channels], [images.width, images.height, images.channels]);
        let problem =
            format!("images of {given:?} (width, height, channels); the filter was trained with {own:?}");
        Err(Error::File(driftless_world::Error::new(problem)))
    }

    /// The scans of all images of an episode.
    pub(super) fn scans(&self, images: &Images) -> Result<Scans> {
        self.check(images)?;
        let (mut memory, mut log) = (ScanMemory::default(), Vec::new());
        for first in (0..images.len()).step_by(TOGETHER) {
            let steps = first..(first + TOGETHER).min(images.len());
            self.scan_some(images, steps, &mut memory, &mut log)?;
        }
        Ok(Scans { log })
    }

    /// Adds the scans of a few images; none of one with numbers that are not finite.
    pub(in crate::methods) fn scan_some(
        &self,
        images: &Images,
        steps: Range<usize>,
        memory: &mut ScanMemory,
        log: &mut Vec<Option<Vec<f32>>>,
    ) -> Result<()> {
        self.check(images)?;
        let (lens, mut seen) = (Lens::of(images)?, Vec::new());
        steps.for_each(|t| lens.plain(images, t, &mut seen));
        self.scan_seen(&seen, memory, log);
        Ok(())
    }

    /// The same of images as a lens shows them.
    pub(in crate::methods) fn scan_seen(
        &self,
        seen: &[f32],
        memory: &mut ScanMemory,
        log: &mut Vec<Option<Vec<f32>>>,
    ) {
        let plan = self.0.plan();
        let usable: Vec<bool> =
            seen.chunks_exact(plan.pixels()).map(|image| image.iter().all(|x| x.is_finite())).collect();
        self.0.forward(Cpu::best(), seen, None, memory);
        let scores = memory.scores().chunks_exact(plan.columns() * plan.width());
        log.extend(scores.zip(usable).map(|(scores, usable)| usable.then(|| scan(scores, plan))));
    }
}

/// Logarithms of probabilities by column and bin, without gaps.
fn scan(scores: &[f32], plan: ScanPlan) -> Vec<f32> {
    let mut log: Vec<f32> =
        scores.chunks_exact(plan.width()).flat_map(|column| &column[..BINS]).copied().collect();
    log.chunks_exact_mut(BINS).for_each(log_probabilities);
    log
}

fn drawn(tensor: ScanTensor, random: &mut Random) -> Named {
    let count: usize = tensor.shape.iter().product();
    let inputs = tensor.shape.split_last().map_or(1, |(_, rest)| rest.iter().product::<usize>());
    let std = (2.0 / inputs as f64).sqrt();
    let (layer, part) = tensor.name.split_once('.').unwrap_or_default();
    let silent = part == "bias" || ["bins", "mean"].contains(&layer);
    // What is trained are numbers of 32 bits.
    let mut value = || if silent { 0.0 } else { f64::from((std * random.normal()) as f32) };
    let values = (0..count).map(|_| value()).collect();
    Named { name: tensor.name, shape: tensor.shape, precision: DType::F32, values }
}
