//! Normalisation statistics: means and sizes of training data, by which networks see everything.

mod coordinates;

pub use coordinates::CoordinateScale;

use super::{Experiment, TrainingSet};
use crate::batch::{PixelScale, ReadingScale, images_of};
use crate::error::{Error, Result};
use driftless_world::labels::Lesson;
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::statistics::Moments;
use driftless_world::trajectory::{Images, Observations};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::f64::consts::{FRAC_2_PI, PI};
use std::ops::Range;

/// Lessons that are measured, at most, the first ones.
const MOST: usize = 400;
/// Lessons in memory at once, with all they have.
const HANDFUL: usize = 16;

/// Mean steps, and positions, that can be evaluated (see [`driftless_world::Evaluation`]).
const USABLE: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// The mean turn of what never turns: no noise to speak of, and none so small that matrices cannot be inverted.
const LEAST_TURN: f64 = 1e-3;
/// Neighbouring 32-bit numbers may be this share of a mean step apart. Both ends of a step are rounded by half of it
/// at most, so a step is wrong by a hundredth at worst: a tenth of the noise that DPF adds to odometry, whose deviation
/// grows from 0.1 to √(0.1² + 0.01²) = 0.1005.
const MOST_ROUNDING: f64 = 0.01;

/// Means and sizes of the training lessons of a robot in the plane, whose x and y share a size. Only
/// known poses and odometry are looked at: what is hidden stays hidden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalisation {
    /// For images.
    pub pixels: PixelScale,
    /// For readings of other sensors.
    #[serde(default, skip_serializing_if = "ReadingScale::is_empty")]
    pub readings: ReadingScale,
    /// Mean of known poses; 0 for the heading.
    pub state_mean: [f64; 3],
    /// Standard deviation of known poses.
    pub state_std: [f64; 3],
    /// Standard deviation of actions around 0.
    pub action_std: [f64; 3],
    /// Average size of a step, as the paper and DPF measure it: the mean of |Δx| and |Δy| in the world's frame, the same
    /// for both, and the mean of |Δheading|. Errors are divided by it in training and in evaluation alike.
    ///
    /// By odometry, turned by the heading that the nearest known pose of the lesson says. Lessons without one are left
    /// out; if no pose is known at all, every heading is taken as likely, and a step of length d counts 2 d / π. Without
    /// any odometry, by neighbouring known poses of a lesson, divided by the root of the steps between them (a random walk).
    pub step_size: [f64; 3],
    /// Least of known poses; -π for the heading, unless it never changes.
    pub low: [f64; 3],
    /// Greatest of known poses; π for the heading, unless it never changes.
    pub high: [f64; 3],
    /// Of states of named coordinates, for which what is said of poses above means nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<CoordinateScale>,
}

impl Normalisation {
    /// Standard deviations of position and heading in a step whose odometry is missing: the robot may have done what it
    /// does on average, a normal law of the mean size of a step.
    pub(crate) fn missing_motion(&self) -> [f32; 2] {
        [self.step_size[0], self.step_size[2]].map(|size| (size * std::f64::consts::FRAC_PI_2.sqrt()) as f32)
    }

    /// [`Normalisation::measure_in`] DPF's frame where there are images and no floor plan, else in that of robots.
    pub fn measure(lessons: &TrainingSet) -> Result<Self> {
        let first = if lessons.is_empty() { Vec::new() } else { lessons.lessons(&[0], 0)? };
        let is_maze = first.first().is_some_and(|lesson| {
            lesson.floor().is_none() && matches!(lesson.observations(), Observations::Images(_))
        });
        Self::measure_in(if is_maze { Frame::Reflected } else { Frame::Robot }, lessons)
    }

    /// Measures the lessons of an experiment.
    pub fn measure_for(experiment: &Experiment, lessons: &TrainingSet) -> Result<Self> {
        if experiment.state.is_planar() {
            Self::measure_in(experiment.frame(), lessons)
        } else {
            Self::measure_states(&experiment.state, lessons)
        }
    }

