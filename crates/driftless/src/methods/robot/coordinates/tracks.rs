//! Following: the particle filter in the space of named coordinates.

use super::CoordinateEm;
use super::motion::{Moving, State};
use crate::error::{Error, Result};
use crate::learn::Tracking;
use crate::methods::recorder::Recorder;
use crate::methods::robot::anywhere::Anywhere;
use crate::methods::robot::bound::Bound;
use crate::methods::robot::follower::{Drive, Follower, Following};
use crate::methods::robot::sensor::{Encoded, Model};
use crate::methods::robot::tracks::RECOVERY;
use crate::methods::robot::walks::Walk;
use crate::online::{Estimate, Observation};
use driftless_core::filter::{Population, Tempering};
use driftless_core::motion::Density;
use driftless_core::{Belief, Draws, Filter, FilterState, Motion, Particles, Space, Stream};
use driftless_world::evaluation::Track;
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::trajectory::{Start, Trajectory};
use std::ops::Deref;
use std::sync::Arc;

/// Particles of a state that is told nothing, at least: they have more to fill.
const LEAST_ANYWHERE: usize = 2000;

/// How a state of named coordinates changes, with noise times a factor.
pub(super) struct Changing {
    moving: Moving,
    factor: f64,
    space: Space,
}

impl Drive for Changing {
    type State = State;
    type Action<'a> = &'a [f32];

    fn space(&self) -> Space {
        self.space
    }

    fn with_motion<T>(&self, action: &[f32], go: impl FnOnce(&mut dyn Motion) -> T) -> T {
        go(&mut self.moving.by(action, self.factor))
    }

    fn density(&self, action: &[f32], belief: &Belief) -> Option<Box<dyn Density>> {
        Some(Box::new(self.moving.by(action, self.factor).density(&belief.particles)?))
    }

    fn said<'a>(seen: &Observation<'a>) -> (&'a [f32], bool) {
        (seen.change.unwrap_or(&[]), seen.change.is_some())
    }

    fn estimate(belief: &Belief) -> Estimate {
        Estimate::of_state(belief)
    }
}

/// An episode without its states, but with what is told of the first; and the states where they are known.
pub(super) fn told(number: usize, episode: &Trajectory) -> Result<(Lesson, Vec<Option<Vec<f64>>>)> {
    let known: Vec<bool> = episode.states.iter().map(|state| state.is_some()).collect();
    if !known.contains(&true) {
        let problem = "no state is known: nothing to compare with; `driftless track` follows it all the same";
        let error = driftless_world::Error::new(problem).in_record(format!("episode {number}"));
        return Err(Error::File(error));
    }
    let wide = |state: &[f32]| state.iter().map(|&x| f64::from(x)).collect();
    let truth = episode.states.iter().map(|state| state.map(wide)).collect();
    Ok((LabelBudget::new(0.0, 0)?.plan([known]).lesson(0, episode.clone())?, truth))
}

/// The first particles of a state that is told: those of a normal distribution, angles wrapped.
fn around(space: Space, mean: &[f64], spread: &[f64], count: usize, draws: &mut Stream) -> Particles {
    let mean: State = mean.iter().map(|&x| x as f32).collect();
    let mut particles = Particles::from_states(space, (0..count).map(|_| &mean));
    let mut noise = vec![0.0; count];
    for (k, column) in particles.columns_mut().iter_mut().enumerate() {
        draws.normals(&mut noise);
        for (x, z) in column.iter_mut().zip(&noise) {
            let moved = *x + spread[k] as f32 * z;
            *x = if space.is_angle(k) { driftless_core::angles::wrapped(moved) } else { moved };
        }
    }
    particles
}

impl CoordinateEm {
    /// Where a state may be that is told nothing: where states were in training.
    pub(super) fn anywhere(&self) -> &Arc<Anywhere> {
        let made = || {
            let states = Particles::from_states(self.space, &self.visited);
            let apart = (self.visited.len().max(1) as f64).powf(-1.0 / self.space.dimension() as f64);
            let jitter: Vec<f32> =
                self.normalisation.coordinates.iter().map(|one| (apart * one.deviation) as f32).collect();
            Arc::new(Anywhere::seen(&self.models, &states, &jitter))
        };
        self.anywhere.get_or_init(made)
    }

    /// For filters that are told where they start.
    pub(super) fn nowhere(&self) -> Anywhere {
        Anywhere::seen::<State>(&[], &Particles::new(self.space), &[])
    }

    fn filter(&self, how: &Following) -> Filter {
        let is_told = matches!(how.start, Start::State { .. });
        let particles = if is_told { how.particles } else { how.particles.max(LEAST_ANYWHERE) };
        Filter {
            population: Population::fixed(particles),
            tempering: Tempering::constant(how.tuning.tempering as f32),
            recovery: (!is_told).then_some(RECOVERY),
            ..self.filter.clone()
        }
    }

    /// A filter at its beginning, with random numbers of its own.
    pub(super) fn follower<M, A>(
        &self,
        sensor: Bound<M, A>,
        how: &Following,
        mut draws: Stream,
    ) -> Follower<Changing, M, A>
    where
        M: Deref<Target = [Box<dyn Model<State>>]>,
        A: Deref<Target = Anywhere>,
    {
        let state = match how.start {
            Start::State { mean, spread } => {
                let first = around(self.space, &mean, &spread, how.particles, &mut draws);
                Some(FilterState::new(Belief::new(first)))
            }
            Start::About { .. } | Start::Room(_) | Start::House => None,
        };
        let drive = Changing { moving: self.moving.clone(), factor: how.tuning.noise, space: self.space };
        Follower::new(self.filter(how), drive, sensor, draws, state)
    }

    /// One episode, with the truth beside what is believed.
    pub(super) fn track_one(&self, number: usize, episode: &Trajectory, how: Tracking) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let walk = Walk::with(&lesson, <[f32]>::to_vec);
        self.check_images(&walk).map_err(|error| error.in_record(format!("episode {number}")))?;
        let mut recorder = Recorder::of_states(truth, number as u64, how, &self.normalisation);
        let start = walk.start.unwrap_or(Start::House);
        let nowhere = self.nowhere();
        let anywhere = if matches!(start, Start::State { .. }) { &nowhere } else { &**self.anywhere() };
        let following = Following { tuning: self.tuning, particles: how.particles, start };
        let draws = Stream::new(how.seed, number as u64);
        let encoded = Encoded::new(&self.models, &walk);
        let mut follower = self.follower(Bound::new(&self.models[..], anywhere), &following, draws);
        for (t, action) in walk.actions.iter().enumerate() {
            let report = follower.step(|number| encoded.row(number, t), action);
            recorder.step(follower.belief(), report.log_evidence);
        }
        Ok(recorder.track())
    }
}
