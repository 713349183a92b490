//! The filter of deployment: many particles at first, drawn from a map of poses, and again when lost.

use super::cloud::Cloud;
use super::paths::normalised;
use crate::resample::by_markers;
use crate::smooth::chain::{Dynamics, Odometry};
use driftless_world::random::Random;

/// What images say of poses, in logarithms before the temper.
pub trait View {
    /// Of any poses, at step t.
    fn scores(&self, t: usize, poses: &[[f64; 3]]) -> Vec<f64>;
    /// Of the poses of the map, at step t.
    fn of_map(&self, t: usize) -> Vec<f64>;
}

/// Everything but images and actions.
#[derive(Clone, Debug)]
pub struct Tracker<'a> {
    /// How the robot moves, and how exactly.
    pub odometry: Odometry,
    /// Poses all over the box, evenly.
    pub map: &'a [[f64; 3]],
    /// How far the map's poses are apart, roughly, as standard deviations.
    pub jitter: [f64; 3],
    /// Least and greatest position that can be.
    pub bounds: [[f64; 2]; 2],
    /// What scores are multiplied by.
    pub temper: f64,
    /// Particles as long as the robot is not found, and then.
    pub population: [usize; 2],
    /// A belief whose positions have a standard deviation below this has found the robot.
    pub found: f64,
    /// Whether the first particles are drawn by the first image, or evenly.
    pub looks_first: bool,
    /// Whether particles are drawn from the map when the belief explains an image worse than the map; for the
    /// step in which it happens there are more.
    pub recovers: bool,
}

/// The probability with which a robot is carried off in a step, or was never where it is believed to be.
const ASTRAY: f64 = 0.001;
/// No more than this share of the belief is given up at once: one odd image must not move the mean far.
const MOST_NEW: f64 = 0.1;

impl Tracker<'_> {
    /// Filters T actions, and shows the belief of each step.
    pub fn follow(
        &self,
        view: &impl View,
        actions: &[[f64; 3]],
        random: &mut Random,
        mut show: impl FnMut(usize, &Cloud, f64),
    ) {
        let tempered = |scores: Vec<f64>| scores.into_iter().map(|s| s * self.temper).collect::<Vec<f64>>();
        let map = tempered(view.of_map(0));
        let first = if self.looks_first { normalised(&map) } else { vec![1.0 / map.len() as f64; map.len()] };
        let poses = self.drawn(&first, self.population[0].max(1), random);
        let mut cloud = Cloud { weights: vec![1.0 / poses.len() as f64; poses.len()], poses };
        show(0, &cloud, mean_log(&map));
        let mut lost = 0.0;
        for (t, action) in actions.iter().enumerate().skip(1) {
            self.move_on(&mut cloud, action, random);
            let map = tempered(view.of_map(t));
            let mut logs = tempered(view.scores(t, &cloud.poses));
            let outside = logs.iter_mut().zip(&cloud.poses).filter(|(_, pose)| self.is_outside(pose));
            outside.for_each(|(log, _)| *log = f64::NEG_INFINITY);
            logs.iter_mut().zip(&cloud.weights).for_each(|(log, weight)| *log += weight.ln());
            let (everywhere, evidence) = (mean_log(&map), log_sum(&logs));
            lost = lost_now(lost, evidence, everywhere);
            let share = if self.recovers { lost.min(MOST_NEW) } else { 0.0 };
            let new = (share * logs.len() as f64).round() as usize;
            if new > 0 {
                // Drawn in proportion to the likelihood, all newcomers weigh the same.
                for log in &mut logs {
                    *log += (1.0 - share).ln();
                }
                let each = if evidence.is_finite() { share.ln() + evidence } else { 0.0 } - (new as f64).ln();
                logs.extend(vec![each; new]);
                cloud.poses.extend(self.drawn(&normalised(&map), new, random));
                cloud.weights.extend(vec![0.0; new]);
                // What was given to them is no longer missing in the belief.
                lost -= share;
            }
            // Where nothing is possible, weights stay as they were.
            if logs.iter().any(|log| log.is_finite()) {
                cloud.weights = normalised(&logs);
            }
            show(t, &cloud, evidence);
        }
    }

    fn is_outside(&self, pose: &[f64; 3]) -> bool {
        (0..2).any(|k| !(self.bounds[0][k]..=self.bounds[1][k]).contains(&pose[k]))
    }

    /// Poses of the map, by weight, and shaken so that no two are the same.
    fn drawn(&self, weights: &[f64], count: usize, random: &mut Random) -> Vec<[f64; 3]> {
        let u = random.unit();
        let markers = (0..count).map(|j| (j as f64 + u) / count as f64);
        let chosen = by_markers(weights, markers);
        let shaken = |i: usize| std::array::from_fn(|k| self.map[i][k] + self.jitter[k] * random.normal());
        chosen.into_iter().map(shaken).collect()
    }

    /// Resamples if few particles count, or another number is wanted; then moves.
    fn move_on(&self, cloud: &mut Cloud, action: &[f64; 3], random: &mut Random) {
        let size = cloud.poses.len();
        let count = self.population[usize::from(cloud.spread() < self.found)].max(1);
        if count != size || cloud.effective_sample_size() < 0.5 * size as f64 {
            let u = random.unit();
            let chosen = by_markers(&cloud.weights, (0..count).map(|j| (j as f64 + u) / count as f64));
            cloud.poses = chosen.into_iter().map(|i| cloud.poses[i]).collect();
            cloud.weights = vec![1.0 / count as f64; count];
        }
        let noise = self.odometry.noise(action);
        for pose in &mut cloud.poses {
            let moved = self.odometry.moved(pose, action);
            *pose = std::array::from_fn(|k| moved[k] + noise.at(k, k).sqrt() * random.normal());
        }
    }
}

