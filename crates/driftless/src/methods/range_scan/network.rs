//! The range network's weights: how they are drawn, and between the optimiser and the kernels.

use super::bins::{BINS, log_probabilities};
use super::sensor::Scans;
use super::views::Lens;
use crate::error::{Error, Result};
use crate::optimise::{Optimiser, Report};
use crate::parameters::{Named, replace};
use burn::tensor::DType;
use driftless_kernels::Cpu;
use driftless_kernels::range_scan::{ScanMemory, ScanNet, ScanPlan, ScanTensor};
use driftless_world::random::Random;
use driftless_world::trajectory::Images;
use std::ops::Range;

/// Images that are seen at once.
const TOGETHER: usize = 8;

/// The network with its weights as everybody else knows them.
#[derive(Clone)]
pub(in crate::methods) struct Network {
    values: Vec<Named>,
    net: ScanNet,
}

impl Network {
    /// First weights: normal with variance 2 / inputs (He et al. 2015), and zeros in the last layer, so that the first
    /// scan says nothing.
    pub(in crate::methods) fn new(plan: ScanPlan, random: &mut Random) -> Self {
        let values = plan.tensors().into_iter().map(|tensor| drawn(tensor, random)).collect();
        let mut network = Self { values, net: ScanNet::new(plan) };
        network.arrange();
        network
    }

    /// As the kernels have it.
    pub(in crate::methods) fn net(&self) -> &ScanNet {
        &self.net
    }

    /// All weights by name.
    pub(in crate::methods) fn values(&self) -> &[Named] {
        &self.values
    }

    /// Takes others, which must have the same names and shapes.
    pub(in crate::methods) fn set(&mut self, given: &[Named]) -> Result<()> {
        replace(&mut self.values, given)?;
        self.arrange();
        Ok(())
    }

    /// One update, with weights of products pulled towards 0 by a share of the rate (AdamW).
    pub(in crate::methods) fn update(
        &mut self,
        optimiser: &mut Optimiser,
        loss: f64,
        gradient: Vec<Vec<f32>>,
        decay: f64,
    ) -> Report {
        let named = |(own, values): (&Named, Vec<f32>)| Named {
            values: values.into_iter().map(f64::from).collect(),
            ..own.clone()
        };
        let gradients: Vec<Named> = self.values.iter().zip(gradient).map(named).collect();
        let kept = 1.0 - optimiser.learning_rate() * decay;
        let before: Vec<Vec<f64>> = self.values.iter().map(|own| own.values.clone()).collect();
        for own in self
            .values
            .iter_mut()
            .filter(|own| own.name.split_once('.').is_some_and(|(_, part)| part == "weight"))
        {
            own.values.iter_mut().for_each(|x| *x *= kept);
        }
        let report = optimiser.step_on(&mut self.values, loss, &gradients);
        if report.skipped.is_some() {
            self.values.iter_mut().zip(before).for_each(|(own, before)| own.values = before);
        }
        self.arrange();
        report
    }

    /// Fails unless images are as those that were learned from.
    fn check(&self, images: &Images) -> Result<()> {
        let plan = self.net.plan();
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
        let plan = self.net.plan();
        let usable: Vec<bool> =
            seen.chunks_exact(plan.pixels()).map(|image| image.iter().all(|x| x.is_finite())).collect();
        self.net.forward(Cpu::best(), seen, None, memory);
        let scores = memory.scores().chunks_exact(plan.columns() * plan.width());
        log.extend(scores.zip(usable).map(|(scores, usable)| usable.then(|| scan(scores, plan))));
    }

    fn arrange(&mut self) {
        let single = |value: &Named| value.values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let tensors: Vec<Vec<f32>> = self.values.iter().map(single).collect();
        self.net.set(&tensors);
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
