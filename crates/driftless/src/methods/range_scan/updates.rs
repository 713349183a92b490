//! An update of a range network: the cross-entropy of images' scans with what rays meet on the map, what the filter makes of
//! them where that is asked for, and the gradient.

use super::bins::{BINS, add_target};
use super::camera::Camera;
use super::network::{Network, gradients};
use super::through::{Block, Through};
use super::views::{Lens, View};
use crate::error::Result;
use crate::parameters::Named;
use driftless_core::exponential::log_sum_exp;
use driftless_core::map::Walls;
use driftless_kernels::Cpu;
use driftless_kernels::range_scan::{ScanGradient, ScanMemory};
use driftless_kernels::ranks::{Message, Ranks, Wire, is_own, share};
use driftless_world::random::Random;
use driftless_world::trajectory::Images;
use rayon::prelude::*;
use std::sync::Mutex;

/// Images of an update that a thread takes.
const PART: usize = 4;
/// Share of features that an update does not see.
const DROPOUT: f64 = 0.1;
/// What weights are pulled towards 0 by, times the rate.
pub(super) const DECAY: f64 = 0.05;
/// Gradients longer than this are shortened.
const LONGEST_GRADIENT: f32 = 5.0;

/// What a part of an update works in.
#[derive(Default)]
pub(in crate::methods) struct Workspace {
    pub(super) memory: ScanMemory,
    pub(super) gradient: ScanGradient,
}

impl Message for Workspace {
    fn pass(&mut self, wire: &mut Wire) {
        self.gradient.pass(wire);
    }
}

/// Workspaces that threads take and give back: fresh pages would cost a tenth of an update.
#[derive(Default)]
pub(in crate::methods) struct Workspaces(Mutex<Vec<Workspace>>);

impl Workspaces {
    pub(super) fn take(&self) -> Workspace {
        self.0.lock().expect("no thread panicked").pop().unwrap_or_default()
    }

    fn give_back(&self, workspace: Workspace) {
        self.0.lock().expect("no thread panicked").push(workspace);
    }
}

/// An image, and the poses on a map that it may have been taken at, all equally likely.
#[derive(Clone, Copy)]
pub(in crate::methods) struct Shown<'a> {
    pub(in crate::methods) images: &'a Images,
    pub(in crate::methods) step: usize,
    pub(in crate::methods) poses: &'a [[f32; 3]],
    pub(in crate::methods) walls: &'a Walls,
}

/// What a network is trained with.
pub(in crate::methods) struct Trainer<'a> {
    pub(in crate::methods) network: &'a Network,
    pub(in crate::methods) camera: &'a Camera,
    pub(in crate::methods) lens: &'a Lens,
    pub(in crate::methods) workspaces: &'a Workspaces,
    pub(in crate::methods) ranks: &'a dyn Ranks,
}

/// What one thread does of an update.
enum Part<'a> {
    Images(&'a [Shown<'a>]),
    Block(&'a Through<'a>, &'a Block<'a>),
}

/// What an update came to: the mean cross-entropy of a column, and the loss of the filter's beliefs.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::methods) struct Losses {
    pub(in crate::methods) cross_entropy: f64,
    pub(in crate::methods) filter: f64,
}

