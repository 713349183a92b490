//! How noisy the odometry is, learned from labels: what makes the known poses most probable.

use crate::smooth::chain::{Chain, Label, Odometry, Posterior};
use driftless_world::labels::Lesson;
use driftless_world::pose::Frame;
use rayon::prelude::*;

/// Odometry's noise: standard deviations at rest of position and heading, and the share of the motion.
pub type Noise = [f64; 3];

/// Trajectories looked at: enough for three numbers.
const MOST_CHAINS: usize = 40;
/// Noise at rest, in mean steps, and shares of the motion.
const RESTS: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
const SHARES: [f64; 7] = [0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.25];

/// What a chain needs of a lesson.
#[derive(Clone, Debug)]
pub struct Known {
    actions: Vec<Vec<f64>>,
    labels: Vec<Option<Label>>,
}

impl Known {
    /// Odometry and exact labels.
    pub fn of(lesson: &Lesson) -> Self {
        let wide = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let label = |state: &[f32]| Label { state: wide(state), covariance: None };
        Self {
            actions: (0..lesson.len()).map(|t| wide(lesson.actions().row(t))).collect(),
            labels: lesson.labels().iter().map(|state| state.map(label)).collect(),
        }
    }

    /// The posterior of the path; None without any label.
    pub fn smooth(&self, noise: Noise) -> Option<Posterior> {
        let dynamics = odometry(noise);
        let chain = Chain { dynamics: &dynamics, actions: &self.actions, labels: &self.labels, prior: None };
        chain.smooth().ok()
    }
}

/// Odometry with this noise, in the frame of the mazes' data.
pub fn odometry([position, heading, share]: Noise) -> Odometry {
    Odometry::new(Frame::Reflected, [position, heading], share)
}

/// A noise to start from: a tenth of a step.
pub fn first_noise(step: [f64; 3]) -> Noise {
    [0.1 * step[0], 0.1 * step[2], 0.1]
}

/// The noise of a grid that maximises the evidence of the labels, one number after another, twice.
pub fn learn(chains: &[Known], step: [f64; 3]) -> Noise {
    let chains = &chains[..chains.len().min(MOST_CHAINS)];
    let evidence = |noise: Noise| -> f64 {
        // A sum in a fixed order: the same on any number of threads.
        let each: Vec<f64> =
            chains.par_iter().map(|c| c.smooth(noise).map_or(0.0, |found| found.log_evidence)).collect();
        each.iter().sum()
    };
    let grids = [RESTS.map(|rest| rest * step[0]).to_vec(), RESTS.map(|rest| rest * step[2]).to_vec()];
    let grids = [grids[0].clone(), grids[1].clone(), SHARES.to_vec()];
    let mut best = first_noise(step);
    for k in [2, 0, 1, 2, 0, 1] {
        let with = |&value: &f64| {
            let mut noise = best;
            noise[k] = value;
            (noise, evidence(noise))
        };
        let tried: Vec<(Noise, f64)> = grids[k].iter().map(with).collect();
        best = tried.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(best, |found| found.0);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::pose::Pose;
    use driftless_world::random::Random;

    fn walk(seed: u64, share: f64) -> Known {
        let mut random = Random::new(seed);
        let (mut pose, mut actions, mut labels) = (Pose::default(), Vec::new(), Vec::new());
        for t in 0..60 {
            let action = [40.0 + 10.0 * random.normal(), 3.0 * random.normal(), 0.5 * random.normal()];
            pose = pose.moved(action, Frame::Reflected);
            actions.push(action.iter().map(|a| a * (1.0 + share * random.normal())).collect());
            let state = vec![pose.x, pose.y, pose.heading];
            labels.push((t % 4 == 0).then_some(Label { state, covariance: None }));
        }
        Known { actions, labels }
    }

    /// Multiplicative noise is found as such, within the neighbours on the grid.
    #[test]
    fn shares_are_learned() {
        for (share, allowed) in [(0.1, 0.06..=0.15), (0.03, 0.01..=0.06)] {
            let chains: Vec<Known> = (0..12).map(|seed| walk(seed, share)).collect();
            let [position, _, found] = learn(&chains, [25.0, 25.0, 0.4]);
            assert!(allowed.contains(&found), "{found} is not {share}");
            assert!(position < 5.0, "{position}");
        }
    }
}
