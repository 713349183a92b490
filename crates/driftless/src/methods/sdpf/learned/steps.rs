//! A motion and a sensor for the core's filter, computed by the kernels, which remember what the way back needs.

use super::Parts;
use crate::ops::MovedNets;
use driftless_core::angles::{turn, wrapped};
use driftless_core::motion::Noise;
use driftless_core::{Draws, Motion, Particles, Reading, Sensor};
use driftless_kernels::Cpu;
use driftless_kernels::motion::MotionStep;
use driftless_kernels::scan::Step;

/// Beyond this 32 bits cannot tell directions, and tensors take over.
const LARGEST_ANGLE: f32 = 1e4;

/// Networks and noise.
pub(super) struct Nets {
    pub(super) networks: MovedNets,
    pub(super) noise: [f32; 3],
    /// Of a step whose action is missing; without it such an action counts as zeros.
    pub(super) wander: Option<[f32; 3]>,
    /// Particles are resampled where fewer than this share of them count.
    pub(super) threshold: f64,
}

impl Nets {
    pub(super) fn of(parts: &Parts, threshold: f64) -> Self {
        let three = |std: &[f64]| std::array::from_fn(|k| std[k] as f32);
        let (noise, wander) = parts.noise;
        let (noise, wander) = (three(noise), wander.map(three));
        Self { networks: parts.networks.networks(), noise, wander, threshold }
    }

    /// The action that the network is given; none where particles only wander.
    pub(super) fn given(&self, action: Option<[f32; 3]>) -> Option<[f32; 3]> {
        action.or(if self.wander.is_some() { None } else { Some([0.0; 3]) })
    }

    /// Standard deviations of the noise of a step.
    pub(super) fn deviations(&self, action: Option<[f32; 3]>) -> [f32; 3] {
        if self.given(action).is_some() { self.noise } else { self.wander.unwrap_or(self.noise) }
    }
}

/// What a step is remembered by.
#[derive(Default)]
pub(super) struct StepMemory {
    pub(super) motion: MotionStep,
    pub(super) matched: Step,
}

impl StepMemory {
    /// Exchanges the room to work in.
    pub(super) fn take_room(&mut self, other: &mut Self) {
        self.motion.take_room(&mut other.motion);
        self.matched.take_room(&mut other.matched);
    }
}

/// Cosines and sines of headings.
pub(super) type Turned = [Vec<f32>; 2];

fn turned<'a>(headings: &[f32], [cosines, sines]: &'a mut Turned) -> [&'a [f32]; 2] {
    cosines.resize(headings.len(), 0.0);
    sines.resize(headings.len(), 0.0);
    turn(Cpu::best(), headings, [cosines, sines]);
    [cosines, sines]
}

/// The learned displacement and noise that was drawn before.
pub(super) struct Moving<'a> {
    pub(super) nets: &'a Nets,
    pub(super) action: Option<[f32; 3]>,
    pub(super) noise: &'a [[f32; 3]],
    pub(super) memory: &'a mut MotionStep,
    pub(super) turned: &'a mut Turned,
    /// Whether a particle went where nothing is finite.
    pub(super) lost: bool,
}

impl Motion for Moving<'_> {
    fn propagate(&mut self, particles: &mut Particles, _: &mut dyn Draws, _: &mut Noise) -> bool {
        let (net, std) = (&self.nets.networks.motion, self.nets.deviations(self.action));
        if let Some(action) = self.nets.given(self.action) {
            let [x, y, headings] = [0, 1, 2].map(|k| particles.column(k));
            let [cosines, sines] = turned(headings, self.turned);
            self.memory.displace(net, Cpu::best(), [x, y, cosines, sines], action);
            for (i, by) in self.memory.displacements(net).enumerate() {
                (0..3).for_each(|k| particles.columns_mut()[k][i] += by[k]);
            }
        }
        for (k, column) in particles.columns_mut().iter_mut().enumerate() {
            column.iter_mut().zip(self.noise).for_each(|(x, z)| *x += std[k] * z[k]);
            self.lost |= column.iter().any(|x| !x.is_finite());
        }
        let headings = &mut particles.columns_mut()[2];
        self.lost |= headings.iter().any(|angle| angle.abs() > LARGEST_ANGLE);
        for angle in headings.iter_mut() {
            *angle = wrapped(*angle);
        }
        self.action.is_some()
    }
}

/// How alike the features of an observation and of poses are.
pub(super) struct Matching<'a> {
    pub(super) nets: &'a Nets,
    pub(super) seen: Option<&'a [f32]>,
    pub(super) memory: &'a mut Step,
    pub(super) turned: &'a mut Turned,
    /// Whether weights are to know of it: not at the first step.
    pub(super) counts: bool,
}

impl Sensor for Matching<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let Some(seen) = self.seen else {
            log.fill(0.0);
            return Reading::Missing;
        };
        let [x, y, headings] = [0, 1, 2].map(|k| particles.column(k));
        let [cosines, sines] = turned(headings, self.turned);
        self.memory.match_poses(&self.nets.networks.poses, Cpu::best(), [x, y, cosines, sines], seen);
        log.iter_mut().zip(self.memory.likelihoods()).for_each(|(log, l)| *log = l.ln());
        if self.counts { Reading::Present } else { Reading::Missing }
    }
}
