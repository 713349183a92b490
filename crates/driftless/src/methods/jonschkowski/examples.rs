//! What the stages learn from: labelled steps, pairs of them, and windows of trajectories.

use crate::error::{Error, Result};
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};
use std::ops::Range;

/// Steps of a window, at most: the authors' sequence length.
const WINDOW: usize = 20;

/// Lessons, and where their labels are. What is not finite is no label.
pub(super) struct Examples {
    lessons: Vec<Lesson>,
    /// Trajectory and step of each pose that is known and whose observation is usable.
    singles: Vec<(usize, usize)>,
    /// Trajectory and step of each known pose whose predecessor is known, with a usable action between.
    pairs: Vec<(usize, usize)>,
    /// Steps of a window: 20, or as many as the shortest trajectory has.
    window: usize,
}

impl Examples {
    /// Finds the labels. Without any there is nothing to learn from.
    pub(super) fn new(lessons: Vec<Lesson>) -> Result<Self> {
        let all =
            || lessons.iter().enumerate().flat_map(|(k, lesson)| (0..lesson.len()).map(move |t| (k, t)));
        let singles: Vec<_> =
            all().filter(|&(k, t)| is_known(&lessons[k], t) && is_seen(&lessons[k], t)).collect();
        let is_pair = |lesson: &Lesson, t: usize| {
            t > 0 && is_known(lesson, t - 1) && is_known(lesson, t) && has_action(lesson, t)
        };
        let pairs = all().filter(|&(k, t)| is_pair(&lessons[k], t)).collect();
        if singles.is_empty() {
            let problem = "left no pose known: this method learns from labels alone; raise the share";
            return Err(Error::setting("labels", problem));
        }
        let window = lessons.iter().map(Lesson::len).min().unwrap_or(1).min(WINDOW);
        Ok(Self { lessons, singles, pairs, window })
    }

    /// Whether any two neighbours are known.
    pub(super) fn has_pairs(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// At most `count` different labelled steps, one step each.
    pub(super) fn singles(&self, count: usize, random: &mut Random) -> Result<Vec<Lesson>> {
        let chosen = different(&self.singles, count, random);
        chosen.into_iter().map(|(k, t)| cut(&self.lessons[k], t..t + 1)).collect()
    }

    /// At most `count` different pairs of neighbours, two steps each.
    pub(super) fn pairs(&self, count: usize, random: &mut Random) -> Result<Vec<Lesson>> {
        let chosen = different(&self.pairs, count, random);
        chosen.into_iter().map(|(k, t)| cut(&self.lessons[k], t - 1..t + 1)).collect()
    }

    /// `count` windows, trajectories and first steps drawn uniformly and with repetition as the authors do.
    pub(super) fn windows(&self, count: usize, random: &mut Random) -> Result<Vec<Lesson>> {
        let mut one = || {
            let lesson = &self.lessons[random.below(self.lessons.len())];
            let start = random.below(lesson.len() - self.window + 1);
            cut(lesson, start..start + self.window)
        };
        (0..count).map(|_| one()).collect()
    }
}

fn is_known(lesson: &Lesson, t: usize) -> bool {
    lesson.labels().get(t).is_some_and(|pose| pose.iter().all(|x| x.is_finite()))
}

fn has_action(lesson: &Lesson, t: usize) -> bool {
    lesson.actions().row(t).iter().all(|x| x.is_finite())
}

fn is_seen(lesson: &Lesson, t: usize) -> bool {
    match lesson.observations() {
        Observations::Images(Images { pixels: Pixels::Bytes(_), .. }) => true,
        Observations::Images(images) => {
            let stride = images.stride();
            (t * stride..(t + 1) * stride).all(|k| images.pixels.get(k).is_finite())
        }
        Observations::Vectors(rows) => rows.row(t).iter().all(|x| x.is_finite()),
    }
}

/// `count` of `places`, or all there are, none twice.
fn different(places: &[(usize, usize)], count: usize, random: &mut Random) -> Vec<(usize, usize)> {
    let mut places = places.to_vec();
    let count = count.min(places.len());
    // The first steps of a shuffle: whatever stands in front by then was drawn uniformly.
    for k in 0..count {
        let chosen = k + random.below(places.len() - k);
        places.swap(k, chosen);
    }
    places.truncate(count);
    places
}

/// A part of a lesson, with its labels.
fn cut(lesson: &Lesson, steps: Range<usize>) -> Result<Lesson> {
    let rows = |rows: &Rows| {
        let width = rows.width();
        Rows::new(width, rows.values()[steps.start * width..steps.end * width].to_vec())
    };
    let observations = match lesson.observations() {
        Observations::Images(images) => {
            let range = steps.start * images.stride()..steps.end * images.stride();
            let pixels = match &images.pixels {
                Pixels::Bytes(values) => Pixels::Bytes(values[range].to_vec()),
                Pixels::Floats(values) => Pixels::Floats(values[range].to_vec()),
            };
            Observations::Images(Images { pixels, ..*images })
        }
        Observations::Vectors(vectors) => Observations::Vectors(rows(vectors)?),
    };
    let mut labels = Labels::new(lesson.labels().width());
    steps.clone().for_each(|t| labels.push(lesson.labels().get(t)));
    let known = labels.iter().map(|label| label.is_some()).collect();
    let part = Trajectory::new(observations, rows(lesson.actions())?, labels)?;
    Ok(LabelBudget::new(1.0, 0)?.plan([known]).lesson(0, part)?)
}
