//! The published filter on a robot: an image and odometry in, an estimate out, nothing allocated in between.
//!
//! The step is the core's, with the networks of [`crate::scan`] as its sensor: l = 1 / (ε + 1 - cos(e, ê)). Particles are
//! scored in parts that do not depend on the threads that work on them: the same inputs give the same bytes.

use crate::Cpu;
use crate::angles::turn;
use crate::cpu::Work;
use crate::images::{ImageMemory, ImageNet};
use crate::mlp::MlpMemory;
use crate::normal::ln;
use crate::rows::to_units;
use crate::scan::{Motion, PoseNet, weigh_columns};
use driftless_core::motion::density::DrivenDensity;
use driftless_core::motion::{HeadingNoise, Odometry};
use driftless_core::pose::Frame;
use driftless_core::{Belief, Filter, FilterState, Particles, Reading, Sensor, Space, Stream, Workspace};
use rayon::prelude::*;

/// So many particles are one part: waking a thread costs more than they do.
const FEW: usize = 512;
/// Parts of more particles.
const PARTS: usize = 16;
/// No robot moves or turns so far in a step: positions and angles would lose all digits.
const FAR: f32 = 1e6;

/// Where the robot is believed to be after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean position, and the direction of the mean heading.
    pub pose: [f64; 3],
    /// Of positions and of headings around that direction, row after row.
    pub covariance: [f64; 9],
    /// 1 / Σ w².
    pub effective_sample_size: f64,
    /// Whether the action was finite, and the robot was moved by it.
    pub moved: bool,
    /// Whether the image was finite, and particles were weighted by it.
    pub saw: bool,
    /// Whether no particle could explain the image.
    pub collapsed: bool,
}

/// A filter on its way.
#[derive(Debug)]
pub struct Online {
    filter: Filter,
    odometry: Odometry,
    state: FilterState,
    workspace: Workspace,
    draws: Stream,
    sensor: PoseSensor,
}

/// Image and pose features as a sensor.
#[derive(Debug)]
struct PoseSensor {
    frame_encoder: ImageNet,
    places: PoseNet,
    cpu: Cpu,
    memory: ImageMemory,
    /// Features of length 1, if there was an image.
    seen: Vec<f32>,
    saw: bool,
    lengths: Vec<f32>,
    parts: Vec<Part>,
}

/// Memory of a part of the particles.
#[derive(Clone, Debug, Default)]
struct Part {
    turned: [Vec<f32>; 2],
    inputs: Vec<f32>,
    layers: MlpMemory,
}

impl PoseSensor {
    fn look(&mut self, image: &[f32]) {
        self.saw = image.iter().all(|x| x.is_finite());
        if self.saw {
            self.frame_encoder.forward(self.cpu, image, None, &mut self.memory);
            self.seen.clear();
            self.seen.extend_from_slice(self.memory.features());
            to_units(self.cpu, &mut self.seen, self.frame_encoder.width(), &mut self.lengths);
        }
    }
}

impl Sensor for PoseSensor {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        if !self.saw {
            return Reading::Missing;
        }
        let count = particles.len();
        let size = if count <= FEW { FEW } else { count.div_ceil(PARTS) };
        self.parts.resize_with(count.div_ceil(size), Part::default);
        let Self { places, cpu, seen, parts, .. } = self;
        let one = |(number, (part, log)): (usize, (&mut Part, &mut [f32]))| {
            let own = number * size..number * size + log.len();
            let [x, y, heading] = [0, 1, 2].map(|k| &particles.column(k)[own.clone()]);
            let Part { turned, inputs, layers } = part;
            let [cosines, sines] = turned;
            cosines.resize(log.len(), 0.0);
            sines.resize(log.len(), 0.0);
            turn(*cpu, heading, [cosines, sines]);
            weigh_columns(places, *cpu, [x, y, cosines, sines], seen, (inputs, layers), log);
            cpu.run(Logarithms(log));
        };
        if let [part] = &mut parts[..] {
            one((0, (part, log)));
        } else {
            parts.par_iter_mut().zip(log.par_chunks_mut(size)).enumerate().for_each(one);
        }
        Reading::Present
    }
}

