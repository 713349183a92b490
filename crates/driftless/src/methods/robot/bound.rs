//! All sensors of a robot as the core's one: a reading is bound to them, and where the robot could be by it is proposed.

use super::anywhere::{Anywhere, Surveyed};
use super::sensor::{Model, sum};
use super::walks::Measured;
use driftless_core::exponential::{exponentials, log_sum_exp};
use driftless_core::resample::Scheme;
use driftless_core::sensor::Proposal;
use driftless_core::{Cpu, Draws, Particles, Reading, Sensor};
use driftless_world::trajectory::Rows;
use std::ops::Deref;

/// All sensors with one reading bound to them: borrowed in evaluation, shared by robots online.
pub(super) struct Bound<M, A> {
    models: M,
    anywhere: A,
    /// What each sensor scores by.
    readings: Vec<Vec<f32>>,
    /// Whether it is the first reading, which chooses among many poses; others choose among fewer.
    is_first: bool,
    /// Whether `scores` are those of this reading, and whether it says anything.
    looked_up: Option<Reading>,
    scores: Vec<f32>,
    weights: Vec<f32>,
    chosen: Vec<u32>,
    noise: Vec<f32>,
    own: Vec<f32>,
}

impl<S, M, A> Bound<M, A>
where
    M: Deref<Target = [Box<dyn Model<S>>]>,
    A: Deref<Target = Anywhere>,
{
    /// No reading yet.
    pub(super) fn new(models: M, anywhere: A) -> Self {
        let (scores, weights, chosen, noise, own) = Default::default();
        Self {
            readings: vec![Vec::new(); models.len()],
            models,
            anywhere,
            is_first: true,
            looked_up: None,
            scores,
            weights,
            chosen,
            noise,
            own,
        }
    }

    /// What the sensors score one step by, in place of what was there.
    pub(super) fn encode(&self, seen: Measured, rows: &mut Vec<Option<Rows>>) {
        rows.clear();
        rows.extend(self.models.iter().map(|model| model.encode(&[seen])));
    }

    /// The reading of the next step: what each sensor, by its number, scores by.
    pub(super) fn bind<'r>(&mut self, reading: impl Fn(usize) -> &'r [f32], is_first: bool) {
        for (number, own) in self.readings.iter_mut().enumerate() {
            own.clear();
            own.extend_from_slice(reading(number));
        }
        (self.is_first, self.looked_up) = (is_first, None);
    }

    /// Scores of poses all over the space; says whether the reading tells anything.
    pub(super) fn look_up(&mut self) -> Reading {
        let Self { models, anywhere, readings, scores: found, own, .. } = self;
        let Surveyed { poses, atlases, .. } = anywhere.surveyed(self.is_first);
        *self.looked_up.get_or_insert_with(|| {
            found.resize(poses.len(), 0.0);
            sum(models, found, own, |number, model, own| match atlases.get(number) {
                Some(Some(atlas)) => model.look_up(&readings[number], atlas, own),
                _ => model.score(&readings[number], poses, own),
            })
        })
    }
}

impl<S, M, A> Sensor for Bound<M, A>
where
    M: Deref<Target = [Box<dyn Model<S>>]>,
    A: Deref<Target = Anywhere>,
{
    /// Zero where no robot was ever near.
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let Self { models, readings, own, .. } = self;
        sum(models, log, own, |number, model, own| model.score(&readings[number], particles, own))
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        Some(self)
    }
}

impl<S, M, A> Proposal for Bound<M, A>
where
    M: Deref<Target = [Box<dyn Model<S>>]>,
    A: Deref<Target = Anywhere>,
{
    fn log_evidence(&mut self, tempering: f32) -> f64 {
        self.look_up();
        log_sum_exp(Cpu::best(), &self.scores, tempering) - (self.scores.len().max(1) as f64).ln()
    }

    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        self.look_up();
        let Self { anywhere, scores, weights, chosen, noise, .. } = self;
        let Surveyed { poses, jitter, .. } = anywhere.surveyed(self.is_first);
        exponentials(Cpu::best(), scores, tempering, weights);
        Scheme::Systematic.ancestors(weights, count, || draws.uniform(), chosen);
        noise.resize(count, 0.0);
        for (k, jitter) in jitter.iter().enumerate() {
            draws.normals(noise);
            let column = poses.column(k);
            let shaken = chosen.iter().zip(&*noise).map(|(&i, z)| column[i as usize] + jitter * z);
            particles.columns_mut()[k].extend(shaken);
        }
    }
}
