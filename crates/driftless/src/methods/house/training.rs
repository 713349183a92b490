//! A batch of episodes, block after block: what PF-net's filter believes is carried on, gradients are not.

use super::filter::{BlockSensor, odometry, started};
use super::objective::{Followed, Sums, Terms};
use super::particles::{Noted, State, first, log_prior};
use super::walk::Walk;
use crate::error::Result;
use crate::learn::{HouseBlockStart, HouseSettings};
use crate::methods::trace_loss;
use driftless_core::{Filter, FilterState, Particles, Space, Stream, Workspace};
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::{PfnetGradient, PfnetMemory, PfnetNet};
use driftless_kernels::ranks::{Ranks, is_own, share};
use driftless_world::random::Random;
use rayon::prelude::*;
use std::sync::Mutex;

/// Parts of a batch, at most, whose gradients are added in order.
pub(super) const PARTS: usize = 8;

/// A block of an episode.
pub(super) struct Excerpt<'a> {
    walk: &'a Walk,
    /// Its first step.
    from: usize,
    /// Known poses of its steps.
    labels: &'a [Option<State>],
    /// How many particles at the end of the sequence descend from each one of its last step, where these decide.
    pub(super) heirs: Option<Vec<f64>>,
}

impl<'a> Excerpt<'a> {
    pub(super) fn new(walk: &'a Walk, from: usize, steps: usize) -> Self {
        Self { walk, from, labels: &walk.labels[from..from + steps], heirs: None }
    }

    /// How many of its poses are known.
    pub(super) fn known(&self) -> f64 {
        self.labels.iter().flatten().count() as f64
    }
}

/// A belief between two blocks.
#[derive(Clone)]
pub(super) struct Carried {
    state: FilterState,
    draws: Stream,
}

impl Carried {
    /// A belief before anything is seen.
    pub(super) fn new(walk: &Walk, particles: usize, (seed, number): (u64, u64)) -> Result<Self> {
        let poses = first(walk.start, &walk.maps, particles, &mut Random::stream(seed, number))?;
        Ok(Self { state: started(&poses), draws: Stream::new(seed, number) })
    }
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
    fn gradient(&self, net: &PfnetNet) -> PfnetGradient {
        let mut gradient = self.gradients.lock().expect("no thread panicked").pop().unwrap_or_default();
        gradient.reset(net);
        gradient
    }

    /// Takes back a gradient that was used.
    pub(super) fn give_back(&self, gradient: PfnetGradient) {
        self.gradients.lock().expect("no thread panicked").push(gradient);
    }
}

/// One block of all excerpts; beliefs of parts that are this rank's move on.
pub(super) fn block(
    net: &PfnetNet,
    settings: &HouseSettings,
    terms: Terms,
    (excerpts, carried): (&[Excerpt], &mut [Carried]),
    (pool, ranks): (&Pool, &dyn Ranks),
) -> Result<(Sums, PfnetGradient)> {
    let size = size_of_part(excerpts.len());
    let part = |(number, (excerpts, carried)): (usize, (&[Excerpt], &mut [Carried]))| {
        let mut gradient = pool.gradient(net);
        let mut sums = Sums::default();
        if !is_own(ranks, number) {
            return (sums, gradient);
        }
        pool.with(|memory| {
            for (excerpt, carried) in excerpts.iter().zip(carried) {
                sums.add(one(net, settings, terms, (excerpt, carried), memory, &mut gradient));
            }
        });
        (sums, gradient)
    };
    let chunks = excerpts.par_chunks(size).zip(carried.par_chunks_mut(size));
    let mut parts: Vec<(Sums, PfnetGradient)> = chunks.enumerate().map(part).collect();
    share(ranks, &mut parts)?;
    let mut parts = parts.into_iter();
    let (mut sums, mut gradient) = parts.next().expect("a batch has walks");
    for (part, other) in parts {
        sums.add(part);
        gradient.add(&other);
        pool.give_back(other);
    }
    Ok((sums, gradient))
}

/// How many of so many walks are one part.
fn size_of_part(walks: usize) -> usize {
    walks.div_ceil(PARTS).max(1)
}

/// One block of one excerpt.
fn one(
    net: &PfnetNet,
    settings: &HouseSettings,
    terms: Terms,
    (excerpt, carried): (&Excerpt, &mut Carried),
    memory: &mut PfnetMemory,
    gradient: &mut PfnetGradient,
) -> Sums {
    let followed = follow(net, settings, terms, (excerpt, carried), memory);
    let mut log_gradients = vec![0.0; followed.law.len()];
    let Excerpt { from, labels, heirs, .. } = excerpt;
    let sums = terms.gradient((*from, &followed), labels, heirs.as_deref(), &mut log_gradients);
    net.backward(Cpu::best(), &log_gradients, memory, gradient);
    sums
}

