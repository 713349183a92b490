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
    /// Particles at the start, and after [`SETTLED`] steps.
    pub population: [usize; 2],
    /// Whether particles are drawn from the map when the belief explains an image worse than the map.
    pub recovers: bool,
}

/// Steps in which the population shrinks, geometrically.
const SETTLED: f64 = 10.0;
/// How fast the running mean of evidence forgets.
const FORGETTING: f64 = 0.4;
/// No more than this share of the belief is given up at once.
const MOST_NEW: f64 = 0.5;

impl Tracker<'_> {
    /// Filters T actions, and shows the belief of each step.
    pub fn follow(
        &self,
        view: &impl View,
        actions: &[[f64; 3]],
        random: &mut Random,
        mut show: impl FnMut(usize, &Cloud),
    ) {
        let tempered = |scores: Vec<f64>| scores.into_iter().map(|s| s * self.temper).collect::<Vec<f64>>();
        let poses = self.drawn(&normalised(&tempered(view.of_map(0))), self.population[0].max(1), random);
        let mut cloud = Cloud { weights: vec![1.0 / poses.len() as f64; poses.len()], poses };
        show(0, &cloud);
        let mut trend: Option<f64> = None;
        for (t, action) in actions.iter().enumerate().skip(1) {
            self.move_on(&mut cloud, self.count(t), action, random);
            let map = tempered(view.of_map(t));
            let mut logs = tempered(view.scores(t, &cloud.poses));
            let outside = logs.iter_mut().zip(&cloud.poses).filter(|(_, pose)| self.is_outside(pose));
            outside.for_each(|(log, _)| *log = f64::NEG_INFINITY);
            logs.iter_mut().zip(&cloud.weights).for_each(|(log, weight)| *log += weight.ln());
            let everywhere = log_sum(&map) - (map.len() as f64).ln();
            let surprise = (log_sum(&logs) - everywhere).clamp(-50.0, 50.0);
            let now = trend.map_or(surprise, |trend| trend + FORGETTING * (surprise - trend));
            trend = Some(now);
            let share = if self.recovers && now < 0.0 { (1.0 - now.exp()).min(MOST_NEW) } else { 0.0 };
            let new = (share * logs.len() as f64).round() as usize;
            if new > 0 {
                // The robot is anywhere with probability `share`. Drawn in proportion to the likelihood,
                // poses of the map all have the weight of its mean.
                logs.iter_mut().for_each(|log| *log += (1.0 - share).ln());
                logs.extend(vec![share.ln() + everywhere - (new as f64).ln(); new]);
                cloud.poses.extend(self.drawn(&normalised(&map), new, random));
                cloud.weights.extend(vec![0.0; new]);
            }
            // Where nothing is possible, weights stay as they were.
            if logs.iter().any(|log| log.is_finite()) {
                cloud.weights = normalised(&logs);
            }
            show(t, &cloud);
        }
    }

    fn count(&self, t: usize) -> usize {
        let [first, last] = self.population.map(|count| count.max(1) as f64);
        (first * (last / first).powf((t as f64 / SETTLED).min(1.0))).round() as usize
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
    fn move_on(&self, cloud: &mut Cloud, count: usize, action: &[f64; 3], random: &mut Random) {
        let size = cloud.poses.len();
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

/// log Σ exp.
fn log_sum(logs: &[f64]) -> f64 {
    let highest = logs.iter().copied().filter(|log| log.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        return highest;
    }
    logs.iter().map(|log| (log - highest).exp()).sum::<f64>().ln() + highest
}
