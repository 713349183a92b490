//! The filter of deployment: many particles at first, drawn from a map of poses, and again when lost.

use super::paths::normalise;
use crate::methods::cloud::Cloud;
use crate::resample::choose_by_markers;
use crate::smooth::chain::Odometry;
use driftless_world::random::Random;
use walk::Room;

mod walk;

pub use walk::Walk;

/// What images say of poses, in logarithms before the temper. All results replace what was there.
pub trait View {
    /// Of any poses, at step t.
    fn scores(&self, t: usize, poses: &[[f64; 3]], scores: &mut Vec<f64>);
    /// Of the poses of the map, at step t.
    fn of_map(&self, t: usize, scores: &mut Vec<f64>);
    /// The logarithm of the mean likelihood of the map's poses, at step t, for this temper.
    fn everywhere(&self, t: usize, temper: f64) -> f64;
}

/// Everything but images and actions.
#[derive(Clone, Copy, Debug)]
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
        let mut walk = Walk::default();
        for (t, action) in actions.iter().enumerate() {
            let evidence = if t == 0 {
                self.begin(view, random, &mut walk)
            } else {
                self.step((view, t), action, random, &mut walk)
            };
            show(t, &walk.cloud, evidence);
        }
    }

    /// The first belief, drawn from the map; says how likely the image was.
    pub fn begin(&self, view: &impl View, random: &mut Random, walk: &mut Walk) -> f64 {
        let count = self.wanted(f64::INFINITY);
        walk.make_room(self.map.len(), count + (MOST_NEW * count as f64) as usize + 1);
        let Walk { cloud, lost, room } = walk;
        *lost = 0.0;
        if self.looks_first {
            room.map_weights(view, 0, self.doubtful());
        } else {
            room.map.clear();
            room.map.resize(self.map.len(), 1.0 / self.map.len() as f64);
        }
        cloud.poses.clear();
        self.draw(count, random, room, &mut cloud.poses);
        cloud.weights.clear();
        cloud.weights.resize(count, 1.0 / count as f64);
        view.everywhere(0, self.doubtful())
    }

    /// Moves by an action, weighs by the image of step t, and lets newcomers in; says how likely the image was.
    pub fn step(
        &self,
        (view, t): (&impl View, usize),
        action: &[f64; 3],
        random: &mut Random,
        walk: &mut Walk,
    ) -> f64 {
        let Walk { cloud, lost, room } = walk;
        self.move_on(cloud, action, random, room);
        let evidence = self.weigh((view, t), cloud, lost, room);
        let share = if self.recovers { lost.min(MOST_NEW) } else { 0.0 };
        // As if drawn among the first particles: few could not be in all places that look alike.
        let new = (share * self.wanted(f64::INFINITY) as f64).round() as usize;
        if new > 0 {
            // Drawn in proportion to the likelihood, all newcomers weigh the same.
            for log in &mut room.logs {
                *log += (1.0 - share).ln();
            }
            let each = if evidence.is_finite() { share.ln() + evidence } else { 0.0 } - (new as f64).ln();
            room.logs.resize(room.logs.len() + new, each);
            room.map_weights(view, t, self.doubtful());
            self.draw(new, random, room, &mut cloud.poses);
            cloud.weights.resize(cloud.weights.len() + new, 0.0);
            // What was given to them is no longer missing in the belief; all of it where nothing was left.
            *lost = if evidence.is_finite() { *lost - share } else { 0.0 };
        }
        // Where nothing is possible, weights stay as they were.
        if room.logs.iter().any(|log| log.is_finite()) {
            normalise(&room.logs, &mut cloud.weights);
        }
        evidence
    }

    /// log w + log l of all particles, and how likely the robot is elsewhere; says how likely the image was.
    fn weigh(
        &self,
        (view, t): (&impl View, usize),
        cloud: &Cloud,
        lost: &mut f64,
        Room { scores, logs, .. }: &mut Room,
    ) -> f64 {
        let doubtful = self.doubtful();
        view.scores(t, &cloud.poses, scores);
        let one_place = cloud.spread() <= ONE_PLACE * self.found;
        let temper = if one_place { self.temper } else { doubtful };
        logs.clear();
        logs.extend(scores.iter().map(|score| temper * score));
        let outside = logs.iter_mut().zip(&cloud.poses).filter(|(_, pose)| self.is_outside(pose));
        outside.for_each(|(log, _)| *log = f64::NEG_INFINITY);
        logs.iter_mut().zip(&cloud.weights).for_each(|(log, weight)| *log += weight.ln());
        let evidence = log_sum(logs);
        // Whether it is this place or another is doubtful in any case.
        for (score, log) in scores.iter_mut().zip(logs) {
            *score = *log + (doubtful - temper) * *score;
        }
        *lost = lost_now(*lost, log_sum(scores), view.everywhere(t, doubtful));
        evidence
    }

    fn doubtful(&self) -> f64 {
        DOUBT * self.temper
    }

    fn is_outside(&self, pose: &[f64; 3]) -> bool {
        (0..2).any(|k| !(self.bounds[0][k]..=self.bounds[1][k]).contains(&pose[k]))
    }

    /// Adds poses of the map, by the weights in the room, and shaken so that no two are the same.
    fn draw(&self, count: usize, random: &mut Random, room: &mut Room, poses: &mut Vec<[f64; 3]>) {
        let u = random.unit();
        let markers = (0..count).map(|j| (j as f64 + u) / count as f64);
        choose_by_markers(&room.map, markers, &mut room.cumulative, &mut room.chosen);
        let shaken = |&i: &usize| std::array::from_fn(|k| self.map[i][k] + self.jitter[k] * random.normal());
        poses.extend(room.chosen.iter().map(shaken));
    }

    /// How many particles a belief of this standard deviation is to have: as many for an area as once found.
    fn wanted(&self, spread: f64) -> usize {
        let [most, least] = self.population;
        if spread == f64::INFINITY {
            return most.max(least).max(1);
        }
        let count = least as f64 * (spread / self.found).powi(2);
        (count as usize).clamp(least.max(1), most.max(least).max(1))
    }

    /// Resamples if few particles count, or another number is wanted; then moves.
    fn move_on(&self, cloud: &mut Cloud, action: &[f64; 3], random: &mut Random, room: &mut Room) {
        let size = cloud.poses.len();
        let count = self.wanted(cloud.spread());
        if count != size || cloud.effective_sample_size() < 0.5 * size as f64 {
            let u = random.unit();
            let markers = (0..count).map(|j| (j as f64 + u) / count as f64);
            choose_by_markers(&cloud.weights, markers, &mut room.cumulative, &mut room.chosen);
            room.poses.clear();
            room.poses.extend(room.chosen.iter().map(|&i| cloud.poses[i]));
            std::mem::swap(&mut room.poses, &mut cloud.poses);
            cloud.weights.clear();
            cloud.weights.resize(count, 1.0 / count as f64);
        }
        let noise = self.odometry.variances(action).map(f64::sqrt);
        for pose in &mut cloud.poses {
            let moved = self.odometry.carried(pose, action);
            *pose = std::array::from_fn(|k| moved[k] + noise[k] * random.normal());
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

/// log Σ exp.
fn log_sum(logs: &[f64]) -> f64 {
    let highest = logs.iter().copied().filter(|log| log.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        return highest;
    }
    let finite = logs.iter().filter(|log| log.is_finite());
    finite.map(|log| (log - highest).exp()).sum::<f64>().ln() + highest
}

#[cfg(test)]
mod tests;
