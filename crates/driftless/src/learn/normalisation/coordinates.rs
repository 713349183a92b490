//! Sizes of named coordinates: where they are, how far they vary, and how far they go in a step.

use super::{MOST_ROUNDING, Moments, Normalisation, USABLE, pixels_of, some};
use crate::batch::{PixelScale, ReadingScale};
use crate::error::{Error, Result};
use crate::learn::{StateSettings, TrainingSet};
use driftless_core::Space;
use driftless_world::evaluation::{About, Coordinate, Evaluation, Thresholds, Track};
use driftless_world::labels::Lesson;
use driftless_world::pose::wrap;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, PI};

/// A step of what never changes, as a share of its deviation.
const LEAST_STEP: f64 = 1e-3;

/// A coordinate of states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinateScale {
    /// What it is called.
    pub name: String,
    /// Whether it is an angle.
    pub angle: bool,
    /// Mean of known states; of an angle its direction.
    pub mean: f64,
    /// Standard deviation of known states around that; 1 where nothing varies.
    pub deviation: f64,
    /// Least of known states; of an angle -π.
    pub low: f64,
    /// Greatest of known states; of an angle π.
    pub high: f64,
    /// Mean absolute change in a step: by actions; without any by neighbouring known states, divided by the root of the steps
    /// between them (a random walk).
    pub step: f64,
}

impl CoordinateScale {
    /// Standard deviation of a step of which nothing is known: it changes as much as on average.
    pub(crate) fn missing(&self) -> f64 {
        self.step * FRAC_PI_2.sqrt()
    }

    fn measured(name: &str, k: usize, space: Space, lessons: &[Lesson]) -> Self {
        let angle = space.is_angle(k);
        let known: Vec<f64> = states(lessons).map(|state| f64::from(state[k])).collect();
        let sum = |of: fn(f64) -> f64| known.iter().map(|&x| of(x)).sum::<f64>();
        let plain = sum(|x| x) / known.len().max(1) as f64;
        let mean = if angle { sum(f64::sin).atan2(sum(f64::cos)) } else { plain };
        let away = |x: &f64| if angle { wrap(x - mean) } else { x - mean };
        let variance = known.iter().map(|x| away(x).powi(2)).sum::<f64>() / known.len().max(1) as f64;
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let edges = known.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &x| [a.min(x), b.max(x)]);
        let [low, high] = if angle { [-PI, PI] } else { edges.map(|x| if x.is_finite() { x } else { 0.0 }) };
        let step = step(k, angle, lessons);
        let step = if step > 0.0 { step } else { LEAST_STEP * deviation };
        Self { name: name.to_owned(), angle, mean, deviation, low, high, step }
    }
}

fn states(lessons: &[Lesson]) -> impl Iterator<Item = &[f32]> {
    lessons.iter().flat_map(|lesson| lesson.labels().iter().flatten())
}

/// The mean absolute change of coordinate k in a step.
fn step(k: usize, angle: bool, lessons: &[Lesson]) -> f64 {
    let (mut by_actions, mut by_labels) = (Moments::default(), Moments::default());
    for lesson in lessons {
        // The first action led into a step before which nothing was seen.
        let changes =
            (1..lesson.len()).map(|t| f64::from(lesson.actions().row(t)[k])).filter(|x| x.is_finite());
        changes.for_each(|change| by_actions.push(change.abs()));
        let labels = lesson.labels();
        let known: Vec<usize> = (0..lesson.len()).filter(|t| labels.get(*t).is_some()).collect();
        for pair in known.windows(2) {
            let (Some(a), Some(b)) = (labels.get(pair[0]), labels.get(pair[1])) else { continue };
            let apart = f64::from(b[k]) - f64::from(a[k]);
            let apart = if angle { wrap(apart) } else { apart };
            by_labels.push(apart.abs() / ((pair[1] - pair[0]) as f64).sqrt());
        }
    }
    let found = if by_actions.count > 0 { by_actions } else { by_labels };
    if found.count > 0 { found.mean } else { 0.0 }
}

impl Normalisation {
    /// Measures lessons whose states are of named coordinates.
    pub(super) fn measure_states(settings: &StateSettings, lessons: &TrainingSet) -> Result<Self> {
        let (lessons, space) = (some(lessons)?, settings.space());
        let is_wide = |width: usize| width == space.dimension();
        if !lessons.iter().all(|lesson| is_wide(lesson.labels().width()) && is_wide(lesson.actions().width()))
        {
            let problem =
                "training data: states and actions must have a number for each of state.coordinates";
            return Err(Error::File(driftless_world::Error::new(problem)));
        }
        let named = settings.coordinates.iter().enumerate();
        let measured = |(k, name): (usize, &String)| CoordinateScale::measured(name, k, space, &lessons);
        let normalisation = Self {
            readings: ReadingScale::measure(&lessons),
            coordinates: named.map(measured).collect(),
            ..Self::of_coordinates_alone(pixels_of(&lessons)?)
        };
        normalisation.check_coordinates()?;
        Ok(normalisation)
    }

