//! How noisy the odometry is, learned from labels: what makes the known poses most probable.

use crate::learn::Normalisation;
use crate::smooth::chain::{Chain, Label, Matrix, Odometry, Posterior};
use driftless_core::motion::{self, HeadingNoise};
use driftless_world::labels::Lesson;
use driftless_world::pose::Frame;
use rayon::prelude::*;

/// Odometry's noise: standard deviations at rest of position and heading, and shares of distance and turn.
pub type Noise = [f64; 4];

/// Steps looked at: enough for four numbers.
const MOST_STEPS: usize = 2400;
/// A noise is at first multiplied and divided by the first of these, in the end by the last.
const FACTORS: [f64; 3] = [4.0, 2.0, 1.4];
/// Rounds with the same factor, at most.
const ROUNDS: usize = 3;
/// Least and greatest noise at rest, in mean steps, and share of the motion.
const RESTS: [f64; 2] = [0.003, 1.0];
const SHARES: [f64; 2] = [0.001, 1.0];

/// What a chain needs of a lesson.
#[derive(Clone, Debug)]
pub struct Known {
    frame: Frame,
    actions: Vec<Vec<f64>>,
    labels: Vec<Option<Label>>,
    prior: Option<Label>,
    /// Standard deviations of position and heading where an action is missing.
    missing: [f64; 2],
}

impl Known {
    /// Odometry, written in this frame, and exact labels.
    pub fn of(lesson: &Lesson, frame: Frame) -> Self {
        let wide = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let label = |state: &[f32]| Label { state: wide(state), covariance: None };
        Self {
            frame,
            actions: (0..lesson.len()).map(|t| wide(lesson.actions().row(t))).collect(),
            labels: lesson.labels().iter().map(|state| state.map(label)).collect(),
            prior: None,
            missing: [0.0; 2],
        }
    }

    /// Odometry and exact labels of planar poses.
    pub fn new(frame: Frame, actions: Vec<Vec<f64>>, labels: &[Option<[f32; 3]>]) -> Self {
        let label = |state: [f32; 3]| Label { state: state.map(f64::from).to_vec(), covariance: None };
        let labels = labels.iter().map(|state| state.map(label)).collect();
        Self { frame, actions, labels, prior: None, missing: [0.0; 2] }
    }

    /// With what the robot may have done where an action is missing, that is, not finite.
    pub fn with_missing(self, [position, heading]: [f32; 2]) -> Self {
        Self { missing: [f64::from(position), f64::from(heading)], ..self }
    }

    /// With what the robot was told of its first pose: a mean, and standard deviations.
    pub fn with_prior(self, pose: [f32; 3], spread: [f32; 3]) -> Self {
        let covariance = Matrix::diagonal(&spread.map(|std| f64::from(std).powi(2)));
        let prior = Label { state: pose.map(f64::from).to_vec(), covariance: Some(covariance) };
        Self { prior: Some(prior), ..self }
    }

    /// The posterior of the path; None if nothing is known of any pose.
    pub fn smooth(&self, [position, heading, distance, turn]: Noise) -> Option<Posterior> {
        let dynamics =
            Odometry::new(self.frame, [position, heading], [distance, turn]).with_missing(self.missing);
        let Self { actions, labels, prior, .. } = self;
        Chain { dynamics: &dynamics, actions, labels, prior: prior.as_ref() }.smooth().ok()
    }
}

/// The filter's motion with this noise, at rest at least so many mean steps and turns: particles that descend from one must
/// part.
pub fn motion(
    [position, heading, distance, turn]: Noise,
    least: [f64; 2],
    frame: Frame,
    normalisation: &Normalisation,
) -> motion::Odometry {
    let step = normalisation.step_size;
    let rest = [position.max(least[0] * step[0]), heading.max(least[1] * step[2])];
    motion::Odometry {
        frame,
        rest: rest.map(|x| x as f32),
        share: [distance as f32, turn as f32],
        scale: 0.0,
        heading_noise: HeadingNoise::After,
        missing: normalisation.missing_motion(),
    }
}

/// A noise to start from.
pub fn first_noise(step: [f64; 3]) -> Noise {
    [0.03 * step[0], 0.03 * step[2], 0.1, 0.1]
}

/// The noise that maximises the evidence of the labels, found by multiplying and dividing one number after
/// another as long as that helps, with ever smaller factors (pattern search).
pub fn learn(chains: &[Known], step: [f64; 3]) -> Noise {
    let mut steps = 0;
    let few = chains.iter().take_while(|chain| {
        steps += chain.actions.len();
        steps <= MOST_STEPS.max(chain.actions.len())
    });
    let chains = &chains[..few.count()];
    let evidence = |noise: Noise| -> f64 {
        // A sum in a fixed order: the same on any number of threads.
        let each: Vec<f64> =
            chains.par_iter().map(|c| c.smooth(noise).map_or(0.0, |found| found.log_evidence)).collect();
        each.iter().sum()
    };
    let limits = [RESTS.map(|rest| rest * step[0]), RESTS.map(|rest| rest * step[2]), SHARES, SHARES];
    let mut best = first_noise(step);
    let mut highest = evidence(best);
    for factor in FACTORS {
        for _ in 0..ROUNDS {
            let before = best;
            for (k, [least, greatest]) in limits.into_iter().enumerate() {
                for ratio in [factor, factor.recip()] {
                    let mut noise = best;
                    noise[k] = (noise[k] * ratio).clamp(least, greatest);
                    let found = if noise == best { highest } else { evidence(noise) };
                    if found > highest {
                        (best, highest) = (noise, found);
                        break;
                    }
                }
            }
            if best == before {
                break;
            }
        }
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
        Known { frame: Frame::Reflected, actions, labels, prior: None, missing: [0.0; 2] }
    }

    /// Multiplicative noise is found as such. Almost all of a step is along one axis, so its noise is
    /// share / √2 on either. 12 walks of 15 labels say a standard deviation within 1 / √(2 · 180) = 5 %;
    /// three of that and the last factor, √1.4, allow 1.36.
    #[test]
    fn shares_are_learned() {
        for share in [0.1, 0.03] {
            let chains: Vec<Known> = (0..12).map(|seed| walk(seed, share)).collect();
            let found = learn(&chains, [25.0, 25.0, 0.4]);
            for (found, exact) in [(found[2], share / 2.0_f64.sqrt()), (found[3], share)] {
                assert!((exact / 1.36..exact * 1.36).contains(&found), "{found} is not {exact}");
            }
            assert!(found[0] < 5.0 * share && found[1] < 0.2 * share, "{found:?}");
        }
    }
}
