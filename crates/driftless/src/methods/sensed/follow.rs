//! Robots that are followed by what a network says: online, and in evaluation.

use super::{Met, NOISES, SensedFilter, SensedMethod, Sensing};
use crate::dropout::Phase;
use crate::error::{Error, Result};
use crate::learn::{Detail, Normalisation, Tracking};
use crate::methods::observed::Observed;
use crate::methods::robot::Bias;
use crate::model::{Encoder, Screen};
use crate::online::{Estimate, Observation, OnlineFilter, seen_at};
use driftless_core::Snapshot;
use driftless_core::density::LEAST_LOG_DENSITY;
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use rayon::prelude::*;
use std::sync::Arc;

/// A robot on its way.
pub(super) struct Robot<O: Encoder, F: SensedFilter> {
    pub(super) network: Sensing<O>,
    pub(super) filter: F,
    pub(super) bias: Bias,
    pub(super) noise: [f64; NOISES],
    pub(super) normalisation: Arc<Normalisation>,
    pub(super) belief: F::Belief,
    pub(super) has_begun: bool,
}

impl<O: Encoder, F: SensedFilter> Robot<O, F>
where
    O::Input: Observed,
{
    /// The next belief, and what was there to be seen.
    fn go(&mut self, seen: &Observation) -> (Met, f64) {
        let (observations, saw) = O::Input::step(seen, None, &self.normalisation);
        let said = self.network.says(observations.screen().0, Phase::Evaluation);
        let said = said.try_to_vec_as::<f64>().expect("what is said is numbers");
        let action = seen.action.map(|action| self.bias.corrected(action));
        let met = Met { is_first: !self.has_begun, action, saw, label: None };
        let evidence = self.filter.go(&mut self.belief, &said, &self.noise, &met);
        self.has_begun = true;
        (met, evidence)
    }

    /// Follows a lesson to its end, beside the truth.
    fn track(mut self, lesson: &Lesson, truth: Vec<Pose>, how: Tracking) -> Track {
        let mut track = Track::new(truth, Vec::with_capacity(lesson.len()));
        let (mut densities, mut evidence) = ((Vec::new(), Vec::new()), Vec::new());
        for t in 0..lesson.len() {
            evidence.push(self.go(&seen_at(lesson, t)).1);
            track.estimate.push(self.filter.mean(&self.belief).0);
            let Pose { x, y, heading } = track.truth[t];
            let (density, covered) = self.filter.density(&self.belief, [x, y, heading]);
            densities.0.push(if x.is_nan() { f64::NAN } else { density.max(LEAST_LOG_DENSITY) });
            densities.1.push(covered && !x.is_nan());
        }
        let wanted = how.detail >= Detail::Densities;
        let (log_density, covered) = wanted.then_some(densities).unzip();
        Track { log_density, covered, log_evidence: Some(evidence), ..track }
    }
}

impl<O: Encoder + Send, F: SensedFilter> OnlineFilter for Robot<O, F>
where
    O::Input: Observed,
{
    fn step(&mut self, seen: Observation) -> Estimate {
        let (met, _) = self.go(&seen);
        let (pose, covariance) = self.filter.mean(&self.belief);
        Estimate {
            pose,
            covariance,
            effective_sample_size: f64::NAN,
            particles: 0,
            lost: None,
            collapsed: false,
            saw: met.saw,
            moved: met.action.is_some(),
            state: None,
        }
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        self.has_begun.save(to);
        self.filter.save(&self.belief).save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.has_begun = bool::load(from)?;
        let numbers = Vec::<f64>::load(from).filter(|numbers| numbers.iter().all(|x| x.is_finite()))?;
        self.belief = self.filter.load(&numbers)?;
        Some(())
    }
}

impl<O: Encoder + Send + 'static, F: SensedFilter> SensedMethod<O, F>
where
    O::Input: Observed,
{
    /// Follows each lesson as a robot online is followed; the first of them has a number.
    pub(super) fn follow(
        &self,
        first: u64,
        lessons: &[Lesson],
        truths: Vec<Vec<Pose>>,
        how: Tracking,
    ) -> Result<Vec<Track>> {
        let mut jobs = Vec::with_capacity(lessons.len());
        for ((number, lesson), truth) in (first..).zip(lessons).zip(truths) {
            O::Input::check(lesson, &self.normalisation).map_err(|problem| {
                Error::File(driftless_world::Error::new(problem).in_record(format!("episode {number}")))
            })?;
            jobs.push((self.robot(lesson.start()), lesson, truth));
        }
        let one = |(robot, lesson, truth): (Robot<O, F>, &Lesson, Vec<Pose>)| robot.track(lesson, truth, how);
        Ok(jobs.into_par_iter().map(one).collect())
    }
}