/// The probability that the robot is anywhere but where it is believed to be, given what it was before: Bayes'
/// rule with the evidence of an image under the belief, and under all poses alike.
fn lost_now(before: f64, evidence: f64, everywhere: f64) -> f64 {
    let astray = before + (1.0 - before) * ASTRAY;
    let odds = (evidence - everywhere).exp() * (1.0 - astray) / astray;
    1.0 / (1.0 + odds)
}

/// The logarithm of the mean likelihood.
fn mean_log(logs: &[f64]) -> f64 {
    log_sum(logs) - (logs.len() as f64).ln()
}

/// log Σ exp.
fn log_sum(logs: &[f64]) -> f64 {
    let highest = logs.iter().copied().filter(|log| log.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        return highest;
    }
    logs.iter().map(|log| (log - highest).exp()).sum::<f64>().ln() + highest
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::pose::{Frame, Pose, wrap};
    use std::f64::consts::PI;

    /// A robot on a circle, seen by a Gaussian of 10 units around where it is.
    struct Circle<'a> {
        truth: Vec<Pose>,
        map: &'a [[f64; 3]],
    }

    impl View for Circle<'_> {
        fn scores(&self, t: usize, poses: &[[f64; 3]]) -> Vec<f64> {
            let truth = self.truth[t];
            let score = |pose: &[f64; 3]| {
                let far = (pose[0] - truth.x).powi(2) + (pose[1] - truth.y).powi(2);
                -0.005 * far - 20.0 * wrap(pose[2] - truth.heading).powi(2)
            };
            poses.iter().map(score).collect()
        }

        fn of_map(&self, t: usize) -> Vec<f64> {
            self.scores(t, self.map)
        }
    }

    const ACTION: [f64; 3] = [10.0, 0.0, 0.2];

    /// Distances from the truth at all steps; the robot is carried away at step 20 if `kidnapped`.
    fn errors(recovers: bool, kidnapped: bool, seed: u64) -> (Vec<f64>, Vec<usize>) {
        let mut random = Random::new(9);
        let mut pose = || [random.range(0.0, 200.0), random.range(0.0, 200.0), random.range(-PI, PI)];
        let map: Vec<[f64; 3]> = (0..5000).map(|_| pose()).collect();
        let mut truth = vec![Pose::new(150.0, 50.0, 0.5)];
        for t in 1..40 {
            let next = truth[t - 1].moved(ACTION, Frame::Reflected);
            truth.push(if kidnapped && t == 20 { Pose::new(40.0, 60.0, -1.0) } else { next });
        }
        let view = Circle { truth: truth.clone(), map: &map };
        let tracker = Tracker {
            odometry: Odometry::new(Frame::Reflected, [1.0, 0.02], [0.0; 2]),
            map: &map,
            jitter: [6.0, 6.0, 0.2],
            bounds: [[0.0; 2], [200.0; 2]],
            temper: 0.5,
            population: [1000, 100],
            found: 40.0,
            looks_first: true,
            recovers,
        };
        let (mut errors, mut counts) = (Vec::new(), Vec::new());
        tracker.follow(&view, &[ACTION; 40], &mut Random::new(seed), |t, cloud, _| {
            errors.push(cloud.mean().distance(truth[t]));
            counts.push(cloud.poses.len());
        });
        (errors, counts)
    }

    #[test]
    fn the_map_finds_the_robot_and_recovery_finds_it_again() {
        let (found, counts) = errors(true, false, 1);
        // A look is exact within 14 units (10 / √temper); ten of them within 5, and two of those are 10.
        assert!(found[39] < 10.0 && found[5] < 20.0, "{found:?}");
        assert_eq!((counts[0], counts[10], counts[39]), (1000, 100, 100));
        let (again, _) = errors(true, true, 1);
        assert!(again[19] < 10.0 && again[39] < 10.0, "{again:?}");
        let (never, _) = errors(false, true, 1);
        // It stays on a wrong circle, which crosses the right one, while the recovered one is exact again.
        assert!(never[35..].iter().all(|&error| error > 15.0), "{never:?}");
        assert!(again[25..].iter().all(|&error| error < 10.0), "{again:?}");
    }

    /// As likely under both: one in a thousand more than before. e^7 times likelier anywhere else: 0.001 e^7 to
    /// 0.999 by odds. What points the same way adds up.
    #[test]
    fn lost_by_bayes_rule() {
        assert!((lost_now(0.0, -3.0, -3.0) - ASTRAY).abs() < 1e-15);
        assert!((lost_now(0.5, -3.0, -3.0) - 0.5005).abs() < 1e-12);
        let odds = 0.001 * 7.0_f64.exp() / 0.999;
        assert!((lost_now(0.0, -9.0, -2.0) - odds / (1.0 + odds)).abs() < 1e-12);
        assert_eq!((lost_now(0.0, f64::NEG_INFINITY, -2.0), lost_now(0.3, 0.0, -1e4)), (1.0, 0.0));
        let often = (0..8).fold(0.0, |lost, _| lost_now(lost, -4.0, -3.0));
        assert!(often > 0.5, "eight images, each e times likelier anywhere else: {often}");
    }

    #[test]
    fn a_seed_names_the_track() {
        assert_eq!(errors(true, true, 2), errors(true, true, 2));
        assert_ne!(errors(true, true, 2), errors(true, true, 3));
    }
}
