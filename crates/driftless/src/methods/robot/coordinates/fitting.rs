//! The E-step and the M-step: paths by labels, motion and readings, and what readings are learned to be at them.

use super::motion::{Moving, State};
use super::{CoordinateEm, Models};
use crate::learn::EpochReport;
use crate::methods::anchored::paths::{Evidence, Sizes, draw_states};
use crate::methods::robot::fitting::epoch_report;
use crate::methods::robot::sensor::{Encoded, Example, Model, Seen};
use crate::methods::robot::walks::Walk;
use crate::methods::robot::{ON_PATHS, PATHS};
use crate::smooth::chain::{Bridge, Chain, Label};
use driftless_core::{Particles, Stream};
use driftless_world::random::Random;
use rayon::prelude::*;

/// States that are remembered, at most, to look for others there.
const MOST_VISITED: usize = 4000;

/// The Gaussian bridge between the labels of an episode; none if nothing is known, or numbers do not go together.
fn bridge(moving: &Moving, walk: &Walk<State>) -> Option<Bridge> {
    let wide = |numbers: &State| numbers.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let label = |state: &State| Label { state: wide(state), covariance: None };
    let actions: Vec<Vec<f64>> = walk.actions.iter().map(wide).collect();
    let labels: Vec<Option<Label>> = walk.labels.iter().map(|state| state.as_ref().map(label)).collect();
    let chain = Chain { dynamics: moving, actions: &actions, labels: &labels, prior: None };
    chain.smooth().ok()?.bridge().ok()
}

impl CoordinateEm {
    /// The E-step: paths by labels, changes and what the sensors say with what they learned so far, if anything.
    pub(super) fn draw(&mut self, epoch: u64, walks: &[Walk<State>]) {
        let draw = |(number, walk): (usize, &Walk<State>)| {
            let mut draws = Stream::new(self.seed ^ epoch.rotate_left(32), number as u64);
            let (states, size) = self.paths_along(walk, epoch > 1, PATHS, &mut draws)?;
            let rows = |step: &Particles| (0..step.len()).map(|m| step.state(m).collect()).collect();
            Some((states.iter().map(rows).collect::<Vec<Vec<State>>>(), size))
        };
        let all: Vec<Option<(Vec<Vec<State>>, f64)>> = walks.par_iter().enumerate().map(draw).collect();
        let sizes: Vec<f64> = all.iter().flatten().map(|(_, size)| *size).collect();
        self.effective_sample_size = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        self.paths = all.into_iter().map(|drawn| drawn.map_or_else(Vec::new, |(path, _)| path)).collect();
    }

    /// Those of an episode, with what the sensors say if they look; none where nothing is known.
    pub(super) fn paths_along(
        &self,
        walk: &Walk<State>,
        looks: bool,
        sizes: Sizes,
        draws: &mut Stream,
    ) -> Option<(Vec<Particles>, f64)> {
        let more = if self.has_network() { 1.0 } else { ON_PATHS };
        let tempering = (more * self.tuning.tempering).min(1.0) as f32;
        let bridge = bridge(&self.moving, walk)?;
        let seen = || Seen { encoded: Encoded::new(&self.models, walk), tempering, memory: Vec::new() };
        let mut seen = looks.then(seen);
        let evidence = seen.as_mut().map(|seen| seen as &mut dyn Evidence);
        Some(draw_states(&bridge, self.space, evidence, sizes, draws))
    }

    /// The states that readings may be of; at labels alone if asked.
    fn examples<'a>(
        &'a self,
        walks: &'a [Walk<State>],
        at_labels: bool,
        is_used: impl Fn(usize) -> bool,
    ) -> Vec<Example<'a, State>> {
        let mut examples = Vec::new();
        for (number, walk) in walks.iter().enumerate().filter(|(number, _)| is_used(*number)) {
            for (t, label) in walk.labels.iter().enumerate() {
                let drawn = self.paths.get(number).and_then(|path| path.get(t)).filter(|_| !at_labels);
                let poses = match (label, drawn) {
                    (Some(label), _) => std::slice::from_ref(label),
                    (None, Some(states)) => states,
                    (None, None) => continue,
                };
                examples.push(Example { seen: walk.at(t), poses });
            }
        }
        examples
    }

    /// The M-step. What is expected is learned at labels first, where nothing is in doubt; networks need more than those.
    pub(super) fn learn_readings(&mut self, epoch: u64, walks: &[Walk<State>]) -> Vec<EpochReport> {
        let mut models: Models = self.models.iter().map(|model| model.fresh()).collect();
        let fit = |model: &mut Box<dyn Model<State>>| {
            let goes_on = model.goes_on();
            let is_used = |number: usize| !(goes_on && self.held_out[number]);
            model.fit(epoch, &self.examples(walks, epoch == 1 && !goes_on, is_used))
        };
        let reports = models.iter_mut().filter_map(fit).collect();
        self.models = models;
        reports
    }

    /// What is learned from some episodes, beside networks as they are.
    pub(super) fn others(
        &self,
        epoch: u64,
        walks: &[Walk<State>],
        is_used: impl Fn(usize) -> bool,
    ) -> Models {
        let mut models: Models = self.models.iter().map(|model| model.fresh()).collect();
        for model in models.iter_mut().filter(|model| !model.goes_on()) {
            model.fit(epoch, &self.examples(walks, epoch == 1, &is_used));
        }
        models
    }

    /// Remembers states of labels and paths.
    pub(super) fn visit(&mut self, epoch: u64, walks: &[Walk<State>]) {
        let examples = self.examples(walks, false, |_| true);
        let mut random = Random::stream(self.seed, epoch);
        let one = |_| {
            let poses = examples[random.below(examples.len())].poses;
            poses[random.below(poses.len())].clone()
        };
        let count = if examples.is_empty() { 0 } else { MOST_VISITED.min(4 * examples.len()) };
        self.visited = (0..count).map(one).collect();
    }

    /// What an epoch came to.
    pub(super) fn report(
        &self,
        reports: &[EpochReport],
        surprise: Option<f64>,
        walks: &[Walk<State>],
    ) -> EpochReport {
        let drawn = self.paths.iter().any(|path| !path.is_empty());
        let both = self.paths.iter().zip(walks);
        let without = both.filter(|(path, walk)| path.is_empty() && walk.has_label()).count();
        EpochReport {
            effective_sample_size: drawn.then_some(self.effective_sample_size),
            without_path: without as u64,
            ..epoch_report(reports, surprise)
        }
    }

    /// Whether one of the sensors must be kept from what it is evaluated on.
    pub(super) fn has_network(&self) -> bool {
        self.models.iter().any(|model| model.goes_on())
    }
}
