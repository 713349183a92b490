//! Robots that a particle filter recurrent network follows: online, and in evaluation.

use super::PfRnn;
use crate::baseline::{ParticleRnn, Statistics};
use crate::belief::{Belief, LogWeights};
use crate::draws::{DrawSizes, Drawing};
use crate::error::{Error, Result};
use crate::learn::{Normalisation, Tracking};
use crate::methods::following::episode_seed;
use crate::methods::observed::Observed;
use crate::methods::recorder::Recorder;
use crate::model::Encoder;
use crate::online::{Estimate, Observation, OnlineFilter, seen_at};
use crate::resample::Resampler;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::{Particles, Snapshot, Space};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::trajectory::Start;
use rayon::prelude::*;
use std::sync::Arc;

/// A robot on its way.
pub(super) struct Remembering<O: Encoder> {
    network: ParticleRnn<O>,
    statistics: Statistics,
    normalisation: Arc<Normalisation>,
    resampler: Arc<dyn Resampler>,
    drawing: Drawing,
    start: Option<Start>,
    /// Memories and weights; nothing before the first step.
    memory: Option<Belief>,
    /// What each particle says of the pose, with its weight, and what the mean memory says.
    said: driftless_core::Belief,
    pose: Pose,
}

/// What a step found out besides.
struct Found {
    saw: bool,
    log_evidence: f64,
}

fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.try_to_vec_as::<f64>().expect("memory is numbers")
}

fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), (&Device::flex(), DType::F32))
}

impl<O: Encoder> Remembering<O>
where
    O::Input: Observed,
{
    /// Before its first step; it may be told where it starts.
    pub(super) fn new(
        network: ParticleRnn<O>,
        (statistics, normalisation): (&Statistics, &Arc<Normalisation>),
        resampler: &Arc<dyn Resampler>,
        start: Option<Start>,
        (sizes, seed): (DrawSizes, u64),
    ) -> Self {
        Self {
            network,
            statistics: statistics.clone(),
            normalisation: Arc::clone(normalisation),
            resampler: Arc::clone(resampler),
            drawing: Drawing::new(sizes, seed),
            start,
            memory: None,
            said: driftless_core::Belief::new(Particles::from_states(Space::SE2, [[0.0_f32; 3]])),
            pose: Pose::default(),
        }
    }

    /// The next pose, and those of all particles.
    fn go(&mut self, seen: &Observation) -> Found {
        let told = self.start.filter(|_| self.memory.is_none());
        let (observations, saw) = O::Input::step(seen, told, &self.normalisation);
        let action = seen.action.map_or([f32::NAN; 3], |action| action.map(|x| x as f32));
        let action = tensor(action.to_vec(), [1, 1, 3]);
        let (before, draw) = if let Some(memory) = self.memory.take() {
            (memory, self.drawing.step())
        } else {
            let mut draws = self.drawing.first();
            (ParticleRnn::<O>::first(&draws), draws.steps.remove(0))
        };
        let given = (&observations, &action);
        let (output, pose, each) =
            self.network.follow(given, before, &draw, &self.statistics, &*self.resampler);
        let [x, y, heading] = [0, 1, 2].map(|k| numbers(&pose)[k]);
        self.pose = Pose::new(x, y, driftless_core::pose::wrap(heading));
        let weights = numbers(&output.belief.weights.log());
        self.said = beliefs(&numbers(&each), &weights);
        self.memory = Some(output.belief);
        Found { saw, log_evidence: numbers(&output.log_evidence)[0] }
    }

    /// Follows a lesson to its end.
    fn track(mut self, lesson: &Lesson, mut recorder: Recorder) -> Track {
        let mut estimate = Vec::with_capacity(lesson.len());
        for t in 0..lesson.len() {
            let Found { log_evidence, .. } = self.go(&seen_at(lesson, t));
            recorder.step(&self.said, log_evidence);
            estimate.push(self.pose);
        }
        Track { estimate, ..recorder.track() }
    }
}

/// Poses, row after row, with their log-weights.
fn beliefs(poses: &[f64], log_weights: &[f64]) -> driftless_core::Belief {
    let pose = |pose: &[f64]| [pose[0] as f32, pose[1] as f32, driftless_core::pose::wrap(pose[2]) as f32];
    let particles = Particles::from_states(Space::SE2, poses.chunks_exact(3).map(pose));
    let logs: Vec<f32> = log_weights.iter().map(|&log| log as f32).collect();
    driftless_core::Belief::weighted(particles, &logs)
}

impl<O: Encoder + Send> OnlineFilter for Remembering<O>
where
    O::Input: Observed,
{
    fn step(&mut self, seen: Observation) -> Estimate {
        let Found { saw, .. } = self.go(&seen);
        let moved = seen.action.is_some();
        Estimate { pose: self.pose, saw, moved, ..Estimate::of(&self.said) }
    }

    fn belief(&self) -> Option<&driftless_core::Belief> {
        self.memory.is_some().then_some(&self.said)
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        self.drawing.save(to);
        let memory = self.memory.as_ref().map(|belief| {
            let single = |values: Vec<f64>| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
            [single(numbers(&belief.states)), single(numbers(&belief.weights.log()))]
        });
        memory.is_some().save(to);
        memory.iter().flatten().for_each(|values| values.save(to));
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.drawing.restore(from)?;
        self.memory = None;
        if bool::load(from)? {
            let (states, logs) = (Vec::<f32>::load(from)?, Vec::<f32>::load(from)?);
            let (particles, width) = (self.network.cell.particles(), self.network.cell.state());
            let is_sound = states.len() == particles * width
                && logs.len() == particles
                && states.iter().all(|x| x.is_finite())
                && logs.iter().all(|log| *log <= 0.01);
            let weights = is_sound.then(|| tensor(logs, [1, particles]))?;
            let weights = LogWeights::from_normalised(weights);
            self.memory = Some(Belief { states: tensor(states, [1, particles, width]), weights });
        }
        Some(())
    }
}

impl<O: Encoder + Send + 'static> PfRnn<O>
where
    O::Input: Observed,
{
    /// Follows each lesson as a robot online is followed; the first of them has a number. The estimate is what the mean memory
    /// says; the belief, what each particle says.
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
            let robot = self.robot(lesson.start(), episode_seed(how.seed, number));
            jobs.push((robot, lesson, Recorder::new(truth, number, how, &self.normalisation)));
        }
        let one =
            |(robot, lesson, recorder): (Remembering<O>, &Lesson, Recorder)| robot.track(lesson, recorder);
        Ok(jobs.into_par_iter().map(one).collect())
    }
}
