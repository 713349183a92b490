//! Parts of episodes to learn from, with what is known of their poses: labels alone, or labels carried on by odometry.
//!
//! From the start of an episode a filter that knows little drifts away, and a label ten steps later says nothing that
//! it could use. The preset `driftless` begins each block near a known pose instead, as unsure of it as a robot is at
//! its start. The semi-supervised filter learns from every step that odometry leads to from a label, weighted by how
//! far odometry can be trusted; its supervised twin from the labelled steps themselves.

use super::particles::State;
use super::walk::Walk;
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::random::Random;

/// An error of odometry of this size, in metres, halves what a carried label counts.
const TRUSTED: f64 = 0.1;
/// How far a radian moves what is seen, in metres: a heading's error counts that much.
const LEVER: f64 = 1.0;

/// A pose that is known, more or less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) pose: State,
    /// 1 for a label, less for one that was carried on.
    pub(super) weight: f64,
}

/// A block of an episode.
pub(super) struct Excerpt<'a> {
    pub(super) walk: &'a Walk,
    /// Its first step.
    pub(super) from: usize,
    /// What is known of its steps.
    pub(super) marks: Vec<Option<Mark>>,
}

impl<'a> Excerpt<'a> {
    /// The labels themselves.
    pub(super) fn of_labels(walk: &'a Walk, from: usize, steps: usize) -> Self {
        let mark = |label: &Option<State>| label.map(|pose| Mark { pose, weight: 1.0 });
        Self { walk, from, marks: walk.labels[from..from + steps].iter().map(mark).collect() }
    }

    /// What all its marks count.
    pub(super) fn weight(&self) -> f64 {
        self.marks.iter().flatten().map(|mark| mark.weight).sum()
    }
}

/// How wrong odometry is: mean square of a step, in metres, measured between labels of the same episode; all that
/// odometry says is believed if there are no two labels.
pub(super) fn odometry_error(walks: &[Walk]) -> f64 {
    let (mut squares, mut steps) = (0.0, 0.0);
    for walk in walks {
        let known: Vec<usize> = (0..walk.len()).filter(|&t| walk.labels[t].is_some()).collect();
        for pair in known.windows(2) {
            let [Some(from), Some(to)] = [pair[0], pair[1]].map(|t| walk.labels[t]) else { continue };
            squares += apart(carried(walk, from, pair[0], pair[1]), to);
            steps += (pair[1] - pair[0]) as f64;
        }
    }
    if steps > 0.0 { squares / steps } else { 0.0 }
}

/// Squared distance of two poses in metres.
fn apart(a: State, b: State) -> f64 {
    let [x, y] = [0, 1].map(|k| METRES_PER_PIXEL * (a[k] - b[k]));
    x * x + y * y + (LEVER * wrap(a[2] - b[2])).powi(2)
}

/// A pose of step `from` as odometry carries it to another step, before or behind it.
pub(super) fn carried(walk: &Walk, pose: State, from: usize, to: usize) -> State {
    let mut pose = Pose::new(pose[0], pose[1], pose[2]);
    for action in walk.actions.iter().take(to + 1).skip(from + 1) {
        pose = pose.moved(*action, Frame::Robot);
    }
    for action in walk.actions.iter().take(from + 1).skip(to + 1).rev() {
        // The heading before the turn is what the motion was made in.
        let before = Pose::new(0.0, 0.0, pose.heading - action[2]);
        let moved = before.moved(*action, Frame::Robot);
        pose = Pose::new(pose.x - moved.x, pose.y - moved.y, wrap(before.heading));
    }
    [pose.x, pose.y, pose.heading]
}

/// What is known of every step: the nearest label, carried on.
pub(super) fn bridge(walk: &Walk, odometry_error: f64) -> Vec<Option<Mark>> {
    let known: Vec<usize> = (0..walk.len()).filter(|&t| walk.labels[t].is_some()).collect();
    let mark = |t: usize| {
        let &nearest = known.iter().min_by_key(|&&label| label.abs_diff(t))?;
        let variance = odometry_error * nearest.abs_diff(t) as f64;
        let weight = 1.0 / (1.0 + variance / (TRUSTED * TRUSTED));
        Some(Mark { pose: carried(walk, walk.labels[nearest]?, nearest, t), weight })
    };
    (0..walk.len()).map(mark).collect()
}

/// A block somewhere in an episode that has labels, with the pose in which it begins. With `carry` all of its steps
/// are marked; without, it holds at least one label, and only labels are.
pub(super) fn choose<'a>(
    walk: &'a Walk,
    bridge: &[Option<Mark>],
    steps: usize,
    carry: bool,
    random: &mut Random,
) -> Option<(Excerpt<'a>, State)> {
    let places = (walk.len() + 1).checked_sub(steps)?;
    let fits = |from: &usize| carry || walk.labels[*from..from + steps].iter().any(Option::is_some);
    let candidates: Vec<usize> = (0..places).filter(fits).collect();
    if candidates.is_empty() || bridge.first()?.is_none() {
        return None;
    }
    let from = candidates[random.below(candidates.len())];
    let begin = bridge[from]?.pose;
    let excerpt = if carry {
        Excerpt { walk, from, marks: bridge[from..from + steps].to_vec() }
    } else {
        Excerpt::of_labels(walk, from, steps)
    };
    Some((excerpt, begin))
}
