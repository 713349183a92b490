//! Weighted particles that are drawn anew and moved.

use super::Motion;
use crate::Cpu;
use crate::angles::turn;

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
        draw(&self.weights, offset, &mut self.ancestors);
        let [x, y, heading] = &self.poses;
        let [cosines, sines] = &self.turned;
        for (to, from) in self.before.iter_mut().zip([x, y, heading, cosines, sines]) {
            to.clear();
            to.extend(self.ancestors.iter().map(|&i| from[i as usize]));
        }
        let [x, y, heading, cosines, sines] = &self.before;
        let [ahead, aside] = [action[0], motion.side * action[1]];
        for (i, z) in noise.iter().enumerate() {
            let (cosine, sine) = (cosines[i], sines[i]);
            self.poses[0][i] = x[i] + (ahead * cosine - aside * sine) + motion.noise[0] * z[0];
            self.poses[1][i] = y[i] + (ahead * sine + aside * cosine) + motion.noise[1] * z[1];
            self.poses[2][i] = heading[i] + action[2] + motion.noise[2] * z[2];
        }
        self.turn();
    }

    /// Weights l / Σ l: all were the same before.
    pub(super) fn reweight(&mut self, likelihoods: &[f32]) {
        let whole: f32 = likelihoods.iter().sum();
        self.weights.iter_mut().zip(likelihoods).for_each(|(weight, l)| *weight = l / whole);
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

/// Ancestors by weight: the first whose cumulated weight is at least (i + offset) / N of the whole.
pub(crate) fn draw(weights: &[f32], offset: f32, ancestors: &mut [u32]) {
    let whole: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    let step = whole / weights.len() as f64;
    let (mut at, mut sum) = (0, f64::from(weights[0]));
    for (i, ancestor) in ancestors.iter_mut().enumerate() {
        let marker = (i as f64 + f64::from(offset)) * step;
        while sum < marker && at + 1 < weights.len() {
            at += 1;
            sum += f64::from(weights[at]);
        }
        *ancestor = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights 1, 0, 3 of 4 and offset a half: markers at 1/8, 3/8, 5/8, 7/8 for four particles.
    #[test]
    fn systematic_by_hand() {
        let mut ancestors = [0; 4];
        draw(&[0.2, 0.0, 0.3, 0.5], 0.5, &mut ancestors);
        assert_eq!(ancestors, [0, 2, 3, 3]);
        draw(&[0.0, 0.0, 0.0, 2.0], 0.0, &mut ancestors);
        assert_eq!(ancestors, [0, 3, 3, 3]);
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
