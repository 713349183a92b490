//! How much readings may say: evaluated on episodes that the map was not made of.

use super::RobotEm;
use super::Tuning;
use super::anywhere::Anywhere;
use super::bound::Bound;
use super::follower::Following;
use super::sensor::{Encoded, Model};
use super::walks::Walk;
use crate::learn::MotionKind;
use driftless_core::Stream;
use driftless_core::density::Mixture;
use driftless_world::trajectory::Start;
use rayon::prelude::*;

/// Factors of log-likelihoods to choose from: beams err together, and so do scans that follow each other.
pub(super) const TEMPERS: [f64; 6] = [0.03, 0.07, 0.15, 0.3, 0.6, 1.0];
/// Factors of the motion's noise to choose from: odometry jumps now and then, which its deviation does not tell.
pub(super) const NOISES: [f64; 3] = [1.0, 2.0, 4.0];
/// The same where there is no odometry: noise that explains the way from label to label as a random walk is too much for a
/// robot that drives straight on.
pub(super) const NOISES_WITHOUT_ODOMETRY: [f64; 4] = [0.15, 0.3, 0.6, 1.0];
/// Parts of the episodes; each is tracked with a map of the others.
pub(super) const PARTS: usize = 4;
/// Particles of a filter that is evaluated.
pub(super) const PARTICLES: usize = 200;
/// Least widths of a density's kernels, in what is lost and in radians: finer differences do not matter.
const KERNEL: [f64; 2] = [0.05, 0.05];
/// A log density below which the robot is lost, and it does not matter by how much.
pub(super) const LOST: f64 = -20.0;

impl RobotEm {
    /// The tempering and the factor of the motion's noise under which known poses are most probable in the filter's belief,
    /// and the mean surprise at them. Each episode is followed from its first label on, with maps of the other parts, and
    /// with networks only if they have not seen it.
    pub(super) fn calibrate(&mut self, epoch: u64, walks: &[Walk]) -> Option<f64> {
        let is_evaluated = |number: &usize| !self.has_network() || self.held_out[*number];
        let evaluated: Vec<usize> = (0..walks.len()).filter(is_evaluated).collect();
        let made = |part: usize| -> Vec<Box<dyn Model>> {
            let is_used = evaluated.iter().any(|number| number % PARTS == part);
            if is_used { self.others(epoch, walks, |number| number % PARTS != part) } else { Vec::new() }
        };
        let parts: Vec<Vec<Box<dyn Model>>> = (0..PARTS).into_par_iter().map(made).collect();
        let encode = |&number: &usize| (number, Encoded::new(&parts[number % PARTS], &walks[number]));
        let encoded: Vec<(usize, Encoded)> = evaluated.par_iter().map(encode).collect();
        let nowhere = Anywhere::new(&[], &self.normalisation, 1, 0);
        let evaluate = |tuning: Tuning| -> (f64, usize) {
            let one = |(number, encoded): &(usize, Encoded)| {
                let draws = Stream::new(self.seed.rotate_left(16) ^ epoch, *number as u64);
                self.density_at_labels(encoded, &nowhere, &walks[*number], tuning, draws)
            };
            let each: Vec<(f64, usize)> = encoded.par_iter().map(one).collect();
            each.iter().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let noises: &[f64] = match self.motion {
            MotionKind::None => &NOISES_WITHOUT_ODOMETRY,
            MotionKind::Odometry | MotionKind::Velocity => &NOISES,
        };
        let all = noises.iter().flat_map(|&noise| TEMPERS.map(|tempering| Tuning { tempering, noise }));
        let tried: Vec<(Tuning, (f64, usize))> = all.map(|tuning| (tuning, evaluate(tuning))).collect();
        // The most careful of those that are alike.
        let best = tried.iter().rev().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).filter(|best| best.1.1 > 0);
        let &(tuning, (sum, labels)) = best?;
        self.tuning = tuning;
        Some(-sum / labels as f64)
    }

    /// The sum of log densities at the labels behind the first one, and how many there are.
    fn density_at_labels(
        &self,
        encoded: &Encoded,
        nowhere: &Anywhere,
        walk: &Walk,
        tuning: Tuning,
        draws: Stream,
    ) -> (f64, usize) {
        let Some(first) = walk.labels.iter().position(Option::is_some) else { return (0.0, 0) };
        let Some(pose) = walk.labels[first] else { return (0.0, 0) };
        let place = KERNEL[0] * self.settings.lost;
        let kernel = [place, place, KERNEL[1]];
        let spread = kernel.map(|x| x as f32);
        let (mut sum, mut count) = (0.0, 0);
        let following = Following { tuning, particles: PARTICLES, start: Start::About { pose, spread } };
        let mut follower = self.follower(Bound::new(encoded.models(), nowhere), &following, draws);
        for t in first..walk.actions.len() {
            follower.step(|number| encoded.row(number, t), walk.actions[t]);
            if let Some(label) = walk.labels[t].filter(|_| t > first) {
                let mut mixture = Mixture::scott(follower.belief(), &kernel);
                let density = mixture.log_density(&label.map(f64::from));
                (sum, count) = (sum + density.max(LOST), count + 1);
            }
        }
        (sum, count)
    }
}