impl Trainer<'_> {
    /// The mean cross-entropy of some images' scans, with the filter's loss beside it, and the gradient of both; the seed
    /// names views, dropout and particles.
    pub(in crate::methods) fn loss(
        &self,
        examples: &[Shown],
        through: Option<&Through>,
        seed: u64,
    ) -> Result<(Losses, Vec<Named>)> {
        let columns = (examples.len() * self.camera.columns()) as f64;
        let blocks = through
            .iter()
            .flat_map(|&through| through.blocks.iter().map(move |block| Part::Block(through, block)));
        let work: Vec<Part> = examples.chunks(PART).map(Part::Images).chain(blocks).collect();
        let part = |(number, part): (usize, &Part)| {
            if !is_own(self.ranks, number) {
                return (0.0, self.workspaces.take());
            }
            let mut random = Random::stream(seed, number as u64 + 1);
            match part {
                Part::Images(examples) => self.part(examples, &mut random),
                Part::Block(through, block) => through.part(self, block, columns, &mut random),
            }
        };
        let mut parts: Vec<(f64, Workspace)> = work.par_iter().enumerate().map(part).collect();
        share(self.ranks, &mut parts)?;
        let (mut losses, mut sum) = (Losses::default(), None);
        for ((value, part), work) in parts.into_iter().zip(&work) {
            match work {
                Part::Images(_) => losses.cross_entropy += value / columns,
                Part::Block(..) => losses.filter += value,
            }
            self.add(part, &mut sum);
        }
        let sum: Workspace = sum.expect("an update has images");
        let tensors = shortened(sum.gradient.tensors(self.network.net()), (1.0 / columns) as f32);
        self.workspaces.give_back(sum);
        Ok((losses, gradients(self.network.net().plan(), tensors)))
    }

    /// Adds a part's gradient to those before it.
    fn add(&self, part: Workspace, sum: &mut Option<Workspace>) {
        match sum {
            None => *sum = Some(part),
            Some(sum) => {
                sum.gradient.add(&part.gradient);
                self.workspaces.give_back(part);
            }
        }
    }

    /// The same sums over some images, by one thread.
    fn part(&self, examples: &[Shown], random: &mut Random) -> (f64, Workspace) {
        let (net, cpu) = (self.network.net(), Cpu::best());
        let plan = net.plan();
        let (mut seen, mut targets) = (Vec::new(), vec![0.0; examples.len() * plan.columns() * BINS]);
        for (example, targets) in examples.iter().zip(targets.chunks_exact_mut(plan.columns() * BINS)) {
            let view = self.lens.drawn(random);
            view.show(example.images, example.step, &mut seen);
            self.aim(example, &view, targets);
        }
        let kept = (1.0 / (1.0 - DROPOUT)) as f32;
        let mask = |_| if random.chance(DROPOUT) { 0.0 } else { kept };
        let masks: Vec<f32> = (0..examples.len() * plan.mask()).map(mask).collect();
        let Workspace { mut memory, mut gradient } = self.workspaces.take();
        gradient.reset(net);
        net.forward(cpu, &seen, Some(&masks), &mut memory);
        let mut by_scores = memory.scores().to_vec();
        let columns = by_scores.chunks_exact_mut(plan.width()).zip(targets.chunks_exact(BINS));
        let loss = columns.map(|(scores, target)| f64::from(cross_entropy(scores, target))).sum();
        net.backward(cpu, &by_scores, Some(&masks), &mut memory, &mut gradient);
        (loss, Workspace { memory, gradient })
    }

    /// Where the walls are that an image shows, as far as its pose is known: histograms by column.
    fn aim(&self, example: &Shown, view: &View, targets: &mut [f32]) {
        let (columns, share) = (self.camera.columns(), 1.0 / example.poses.len() as f32);
        for pose in example.poses {
            self.camera.look(example.walls, *pose, 1, |column, place| {
                let column = view.column(column, columns);
                add_target(place, share, &mut targets[column * BINS..(column + 1) * BINS]);
            });
        }
    }
}

/// A gradient times a scale, and no longer than it may be.
fn shortened(mut tensors: Vec<Vec<f32>>, scale: f32) -> Vec<Vec<f32>> {
    tensors.iter_mut().flatten().for_each(|x| *x *= scale);
    let length = tensors.iter().flatten().map(|x| x * x).sum::<f32>().sqrt();
    if length > LONGEST_GRADIENT {
        tensors.iter_mut().flatten().for_each(|x| *x *= LONGEST_GRADIENT / length);
    }
    tensors
}

/// -Σ target log softmax(scores); scores become its derivatives, those of the padding 0.
fn cross_entropy(scores: &mut [f32], target: &[f32]) -> f32 {
    let (scores, padding) = scores.split_at_mut(BINS);
    padding.fill(0.0);
    let log_total = log_sum_exp(Cpu::best(), scores, 1.0) as f32;
    let mut loss = 0.0;
    for (score, target) in scores.iter_mut().zip(target) {
        let log = *score - log_total;
        loss -= target * log;
        *score = log.exp() - target;
    }
    loss
}
