//! A recorded episode, given to a filter step by step.

use super::{Estimate, Observation, Tracker, sensible};
use crate::error::{Error, Result};
use crate::learn::WorldKind;
use driftless_core::Belief;
use driftless_world::trajectory::{Images, Observations, Trajectory};

impl Tracker {
    /// Follows a recorded episode from step `first` on; `show` is given the step, the estimate and the particles. It sees
    /// what an evaluation sees: the same numbers come out. True states are not looked at.
    ///
    /// # Errors
    /// If images or readings have another size than those of the run.
    pub fn replay<E: From<Error>>(
        &mut self,
        episode: &Trajectory,
        first: usize,
        mut show: impl FnMut(usize, &Estimate, Option<&Belief>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (rows, images) = match &episode.observations {
            Observations::Vectors(rows) => (Some(rows), None),
            Observations::Images(images) => (None, Some(images)),
        };
        if let Some(rows) = rows.filter(|rows| rows.width() != self.readings()) {
            let problem = format!("has {} numbers, {} are wanted", rows.width(), self.readings());
            return Err(Error::from(driftless_world::Error::new(problem).in_field("observations")).into());
        }
        let mut image = Vec::new();
        for t in first..episode.len() {
            if let Some(images) = images {
                self.prepare(images, t, &mut image)?;
            }
            let action = (episode.actions.width() == 3)
                .then(|| std::array::from_fn(|k| f64::from(episode.actions.row(t)[k])));
            let estimate = self.filter.step(Observation {
                readings: rows.map(|rows| rows.row(t)),
                image: images.map(|_| &image[..]),
                action: sensible(action),
            });
            show(t, &estimate, self.filter.belief())?;
        }
        Ok(())
    }

    /// Image t as the filter wants it.
    fn prepare(&self, images: &Images, t: usize, values: &mut Vec<f32>) -> Result<()> {
        values.clear();
        if self.world == WorldKind::Maze {
            let wrong = |problem| Error::from(driftless_world::Error::new(problem).in_field("observations"));
            return self.pixels.normalise_one(images, t, values).map_err(wrong);
        }
        values.extend((t * images.stride()..(t + 1) * images.stride()).map(|i| images.pixels.get(i)));
        Ok(())
    }
}
