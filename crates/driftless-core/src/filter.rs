//! The particle filter: one step, for training, evaluation and deployment alike.

mod policies;
#[cfg(test)]
mod tests;

pub use policies::{Population, Recovery, Tempering};

use crate::belief::Belief;
use crate::cpu::Cpu;
use crate::draws::Draws;
use crate::exponential::log_sum_exp;
use crate::motion::{Motion, Noise};
use crate::particles::Particles;
use crate::resample::{Resampler, Scheme};
use crate::sensor::{Reading, Sensor};
use crate::space::Space;
use std::sync::Arc;

/// A filter: everything but motion, sensor and random numbers.
#[derive(Clone, Debug)]
pub struct Filter {
    /// How ancestors are drawn.
    pub resampler: Arc<dyn Resampler>,
    /// Resamples where the effective sample size is below this share of N; always above 1.
    pub resample_below: f64,
    /// How many particles there are.
    pub population: Population,
    /// What log-likelihoods are multiplied by.
    pub tempering: Tempering,
    /// How a kidnapped robot is found again, if it is looked for.
    pub recovery: Option<Recovery>,
}

/// What a filter remembers from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterState {
    /// What is believed of the state.
    pub belief: Belief,
    /// The probability that the robot is anywhere else.
    pub kidnapped: f64,
}

/// Memory that steps use again.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Which particle of the step before each moved one descends from.
    pub ancestors: Vec<u32>,
    /// log l of each moved particle, before tempering.
    pub log_likelihoods: Vec<f32>,
    tempered: Vec<f32>,
    noise: Noise,
    gathered: Particles,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// log Σ w l with the mass that resampling gave the weights; 0 where there was no reading, and
    /// [`crate::IMPOSSIBLE`] where no particle could explain it.
    pub log_evidence: f64,
    /// Whether there was a reading.
    pub reading: Reading,
    /// Whether no particle could explain the reading. Weights were kept, or replaced by injected particles.
    pub collapsed: bool,
    /// Whether there was an action to move by.
    pub moved: bool,
    /// Whether particles were resampled before they moved.
    pub resampled: bool,
    /// How many particles, the last ones, were injected.
    pub injected: usize,
}

impl Filter {
    /// A bootstrap filter of a fixed number of particles, resampled systematically when half of them count.
    pub fn bootstrap(particles: usize) -> Self {
        Self {
            resampler: Arc::new(Scheme::Systematic),
            resample_below: 0.5,
            population: Population::fixed(particles),
            tempering: Tempering::NONE,
            recovery: None,
        }
    }

    /// The first belief, drawn from the whole space by what the first reading says; `None` if the sensor cannot
    /// propose. `looks` says whether the reading counts, or states are drawn evenly. Also says how likely the reading was.
    pub fn global_start(
        &self,
        space: Space,
        sensor: &mut dyn Sensor,
        looks: bool,
        draws: &mut dyn Draws,
    ) -> Option<(FilterState, f64)> {
        let (proposal, far) = (sensor.proposal()?, self.tempering.far);
        let mut particles = Particles::new(space);
        proposal.propose(if looks { far } else { 0.0 }, self.population.most, draws, &mut particles);
        let log_evidence = proposal.log_evidence(far);
        Some((FilterState::new(Belief::new(particles)), log_evidence))
    }

    /// Resample, propagate, reweight, inject: s_{t-1} becomes s_t.
    pub fn step(
        &self,
        state: &mut FilterState,
        motion: &mut dyn Motion,
        sensor: &mut dyn Sensor,
        draws: &mut dyn Draws,
        workspace: &mut Workspace,
    ) -> StepReport {
        let (resampled, log_mass) = self.resample(&mut state.belief, draws, workspace);
        let moved = motion.propagate(&mut state.belief.particles, draws, &mut workspace.noise);
        let mut report = self.reweight(state, sensor, workspace);
        if !report.collapsed && report.reading == Reading::Present {
            report.log_evidence += log_mass;
        }
        report.injected = self.inject(state, sensor, &report, draws);
        StepReport { moved, resampled, ..report }
    }

