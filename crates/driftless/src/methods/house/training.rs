//! A batch of episodes, block after block: what PF-net's filter believes is carried on, gradients are not.

use super::excerpt::{Excerpt, Mark};
use super::network::Network;
use super::objective::{Block, Terms};
use super::particles::{State, drive, first, log_prior};
use super::walk::Walk;
use crate::error::Result;
use crate::learn::{HouseBlockStart, HouseSettings};
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::{PfnetGradient, PfnetMemory};
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use rayon::prelude::*;
use std::sync::Mutex;

/// Parts of a batch, at most, whose gradients are added in order.
pub(super) const PARTS: usize = 8;

/// A belief between two blocks.
#[derive(Clone)]
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
    /// What beliefs were evaluated by.
    pub(super) evaluated: f64,
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

    /// Moves to a step of a block, and says how likely that was: by the motion, or by the law of a block's first state.
    fn come(&mut self, walk: &Walk, settings: &HouseSettings, terms: Terms, at: (usize, usize)) -> Vec<f64> {
        let (from, step) = at;
        let (t, noise) = (from + step, settings.noise());
        let mut law = vec![0.0; self.poses.len()];
        let moves = step > 0 || (t > 0 && terms.goes_on);
        if moves {
            for (pose, law) in self.poses.iter_mut().zip(&mut law) {
                *law = drive(pose, walk.actions[t], noise, &mut self.random);
            }
        }
        if step > 0 {
            return law;
        }
        match terms.switches.start {
            HouseBlockStart::Carried if moves => {}
            HouseBlockStart::Carried | HouseBlockStart::Flat => law.fill(walk.flat),
            HouseBlockStart::Prior => {
                law = self.poses.iter().map(|pose| log_prior(walk.start, walk.flat_start, *pose)).collect();
            }
        }
        law
    }

    fn resample(&mut self, block: &mut Block, uniforms: &[f64]) {
        if let Some(ancestors) = block.resample(uniforms) {
            self.poses = ancestors.iter().map(|&parent| self.poses[parent]).collect();
        }
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
    pub(super) fn add(&mut self, other: Self) {
        self.error += other.error;
        self.known += other.known;
        self.evaluated += other.evaluated;
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
    let block = follow(network, settings, terms, (excerpt, carried), memory);
    network.net().backward(Cpu::best(), &block.log_gradients(), memory, gradient);
    let (pseudo, effective) = (block.pseudo_likelihood(), block.effective_sample_size());
    let Block { error, evaluated, known, .. } = block;
    Sums { error, known, evaluated, pseudo, effective }
}

/// The filter over one block, with all that the way back needs.
fn follow(
    network: &Network,
    settings: &HouseSettings,
    terms: Terms,
    (excerpt, carried): (&Excerpt, &mut Carried),
    memory: &mut PfnetMemory,
) -> Block {
    let Excerpt { walk, from, marks, children } = excerpt;
    let (net, cpu) = (network.net(), Cpu::best());
    let (count, pixels) = (carried.poses.len(), net.pixels());
    let images = &walk.images[from * pixels..(from + settings.block) * pixels];
    net.see(cpu, images, count, true, memory);
    let mut block = Block::new(terms, std::mem::take(&mut carried.log_weights), children.clone());
    let (mut views, mut said) = (vec![0.0; count * net.view()], vec![0.0; count]);
    for (step, mark) in marks.iter().enumerate() {
        let law = carried.come(walk, settings, terms, (*from, step));
        block.came(law.into_iter());
        look(walk, settings, &carried.poses, &mut views);
        net.weigh(cpu, step, &views, memory, &mut said);
        let uniforms: Vec<f64> = (0..count).map(|_| carried.random.unit()).collect();
        block.weigh(said.iter().map(|&x| f64::from(x)).collect());
        if terms.resamples_first() {
            carried.resample(&mut block, &uniforms);
        }
        if let Some(Mark { pose, weight }) = mark {
            block.know(&carried.poses, *pose, *weight);
        }
        if !terms.resamples_first() {
            carried.resample(&mut block, &uniforms);
        }
    }
    carried.log_weights = block.log_weights().to_vec();
    block
}

/// How many children each particle has at the end of the sequence, for the end of each of its blocks. Beliefs stay.
pub(super) fn children(
    network: &Network,
    settings: &HouseSettings,
    blocks: &[(Vec<Excerpt>, Terms)],
    carried: &[Carried],
    pool: &Pool,
) -> Vec<Vec<Vec<f64>>> {
    let of_row = |(row, carried): (usize, &Carried)| {
        let mut carried = carried.clone();
        let mut followed = Vec::new();
        pool.with(|memory| {
            for (excerpts, terms) in blocks {
                followed.push(follow(network, settings, *terms, (&excerpts[row], &mut carried), memory));
            }
        });
        let mut children = vec![1.0; carried.poses.len()];
        let mut all = Vec::new();
        for (behind, block) in followed.iter().rev().enumerate() {
            let [at_end, before] = block.children_before(children, behind > 0);
            children = before;
            all.push(at_end);
        }
        all.reverse();
        all
    };
    carried.par_iter().enumerate().map(of_row).collect()
}

/// The map as all particles see it.
pub(super) fn look(walk: &Walk, settings: &HouseSettings, poses: &[State], views: &mut [f32]) {
    let (floor, size) = (walk.floor(), views.len() / poses.len());
    for (pose, view) in poses.iter().zip(views.chunks_exact_mut(size)) {
        floor.view(settings.geometry(), pose.map(|x| x as f32), view);
    }
}

#[cfg(test)]
mod tests {
    use super::super::objective::LabelLoss;
    use super::*;
    use crate::learn::HousePseudoLikelihood;
    use std::f64::consts::TAU;

    /// log p of the states that two particles come to at a step of a block.
    fn law(start: HouseBlockStart, at: (usize, usize)) -> Vec<f64> {
        let about = Start::About { pose: [1.0, 2.0, 0.0], spread: [2.0, 2.0, 0.5] };
        let mut walk = Walk::bare(vec![[0.0; 3]; 8], vec![None; 8]);
        (walk.start, walk.flat, walk.flat_start) = (about, -7.0, -9.0);
        // Without noise a move is certain, and says 0.
        let settings = HouseSettings { noise_metres: 0.0, noise_degrees: 0.0, ..HouseSettings::default() };
        let terms = Terms {
            label_loss: LabelLoss::SquaredError,
            known: 0.0,
            pseudo: 1.0,
            switches: HousePseudoLikelihood { start, ..HousePseudoLikelihood::default() },
            softness: 0.0,
            threshold: 1.0,
            goes_on: true,
            is_first: at.0 == 0,
            last: None,
        };
        let poses = vec![[1.0, 2.0, 0.0], [3.0, 2.0, TAU - 0.5]];
        let mut carried = Carried { poses, log_weights: vec![0.5_f64.ln(); 2], random: Random::new(1) };
        carried.come(&walk, &settings, terms, at)
    }

    /// The paper has μ at the start of each block; with `carried` the transition stands there in all but the first.
    #[test]
    fn the_law_of_a_blocks_first_state() {
        let density = -(2.0_f64 * 2.0 * 0.5).ln() - 1.5 * TAU.ln();
        // The second particle is one standard deviation off in x and in its heading, across the seam.
        let prior = [density, density - 1.0];
        for from in [0, 4] {
            assert_eq!(law(HouseBlockStart::Flat, (from, 0)), [-7.0; 2]);
            let found = law(HouseBlockStart::Prior, (from, 0));
            assert!(found.iter().zip(prior).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {prior:?}");
        }
        assert_eq!(law(HouseBlockStart::Carried, (0, 0)), [-7.0; 2]);
        assert_eq!(law(HouseBlockStart::Carried, (4, 0)), [0.0; 2]);
        for start in [HouseBlockStart::Flat, HouseBlockStart::Prior, HouseBlockStart::Carried] {
            assert_eq!(law(start, (4, 1)), [0.0; 2], "inside of a block it is the motion");
        }
    }
}
