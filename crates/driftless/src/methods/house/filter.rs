//! PF-net's network as a sensor of the particle filter.

use super::particles::{State, first};
use super::training::Pool;
use super::walk::{PIXELS_PER_UNIT, Walk};
use crate::error::Result;
use crate::learn::HouseSettings;
use driftless_core::filter::Tempering;
use driftless_core::motion::{HeadingNoise, Odometry, Still};
use driftless_core::{
    Belief, Filter, FilterState, Motion, Particles, Reading, Sensor, Space, Stream, Workspace,
};
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::{PfnetMemory, PfnetNet};
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use rayon::prelude::*;

/// Particles that a thread looks at together: two rows of lanes.
pub(super) const TOGETHER: usize = 32;

/// The network and the image of one step.
struct PfnetSensor<'a> {
    net: &'a PfnetNet,
    settings: &'a HouseSettings,
    walk: &'a Walk,
    t: usize,
    seen: PfnetMemory,
    pool: Pool,
}

impl Sensor for PfnetSensor<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let (net, cpu, pool) = (self.net, Cpu::best(), &self.pool);
        let image = &self.walk.images[self.t * net.pixels()..][..net.pixels()];
        if !image.iter().all(|x| x.is_finite()) {
            return Reading::Missing;
        }
        net.see(cpu, image, 1, false, &mut self.seen);
        let (seen, settings, walk) = (&self.seen, self.settings, self.walk);
        log.par_chunks_mut(TOGETHER).enumerate().for_each(|(part, log)| {
            let mut views = vec![0.0; log.len() * net.view()];
            look(walk, settings, (particles, part * TOGETHER), net.view(), &mut views);
            pool.with(|memory| {
                net.see_again(log.len(), seen, memory);
                net.weigh(cpu, 0, &views, memory, log);
            });
        });
        Reading::Present
    }
}

/// The network in training: it has seen all images of a block, and remembers what the way back needs.
pub(super) struct BlockSensor<'a> {
    net: &'a PfnetNet,
    settings: &'a HouseSettings,
    walk: &'a Walk,
    memory: &'a mut PfnetMemory,
    views: Vec<f32>,
    /// The step of the block that particles are at.
    pub(super) step: usize,
}

impl<'a> BlockSensor<'a> {
    /// Sees so many images from a step on, for so many particles.
    pub(super) fn new(
        net: &'a PfnetNet,
        settings: &'a HouseSettings,
        walk: &'a Walk,
        (from, steps, count): (usize, usize, usize),
        memory: &'a mut PfnetMemory,
    ) -> Self {
        let images = &walk.images[from * net.pixels()..(from + steps) * net.pixels()];
        net.see(Cpu::best(), images, count, true, memory);
        Self { net, settings, walk, memory, views: vec![0.0; count * net.view()], step: 0 }
    }
}

impl Sensor for BlockSensor<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        look(self.walk, self.settings, (particles, 0), self.net.view(), &mut self.views);
        self.net.weigh(Cpu::best(), self.step, &self.views, self.memory, log);
        Reading::Present
    }
}

/// The map as particles see it, from a first one on, in views of this size.
fn look(
    walk: &Walk,
    settings: &HouseSettings,
    (particles, first): (&Particles, usize),
    size: usize,
    views: &mut [f32],
) {
    let floor = walk.floor();
    for (i, view) in views.chunks_exact_mut(size).enumerate() {
        floor.view(settings.geometry(), [0, 1, 2].map(|k| particles.column(k)[first + i]), view);
    }
}

/// Odometry with these standard deviations in pixels and radians, in PF-net's order.
pub(in crate::methods) fn odometry(noise: State) -> Odometry {
    Odometry {
        frame: Frame::Robot,
        rest: [noise[0] as f32, noise[2] as f32],
        share: [0.0; 2],
        scale: 0.0,
        heading_noise: HeadingNoise::Before,
        missing: [noise[0] as f32, noise[2] as f32],
    }
}

/// Particles of equal weight.
pub(in crate::methods) fn started(poses: &[State]) -> FilterState {
    let states = poses.iter().map(|pose| pose.map(|x| x as f32));
    FilterState::new(Belief::new(Particles::from_states(Space::SE2, states)))
}

/// Follows a walk; `show` is given each belief, in the experiment's units, and the log evidence of what was seen.
pub(super) fn follow(
    net: &PfnetNet,
    settings: &HouseSettings,
    walk: &Walk,
    filter: &Filter,
    (seed, number): (u64, u64),
    mut show: impl FnMut(&Belief, f64),
) -> Result<()> {
    let poses = first(walk.start, &walk.maps, filter.population.least, &mut Random::stream(seed, number))?;
    let tempering = Tempering::constant(settings.likelihood_tempering as f32);
    let filter = Filter { tempering, ..filter.clone() };
    let (mut state, mut workspace) = (started(&poses), Workspace::new(Space::SE2));
    let (odometry, mut draws) = (odometry(settings.noise()), Stream::new(seed, number));
    let (seen, pool) = <(PfnetMemory, Pool)>::default();
    let mut sensor = PfnetSensor { net, settings, walk, t: 0, seen, pool };
    for (t, action) in walk.actions.iter().enumerate() {
        sensor.t = t;
        let mut driven = odometry.by(Some(action.map(|x| x as f32)));
        let motion: &mut dyn Motion = if t > 0 { &mut driven } else { &mut Still };
        let report = filter.step(&mut state, motion, &mut sensor, &mut draws, &mut workspace);
        show(&in_units(&state.belief), report.log_evidence);
    }
    Ok(())
}

/// The same belief in the experiment's units.
pub(in crate::methods) fn in_units(belief: &Belief) -> Belief {
    let mut scaled = belief.clone();
    for column in &mut scaled.particles.columns_mut()[..2] {
        for x in column {
            *x /= PIXELS_PER_UNIT as f32;
        }
    }
    scaled
}