/// The filter over one block, with all that the way back needs.
fn follow(
    net: &PfnetNet,
    settings: &HouseSettings,
    terms: Terms,
    (excerpt, carried): (&Excerpt, &mut Carried),
    memory: &mut PfnetMemory,
) -> Followed {
    let (Excerpt { walk, from, labels, .. }, Carried { state, draws }) = (excerpt, carried);
    let count = state.belief.particles.len();
    let mut sensor = BlockSensor::new(net, settings, walk, (*from, labels.len(), count), memory);
    let (odometry, filter) = (odometry(settings.noise()), terms.filter(count));
    let never = Filter { resample_below: 0.0, ..filter.clone() };
    let (mut followed, mut workspace) = (Followed::default(), Workspace::new(Space::SE2));
    for t in *from..from + labels.len() {
        sensor.step = t - from;
        // The first particles are all alike, and have not moved.
        let filter = if t == 0 { &never } else { &filter };
        let mut motion = Noted::new(&odometry, (t > 0).then_some(walk.actions[t]));
        let report = filter.step(state, &mut motion, &mut sensor, draws, &mut workspace);
        followed.trace.push(state, &workspace, &report);
        let particles = &state.belief.particles;
        followed.law.extend(law(terms.switches.start, walk, (t, t - from), motion.law, particles));
    }
    followed
}

/// How likely the states of a block's step are: by the motion, or by the law of a block's first state.
fn law(
    start: HouseBlockStart,
    walk: &Walk,
    (t, step): (usize, usize),
    moved: Vec<f64>,
    particles: &Particles,
) -> Vec<f64> {
    match start {
        _ if step > 0 => moved,
        HouseBlockStart::Carried if t > 0 => moved,
        HouseBlockStart::Carried | HouseBlockStart::Flat => vec![walk.flat; particles.len()],
        HouseBlockStart::Prior => {
            let state = |i: usize| [0, 1, 2].map(|k| f64::from(particles.column(k)[i]));
            (0..particles.len()).map(|i| log_prior(walk.start, walk.flat_start, state(i))).collect()
        }
    }
}

/// How many particles at the end of the sequence descend from each one at the end of each block, in the walks of parts
/// that are this rank's. Beliefs stay.
pub(super) fn heirs(
    net: &PfnetNet,
    settings: &HouseSettings,
    blocks: &[(Vec<Excerpt>, Terms)],
    carried: &[Carried],
    (pool, ranks): (&Pool, &dyn Ranks),
) -> Vec<Vec<Vec<f64>>> {
    let size = size_of_part(carried.len());
    let of_row = |(row, carried): (usize, &Carried)| {
        if !is_own(ranks, row / size) {
            return vec![Vec::new(); blocks.len()];
        }
        let (mut carried, mut ancestors) = (carried.clone(), Vec::new());
        pool.with(|memory| {
            for (excerpts, terms) in blocks {
                let followed = follow(net, settings, *terms, (&excerpts[row], &mut carried), memory);
                ancestors.extend(followed.trace.ancestors);
            }
        });
        trace_loss::heirs(&ancestors, carried.state.belief.particles.len(), settings.block)
    };
    carried.par_iter().enumerate().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::trajectory::Start;
    use std::f64::consts::TAU;

    /// log p of the states that two particles come to at a step of a block.
    fn found(start: HouseBlockStart, at: (usize, usize)) -> Vec<f64> {
        let about = Start::About { pose: [1.0, 2.0, 0.0], spread: [2.0, 2.0, 0.5] };
        let mut walk = Walk::bare(vec![[0.0; 3]; 8], vec![None; 8]);
        (walk.start, walk.flat, walk.flat_start) = (about, -7.0, -9.0);
        let poses = [[1.0_f32, 2.0, 0.0], [3.0, 2.0, TAU as f32 - 0.5]];
        law(start, &walk, at, vec![-5.0; 2], &Particles::from_states(Space::SE2, poses))
    }

    /// The paper has μ at the start of each block; with `carried` the transition stands there in all but the first.
    #[test]
    fn the_law_of_a_blocks_first_state() {
        let density = -(2.0_f64 * 2.0 * 0.5).ln() - 1.5 * TAU.ln();
        // The second particle is one standard deviation off in x and in its heading, across the seam.
        let prior = [density, density - 1.0];
        for from in [0, 4] {
            assert_eq!(found(HouseBlockStart::Flat, (from, 0)), [-7.0; 2]);
            let found = found(HouseBlockStart::Prior, (from, 0));
            assert!(found.iter().zip(prior).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {prior:?}");
        }
        assert_eq!(found(HouseBlockStart::Carried, (0, 0)), [-7.0; 2]);
        assert_eq!(found(HouseBlockStart::Carried, (4, 0)), [-5.0; 2]);
        for start in [HouseBlockStart::Flat, HouseBlockStart::Prior, HouseBlockStart::Carried] {
            assert_eq!(found(start, (4 + 1, 1)), [-5.0; 2], "inside of a block it is the motion");
        }
    }
}
