//! How much readings may say: evaluated on episodes that the map was not made of.

use super::RobotEm;
use super::sensor::{Anywhere, Bound, Model};
use super::tracks::Following;
use super::walks::Walk;
use crate::error::Result;
use driftless_core::Stream;
use driftless_core::density::Mixture;
use driftless_world::trajectory::Start;
use rayon::prelude::*;

/// Factors of log-likelihoods to choose from: beams err together, and so do scans that follow each other.
const TEMPERS: [f64; 8] = [0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 1.0];
/// Parts of the episodes; each is tracked with a map of the others.
const PARTS: usize = 4;
/// Particles of a filter that is evaluated.
const PARTICLES: usize = 200;
/// The kernel of log densities, in mean steps and in radians.
const KERNEL: [f64; 2] = [0.5, 0.05];
/// A log density below which the robot is lost, and it does not matter by how much.
const LOST: f64 = -20.0;

impl RobotEm {
    /// The tempering under which known poses are most probable in the filter's belief, and the mean surprise at them. Each
    /// episode is followed from its first label on.
    pub(super) fn calibrate(&mut self, epoch: u64, walks: &[Walk]) -> Result<Option<f64>> {
        let parts: Vec<Vec<Box<dyn Model>>> = (0..PARTS)
            .into_par_iter()
            .map(|part| self.fitted(walks, |number| number % PARTS != part))
            .collect();
        let nowhere = Anywhere::new(&[], &self.normalisation, 1, 0);
        let evaluate = |tempering: f64| -> (f64, usize) {
            let one = |(number, walk): (usize, &Walk)| {
                let draws = Stream::new(self.seed.rotate_left(16) ^ epoch, number as u64);
                self.density_at_labels(&parts[number % PARTS], &nowhere, walk, tempering, draws)
            };
            let each: Vec<(f64, usize)> = walks.par_iter().enumerate().map(one).collect();
            each.iter().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let tried: Vec<(f64, (f64, usize))> = TEMPERS.iter().map(|&t| (t, evaluate(t))).collect();
        let best = tried.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).filter(|best| best.1.1 > 0);
        let Some(&(tempering, (sum, labels))) = best else { return Ok(None) };
        self.tempering = tempering;
        Ok(Some(-sum / labels as f64))
    }

    /// The sum of log densities at the labels behind the first one, and how many there are.
    fn density_at_labels(
        &self,
        models: &[Box<dyn Model>],
        nowhere: &Anywhere,
        walk: &Walk,
        tempering: f64,
        mut draws: Stream,
    ) -> (f64, usize) {
        let Some(first) = walk.labels.iter().position(Option::is_some) else { return (0.0, 0) };
        let Some(pose) = walk.labels[first] else { return (0.0, 0) };
        let step = self.normalisation.step_size[0];
        let spread = [KERNEL[0] * step, KERNEL[0] * step, KERNEL[1]].map(|x| x as f32);
        let kernel = spread.map(f64::from);
        let (mut sum, mut count) = (0.0, 0);
        let following =
            Following { first, tempering, particles: PARTICLES, start: Start::About { pose, spread } };
        let sensor = Bound::new(models, walk, nowhere);
        self.follow(walk, sensor, &following, &mut draws, |t, belief, _| {
            if let Some(label) = walk.labels[t].filter(|_| t > first) {
                let density = Mixture::new(belief, kernel.to_vec()).log_density(&label.map(f64::from));
                (sum, count) = (sum + density.max(LOST), count + 1);
            }
        });
        (sum, count)
    }
}
