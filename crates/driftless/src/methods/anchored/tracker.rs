//! The filter of deployment: many particles at first, drawn from a map of poses, and again when lost.

use super::paths::normalised;
use crate::methods::cloud::Cloud;
use crate::resample::by_markers;
use crate::smooth::chain::{Dynamics, Odometry};
use driftless_world::random::Random;

/// What images say of poses, in logarithms before the temper.
pub trait View {
    /// Of any poses, at step t.
    fn scores(&self, t: usize, poses: &[[f64; 3]]) -> Vec<f64>;
    /// Of the poses of the map, at step t.
    fn of_map(&self, t: usize) -> Vec<f64>;
    /// The logarithm of the mean likelihood of the map's poses, at step t, for this temper.
    fn everywhere(&self, t: usize, temper: f64) -> f64 {
        mean_log(&self.of_map(t).into_iter().map(|score| temper * score).collect::<Vec<f64>>())
    }
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
    /// Most particles, which the first belief has, and least.
    pub population: [usize; 2],
    /// A belief whose positions have a standard deviation below this has found the robot: the least number of
    /// particles. The square of it is the area that so many are for.
    pub found: f64,
    /// Whether the first particles are drawn by the first image, or evenly.
    pub looks_first: bool,
    /// Whether particles are drawn from the map when the belief explains an image worse than the map; for the
    /// step in which it happens there are more.
    pub recovers: bool,
}

/// The probability with which a robot is carried off in a step, or was never where it is believed to be.
const ASTRAY: f64 = 0.0001;
/// No more than this share of the belief is given up at once: one odd image must not move the mean far.
const MOST_NEW: f64 = 0.1;
/// What the temper is multiplied by where images decide between places. Neighbouring images err alike, so that a few
/// of them can make a wrong place look sure; around a place that is known they only move the estimate a little.
const DOUBT: f64 = 0.4;
/// A belief within so many times the standard deviation of a found robot is around one place.
const ONE_PLACE: f64 = 2.0;

impl Tracker<'_> {
    /// Filters T actions, and shows the belief of each step.
    pub fn follow(
        &self,
        view: &impl View,
        actions: &[[f64; 3]],
        random: &mut Random,
        mut show: impl FnMut(usize, &Cloud, f64),
    ) {
        let doubtful = DOUBT * self.temper;
        let map = times(view.of_map(0), doubtful);
        let first = if self.looks_first { normalised(&map) } else { vec![1.0 / map.len() as f64; map.len()] };
        let poses = self.drawn(&first, self.wanted(f64::INFINITY), random);
        let mut cloud = Cloud { weights: vec![1.0 / poses.len() as f64; poses.len()], poses };
        show(0, &cloud, view.everywhere(0, doubtful));
        let mut lost = 0.0;
        for (t, action) in actions.iter().enumerate().skip(1) {
            self.move_on(&mut cloud, action, random);
            let scores = view.scores(t, &cloud.poses);
            let one_place = cloud.spread() <= ONE_PLACE * self.found;
            let temper = if one_place { self.temper } else { doubtful };
            let mut logs: Vec<f64> = scores.iter().map(|score| temper * score).collect();
            let outside = logs.iter_mut().zip(&cloud.poses).filter(|(_, pose)| self.is_outside(pose));
            outside.for_each(|(log, _)| *log = f64::NEG_INFINITY);
            logs.iter_mut().zip(&cloud.weights).for_each(|(log, weight)| *log += weight.ln());
            let evidence = log_sum(&logs);
            // Whether it is this place or another is doubtful in any case.
            let doubted = logs.iter().zip(&scores).map(|(log, score)| log + (doubtful - temper) * score);
            lost = lost_now(lost, log_sum(&doubted.collect::<Vec<f64>>()), view.everywhere(t, doubtful));
            let share = if self.recovers { lost.min(MOST_NEW) } else { 0.0 };
            // As if drawn among the first particles: few could not be in all places that look alike.
            let new = (share * self.wanted(f64::INFINITY) as f64).round() as usize;
            if new > 0 {
                // Drawn in proportion to the likelihood, all newcomers weigh the same.
                for log in &mut logs {
                    *log += (1.0 - share).ln();
                }
                let each = if evidence.is_finite() { share.ln() + evidence } else { 0.0 } - (new as f64).ln();
                logs.extend(vec![each; new]);
                let map = normalised(&times(view.of_map(t), doubtful));
                cloud.poses.extend(self.drawn(&map, new, random));
                cloud.weights.extend(vec![0.0; new]);
                // What was given to them is no longer missing in the belief; all of it where nothing was left.
                lost = if evidence.is_finite() { lost - share } else { 0.0 };
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

    /// How many particles a belief of this standard deviation is to have: as many for an area as once found.
    fn wanted(&self, spread: f64) -> usize {
        let [most, least] = self.population;
        let count = least as f64 * (spread / self.found).powi(2);
        (count as usize).clamp(least.max(1), most.max(least).max(1))
    }

    /// Resamples if few particles count, or another number is wanted; then moves.
    fn move_on(&self, cloud: &mut Cloud, action: &[f64; 3], random: &mut Random) {
        let size = cloud.poses.len();
        let count = self.wanted(cloud.spread());
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

fn times(scores: Vec<f64>, temper: f64) -> Vec<f64> {
    scores.into_iter().map(|score| temper * score).collect()
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
mod tests;
