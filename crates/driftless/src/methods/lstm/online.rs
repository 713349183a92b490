//! The recurrent network on a robot: one step at a time, with what it remembers.

use super::{LstmMethod, Recurrent};
use crate::baseline::RecurrentBaseline;
use crate::error::{Error, Result};
use crate::learn::Normalisation;
use crate::methods::observed::Observed;
use crate::methods::tracking::told;
use crate::model::Encoder;
use crate::online::{Estimate, Observation, OnlineFilter, seen_at};
use crate::space::Space;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::Snapshot;
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::trajectory::{Start, Trajectory};
use rayon::prelude::*;
use std::sync::Arc;

/// A robot on its way.
pub(super) struct Remembering<O: Encoder> {
    network: RecurrentBaseline<O>,
    normalisation: Arc<Normalisation>,
    start: Option<Start>,
    /// What each cell says and remembers; nothing before the first step.
    memory: Vec<(Tensor<2>, Tensor<2>)>,
}

impl<O: Encoder> Remembering<O>
where
    O::Input: Observed,
{
    /// Before its first step; it may be told where it starts.
    pub(super) fn new(
        network: RecurrentBaseline<O>,
        normalisation: &Arc<Normalisation>,
        start: Option<Start>,
    ) -> Self {
        Self { network, normalisation: Arc::clone(normalisation), start, memory: Vec::new() }
    }

    /// The next pose, and whether anything was seen.
    pub(super) fn go(&mut self, seen: &Observation) -> (Pose, bool) {
        let (observations, saw) = O::Input::step(seen, self.start.take(), &self.normalisation);
        let action = seen.action.map_or([f32::NAN; 3], |action| action.map(|x| x as f32));
        let data = TensorData::new(action.to_vec(), [1, 1, 3]);
        let action = Tensor::from_data(data, (&Device::flex(), DType::F32));
        let said = self.network.step(&observations, &action, &mut self.memory);
        let said = Space::SE2.wrap(said).try_to_vec_as::<f64>().expect("estimates are numbers");
        (Pose::new(said[0], said[1], said[2]), saw)
    }
}

impl<O: Encoder + Send> OnlineFilter for Remembering<O>
where
    O::Input: Observed,
{
    /// It has no belief, and does not know how sure it is.
    fn step(&mut self, seen: Observation) -> Estimate {
        let (pose, saw) = self.go(&seen);
        Estimate {
            pose,
            covariance: [[f64::NAN; 3]; 3],
            effective_sample_size: f64::NAN,
            particles: 0,
            lost: None,
            collapsed: false,
            saw,
            moved: seen.action.is_some(),
            state: None,
        }
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        let numbers = |tensor: &Tensor<2>| tensor.try_to_vec_as::<f32>().expect("memory is numbers");
        let cells: Vec<Vec<f32>> = self.memory.iter().flat_map(|(h, c)| [numbers(h), numbers(c)]).collect();
        cells.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        let cells: Vec<Vec<f32>> = Vec::load(from)?;
        let tensor = |numbers: &Vec<f32>| -> Tensor<2> {
            let data = TensorData::new(numbers.clone(), [1, numbers.len()]);
            Tensor::from_data(data, (&Device::flex(), DType::F32))
        };
        self.memory = cells.chunks_exact(2).map(|cell| (tensor(&cell[0]), tensor(&cell[1]))).collect();
        // The first step alone is told where it starts.
        self.start = self.start.filter(|_| self.memory.is_empty());
        let is_sound = cells.iter().flatten().all(|x| x.is_finite()) && self.network.fits(&self.memory);
        is_sound.then_some(())
    }
}

impl<O: Recurrent + Send> LstmMethod<O>
where
    O::Input: Observed,
{
    /// Follows each episode as a robot online is followed.
    pub(super) fn follow(&self, episodes: &[Trajectory]) -> Result<Vec<Track>> {
        let mut jobs = Vec::with_capacity(episodes.len());
        for (number, episode) in episodes.iter().enumerate() {
            let (lesson, truth) = told(number, episode)?;
            O::Input::check(&lesson, &self.normalisation).map_err(|problem| {
                Error::File(driftless_world::Error::new(problem).in_record(format!("episode {number}")))
            })?;
            let robot = Remembering::new(self.deployed().clone(), &self.normalisation, lesson.start());
            jobs.push((robot, lesson, truth));
        }
        let one = |(mut robot, lesson, truth): (Remembering<O>, Lesson, Vec<Pose>)| {
            Track::new(truth, (0..lesson.len()).map(|t| robot.go(&seen_at(&lesson, t)).0).collect())
        };
        Ok(jobs.into_par_iter().map(one).collect())
    }
}
