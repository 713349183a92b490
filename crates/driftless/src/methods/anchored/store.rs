//! The method as plain numbers, and back.

use super::noise::Noise;
use super::{AnchoredEm, Supervision};
use crate::error::{Error, Result};
use crate::parameters::Named;
use burn::tensor::DType;

const TEMPER: &str = "filter.tempering";
const NOISE: &str = "filter.noise";
const LENGTHS: &str = "paths.lengths";
const POSES: &str = "paths.poses";
const SIZE: &str = "paths.effective_sample_size";

pub(in crate::methods) fn named(name: &str, values: Vec<f64>) -> Named {
    Named { name: name.to_owned(), shape: vec![values.len()], precision: DType::F64, values }
}

pub(in crate::methods) fn find<'a>(all: &'a [Named], name: &str) -> Result<&'a [f64]> {
    let found = all.iter().find(|part| part.name == name);
    found.map(|part| &part.values[..]).ok_or_else(|| Error::setting(name, "is missing"))
}

impl AnchoredEm {
    /// The network, and the two settings of the filter that were learned.
    pub(super) fn stored_parameters(&self) -> Vec<Named> {
        let mut all = self.learner.values().to_vec();
        all.extend(stored_learned(self.tempering, self.noise));
        all
    }

    /// The optimiser's state, and the paths drawn last.
    pub(super) fn stored_memory(&self) -> Vec<Named> {
        let mut all = self.learner.memory();
        if self.supervision == Supervision::LabelsAlone {
            return all;
        }
        all.extend(stored_paths(&self.drawn, self.effective_sample_size));
        all
    }

    pub(super) fn take_back(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        let learned = learned_of(parameters)?;
        self.learner.restore(parameters, memory)?;
        (self.tempering, self.noise) = learned;
        (self.bridges, self.drawn) = (None, Vec::new());
        let Some(memory) = memory else { return Ok(()) };
        if self.supervision == Supervision::LabelsAlone {
            return Ok(());
        }
        (self.drawn, self.effective_sample_size) = paths_of(memory)?;
        Ok(())
    }
}

/// The two settings of a filter that are learned: its tempering, and the noise of its motion.
pub(in crate::methods) fn stored_learned(tempering: f64, noise: Noise) -> [Named; 2] {
    [named(TEMPER, vec![tempering]), named(NOISE, noise.to_vec())]
}

/// The same back.
pub(in crate::methods) fn learned_of(parameters: &[Named]) -> Result<(f64, Noise)> {
    let (tempering, noise) = (find(parameters, TEMPER)?, find(parameters, NOISE)?);
    let valid = |values: &[f64]| values.iter().all(|&x| x.is_finite() && x >= 0.0);
    match (tempering, noise) {
        ([tempering], [position, heading, distance, turn])
            if valid(&[*tempering]) && valid(noise) && position * heading > 0.0 =>
        {
            Ok((*tempering, [*position, *heading, *distance, *turn]))
        }
        _ => Err(Error::setting(TEMPER, "and the noise must be positive numbers")),
    }
}

/// M poses at each step of each trajectory.
type Paths = Vec<Vec<Vec<[f32; 3]>>>;

/// Paths, as many for every step of one that has some, and their mean effective sample size.
pub(in crate::methods) fn stored_paths(paths: &Paths, effective_sample_size: f64) -> [Named; 3] {
    let numbers = paths.iter().flatten().flatten().flatten().map(|&x| f64::from(x));
    [
        named(LENGTHS, paths.iter().map(|path| path.len() as f64).collect()),
        named(POSES, numbers.collect()),
        named(SIZE, vec![effective_sample_size]),
    ]
}

/// The same back.
pub(in crate::methods) fn paths_of(memory: &[Named]) -> Result<(Paths, f64)> {
    let (lengths, poses) = (find(memory, LENGTHS)?, find(memory, POSES)?);
    let steps = lengths.iter().sum::<f64>() as usize;
    let each = poses.len() / 3 / steps.max(1);
    if each * 3 * steps != poses.len() {
        return Err(Error::setting(POSES, "does not fit the lengths of the paths"));
    }
    let mut poses = poses.chunks_exact(3).map(|pose| [pose[0], pose[1], pose[2]].map(|x| x as f32));
    let mut step = || poses.by_ref().take(each).collect::<Vec<_>>();
    let paths = lengths.iter().map(|&length| (0..length as usize).map(|_| step()).collect()).collect();
    Ok((paths, find(memory, SIZE)?.first().copied().unwrap_or(0.0)))
}
