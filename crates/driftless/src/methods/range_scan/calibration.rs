//! How much a scan may say: evaluated on whole episodes that the network has not seen.

use super::RangeScan;
use super::training::held_out;
use super::walks::Walk;
use crate::error::Result;
use driftless_core::Stream;
use driftless_core::density::Mixture;
use driftless_kernels::ranks::map;

/// Factors of a column's log-likelihood to choose from: columns err together, and so do images that follow each other.
const TEMPERS: [f64; 7] = [0.01, 0.015, 0.022, 0.033, 0.05, 0.075, 0.11];
/// Particles of a filter that is evaluated.
const PARTICLES: usize = 200;
/// The kernel of log densities: centimetres and radians.
const KERNEL: [f64; 3] = [5.0, 5.0, 0.05];
/// A log density below which the robot is lost, and it does not matter by how much.
const LOST: f64 = -30.0;

impl RangeScan {
    /// The tempering under which known poses are most probable in the filter's belief.
    pub(super) fn calibrate(&mut self, epoch: u64, walks: &[Walk]) -> Result<()> {
        let count = held_out(walks.len());
        let evaluated = &walks[if count > 0 { walks.len() - count } else { 0 }..];
        let evaluated: Vec<&Walk> = evaluated.iter().filter(|walk| walk.has_label()).collect();
        if evaluated.is_empty() {
            return Ok(());
        }
        let one = |number: usize| -> Result<[f64; TEMPERS.len()]> {
            let (walk, mut sums) = (evaluated[number], [0.0; TEMPERS.len()]);
            let scans = self.learner.net().scans(&walk.images)?;
            for (sum, tempering) in sums.iter_mut().zip(TEMPERS) {
                let draws = Stream::new(self.seed.rotate_left(16) ^ epoch, number as u64);
                self.follow((walk, &scans), tempering, PARTICLES, draws, |t, belief, _| {
                    if let Some(label) = walk.labels[t] {
                        let density =
                            Mixture::new(belief, KERNEL.to_vec()).log_density(&label.map(f64::from));
                        *sum += density.max(LOST);
                    }
                })?;
            }
            Ok(sums)
        };
        let sums = map(&*self.ranks, evaluated.len(), one)?;
        let tried = TEMPERS
            .iter()
            .enumerate()
            .map(|(k, &tempering)| (tempering, sums.iter().map(|sums| sums[k]).sum::<f64>()));
        self.tempering = tried.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(self.tempering, |best| best.0);
        Ok(())
    }
}
