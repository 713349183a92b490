//! A filter of tensors that follows one robot a step at a time: the same in evaluation as online.

use super::filtering::{Believed, Course, Fused};
use super::observed::Observed;
use super::recorder::Recorder;
use super::shared_tracks::followers;
use super::tensor_density::TensorDensity;
use super::tracking::{episodes_at_once, in_batches};
use crate::belief::{Belief, LogWeights};
use crate::draws::{DrawSizes, Drawing};
use crate::dropout::Phase;
use crate::error::{Error, Result};
use crate::filter::{Filter, StepInfo};
use crate::learn::{Normalisation, Tracking};
use crate::model::{Measurement, Model, Moment, Observations};
use crate::online::{Estimate, Observation, OnlineFilter, Place, Start as OnlineStart, seen_at};
use crate::prior::Prior;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::motion::Density;
use driftless_core::{Particles, Snapshot, Space};
use driftless_kernels::ranks::Ranks;
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::{Start, Trajectory};
use rayon::prelude::*;
use std::sync::Arc;

/// Numbers in a pose, and in an action.
const POSE: usize = 3;

/// A robot on its way.
pub(super) struct Follower<M: Model> {
    model: M,
    filter: Arc<Filter>,
    prior: Prior,
    normalisation: Arc<Normalisation>,
    drawing: Drawing,
    start: Option<Start>,
    /// Steps so far, and what is believed after them.
    steps: usize,
    belief: Option<Belief>,
    believed: Believed,
}

/// What a step found out besides what is believed.
pub(super) struct Found {
    collapsed: bool,
    saw: bool,
    moved: bool,
}

/// The seed of an episode among those of one seed.
pub(super) fn episode_seed(seed: u64, episode: u64) -> u64 {
    Random::stream(seed, episode).bits()
}

/// Where a robot online starts, as lessons have it.
pub(super) fn told(place: Place) -> Option<Start> {
    match place {
        Place::Anywhere | Place::Room(_) | Place::State { .. } => None,
        Place::About { pose, spread } => {
            let [pose, spread] = [pose, spread].map(|numbers| numbers.map(|x| x as f32));
            Some(Start::About { pose, spread })
        }
    }
}

impl<M: Model> Course<M>
where
    Observations<M>: Observed,
{
    /// A robot at its start, followed by so many particles; `seed` names all random numbers.
    pub(super) fn follower(
        &self,
        model: M,
        particles: usize,
        start: Option<Start>,
        seed: u64,
    ) -> Follower<M> {
        let (filter, prior) = match start {
            Some(Start::About { pose, spread }) => {
                let [mean, std] = [pose, spread].map(|numbers| numbers.map(f64::from).to_vec());
                (self.told.as_ref().unwrap_or(&self.filter), Prior::Normal { mean, std })
            }
            _ => (&self.filter, self.prior.clone()),
        };
        let uniforms = filter.resampler.uniforms(particles, POSE);
        let sizes = DrawSizes { batch: 1, steps: 1, particles, state: POSE, noise: POSE, uniforms };
        Follower {
            model,
            filter: Arc::clone(filter),
            prior,
            normalisation: Arc::clone(&self.normalisation),
            drawing: Drawing::new(sizes, seed),
            start,
            steps: 0,
            belief: None,
            believed: Believed {
                belief: driftless_core::Belief::new(Particles::from_states(Space::SE2, [[0.0_f32; POSE]])),
                log_evidence: 0.0,
            },
        }
    }

    /// The same for a robot online.
    pub(super) fn online(&self, model: M, particles: usize, start: &OnlineStart) -> Follower<M> {
        self.follower(model, particles, told(start.place), episode_seed(start.seed, start.episode))
    }
}

impl<M: Model> Follower<M>
where
    Observations<M>: Observed,
{
    /// Moves, looks, and believes.
    pub(super) fn go(&mut self, seen: &Observation) -> Found {
        let told = self.start.filter(|_| self.steps == 0);
        let (observations, saw) = Observations::<M>::step(seen, told, &self.normalisation);
        let cues = self.model.measurement().encode(&observations, Phase::Evaluation);
        let (belief, info) = match self.belief.take() {
            None => {
                let draws = self.drawing.first();
                let first = self.filter.first(&self.model, &self.prior, &cues, &draws);
                self.filter.start(&self.model, first, &cues)
            }
            Some(belief) => {
                let action = seen.action.map_or([f32::NAN; POSE], |action| action.map(|x| x as f32));
                let data = TensorData::new(action.to_vec(), [1, POSE]);
                let action = Tensor::from_data(data, (&Device::flex(), DType::F32));
                let now = Moment { step: self.steps, t: 0, action, cues: &cues };
                self.filter.step(&self.model, belief, &now, &self.drawing.step())
            }
        };
        self.believed = believed(&belief, &info);
        self.belief = Some(belief);
        self.steps += 1;
        let any = |flags: &Tensor<1, burn::tensor::Int>| {
            flags.try_to_vec_as::<i32>().expect("flags are numbers").contains(&1)
        };
        // What is lost is no collapse: nothing was seen that could not be explained.
        Found {
            collapsed: saw && any(&info.collapsed),
            saw,
            moved: seen.action.is_some() && !any(&info.lost),
        }
    }

    /// What is believed after the last step.
    pub(super) fn believed(&self) -> &Believed {
        &self.believed
    }
}

