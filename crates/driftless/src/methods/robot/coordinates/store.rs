//! The method as plain numbers, and back.

use super::CoordinateEm;
use super::field::Field;
use super::motion::State;
use crate::error::{Error, Result};
use crate::methods::anchored::store::{find, named};
use crate::parameters::Named;

const GAIN: &str = "motion.gain";
const DRIFT: &str = "motion.drift";
const NOISE: &str = "motion.noise";
const LAW: &str = "motion.law";
const FACTOR: &str = "filter.noise_factor";
const TEMPERING: &str = "filter.tempering";
const VISITED: &str = "states.visited";
const LENGTHS: &str = "paths.lengths";
const STATES: &str = "paths.states";
const SIZE: &str = "paths.effective_sample_size";

impl CoordinateEm {
    pub(super) fn model_parameters(&self) -> Vec<Named> {
        self.models.iter().flat_map(|model| model.parameters()).collect()
    }

    /// All that was learned.
    pub(super) fn stored_parameters(&self) -> Vec<Named> {
        let (moving, tuning) = (&self.moving, self.tuning);
        let mut all = self.model_parameters();
        for (name, numbers) in [(GAIN, &moving.gain), (DRIFT, &moving.drift), (NOISE, &moving.noise)] {
            all.push(named(name, numbers.clone()));
        }
        all.push(named(LAW, moving.field.as_ref().map_or_else(Vec::new, Field::numbers)));
        all.extend([named(FACTOR, vec![tuning.noise]), named(TEMPERING, vec![tuning.tempering])]);
        let visited = self.visited.iter().flatten().copied();
        all.push(Named::singles(VISITED.to_owned(), &[self.visited.len(), self.space.dimension()], visited));
        all
    }

    /// What it needs besides to go on exactly.
    pub(super) fn stored_memory(&self) -> Vec<Named> {
        let numbers = self.paths.iter().flatten().flatten().flatten().map(|&x| f64::from(x));
        let mut all = vec![
            named(LENGTHS, self.paths.iter().map(|path| path.len() as f64).collect()),
            named(STATES, numbers.collect()),
            named(SIZE, vec![self.effective_sample_size]),
        ];
        all.extend(self.models.iter().flat_map(|model| model.memory()));
        all
    }

    pub(super) fn take_back(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.models.iter_mut().try_for_each(|model| model.restore(parameters, memory))?;
        let own = |name: &str| find(parameters, name).map(<[f64]>::to_vec);
        (self.moving.gain, self.moving.drift, self.moving.noise) = (own(GAIN)?, own(DRIFT)?, own(NOISE)?);
        if !self.moving.is_valid() {
            return Err(Error::setting(NOISE, "does not fit the coordinates"));
        }
        if !self.moving.take_law(&own(LAW)?) {
            return Err(Error::setting(LAW, "does not fit the coordinates"));
        }
        let factor = |name: &str| match find(parameters, name)? {
            &[factor] if factor.is_finite() && factor > 0.0 => Ok(factor),
            _ => Err(Error::setting(name, "must be one number above 0")),
        };
        (self.tuning.noise, self.tuning.tempering) = (factor(FACTOR)?, factor(TEMPERING)?);
        let visited = find(parameters, VISITED)?;
        let count = self.space.dimension();
        if !visited.len().is_multiple_of(count) || !visited.iter().all(|x| x.is_finite()) {
            return Err(Error::setting(VISITED, "does not fit the coordinates"));
        }
        self.visited = visited.chunks_exact(count).map(narrow).collect();
        memory.map_or(Ok(()), |memory| self.take_back_paths(memory))
    }

    fn take_back_paths(&mut self, memory: &[Named]) -> Result<()> {
        let (lengths, states) = (find(memory, LENGTHS)?, find(memory, STATES)?);
        let (count, steps) = (self.space.dimension(), lengths.iter().sum::<f64>() as usize);
        let each = states.len() / count / steps.max(1);
        if each * count * steps != states.len() {
            return Err(Error::setting(STATES, "does not fit the lengths of the paths"));
        }
        let mut states = states.chunks_exact(count).map(narrow);
        let mut step = || states.by_ref().take(each).collect::<Vec<State>>();
        self.paths = lengths.iter().map(|&length| (0..length as usize).map(|_| step()).collect()).collect();
        self.effective_sample_size = find(memory, SIZE)?.first().copied().unwrap_or(0.0);
        Ok(())
    }
}

fn narrow(numbers: &[f64]) -> State {
    numbers.iter().map(|&x| x as f32).collect()
}
