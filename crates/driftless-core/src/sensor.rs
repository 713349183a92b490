//! What readings say of states.

use crate::draws::Draws;
use crate::particles::Particles;

/// Whether a step has a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It was scored against particles.
    Present,
    /// There is none, or it is damaged: it says nothing, which is no collapse.
    Missing,
}

/// A sensor with the reading of one step bound to it.
pub trait Sensor {
    /// Writes log l(o_t | s) of each particle. Zero likelihoods are -∞ or NaN.
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading;

    /// Where the robot could be by this reading alone, if the sensor can tell.
    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        None
    }
}

/// What one reading says of the whole space: for a global start, and to find a kidnapped robot again.
pub trait Proposal {
    /// The logarithm of the mean likelihood to the power of `tempering` over the space.
    fn log_evidence(&mut self, tempering: f32) -> f64;

    /// Adds `count` states drawn in proportion to the likelihood to the power of `tempering`; evenly where that is 0.
    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles);
}

/// Several sensors on one robot: likelihoods multiply, and what is missing says nothing.
pub struct Sensors<'a> {
    /// All of them.
    pub all: Vec<&'a mut dyn Sensor>,
    /// Memory.
    pub scores: Vec<f32>,
}

impl Sensor for Sensors<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let mut reading = Reading::Missing;
        log.fill(0.0);
        self.scores.resize(log.len(), 0.0);
        for sensor in &mut self.all {
            if sensor.log_likelihoods(particles, &mut self.scores) == Reading::Present {
                reading = Reading::Present;
                log.iter_mut().zip(&self.scores).for_each(|(log, score)| *log += score);
            }
        }
        reading
    }

    /// That of the first that has one.
    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        self.all.iter_mut().find_map(|sensor| sensor.proposal())
    }
}

/// A sensor whose reading counts as part of one: what it says is multiplied, log-likelihoods and evidence alike.
///
/// Readings err alike where they are taken from almost the same place. A robot that stands still for ten steps has looked
/// once, not ten times; taken for ten, one odd view makes a filter sure of a wrong place.
pub struct Discounted<'a> {
    /// What reads.
    pub sensor: &'a mut dyn Sensor,
    /// As how much of a reading it counts, above 0.
    pub share: f32,
}

impl Sensor for Discounted<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let reading = self.sensor.log_likelihoods(particles, log);
        for log in log {
            *log *= self.share;
        }
        reading
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        self.sensor.proposal().is_some().then_some(self)
    }
}

impl Proposal for Discounted<'_> {
    fn log_evidence(&mut self, tempering: f32) -> f64 {
        self.sensor.proposal().map_or(0.0, |proposal| proposal.log_evidence(self.share * tempering))
    }

    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        if let Some(proposal) = self.sensor.proposal() {
            proposal.propose(self.share * tempering, count, draws, particles);
        }
    }
}

/// A likelihood as a function of a state.
pub struct Likelihood<F>(pub F);

impl<F: FnMut(&[f32]) -> f32> Sensor for Likelihood<F> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let mut state = Vec::with_capacity(particles.space().dimension());
        for (i, log) in log.iter_mut().enumerate() {
            state.clear();
            state.extend(particles.state(i));
            *log = (self.0)(&state);
        }
        Reading::Present
    }
}
