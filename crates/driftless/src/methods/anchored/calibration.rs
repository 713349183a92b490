//! How sharp the filter may be: judged on whole trajectories that the network has not seen.

use super::{AnchoredEm, CALIBRATION_PARTICLES, TEMPERS, actions, held_out, pose, sight};
use crate::error::Result;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use rayon::prelude::*;
use sight::Sight;

impl AnchoredEm {
    /// The temper under which known poses are most probable in the filter's belief.
    pub(super) fn calibrate(&mut self, epoch: u64, lessons: &[Lesson]) -> Result<()> {
        let sight = Sight::new(&self.matcher, &self.scales, self.bounds());
        let count = held_out(lessons.len());
        let judged = &lessons[if count > 0 { lessons.len() - count } else { 0 }..];
        let judge = |temper: f64| -> Result<f64> {
            let tracker = self.tracker(&sight, CALIBRATION_PARTICLES, temper);
            let one = |(number, lesson): (usize, &Lesson)| {
                let mut random = Random::stream(self.seed.rotate_left(16) ^ epoch, number as u64);
                let images = sight::images(lesson, &self.scales.pixels)?;
                let mut sum = 0.0;
                tracker.follow(&sight.of(&images), &actions(lesson.actions()), &mut random, |t, cloud, _| {
                    // Beyond 20 it is lost, and does not matter by how much.
                    let label = lesson.labels().get(t).map(pose);
                    sum += label.map_or(0.0, |truth| cloud.log_density(truth, self.kernel()).max(-20.0));
                });
                Ok(sum)
            };
            let sums = judged.par_iter().enumerate().map(one).collect::<Result<Vec<f64>>>()?;
            Ok(sums.iter().sum())
        };
        let tried = TEMPERS.iter().map(|&temper| Ok((temper, judge(temper)?))).collect::<Result<Vec<_>>>()?;
        self.temper = tried.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(self.temper, |best| best.0);
        Ok(())
    }
}
