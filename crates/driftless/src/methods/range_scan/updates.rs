//! An update of a range network: the cross-entropy of images' scans with what rays meet on the map, and its gradient.

use super::bins::{BINS, add_target};
use super::camera::Camera;
use super::network::{Network, gradients};
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
    memory: ScanMemory,
    gradient: ScanGradient,
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
    fn take(&self) -> Workspace {
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

impl Trainer<'_> {
    /// The mean cross-entropy of some images' scans, and its gradient; the seed names views and dropout.
    pub(in crate::methods) fn loss(&self, examples: &[Shown], seed: u64) -> Result<(f64, Vec<Named>)> {
        let part = |(part, examples): (usize, &[Shown])| {
            if is_own(self.ranks, part) {
                return self.part(examples, &mut Random::stream(seed, part as u64 + 1));
            }
            (0.0, self.workspaces.take())
        };
        let mut parts: Vec<(f64, Workspace)> = examples.par_chunks(PART).enumerate().map(part).collect();
        share(self.ranks, &mut parts)?;
        let mut parts = parts.into_iter();
        let (mut loss, mut sum) = parts.next().expect("an update has images");
        for (value, part) in parts {
            loss += value;
            sum.gradient.add(&part.gradient);
            self.workspaces.give_back(part);
        }
        let scale = 1.0 / (examples.len() * self.camera.columns()) as f32;
        let mut tensors = sum.gradient.tensors(self.network.net());
        self.workspaces.give_back(sum);
        tensors.iter_mut().flatten().for_each(|x| *x *= scale);
        let length = tensors.iter().flatten().map(|x| x * x).sum::<f32>().sqrt();
        if length > LONGEST_GRADIENT {
            tensors.iter_mut().flatten().for_each(|x| *x *= LONGEST_GRADIENT / length);
        }
        Ok((loss * f64::from(scale), gradients(self.network.net().plan(), tensors)))
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
