//! Weighted particles that are resampled and moved.

use super::Motion;
use crate::Cpu;
use crate::angles::turn;
use driftless_core::pose::compose;
use driftless_core::resample::Scheme;

/// Poses as columns, with the cosines and sines of headings, and weights that sum to 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Belief {
    /// Positions and headings, which are not wrapped.
    pub(super) poses: [Vec<f32>; 3],
    /// Of each particle.
    pub(super) weights: Vec<f32>,
    pub(super) turned: [Vec<f32>; 2],
    pub(super) ancestors: Vec<u32>,
    before: [Vec<f32>; 5],
}

impl Belief {
    /// Particles of equal weight.
    pub(super) fn start(&mut self, first: &[[f32; 3]]) {
        for k in 0..3 {
            self.poses[k].clear();
            self.poses[k].extend(first.iter().map(|pose| pose[k]));
        }
        self.weights.clear();
        self.weights.resize(first.len(), 1.0 / first.len() as f32);
        self.ancestors.resize(first.len(), 0);
        self.turn();
    }

    /// Draws all particles anew, systematically with this offset, and moves them.
    pub(super) fn advance(&mut self, motion: &Motion, action: &[f32; 3], noise: &[[f32; 3]], offset: f32) {
        let count = self.weights.len();
        Scheme::Systematic.ancestors(&self.weights, count, || f64::from(offset), &mut self.ancestors);
        let [x, y, heading] = &self.poses;
        let [cosines, sines] = &self.turned;
        for (to, from) in self.before.iter_mut().zip([x, y, heading, cosines, sines]) {
            to.clear();
            to.extend(self.ancestors.iter().map(|&i| from[i as usize]));
        }
        let [x, y, heading, cosines, sines] = &self.before;
        let [ahead, aside] = [action[0], motion.side * action[1]];
        for (i, z) in noise.iter().enumerate() {
            let [dx, dy] = compose([cosines[i], sines[i]], [ahead, aside]);
            self.poses[0][i] = x[i] + dx + motion.noise[0] * z[0];
            self.poses[1][i] = y[i] + dy + motion.noise[1] * z[1];
            self.poses[2][i] = heading[i] + action[2] + motion.noise[2] * z[2];
        }
        self.turn();
    }

    /// Weights l / Σ l: all were the same before, and stay so where no particle explains what is seen. Says whether
    /// that happened.
    pub(super) fn reweight(&mut self, likelihoods: &[f32]) -> bool {
        let whole: f32 = likelihoods.iter().sum();
        let collapsed = !(whole > 0.0 && whole.is_finite());
        if collapsed {
            let equal = 1.0 / likelihoods.len() as f32;
            self.weights.fill(equal);
        } else {
            self.weights.iter_mut().zip(likelihoods).for_each(|(weight, l)| *weight = l / whole);
        }
        collapsed
    }

    /// Nothing was drawn.
    pub(super) fn are_their_own_ancestors(&mut self) {
        self.ancestors.iter_mut().enumerate().for_each(|(i, ancestor)| *ancestor = i as u32);
    }

    /// Puts particles where they once were: positions, headings, and cosines and sines of these.
    pub(super) fn stand(&mut self, columns: [&[f32]; 5]) {
        let own = self.poses.iter_mut().chain(&mut self.turned);
        own.zip(columns).for_each(|(to, from)| to.copy_from_slice(from));
    }

    fn turn(&mut self) {
        for column in &mut self.turned {
            column.resize(self.poses[2].len(), 0.0);
        }
        let [cosines, sines] = &mut self.turned;
        turn(Cpu::best(), &self.poses[2], [cosines, sines]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Likelihoods without any number: weights stay equal, and it is said.
    #[test]
    fn a_collapse_keeps_the_weights() {
        let mut belief = Belief::default();
        belief.start(&[[0.0; 3]; 4]);
        assert!(belief.reweight(&[f32::NAN; 4]) && belief.reweight(&[0.0; 4]));
        assert_eq!(belief.weights, [0.25; 4]);
        assert!(!belief.reweight(&[1.0, 0.0, 0.0, 1.0]));
        assert_eq!(belief.weights, [0.5, 0.0, 0.0, 0.5]);
    }

    /// Ahead along the heading, aside to its left or right.
    #[test]
    fn moves_by_hand() {
        let quarter = std::f32::consts::FRAC_PI_2;
        for side in [1.0, -1.0] {
            let motion = Motion { side, noise: [10.0, 20.0, 0.5] };
            let mut belief = Belief::default();
            belief.start(&[[100.0, 50.0, quarter]]);
            belief.advance(&motion, &[3.0, 2.0, 0.1], &[[0.1, 0.0, 0.2]], 0.3);
            let found = [0, 1, 2].map(|k| belief.poses[k][0]);
            let expected = [100.0 - side * 2.0 + 1.0, 53.0, quarter + 0.2];
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
        }
    }
}