    /// With nothing said of poses.
    fn of_coordinates_alone(pixels: PixelScale) -> Self {
        Self::of(pixels, &[Moments::default(); 3], &[Moments::default(); 3], [1.0; 2])
    }

    /// Where states are.
    pub(crate) fn space(&self) -> Space {
        if self.coordinates.is_empty() {
            return Space::SE2;
        }
        let angles = self.coordinates.iter().enumerate().filter(|(_, scale)| scale.angle);
        angles.fold(Space::linear(self.coordinates.len()), |space, (k, _)| space.with_angle(k))
    }

    /// Figures of tracks, of planar poses or of named coordinates.
    pub fn evaluation(
        &self,
        about: About,
        thresholds: Thresholds,
        tracks: &[Track],
    ) -> driftless_world::Result<Evaluation> {
        if self.coordinates.is_empty() {
            return Evaluation::with(about, self.step_size, thresholds, tracks);
        }
        Evaluation::of_coordinates(about, &self.evaluated(), thresholds, tracks)
    }

    /// The coordinates as evaluations have them; none if states are planar poses.
    pub fn evaluated(&self) -> Vec<Coordinate> {
        let one = |scale: &CoordinateScale| Coordinate {
            name: scale.name.clone(),
            angle: scale.angle,
            step: scale.step,
            deviation: scale.deviation,
        };
        self.coordinates.iter().map(one).collect()
    }

    /// Fails unless coordinates can be computed with.
    pub(super) fn check_coordinates(&self) -> driftless_world::Result<()> {
        for CoordinateScale { name, mean, deviation, low, high, step, .. } in &self.coordinates {
            let wrong = |what: String| {
                Err(driftless_world::Error::new(format!("coordinate {name}: {what}")).in_field("poses"))
            };
            let farthest = low.abs().max(high.abs()).max(mean.abs());
            let are_usable = USABLE.contains(deviation) && USABLE.contains(step) && low <= high;
            if !(are_usable && farthest <= *USABLE.end()) {
                return wrong(format!(
                    "is up to {farthest:e}, varies by {deviation:e} and goes {step:e} in a step, which must lie within 1e9 and \
                     above 1e-9; use another unit"
                ));
            }
            let spacing = farthest * f64::from(f32::EPSILON);
            if spacing > MOST_ROUNDING * step {
                return wrong(format!(
                    "is up to {farthest:.0}, where 32-bit numbers are {spacing:e} apart, but a mean step is {step:e}; \
                     subtract the same number from all, for instance the first one"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::Trajectory;
    use driftless_world::labels::LabelBudget;
    use driftless_world::trajectory::{Labels, Observations, Rows};

    fn measured(states: &[[f32; 2]], actions: Option<[f32; 2]>) -> Result<Normalisation> {
        let settings = StateSettings {
            coordinates: vec!["turn".into(), "level".into()],
            angles: vec!["turn".into()],
            ..StateSettings::default()
        };
        let seen = Observations::Vectors(Rows::new(1, vec![0.0; states.len()]).unwrap());
        let actions = actions.unwrap_or([f32::NAN; 2]).repeat(states.len());
        let labels = Labels::all(Rows::new(2, states.concat()).unwrap());
        let episode = Trajectory::new(seen, Rows::new(2, actions).unwrap(), labels).unwrap();
        let budget = LabelBudget::new(1.0, 1).unwrap();
        let set = TrainingSet::new(Box::new(vec![episode]), 0..1, budget).unwrap();
        Normalisation::measure_states(&settings, &set)
    }

    /// Around half a turn, 0.1 to either side; the level is 2 and 6.
    #[test]
    fn sizes_by_hand() {
        let pi = std::f32::consts::PI;
        let found = measured(&[[pi - 0.1, 2.0], [0.1 - pi, 6.0]], None).unwrap();
        let [turn, level] = &found.coordinates[..] else { panic!("two") };
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        close(turn.mean.abs(), PI);
        close(turn.deviation, 0.1);
        close(turn.step, 0.2);
        assert_eq!(
            (level.mean, level.deviation, level.low, level.high, level.step),
            (4.0, 2.0, 2.0, 6.0, 4.0)
        );
        let found = measured(&[[0.0, 2.0], [0.0, 6.0]], Some([0.5, -1.5])).unwrap();
        assert_eq!((found.coordinates[0].step, found.coordinates[1].step), (0.5, 1.5));
        assert_eq!(found.coordinates[0].deviation, 1.0, "an angle that never changes");
        assert!(found.check().is_ok());
    }

    #[test]
    fn what_cannot_be_computed_with_is_refused() {
        let far = measured(&[[0.0, 1e7], [0.0, 1e7 + 2.0]], None).unwrap_err().to_string();
        assert!(far.contains("field poses: coordinate level: is up to 10000002"), "{far}");
        let huge = measured(&[[0.0, 1e12], [0.0, 0.0]], None).unwrap_err().to_string();
        assert!(huge.contains("use another unit"), "{huge}");
    }
}