    /// Measures lessons whose actions are written in this frame. A size that would be 0 is 1; what is missing of the
    /// actions is left out.
    pub fn measure_in(frame: Frame, lessons: &TrainingSet) -> Result<Self> {
        let lessons = some(lessons)?;
        let problem = |what: String| Error::File(driftless_world::Error::new(what));
        let pixels = pixels_of(&lessons)?;
        let readings = ReadingScale::measure(&lessons);
        let (mut states, mut actions) = ([Moments::default(); 3], [Moments::default(); 3]);
        let mut steps = StepSizes::default();
        for lesson in &lessons {
            if lesson.actions().width() != 3 || lesson.labels().width() != 3 {
                return Err(problem("training data: poses and actions must have three numbers".to_owned()));
            }
            // The first action led into a step before which nothing was seen.
            for t in 1..lesson.len() {
                let action = lesson.actions().row(t).iter().filter(|x| x.is_finite());
                actions.iter_mut().zip(action).for_each(|(moments, &a)| moments.push(f64::from(a)));
            }
            steps.push(lesson, frame);
            for pose in lesson.labels().iter().flatten() {
                states.iter_mut().zip(pose).for_each(|(moments, &s)| moments.push(f64::from(s)));
            }
        }
        let normalisation = Self { readings, ..Self::of(pixels, &states, &actions, steps.average()) };
        normalisation.check_world()?;
        Ok(normalisation)
    }

    /// Fails unless all numbers can be worked with: for what was read from a file that anybody may have changed.
    pub(super) fn check(&self) -> driftless_world::Result<()> {
        let wrong = |field: &str, what: &str| Err(driftless_world::Error::new(what).in_field(field));
        if let Err(what) = self.pixels.check() {
            return wrong("pixels", &what);
        }
        if let Err(what) = self.readings.check() {
            return wrong("readings", &what);
        }
        let places = [("state_mean", self.state_mean), ("low", self.low), ("high", self.high)];
        if let Some((field, _)) = places.iter().find(|(_, place)| !place.iter().all(|x| x.is_finite())) {
            return wrong(field, "holds what is no number");
        }
        for (field, sizes) in [("state_std", self.state_std), ("action_std", self.action_std)] {
            if !sizes.iter().all(|size| size.is_finite() && *size > 0.0) {
                return wrong(field, "must hold three numbers above 0");
            }
        }
        if self.low.iter().zip(self.high).any(|(low, high)| *low > high) {
            return wrong("low", "is above high");
        }
        if !self.coordinates.is_empty() {
            return self.check_coordinates();
        }
        self.check_world()
    }

    /// Fails if the world is too large or too small to be computed with, or too far from the origin.
    fn check_world(&self) -> driftless_world::Result<()> {
        let wrong = |what: String| Err(driftless_world::Error::new(what).in_field("pose"));
        let corners = [self.low, self.high].map(|[x, y, _]| x.abs().max(y.abs()));
        let (farthest, [step, _, turn]) = (corners[0].max(corners[1]), self.step_size);
        if !(USABLE.contains(&step) && USABLE.contains(&turn) && farthest <= *USABLE.end()) {
            return wrong(format!(
                "poses up to {farthest:e} from the origin, and mean steps of {step:e} and {turn:e} rad: steps must \
                 lie between 1e-9 and 1e9, and poses within 1e9; use another unit"
            ));
        }
        let spacing = farthest * f64::from(f32::EPSILON);
        if spacing > MOST_ROUNDING * step {
            return wrong(format!(
                "poses lie up to {farthest:.0} from the origin, where 32-bit numbers are {spacing:.2} apart, but a \
                 mean step is {step:.2} long; subtract the same position from all poses, for instance the first one"
            ));
        }
        Ok(())
    }

    fn of(pixels: PixelScale, states: &[Moments; 3], actions: &[Moments; 3], step: [f64; 2]) -> Self {
        let size = |size: f64| if size > 0.0 && size.is_finite() { size } else { 1.0 };
        let number = |x: f64| if x.is_finite() { x } else { 0.0 };
        let planar = |spread: &dyn Fn(usize) -> f64| {
            let both = size(0.5 * (spread(0) + spread(1)));
            [both, both, size(spread(2))]
        };
        let around_zero = |k: usize| actions[k].std().hypot(actions[k].mean);
        let edge = |k: usize, value: f64| if states[k].count > 0 { value } else { 0.0 };
        // What never turns has no heading to search for, nor any noise of it.
        let is_fixed = step[1] == 0.0 && states[2].count > 1 && states[2].std() == 0.0;
        let heading = if is_fixed { [states[2].mean; 2] } else { [-PI, PI] };
        let turn = if is_fixed { LEAST_TURN } else { size(step[1]) };
        Self {
            pixels,
            readings: ReadingScale::default(),
            state_mean: [number(states[0].mean), number(states[1].mean), 0.0],
            state_std: planar(&|k| states[k].std()),
            action_std: planar(&around_zero),
            step_size: [size(step[0]), size(step[0]), turn],
            low: [edge(0, states[0].min), edge(1, states[1].min), heading[0]],
            high: [edge(0, states[0].max), edge(1, states[1].max), heading[1]],
            coordinates: Vec::new(),
        }
    }
}

