//! How much readings may say, and how much noise the motion needs: evaluated on episodes that were not learned from.

use super::motion::State;
use super::{CoordinateEm, Models};
use crate::methods::robot::Tuning;
use crate::methods::robot::anywhere::Anywhere;
use crate::methods::robot::bound::Bound;
use crate::methods::robot::calibration::{LOST, NOISES, NOISES_WITHOUT_ODOMETRY, PARTICLES, PARTS, TEMPERS};
use crate::methods::robot::follower::Following;
use crate::methods::robot::sensor::Encoded;
use crate::methods::robot::walks::Walk;
use driftless_core::Stream;
use driftless_core::density::Mixture;
use driftless_world::trajectory::{Coordinates, Start};
use rayon::prelude::*;

/// Least widths of a density's kernels, in deviations: finer differences do not matter.
const KERNEL: f64 = 0.02;

impl CoordinateEm {
    /// The tempering and the factor of the noise under which known states are most probable in the filter's belief, and the
    /// mean surprise at them. Each episode is followed from its first label on, by what was learned from other parts, and by
    /// networks only if they have not seen it.
    pub(super) fn calibrate(&mut self, epoch: u64, walks: &[Walk<State>]) -> Option<f64> {
        let is_evaluated = |number: &usize| !self.has_network() || self.held_out[*number];
        let evaluated: Vec<usize> = (0..walks.len()).filter(is_evaluated).collect();
        let made = |part: usize| -> Models {
            let is_used = evaluated.iter().any(|number| number % PARTS == part);
            if is_used { self.others(epoch, walks, |number| number % PARTS != part) } else { Vec::new() }
        };
        let parts: Vec<Models> = (0..PARTS).into_par_iter().map(made).collect();
        let encode = |&number: &usize| (number, Encoded::new(&parts[number % PARTS], &walks[number]));
        let encoded: Vec<(usize, Encoded<State>)> = evaluated.par_iter().map(encode).collect();
        let nowhere = self.nowhere();
        let evaluate = |tuning: Tuning| -> (f64, usize) {
            let one = |(number, encoded): &(usize, Encoded<State>)| {
                let draws = Stream::new(self.seed.rotate_left(16) ^ epoch, *number as u64);
                self.density_at_labels(encoded, &nowhere, &walks[*number], tuning, draws)
            };
            let each: Vec<(f64, usize)> = encoded.par_iter().map(one).collect();
            each.iter().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let noises: &[f64] = if self.has_actions { &NOISES } else { &NOISES_WITHOUT_ODOMETRY };
        let all = noises.iter().flat_map(|&noise| TEMPERS.map(|tempering| Tuning { tempering, noise }));
        let tried: Vec<(Tuning, (f64, usize))> = all.map(|tuning| (tuning, evaluate(tuning))).collect();
        // The most careful of those that are alike.
        let best = tried.iter().rev().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).filter(|best| best.1.1 > 0);
        let &(tuning, (sum, labels)) = best?;
        self.tuning = tuning;
        Some(-sum / labels as f64)
    }

    /// The sum of log densities at the labels behind the first one, each coordinate in its deviations, and how many.
    fn density_at_labels(
        &self,
        encoded: &Encoded<State>,
        nowhere: &Anywhere,
        walk: &Walk<State>,
        tuning: Tuning,
        draws: Stream,
    ) -> (f64, usize) {
        let first = walk.labels.iter().enumerate().find_map(|(t, label)| Some((t, label.as_ref()?)));
        let deviations: Vec<f64> = self.normalisation.coordinates.iter().map(|one| one.deviation).collect();
        let kernel: Vec<f64> = deviations.iter().map(|deviation| KERNEL * deviation).collect();
        let volume: f64 = deviations.iter().map(|deviation| deviation.ln()).sum();
        let Some((first, mean, spread)) =
            first.and_then(|(t, label)| Some((t, Coordinates::of(label)?, Coordinates::new(&kernel)?)))
        else {
            return (0.0, 0);
        };
        let (mut sum, mut count) = (0.0, 0);
        let following = Following { tuning, particles: PARTICLES, start: Start::State { mean, spread } };
        let mut follower = self.follower(Bound::new(encoded.models(), nowhere), &following, draws);
        for t in first..walk.actions.len() {
            follower.step(|number| encoded.row(number, t), &walk.actions[t]);
            if let Some(label) = walk.labels[t].as_ref().filter(|_| t > first) {
                let mut mixture = Mixture::scott(follower.belief(), &kernel);
                let density = mixture.log_density(&label.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
                (sum, count) = (sum + (density + volume).max(LOST), count + 1);
            }
        }
        (sum, count)
    }
}
