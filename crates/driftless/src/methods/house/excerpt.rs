//! Parts of episodes to learn from, with what is known of their poses: labels alone, or labels carried on by odometry.
//!
//! From the start of an episode a filter that knows little drifts away, and a label ten steps later says nothing that
//! it could use. The method `driftless` begins each block near a known pose instead, as unsure of it as a robot is at
//! its start. The semi-supervised filter learns from every step that odometry leads to from a label, weighted by how
//! far odometry can be trusted; its supervised twin from the labelled steps themselves.

use super::particles::State;
use super::walk::Walk;
use crate::learn::{HouseSettings, HouseStart};
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::random::Random;
use driftless_world::trajectory::Start;

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
    /// How many children each particle of its last step has at the end of the sequence, where these decide.
    pub(super) children: Option<Vec<f64>>,
}

impl<'a> Excerpt<'a> {
    /// The labels themselves.
    pub(super) fn of_labels(walk: &'a Walk, from: usize, steps: usize) -> Self {
        let mark = |label: &Option<State>| label.map(|pose| Mark { pose, weight: 1.0 });
        let marks = walk.labels[from..from + steps].iter().map(mark).collect();
        Self { walk, from, marks, children: None }
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
        Excerpt { walk, from, marks: bridge[from..from + steps].to_vec(), children: None }
    } else {
        Excerpt::of_labels(walk, from, steps)
    };
    Some((excerpt, begin))
}

/// What a robot is told that begins in a pose of an excerpt: as unsure as at the start of an episode, and as far from
/// the truth. All in map pixels.
pub(super) fn start(begin: State, settings: &HouseSettings, random: &mut Random) -> Start {
    let spread = settings.start_spread().map(|x| x as f32);
    let off = if settings.start == HouseStart::TrackingTrue { 0.0 } else { 1.0 };
    let pose = std::array::from_fn(|k| begin[k] as f32 + off * spread[k] * random.normal() as f32);
    Start::About { pose, spread }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    /// A quarter turn while driving on, and straight on: ahead is +x, then +y.
    fn walk(labelled: &[usize]) -> (Walk, Vec<State>) {
        let actions = vec![[9.0; 3], [50.0, 0.0, FRAC_PI_2], [100.0, 10.0, 0.0], [0.0, 0.0, PI]];
        let truth = vec![
            [10.0, 20.0, 0.0],
            [60.0, 20.0, FRAC_PI_2],
            [50.0, 120.0, FRAC_PI_2],
            [50.0, 120.0, -FRAC_PI_2],
        ];
        let label = |(t, pose): (usize, &State)| labelled.contains(&t).then_some(*pose);
        let labels = truth.iter().enumerate().map(label).collect();
        (Walk::bare(actions, labels), truth)
    }

    #[test]
    fn odometry_leads_from_any_step_to_any_other() {
        let (walk, truth) = walk(&[]);
        for from in 0..4 {
            for to in 0..4 {
                let found = carried(&walk, truth[from], from, to);
                assert!(apart(found, truth[to]) < 1e-20, "{from} {to}: {found:?}");
            }
        }
    }

    /// The label of the last step is 3 cm and 4 cm off after two steps: 0.0025 m², half of it a step.
    #[test]
    fn what_odometry_errs_is_measured_between_labels() {
        let (mut walk, truth) = walk(&[1, 3]);
        assert!(odometry_error(std::slice::from_ref(&walk)) < 1e-20);
        walk.labels[3] = Some([truth[3][0] + 1.5, truth[3][1] - 2.0, truth[3][2]]);
        let found = odometry_error(std::slice::from_ref(&walk));
        assert!((found - 0.00125).abs() < 1e-9, "{found}");
        assert_eq!(odometry_error(&[]), 0.0);
        // One step from a label: 0.00125 of 0.01 m².
        let weights: Vec<f64> = bridge(&walk, found).iter().flatten().map(|mark| mark.weight).collect();
        let expected = 1.0 / 1.125;
        assert!(
            weights.iter().zip([expected, 1.0, expected, 1.0]).all(|(a, b)| (a - b).abs() < 1e-9),
            "{weights:?}"
        );
    }

    /// A robot that is told its true pose is told it in every block.
    #[test]
    fn the_true_pose_is_told_as_it_is() {
        let told = |start_setting: HouseStart| {
            let settings = HouseSettings { start: start_setting, ..HouseSettings::default() };
            match start([10.0, 20.0, 0.5], &settings, &mut Random::new(1)) {
                Start::About { pose, spread } => (pose, spread),
                other => panic!("{other:?}"),
            }
        };
        let (pose, spread) = told(HouseStart::TrackingTrue);
        assert_eq!(pose, [10.0, 20.0, 0.5]);
        let (drawn, same) = told(HouseStart::Tracking);
        assert!(drawn.iter().zip(pose).all(|(a, b)| *a != b) && spread == same && spread[0] == 15.0);
    }

    #[test]
    fn blocks_are_chosen_near_labels() {
        let (some, truth) = walk(&[2]);
        let marks = bridge(&some, 0.0);
        assert!(marks.iter().zip(&truth).all(|(mark, pose)| apart(mark.unwrap().pose, *pose) < 1e-20));
        let mut random = Random::new(1);
        let (mut twin, mut semi) = ([false; 3], [false; 3]);
        for _ in 0..200 {
            let (excerpt, begin) = choose(&some, &marks, 2, false, &mut random).unwrap();
            assert_eq!(excerpt.weight(), 1.0, "the label alone");
            assert!(apart(begin, truth[excerpt.from]) < 1e-20);
            twin[excerpt.from] = true;
            let (excerpt, _) = choose(&some, &marks, 2, true, &mut random).unwrap();
            assert_eq!(excerpt.weight(), 2.0, "both steps");
            semi[excerpt.from] = true;
        }
        assert_eq!((twin, semi), ([false, true, true], [true; 3]));
        let (none, _) = walk(&[]);
        assert!(choose(&none, &bridge(&none, 0.0), 2, true, &mut random).is_none());
        assert!(choose(&some, &marks, 5, true, &mut random).is_none(), "too short");
    }
}
