//! PF-net's network as a sensor of the particle filter.

use super::network::Network;
use super::particles::{State, first};
use super::training::{Pool, look};
use super::walk::{PIXELS_PER_UNIT, Walk};
use crate::error::Result;
use crate::learn::HouseSettings;
use driftless_core::filter::Tempering;
use driftless_core::motion::{HeadingNoise, Odometry, Still};
use driftless_core::{
    Belief, Filter, FilterState, Motion, Particles, Reading, Sensor, Space, Stream, Workspace,
};
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::PfnetMemory;
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use rayon::prelude::*;

/// Particles that a thread looks at together: two rows of lanes.
pub(super) const TOGETHER: usize = 32;

/// The network and the image of one step.
struct PfnetSensor<'a> {
    network: &'a Network,
    settings: &'a HouseSettings,
    walk: &'a Walk,
    t: usize,
    seen: PfnetMemory,
    pool: Pool,
}

impl Sensor for PfnetSensor<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let (net, cpu, pool) = (self.network.net(), Cpu::best(), &self.pool);
        let image = &self.walk.images[self.t * net.pixels()..][..net.pixels()];
        if !image.iter().all(|x| x.is_finite()) {
            return Reading::Missing;
        }
        net.see(cpu, image, 1, false, &mut self.seen);
        let state = |i: usize| -> State { [0, 1, 2].map(|k| f64::from(particles.column(k)[i])) };
        let (seen, settings, walk) = (&self.seen, self.settings, self.walk);
        log.par_chunks_mut(TOGETHER).enumerate().for_each(|(part, log)| {
            let poses: Vec<State> = (0..log.len()).map(|i| state(part * TOGETHER + i)).collect();
            let mut views = vec![0.0; poses.len() * net.view()];
            look(walk, settings, &poses, &mut views);
            pool.with(|memory| {
                net.see_again(poses.len(), seen, memory);
                net.weigh(cpu, 0, &views, memory, log);
            });
        });
        Reading::Present
    }
}

/// Odometry with these standard deviations in pixels and radians, in PF-net's order.
pub(super) fn odometry(noise: State) -> Odometry {
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
pub(super) fn started(poses: &[State]) -> FilterState {
    let states = poses.iter().map(|pose| pose.map(|x| x as f32));
    FilterState::new(Belief::new(Particles::from_states(Space::SE2, states)))
}

/// Follows a walk; `show` is given each belief, in the experiment's units, and the log evidence of what was seen.
pub(super) fn follow(
    network: &Network,
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
    let mut sensor = PfnetSensor { network, settings, walk, t: 0, seen, pool };
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
pub(super) fn in_units(belief: &Belief) -> Belief {
    let mut scaled = belief.clone();
    for column in &mut scaled.particles.columns_mut()[..2] {
        for x in column {
            *x /= PIXELS_PER_UNIT as f32;
        }
    }
    scaled
}
