//! Pieces of a robot's episodes, all equally long, that published methods learn from.
//!
//! Their authors had episodes of one length that begin with a known pose, or anywhere. In logs episodes have any length,
//! and poses are known here and there. A robot that is told where it starts learns from windows that begin at known poses,
//! told with the error that it will meet in use; one that is told nothing, from windows that follow each other. Where an
//! episode ends too early a window is filled up with steps in which nothing is measured, known or done: they say nothing,
//! and no gradient comes from them.

use crate::error::Result;
use crate::learn::{Experiment, RobotStart, StateKind, WorldKind};
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::random::Random;
use driftless_world::trajectory::{Camera, Images, Labels, Observations, Pixels, Rows, Start, Trajectory};
use std::ops::Range;

/// Windows that begin at known poses are at least this share of their length apart.
const APART: usize = 4;

/// How long windows are, and what robots are told at their beginning.
pub(super) struct Windows {
    steps: usize,
    start: RobotStart,
    spread: [f32; 3],
}

impl Windows {
    /// For a robot's own log; in mazes whole trajectories are learned from.
    pub(super) fn of(experiment: &Experiment, steps: usize) -> Option<Self> {
        let robot = &experiment.robot;
        let turns = experiment.state.kind == StateKind::Pose;
        let turn = if turns { robot.start_degrees.to_radians() } else { 0.0 };
        let spread = [robot.start_distance, robot.start_distance, turn].map(|x| x as f32);
        (experiment.world == WorldKind::Robot).then_some(Self { steps, start: robot.start, spread })
    }

    /// All windows of some episodes. Without a known pose to begin at they are cut as if robots were told nothing.
    pub(super) fn cut(&self, lessons: &[Lesson], seed: u64) -> Result<Vec<Lesson>> {
        let mut random = Random::new(seed);
        let mut windows = Vec::new();
        if self.start == RobotStart::Tracking {
            for lesson in lessons {
                for t in self.known(lesson) {
                    let pose = lesson.labels().get(t).unwrap_or(&[0.0; 3]);
                    let pose = std::array::from_fn(|k| pose[k] + self.spread[k] * random.normal() as f32);
                    let told = Start::About { pose, spread: self.spread };
                    windows.push(piece(
                        lesson,
                        t..(t + self.steps).min(lesson.len()),
                        self.steps,
                        Some(told),
                    )?);
                }
            }
        }
        if windows.is_empty() {
            for lesson in lessons {
                for first in self.one_after_the_other(lesson.len()) {
                    let end = (first + self.steps).min(lesson.len());
                    windows.push(piece(lesson, first..end, self.steps, None)?);
                }
            }
        }
        Ok(windows)
    }

    /// Known poses to begin at, with a step behind them.
    fn known(&self, lesson: &Lesson) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for t in 0..lesson.len().saturating_sub(1) {
            let known = lesson.labels().get(t).is_some_and(|pose| pose.iter().all(|x| x.is_finite()));
            let apart = found.last().is_none_or(|last| APART * (t - last) >= self.steps);
            if known && apart {
                found.push(t);
            }
        }
        found
    }

    /// First steps of windows that cover an episode; the last one ends with it.
    fn one_after_the_other(&self, steps: usize) -> Vec<usize> {
        let last = steps.saturating_sub(self.steps);
        (0..steps.div_ceil(self.steps)).map(|k| (k * self.steps).min(last)).collect()
    }
}

/// A part of a lesson with its labels, filled up to `length` steps of which nothing is known.
pub(super) fn piece(
    lesson: &Lesson,
    steps: Range<usize>,
    length: usize,
    start: Option<Start>,
) -> Result<Lesson> {
    let missing = length.saturating_sub(steps.len());
    let rows = |rows: &Rows| {
        let width = rows.width();
        let mut values = rows.values()[steps.start * width..steps.end * width].to_vec();
        values.resize(values.len() + missing * width, f32::NAN);
        Rows::new(width, values)
    };
    let observations = match lesson.observations() {
        Observations::Images(images) => Observations::Images(frames(images, steps.clone(), missing)),
        Observations::Vectors(vectors) => Observations::Vectors(rows(vectors)?),
    };
    let mut labels = Labels::new(lesson.labels().width());
    steps.clone().for_each(|t| labels.push(lesson.labels().get(t)));
    (0..missing).for_each(|_| labels.push(None));
    let known = labels.iter().map(|label| label.is_some()).collect();
    let camera = lesson.camera().map(|camera| {
        let there = camera.known[steps.clone()].iter().copied().chain(std::iter::repeat_n(false, missing));
        Camera { images: frames(&camera.images, steps.clone(), missing), known: there.collect() }
    });
    let part =
        Trajectory { start, camera, ..Trajectory::new(observations, rows(lesson.actions())?, labels)? };
    Ok(LabelBudget::new(1.0, 0)?.plan([known]).lesson(0, part)?)
}