/// Sizes of steps.
#[derive(Default)]
struct StepSizes {
    /// Lengths, in whatever direction.
    lengths: Moments,
    /// |Δx| and |Δy|, where the heading is known.
    along_axes: Moments,
    /// |Δheading|.
    turns: Moments,
    /// |Δx| and |Δy|, and |Δheading|, between neighbouring known poses, a root of the steps.
    between: [Moments; 2],
}

impl StepSizes {
    fn push(&mut self, lesson: &Lesson, frame: Frame) {
        let action = |t: usize| [0, 1, 2].map(|k| f64::from(lesson.actions().row(t)[k]));
        let labels = lesson.labels();
        let known: Vec<usize> = (0..lesson.len()).filter(|t| labels.get(*t).is_some()).collect();
        for pair in known.windows(2) {
            let (Some(a), Some(b)) = (labels.get(pair[0]), labels.get(pair[1])) else { continue };
            let steps = ((pair[1] - pair[0]) as f64).sqrt();
            let apart = |k: usize| f64::from(b[k] - a[k]).abs();
            self.between[0].push(0.5 * (apart(0) + apart(1)) / steps);
            self.between[1].push(wrap(f64::from(b[2] - a[2])).abs() / steps);
        }
        for t in 1..lesson.len() {
            let [ahead, aside, turn] = action(t);
            if !(ahead + aside + turn).is_finite() {
                continue;
            }
            self.lengths.push(ahead.hypot(aside));
            self.turns.push(turn.abs());
            let nearest = known.iter().min_by_key(|label| label.abs_diff(t - 1));
            let Some((label, pose)) = nearest.and_then(|&label| Some((label, labels.get(label)?))) else {
                continue;
            };
            // The heading before the step: of the label, and all turns in between.
            let known = |t: usize| Some(action(t)[2]).filter(|turn| turn.is_finite());
            let turned = |steps: Range<usize>| steps.filter_map(known).sum::<f64>();
            let heading = f64::from(pose[2]) + turned(label + 1..t) - turned(t..label + 1);
            let moved = Pose::new(0.0, 0.0, heading).moved([ahead, aside, 0.0], frame);
            self.along_axes.push(0.5 * (moved.x.abs() + moved.y.abs()));
        }
    }

    /// Of a position and of the heading.
    fn average(&self) -> [f64; 2] {
        if self.lengths.count == 0 {
            return self.between.map(|moments| moments.mean);
        }
        let position =
            if self.along_axes.count > 0 { self.along_axes.mean } else { self.lengths.mean * FRAC_2_PI };
        [position, self.turns.mean]
    }
}

/// Lessons that are measured. Floor plans are large, and a few hundred trajectories say enough of sizes.
fn some(lessons: &TrainingSet) -> Result<Vec<Lesson>> {
    let all: Vec<usize> = (0..lessons.len()).collect();
    let mut measured = Vec::new();
    for handful in all[..all.len().min(MOST)].chunks(HANDFUL) {
        measured.extend(lessons.lessons(handful, 0)?.into_iter().map(Lesson::without_floor));
    }
    Ok(measured)
}

fn pixels_of(lessons: &[Lesson]) -> Result<PixelScale> {
    let images: Vec<Cow<Images>> = lessons.iter().filter_map(taken).collect();
    if images.is_empty() && !lessons.is_empty() {
        return Ok(PixelScale::none());
    }
    let problem = |what| Error::File(driftless_world::Error::new(format!("training data: {what}")));
    PixelScale::measure(images.iter().map(AsRef::as_ref)).map_err(problem)
}