    /// Draws descendants if few particles count, or another number is wanted.
    fn resample(&self, belief: &mut Belief, draws: &mut dyn Draws, workspace: &mut Workspace) -> (bool, f64) {
        let size = belief.particles.len();
        let count = self.population.count(|| belief.spread());
        let due = count != size || belief.weights.effective_sample_size() < self.resample_below * size as f64;
        let Workspace { ancestors, gathered, .. } = workspace;
        if !due {
            ancestors.clear();
            ancestors.extend(0..size as u32);
            return (false, 0.0);
        }
        let log_mass = self.resampler.resample(&mut belief.weights, count, draws, ancestors);
        gathered.gather(&belief.particles, ancestors);
        std::mem::swap(gathered, &mut belief.particles);
        (true, log_mass)
    }

    /// Bayes' rule with what the sensor says, for the weights and for whether the robot is elsewhere.
    fn reweight(
        &self,
        state: &mut FilterState,
        sensor: &mut dyn Sensor,
        workspace: &mut Workspace,
    ) -> StepReport {
        let FilterState { belief, kidnapped } = state;
        let Workspace { log_likelihoods, tempered, .. } = workspace;
        log_likelihoods.resize(belief.particles.len(), 0.0);
        let reading = sensor.log_likelihoods(&belief.particles, log_likelihoods);
        let mut report = StepReport::of(0.0, reading);
        if reading == Reading::Missing {
            if let Some(recovery) = &self.recovery {
                *kidnapped = recovery.unseen(*kidnapped);
            }
            return report;
        }
        if let (Some(recovery), Some(proposal)) = (&self.recovery, sensor.proposal()) {
            // Whether it is this place or another is a question between places.
            let far = self.tempering.far;
            tempered.clear();
            tempered.extend(belief.weights.log().iter().zip(&*log_likelihoods).map(|(w, l)| w + far * l));
            tempered.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f32::NEG_INFINITY);
            let here = log_sum_exp(Cpu::best(), tempered, 1.0);
            *kidnapped = recovery.probability(*kidnapped, here, proposal.log_evidence(far));
        }
        let factor = self.tempering.factor(|| belief.spread());
        tempered.clear();
        tempered.extend(log_likelihoods.iter().map(|l| factor * l));
        let found = belief.weights.reweight(tempered);
        (report.log_evidence, report.collapsed) = (found.log_evidence, found.collapsed);
        report
    }

    /// Gives the share of the belief that is probably elsewhere to states that the reading proposes.
    fn inject(
        &self,
        FilterState { belief, kidnapped }: &mut FilterState,
        sensor: &mut dyn Sensor,
        report: &StepReport,
        draws: &mut dyn Draws,
    ) -> usize {
        let Some(recovery) = self.recovery.filter(|_| report.reading == Reading::Present) else { return 0 };
        let share = kidnapped.min(recovery.most_injected);
        // As many as among the first particles: fewer could not be in all places that look alike.
        let count = (share * self.population.most as f64).round() as usize;
        let Some(proposal) = sensor.proposal().filter(|_| count > 0) else { return 0 };
        proposal.propose(self.tempering.far, count, draws, &mut belief.particles);
        // Where nothing was possible, they are all that is left.
        belief.weights.make_room_for(count, if report.collapsed { 1.0 } else { share });
        *kidnapped = if report.collapsed { 0.0 } else { *kidnapped - share };
        count
    }
}

impl StepReport {
    /// A step in which nothing but this happened, such as a [`Filter::global_start`].
    pub fn of(log_evidence: f64, reading: Reading) -> Self {
        Self { log_evidence, reading, collapsed: false, moved: true, resampled: false, injected: 0 }
    }
}

impl FilterState {
    /// A belief that is where the robot is.
    pub fn new(belief: Belief) -> Self {
        Self { belief, kidnapped: 0.0 }
    }
}

impl Workspace {
    /// Memory for particles of this space; it grows in the first steps.
    pub fn new(space: Space) -> Self {
        Self {
            ancestors: Vec::new(),
            log_likelihoods: Vec::new(),
            tempered: Vec::new(),
            noise: Noise::default(),
            gathered: Particles::new(space),
        }
    }

    /// Memory for so many particles at once.
    pub fn reserve(&mut self, count: usize) {
        self.ancestors.reserve(count.saturating_sub(self.ancestors.len()));
        for column in [&mut self.log_likelihoods, &mut self.tempered] {
            column.reserve(count.saturating_sub(column.len()));
        }
        self.gathered.reserve(count);
        self.noise.reserve(self.gathered.space().dimension(), count);
    }
}
