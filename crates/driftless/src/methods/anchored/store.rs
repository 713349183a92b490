//! The method as plain numbers, and back.

use super::{AnchoredEm, Supervision};
use crate::error::{Error, Result};
use crate::parameters::Named;
use burn::tensor::DType;

const TEMPER: &str = "filter.tempering";
const NOISE: &str = "filter.noise";
const LENGTHS: &str = "paths.lengths";
const POSES: &str = "paths.poses";
const SIZE: &str = "paths.effective_sample_size";

fn named(name: &str, values: Vec<f64>) -> Named {
    Named { name: name.to_owned(), shape: vec![values.len()], precision: DType::F64, values }
}

fn find<'a>(all: &'a [Named], name: &str) -> Result<&'a [f64]> {
    let found = all.iter().find(|part| part.name == name);
    found.map(|part| &part.values[..]).ok_or_else(|| Error::setting(name, "is missing"))
}

impl AnchoredEm {
    /// The network, and the two settings of the filter that were learned.
    pub(super) fn stored_parameters(&self) -> Vec<Named> {
        let mut all = self.values.clone();
        all.extend([named(TEMPER, vec![self.tempering]), named(NOISE, self.noise.to_vec())]);
        all
    }

    /// The optimiser's state, and the paths drawn last.
    pub(super) fn stored_memory(&self) -> Vec<Named> {
        let mut all = self.optimiser.state();
        if self.supervision == Supervision::LabelsAlone {
            return all;
        }
        all.push(named(LENGTHS, self.drawn.iter().map(|path| path.len() as f64).collect()));
        all.push(named(
            POSES,
            self.drawn.iter().flatten().flatten().flatten().map(|&x| f64::from(x)).collect(),
        ));
        all.push(named(SIZE, vec![self.effective_sample_size]));
        all
    }

    fn check_shapes(&self, parameters: &[Named]) -> Result<()> {
        for own in &self.values {
            let given = parameters.iter().find(|part| part.name == own.name);
            if given.is_none_or(|given| given.shape != own.shape) {
                return Err(Error::setting(
                    own.name.clone(),
                    format!("is missing, or not of shape {:?}", own.shape),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn take_back(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.check_shapes(parameters)?;
        let (tempering, noise) = (find(parameters, TEMPER)?, find(parameters, NOISE)?);
        let valid = |values: &[f64]| values.iter().all(|&x| x.is_finite() && x >= 0.0);
        if tempering.len() != 1
            || noise.len() != 4
            || !valid(tempering)
            || !valid(noise)
            || noise[0] * noise[1] == 0.0
        {
            return Err(Error::setting(TEMPER, "and the noise must be positive numbers"));
        }
        for own in &mut self.values {
            let given = parameters.iter().find(|part| part.name == own.name);
            own.values.clone_from(&given.expect("it was looked for").values);
        }
        self.encoder.load(&self.values);
        (self.tempering, self.noise) = (tempering[0], [noise[0], noise[1], noise[2], noise[3]]);
        (self.bridges, self.drawn) = (None, Vec::new());
        let Some(memory) = memory else { return Ok(()) };
        self.optimiser = self.optimiser.clone().with_state(memory);
        if self.supervision == Supervision::LabelsAlone {
            return Ok(());
        }
        self.effective_sample_size = find(memory, SIZE)?.first().copied().unwrap_or(0.0);
        let (lengths, poses) = (find(memory, LENGTHS)?, find(memory, POSES)?);
        let steps = lengths.iter().sum::<f64>() as usize;
        let each = poses.len() / 3 / steps.max(1);
        if each * 3 * steps != poses.len() {
            return Err(Error::setting(POSES, "does not fit the lengths of the paths"));
        }
        let mut poses = poses.chunks_exact(3).map(|pose| [pose[0], pose[1], pose[2]].map(|x| x as f32));
        let mut step = || poses.by_ref().take(each).collect::<Vec<_>>();
        self.drawn = lengths.iter().map(|&length| (0..length as usize).map(|_| step()).collect()).collect();
        Ok(())
    }
}