/// All images that were taken.
fn taken(lesson: &Lesson) -> Option<Cow<'_, Images>> {
    match lesson.camera() {
        Some(camera) => camera.taken().map(Cow::Owned),
        None => images_of(lesson).map(Cow::Borrowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::labels::LabelBudget;
    use driftless_world::statistics::Statistics;
    use driftless_world::trajectory::{Labels, Pixels, Rows, Trajectory};

    /// Four steps, of which the budget keeps those asked for; hidden poses are far away.
    fn set(known: [bool; 4], share: f64) -> TrainingSet {
        let poses = [[1.0, 10.0, 3.0], [3.0, 14.0, -3.0], [1e9, 1e9, 0.5], [5.0, 12.0, 1.0]];
        let mut states = Labels::new(3);
        poses.iter().zip(known).for_each(|(pose, known)| states.push(known.then_some(&pose[..])));
        let actions = vec![1e9, 1e9, 1e9, 3.0, 4.0, -0.5, -6.0, 8.0, 0.1, 0.0, 0.0, 0.0];
        let images = Images { height: 1, width: 1, channels: 1, pixels: Pixels::Bytes(vec![0, 2, 4, 6]) };
        let episode =
            Trajectory::new(Observations::Images(images), Rows::new(3, actions).unwrap(), states).unwrap();
        TrainingSet::new(Box::new(vec![episode]), 0..1, LabelBudget::new(share, 1).unwrap()).unwrap()
    }

    #[test]
    fn known_poses_and_odometry_by_hand() {
        let normalisation = Normalisation::measure(&set([true, true, false, true], 1.0)).unwrap();
        assert_eq!(normalisation.state_mean, [3.0, 12.0, 0.0]);
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        // Both coordinates have the deviations -2, 2, 0. Steps (3, 4), (-6, 8) and (0, 0) begin with the headings 3, -3
        // and -2.9, the last carried on by odometry.
        close(normalisation.state_std[0], (8.0_f64 / 3.0).sqrt());
        close(normalisation.state_std[1], normalisation.state_std[0]);
        let along = |[a, b]: [f64; 2], heading: f64| {
            let (s, c) = heading.sin_cos();
            0.5 * ((c * a + s * b).abs() + (s * a - c * b).abs())
        };
        close(normalisation.step_size[0], (along([3.0, 4.0], 3.0) + along([-6.0, 8.0], -3.0)) / 3.0);
        close(normalisation.step_size[2], 0.2);
        close(normalisation.action_std[0], 0.5 * ((45.0_f64 / 3.0).sqrt() + (80.0_f64 / 3.0).sqrt()));
        assert_eq!((normalisation.low, normalisation.high), ([1.0, 10.0, -PI], [5.0, 14.0, PI]));
        assert_eq!(normalisation.pixels.shape(), [1, 1, 1]);
    }

    /// Along the axes of a maze the mean of |Δx| and |Δy| is half of a step, not 2/π of it: the same as DPF's statistics
    /// of the true poses, however few of them are known.
    #[test]
    fn step_sizes_are_those_of_the_poses() {
        let mut pose = Pose::new(50.0, 50.0, 0.0);
        let (mut states, mut actions) = (Labels::new(3), vec![0.0; 3]);
        states.push(Some(&[50.0, 50.0, 0.0]));
        for t in 1..40 {
            let action = [10.0 + f64::from(t % 3), 0.0, if t % 5 == 0 { 0.5 * PI } else { 0.0 }];
            pose = pose.moved(action, Frame::Reflected);
            actions.extend(action.map(|x| x as f32));
            states.push(Some(&[pose.x as f32, pose.y as f32, pose.heading as f32]));
        }
        let pixels = Pixels::Bytes((0..40).collect());
        let images = Images { height: 1, width: 1, channels: 1, pixels };
        let episode =
            Trajectory::new(Observations::Images(images), Rows::new(3, actions).unwrap(), states).unwrap();
        let mut statistics = Statistics::new(Some(2));
        statistics.push(&episode);
        for share in [0.05, 0.3, 1.0] {
            let budget = LabelBudget::new(share, 3).unwrap();
            let set = TrainingSet::new(Box::new(vec![episode.clone()]), 0..1, budget).unwrap();
            let [x, y, turn] = Normalisation::measure(&set).unwrap().step_size;
            // Poses and actions are in 32 bits: 4e-6 of 100 units, and headings off by 1e-6 of a step.
            assert!((x - statistics.step_size(&[0, 1])).abs() < 2e-5 && x == y, "{share}: {x}");
            assert!((turn - statistics.step_size(&[2])).abs() < 1e-6, "{share}: {turn}");
        }
    }

    /// 2²³ / 100 steps from the origin, neighbouring numbers are a hundredth of a step apart, and no farther.
    #[test]
    fn the_farthest_world() {
        let near = Normalisation::measure(&set([true, true, false, true], 1.0)).unwrap();
        let limit = near.step_size[0] * f64::from(1 << 23) / 100.0;
        let at = |x: f64| Normalisation { high: [x, 14.0, PI], ..near.clone() }.check();
        assert!(at(0.999 * limit).is_ok());
        let error = at(1.001 * limit).unwrap_err().to_string();
        assert!(error.contains(&format!("field pose: poses lie up to {:.0} from", 1.001 * limit)), "{error}");
    }

    /// Without labels nothing is known of poses, but nothing breaks.
    #[test]
    fn no_labels() {
        let normalisation = Normalisation::measure(&set([true; 4], 0.0)).unwrap();
        assert_eq!((normalisation.state_mean, normalisation.state_std), ([0.0; 3], [1.0; 3]));
        assert_eq!((normalisation.low[0], normalisation.high[0]), (0.0, 0.0));
        // Distances are 5, 10 and 0, in any direction.
        assert!((normalisation.step_size[0] - 5.0 * FRAC_2_PI).abs() < 1e-6);
    }
}
