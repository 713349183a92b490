//! A batch of episodes, block after block: what PF-net's filter believes is carried on, gradients are not.

use super::excerpt::{Excerpt, Mark};
use super::network::Network;
use super::objective::{Block, Terms};
use super::particles::{State, drive, first};
use super::walk::Walk;
use crate::error::Result;
use crate::learn::HouseSettings;
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::{PfnetGradient, PfnetMemory};
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use rayon::prelude::*;
use std::sync::Mutex;

/// Parts of a batch, at most, whose gradients are added in order.
pub(super) const PARTS: usize = 8;

/// A belief between two blocks.
pub(super) struct Carried {
    poses: Vec<State>,
    log_weights: Vec<f64>,
    random: Random,
}

/// What a block of a batch came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Squared errors at known poses, and how many.
    pub(super) error: f64,
    pub(super) known: f64,
    /// What beliefs were judged by.
    pub(super) judged: f64,
    /// The pseudo-likelihoods.
    pub(super) pseudo: f64,
    /// Effective sample sizes in the end.
    pub(super) effective: f64,
}

/// Memories and gradients that threads take and give back: fresh pages would cost a tenth of an update.
#[derive(Default)]
pub(super) struct Pool {
    memories: Mutex<Vec<PfnetMemory>>,
    gradients: Mutex<Vec<PfnetGradient>>,
}

impl Pool {
    /// Works with one of the memories.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut PfnetMemory) -> T) -> T {
        let taken = self.memories.lock().expect("no thread panicked").pop();
        let mut memory = taken.unwrap_or_default();
        let result = work(&mut memory);
        self.memories.lock().expect("no thread panicked").push(memory);
        result
    }

    /// Zeros for all weights.
    fn gradient(&self, network: &Network) -> PfnetGradient {
        let mut gradient = self.gradients.lock().expect("no thread panicked").pop().unwrap_or_default();
        gradient.reset(network.net());
        gradient
    }

    /// Takes back a gradient that was used.
    pub(super) fn give_back(&self, gradient: PfnetGradient) {
        self.gradients.lock().expect("no thread panicked").push(gradient);
    }
}

impl Carried {
    /// A belief before anything is seen.
    pub(super) fn new(start: Start, walk: &Walk, particles: usize, mut random: Random) -> Result<Self> {
        let poses = first(start, &walk.maps, particles, &mut random)?;
        Ok(Self { poses, log_weights: vec![-(particles as f64).ln(); particles], random })
    }
}

/// One block of all excerpts; beliefs move on.
pub(super) fn block(
    network: &Network,
    settings: &HouseSettings,
    terms: Terms,
    (excerpts, carried): (&[Excerpt], &mut [Carried]),
    pool: &Pool,
) -> (Sums, PfnetGradient) {
    let size = excerpts.len().div_ceil(PARTS).max(1);
    let part = |(excerpts, carried): (&[Excerpt], &mut [Carried])| {
        let mut gradient = pool.gradient(network);
        let mut sums = Sums::default();
        pool.with(|memory| {
            for (excerpt, carried) in excerpts.iter().zip(carried) {
                sums.add(one(network, settings, terms, (excerpt, carried), memory, &mut gradient));
            }
        });
        (sums, gradient)
    };
    let parts: Vec<(Sums, PfnetGradient)> =
        excerpts.par_chunks(size).zip(carried.par_chunks_mut(size)).map(part).collect();
    let mut parts = parts.into_iter();
    let (mut sums, mut gradient) = parts.next().expect("a batch has walks");
    for (part, other) in parts {
        sums.add(part);
        gradient.add(&other);
        pool.give_back(other);
    }
    (sums, gradient)
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.error += other.error;
        self.known += other.known;
        self.judged += other.judged;
        self.pseudo += other.pseudo;
        self.effective += other.effective;
    }
}

/// One block of one excerpt.
fn one(
    network: &Network,
    settings: &HouseSettings,
    terms: Terms,
    (excerpt, carried): (&Excerpt, &mut Carried),
    memory: &mut PfnetMemory,
    gradient: &mut PfnetGradient,
) -> Sums {
    let Excerpt { walk, from, marks } = excerpt;
    let (net, cpu, noise) = (network.net(), Cpu::best(), settings.noise());
    let (count, pixels) = (carried.poses.len(), net.pixels());
    let images = &walk.images[from * pixels..(from + settings.block) * pixels];
    net.see(cpu, images, count, true, memory);
    let mut block = Block::new(terms, std::mem::take(&mut carried.log_weights));
    let (mut views, mut said) = (vec![0.0; count * net.view()], vec![0.0; count]);
    for (step, mark) in marks.iter().enumerate() {
        let t = from + step;
        if step > 0 || (t > 0 && terms.goes_on) {
            let Carried { poses, random, .. } = &mut *carried;
            let moves = poses.iter_mut().map(|pose| drive(pose, walk.actions[t], noise, random));
            block.moved(moves);
        }
        look(walk, settings, &carried.poses, &mut views);
        net.weigh(cpu, step, &views, memory, &mut said);
        let uniforms: Vec<f64> = (0..count).map(|_| carried.random.unit()).collect();
        let drawn = block.weigh(said.iter().map(|&x| f64::from(x)).collect(), &uniforms);
        if let Some(ancestors) = drawn {
            carried.poses = ancestors.iter().map(|&parent| carried.poses[parent]).collect();
        }
        if let Some(Mark { pose, weight }) = mark {
            block.know(&carried.poses, *pose, *weight);
        }
    }
    net.backward(cpu, &block.pulls(), memory, gradient);
    carried.log_weights = block.log_weights().to_vec();
    let effective = block.weights().iter().map(|w| w * w).sum::<f64>().recip();
    let Block { error, judged, known, .. } = block;
    Sums { error, judged, known, pseudo: block.pseudo_likelihood(), effective }
}

/// The map as all particles see it.
pub(super) fn look(walk: &Walk, settings: &HouseSettings, poses: &[State], views: &mut [f32]) {
    let (floor, size) = (walk.floor(), views.len() / poses.len());
    for (pose, view) in poses.iter().zip(views.chunks_exact_mut(size)) {
        floor.view(settings.geometry(), pose.map(|x| x as f32), view);
    }
}