/// Some images of a stack; what is missing behind them is NaN.
fn frames(images: &Images, steps: Range<usize>, missing: usize) -> Images {
    let range = steps.start * images.stride()..steps.end * images.stride();
    let lost = missing * images.stride();
    let pixels = match &images.pixels {
        Pixels::Bytes(values) if lost == 0 => Pixels::Bytes(values[range].to_vec()),
        pixels => {
            let seen = range.map(|k| pixels.get(k));
            Pixels::Floats(seen.chain(std::iter::repeat_n(f32::NAN, lost)).collect())
        }
    };
    Images { pixels, ..*images }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An episode whose numbers tell the step, with some poses known.
    fn lesson(steps: usize, known: &[usize]) -> Lesson {
        let tell = |width: usize| {
            Rows::new(width, (0..steps * width).map(|n| (n / width) as f32).collect()).unwrap()
        };
        let mut states = Labels::new(3);
        (0..steps).for_each(|t| states.push(known.contains(&t).then_some(&[t as f32; 3])));
        let whole = Trajectory::new(Observations::Vectors(tell(2)), tell(3), states).unwrap();
        let is_known = (0..steps).map(|t| known.contains(&t)).collect();
        LabelBudget::new(1.0, 0).unwrap().plan([is_known]).lesson(0, whole).unwrap()
    }

    fn windows(start: RobotStart) -> Windows {
        Windows { steps: 8, start, spread: [0.01; 3] }
    }

    fn seen(lesson: &Lesson) -> Vec<f32> {
        let Observations::Vectors(rows) = lesson.observations() else { panic!("vectors") };
        (0..lesson.len()).map(|t| rows.row(t)[0]).collect()
    }

    /// Windows begin at steps 3 and 15; 4 is too near to 3, and the last step has none behind it. The second ends two
    /// steps after the episode.
    #[test]
    fn told_robots_begin_where_poses_are_known() {
        let cut = windows(RobotStart::Tracking).cut(&[lesson(21, &[3, 4, 15, 20])], 5).unwrap();
        assert_eq!(cut.iter().map(Lesson::len).collect::<Vec<_>>(), [8, 8]);
        assert_eq!(seen(&cut[0]), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        assert_eq!(seen(&cut[1])[..6], [15.0, 16.0, 17.0, 18.0, 19.0, 20.0]);
        assert!(seen(&cut[1])[6..].iter().all(|x| x.is_nan()) && cut[1].actions().row(7)[0].is_nan());
        assert_eq!((cut[0].labels().known(), cut[1].labels().known()), (2, 2));
        for (window, first) in cut.iter().zip([3.0_f32, 15.0]) {
            let Some(Start::About { pose, .. }) = window.start() else { panic!("told") };
            assert!(pose.iter().all(|x| (x - first).abs() < 0.1 && *x != first), "{pose:?}");
        }
    }

    #[test]
    fn others_follow_each_other() {
        for (start, known) in [(RobotStart::Global, vec![0, 9]), (RobotStart::Tracking, Vec::new())] {
            let cut = windows(start).cut(&[lesson(21, &known), lesson(3, &[])], 5).unwrap();
            let firsts: Vec<f32> = cut.iter().map(|window| seen(window)[0]).collect();
            assert_eq!(firsts, [0.0, 8.0, 13.0, 0.0]);
            assert!(cut.iter().all(|window| window.len() == 8 && window.start().is_none()));
        }
    }

    #[test]
    fn mazes_are_learned_whole() {
        assert!(Windows::of(&Experiment::default(), 20).is_none());
    }

    /// Bytes have no NaN: a window that ends too early has floats.
    #[test]
    fn images_are_filled_up() {
        let images = Images { height: 1, width: 1, channels: 1, pixels: Pixels::Bytes(vec![1, 2, 3]) };
        assert_eq!(frames(&images, 1..3, 0).pixels, Pixels::Bytes(vec![2, 3]));
        let filled = frames(&images, 2..3, 1);
        assert!(filled.len() == 2 && filled.pixels.get(0) == 3.0 && filled.pixels.get(1).is_nan());
    }
}