impl<M: Model + Send + 'static> OnlineFilter for Follower<M>
where
    Observations<M>: Observed,
{
    fn step(&mut self, seen: Observation) -> Estimate {
        let Found { collapsed, saw, moved } = self.go(&seen);
        Estimate { collapsed, saw, moved, ..Estimate::of(&self.believed.belief) }
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        Some(Box::new(TensorDensity::new(self.model.clone(), seen.action)))
    }

    fn belief(&self) -> Option<&driftless_core::Belief> {
        self.belief.is_some().then_some(&self.believed.belief)
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        (self.steps as u64).save(to);
        self.drawing.save(to);
        let belief = self.belief.as_ref().map(written_down);
        belief.is_some().save(to);
        belief.iter().flatten().for_each(|numbers| numbers.save(to));
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.steps = usize::try_from(u64::load(from)?).ok()?;
        self.drawing.restore(from)?;
        self.belief = if bool::load(from)? {
            let (states, log_weights) = (Vec::load(from)?, Vec::load(from)?);
            self.believed.belief = plain(&states, &log_weights)?;
            Some(taken_back(states, log_weights))
        } else {
            None
        };
        Some(())
    }
}

/// States and log-weights of one sequence.
fn written_down(belief: &Belief) -> [Vec<f32>; 2] {
    let states = belief.states.try_to_vec_as::<f32>().expect("states are numbers");
    [states, belief.weights.log().try_to_vec_as::<f32>().expect("weights are numbers")]
}

/// The same as tensors, bit by bit.
fn taken_back(states: Vec<f32>, log_weights: Vec<f32>) -> Belief {
    let (count, device) = (log_weights.len(), (&Device::flex(), DType::F32));
    let weights = Tensor::from_data(TensorData::new(log_weights, [1, count]), device);
    let states = Tensor::from_data(TensorData::new(states, [1, count, POSE]), device);
    Belief { states, weights: LogWeights::from_normalised(weights) }
}

/// The same without tensors; `None` if it is no belief.
fn plain(states: &[f32], log_weights: &[f32]) -> Option<driftless_core::Belief> {
    let is_sound = !log_weights.is_empty()
        && states.len() == POSE * log_weights.len()
        && states.iter().all(|x| x.is_finite())
        && log_weights.iter().all(|log| *log <= 0.01);
    let particles = || Particles::from_states(Space::SE2, states.chunks_exact(POSE));
    is_sound.then(|| driftless_core::Belief::weighted(particles(), log_weights))
}

/// The belief of one sequence in plain numbers.
fn believed(belief: &Belief, info: &StepInfo) -> Believed {
    let [states, log_weights] = written_down(belief);
    let evidence = info.log_evidence.try_to_vec_as::<f64>().expect("evidence is a number");
    let particles = Particles::from_states(Space::SE2, states.chunks_exact(POSE));
    Believed { belief: driftless_core::Belief::weighted(particles, &log_weights), log_evidence: evidence[0] }
}

impl<M: Model + Send> Course<M>
where
    Observations<M>: Observed,
{
    /// Tracks with a model without gradients: whole episodes at once where that can be done without tensors, else step by
    /// step as a robot online does.
    pub(super) fn track(
        &self,
        model: &M,
        episodes: &[Trajectory],
        how: Tracking,
        (fused, ranks): (Option<&dyn Fused<M>>, &dyn Ranks),
    ) -> Result<Vec<Track>> {
        let ranks = followers(ranks, how);
        // With tensors robots are followed one by one, whatever is beside them.
        let share = episodes.len().div_ceil(ranks.size());
        let most = if fused.is_some() { episodes_at_once(how.particles) } else { share };
        in_batches(ranks, episodes, most, |first, lessons, truths| {
            let (particles, seed) = (how.particles, episode_seed(how.seed, first));
            let recorders = self.recorders(first, truths, how);
            let beliefs =
                fused.map(|fused| fused.beliefs(model, self, lessons, particles, seed)).transpose()?;
            match beliefs.flatten() {
                Some(beliefs) => Ok(recorders.into_iter().zip(beliefs).map(written).collect()),
                None => self.follow(model, first, lessons, recorders, how),
            }
        })
    }

    fn recorders(&self, first: u64, truths: Vec<Vec<Pose>>, how: Tracking) -> Vec<Recorder> {
        let record = |(k, truth)| Recorder::new(truth, first + k as u64, how, &self.normalisation);
        truths.into_iter().enumerate().map(record).collect()
    }

    /// Follows each lesson; the first of them has a number.
    fn follow(
        &self,
        model: &M,
        first: u64,
        lessons: &[Lesson],
        recorders: Vec<Recorder>,
        how: Tracking,
    ) -> Result<Vec<Track>> {
        let mut jobs = Vec::with_capacity(lessons.len());
        for ((number, lesson), recorder) in (first..).zip(lessons).zip(recorders) {
            Observations::<M>::check(lesson, &self.normalisation).map_err(|problem| {
                Error::File(driftless_world::Error::new(problem).in_record(format!("episode {number}")))
            })?;
            let seed = episode_seed(how.seed, number);
            jobs.push((self.follower(model.clone(), how.particles, lesson.start(), seed), lesson, recorder));
        }
        let one = |(mut follower, lesson, mut recorder): (Follower<M>, &Lesson, Recorder)| {
            for t in 0..lesson.len() {
                follower.go(&seen_at(lesson, t));
                let Believed { belief, log_evidence } = follower.believed();
                recorder.step(belief, *log_evidence);
            }
            recorder.track()
        };
        Ok(jobs.into_par_iter().map(one).collect())
    }
}

/// What was believed of one sequence.
fn written((mut recorder, beliefs): (Recorder, Vec<Believed>)) -> Track {
    for Believed { belief, log_evidence } in beliefs {
        recorder.step(&belief, log_evidence);
    }
    recorder.track()
}