/// ln l in place of each l; what is not a likelihood is not a number.
struct Logarithms<'a>(&'a mut [f32]);

impl Work for Logarithms<'_> {
    #[inline(always)]
    fn run(self) {
        for l in self.0 {
            *l = if *l > 0.0 { ln(*l) } else { f32::NAN };
        }
    }
}

impl Online {
    /// A filter that begins with these particles, of equal weight. `missing` are standard deviations of position and
    /// heading where an action is missing: what the robot could have done.
    ///
    /// # Panics
    /// If there are none, or the noise is not the same along both axes.
    pub fn new(
        (frame_encoder, places): (ImageNet, PoseNet),
        motion: Motion,
        missing: [f32; 2],
        first: &[[f32; 3]],
        seed: u64,
    ) -> Self {
        assert!(!first.is_empty(), "a filter has particles");
        assert_eq!(motion.noise[0], motion.noise[1], "noise along x and y");
        let odometry = Odometry {
            frame: if motion.side < 0.0 { Frame::Reflected } else { Frame::Robot },
            rest: [motion.noise[0], motion.noise[2]],
            share: [0.0; 2],
            scale: 0.0,
            heading_noise: HeadingNoise::After,
            missing,
        };
        Self {
            filter: Filter { resample_below: 2.0, ..Filter::bootstrap(first.len()) },
            odometry,
            state: FilterState::new(Belief::new(Particles::from_states(Space::SE2, first))),
            workspace: Workspace::new(Space::SE2),
            draws: Stream::from_seed(seed),
            sensor: PoseSensor {
                frame_encoder,
                places,
                cpu: Cpu::best(),
                memory: ImageMemory::default(),
                seen: Vec::new(),
                saw: false,
                lengths: Vec::new(),
                parts: Vec::new(),
            },
        }
    }

    /// Moves by an action, looks at an image, and says where the robot is.
    ///
    /// An image that is not finite says nothing; an action that is missing, not finite or beyond all sense says only that
    /// time has passed. The estimate tells of it.
    ///
    /// # Panics
    /// If the image has another size than the network's.
    pub fn step(&mut self, image: &[f32], action: Option<[f32; 3]>) -> Estimate {
        assert_eq!(image.len(), self.sensor.frame_encoder.pixels(), "the size of the image");
        let action = action.filter(|action| action.iter().all(|x| x.abs() < FAR));
        let Self { filter, odometry, state, workspace, draws, sensor } = self;
        sensor.look(image);
        let report = filter.step(state, &mut odometry.by(action), sensor, draws, workspace);
        let belief = &state.belief;
        let pose = [0, 1, 2].map(|k| belief.mean_of(k));
        let mut covariance = [0.0; 9];
        belief.covariance_around(&pose, &mut covariance);
        let effective_sample_size = belief.weights.effective_sample_size();
        let (moved, saw) = (report.moved, report.reading == Reading::Present);
        Estimate { pose, covariance, effective_sample_size, moved, saw, collapsed: report.collapsed }
    }

    /// How probable it is to come from what is believed now to the poses of the next step, by this action.
    pub fn next_motion(&self, action: Option<[f32; 3]>) -> Option<DrivenDensity> {
        self.odometry.by(action.filter(|action| action.iter().all(|x| x.abs() < FAR))).density()
    }

    /// What a later step depends on.
    pub fn now(&self) -> (&FilterState, &Stream) {
        (&self.state, &self.draws)
    }

    /// Goes on from there.
    pub fn go_on(&mut self, state: FilterState, draws: Stream) {
        (self.state, self.draws) = (state, draws);
    }

    /// What is believed now.
    pub fn belief(&self) -> &Belief {
        &self.state.belief
    }
}

#[cfg(test)]
mod tests;
