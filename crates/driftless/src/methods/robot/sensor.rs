//! Sensors of a robot: what a learned map or network says of a reading at a pose.

use super::walks::{Measured, Walk};
use crate::error::Result;
use crate::learn::EpochReport;
use crate::methods::anchored::paths::Evidence;
use crate::parameters::Named;
use driftless_core::{Particles, Reading};
use driftless_kernels::contrast::Atlas;
use driftless_world::evaluation::Surroundings;
use driftless_world::random::Random;
use driftless_world::trajectory::Rows;

/// What was measured at a step, and the poses it may have been measured at, all equally likely; or other states.
pub(super) struct Example<'a, S = [f32; 3]> {
    pub(super) seen: Measured<'a>,
    pub(super) poses: &'a [S],
}

/// A sensor and what it has learned, a map or a network: one file, and one line in the registry.
pub(super) trait Model<S = [f32; 3]>: Send + Sync {
    /// One that can be fitted: a map begins anew, a network goes on from where it is.
    fn fresh(&self) -> Box<dyn Model<S>>;

    /// Whether it goes on, and must not be fitted to episodes that it is evaluated on.
    fn goes_on(&self) -> bool {
        false
    }

    /// Reads what is given instead of learned, once before training.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Learns: the M-step of an epoch. A network says what its updates came to.
    fn fit(&mut self, epoch: u64, examples: &[Example<S>]) -> Option<EpochReport>;

    /// What the steps of an episode are scored by, a row each, if that takes time to compute; else the numbers themselves.
    fn encode(&self, _steps: &[Measured]) -> Option<Rows> {
        None
    }

    /// Writes log l(o | s) of each pose, given the row of a step that [`Model::encode`] says.
    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading;

    /// Poses that many readings will be compared with, arranged for [`Model::look_up`] if that saves time.
    fn atlas(&self, _poses: &Particles) -> Option<Atlas> {
        None
    }

    /// The same as [`Model::score`] for all poses of an atlas.
    fn look_up(&self, _reading: &[f32], _atlas: &Atlas, _log: &mut [f32]) -> Reading {
        Reading::Missing
    }

    /// Somewhere a robot can stand, if that was learned.
    fn place(&self, _random: &mut Random) -> Option<[f64; 2]> {
        None
    }

    /// Where robots can be by what is given, whether or not they were seen anywhere.
    fn extent(&self, _seen: bool) -> Option<[[f64; 2]; 2]> {
        None
    }

    /// Tells what reports can draw below paths.
    fn surroundings(&self, _known: &mut Surroundings) {}

    /// What was learned, by name.
    fn parameters(&self) -> Vec<Named>;

    /// What it needs besides to go on exactly, by name.
    fn memory(&self) -> Vec<Named> {
        Vec::new()
    }

    /// Takes both back; without memory it is to be used, or begins its optimisation anew.
    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()>;
}

/// Log-likelihoods of all sensors multiply; what is missing says nothing. `own` is memory.
pub(super) fn sum<S>(
    models: &[Box<dyn Model<S>>],
    log: &mut [f32],
    own: &mut Vec<f32>,
    mut score: impl FnMut(usize, &dyn Model<S>, &mut [f32]) -> Reading,
) -> Reading {
    let mut found = Reading::Missing;
    log.fill(0.0);
    for (number, model) in models.iter().enumerate() {
        own.resize(log.len(), 0.0);
        if score(number, &**model, own) == Reading::Present {
            found = Reading::Present;
            log.iter_mut().zip(&*own).for_each(|(log, own)| *log += own);
        }
    }
    found
}

/// Readings of an episode as each sensor scores by them, computed once.
pub(super) struct Encoded<'a, S = [f32; 3]> {
    models: &'a [Box<dyn Model<S>>],
    walk: &'a Walk<S>,
    rows: Vec<Option<Rows>>,
}

impl<'a, S: Clone> Encoded<'a, S> {
    /// All steps.
    pub(super) fn new(models: &'a [Box<dyn Model<S>>], walk: &'a Walk<S>) -> Self {
        let steps: Vec<Measured> = (0..walk.actions.len()).map(|t| walk.at(t)).collect();
        Self { models, walk, rows: models.iter().map(|model| model.encode(&steps)).collect() }
    }

    /// The sensors.
    pub(super) fn models(&self) -> &'a [Box<dyn Model<S>>] {
        self.models
    }

    /// What a sensor, by its number, scores a step by.
    pub(super) fn row(&self, number: usize, t: usize) -> &[f32] {
        self.rows[number].as_ref().unwrap_or(&self.walk.readings).row(t)
    }
}

/// What is seen along an episode, for the E-step.
pub(super) struct Seen<'a, S = [f32; 3]> {
    pub(super) encoded: Encoded<'a, S>,
    pub(super) tempering: f32,
    pub(super) memory: Vec<f32>,
}

impl<S: Clone> Evidence for Seen<'_, S> {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        let Self { encoded, memory, .. } = self;
        let reading = sum(encoded.models, log, memory, |number, model, own| {
            model.score(encoded.row(number, t), poses, own)
        });
        for score in log {
            *score *= self.tempering;
        }
        reading
    }
}
