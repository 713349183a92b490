//! What the stages learn from: labelled steps, pairs of them, and windows of trajectories.

use crate::error::{Error, Result};
use crate::methods::windows::piece;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Observations, Pixels};
use std::ops::Range;

/// Steps of a window, at most: the authors' sequence length.
pub(super) const WINDOW: usize = 20;

/// Lessons, and where their labels are. What is not finite is no label.
pub(super) struct Examples {
    lessons: Vec<Lesson>,
    /// Trajectory and step of each pose that is known and whose observation is usable.
    singles: Vec<(usize, usize)>,
    /// Trajectory and step of each known pose whose predecessor is known, with a usable action between.
    pairs: Vec<(usize, usize)>,
    /// Steps of a window: 20, or as many as the shortest trajectory has.
    window: usize,
    /// Windows that were cut already, if there are.
    ready: Vec<Lesson>,
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
            return Err(Error::setting("label_fraction", problem));
        }
        let window = lessons.iter().map(Lesson::len).min().unwrap_or(1).min(WINDOW);
        Ok(Self { lessons, singles, pairs, window, ready: Vec::new() })
    }

    /// With windows to choose from in place of those that begin anywhere.
    pub(super) fn with_windows(self, ready: Vec<Lesson>) -> Self {
        Self { ready, ..self }
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
            if !self.ready.is_empty() {
                return Ok(self.ready[random.below(self.ready.len())].clone());
            }
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
        // Sensors of a log are silent in part, or have a camera beside them.
        Observations::Vectors(rows) => {
            rows.row(t).iter().any(|x| x.is_finite()) || lesson.camera().is_some_and(|camera| camera.known[t])
        }
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
    let length = steps.len();
    piece(lesson, steps, length, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::labels::LabelBudget;
    use driftless_world::trajectory::{Labels, Rows, Trajectory};

    /// Trajectories of these lengths whose numbers tell number and step, labelled where asked for.
    fn lessons(lengths: &[usize], known: impl Fn(usize, usize) -> bool) -> Vec<Lesson> {
        let one = |(k, &steps): (usize, &usize)| {
            let tell = |width: usize| -> Vec<f32> {
                (0..steps * width).map(|n| (100 * k + n / width) as f32 + 0.1 * (n % width) as f32).collect()
            };
            let mut states = Labels::new(3);
            tell(3)
                .chunks_exact(3)
                .enumerate()
                .for_each(|(t, pose)| states.push(known(k, t).then_some(pose)));
            let images = Images { height: 1, width: 2, channels: 1, pixels: Pixels::Floats(tell(2)) };
            let actions = Rows::new(3, tell(3)).unwrap();
            let whole = Trajectory::new(Observations::Images(images), actions, states).unwrap();
            let known = whole.states.iter().map(|state| state.is_some()).collect();
            LabelBudget::new(1.0, 0).unwrap().plan([known]).lesson(0, whole).unwrap()
        };
        lengths.iter().enumerate().map(one).collect()
    }

    /// Number and step of the first step, by its image, and how many steps follow.
    fn place(lesson: &Lesson) -> (usize, usize, usize) {
        let Observations::Images(images) = lesson.observations() else { unreachable!("images were given") };
        let told = images.pixels.get(0) as usize;
        (told / 100, told % 100, lesson.len())
    }

    #[test]
    fn a_part_keeps_what_belongs_together() {
        let whole = &lessons(&[5, 9], |_, t| t != 6)[1];
        let part = cut(whole, 5..8).unwrap();
        assert_eq!(place(&part), (1, 5, 3));
        assert_eq!(part.actions().row(2), whole.actions().row(7));
        let labels: Vec<Option<&[f32]>> = part.labels().iter().collect();
        assert_eq!(labels, [whole.labels().get(5), None, whole.labels().get(7)]);
        assert_eq!(cut(whole, 0..9).unwrap(), *whole);
    }

    /// Labels at steps 0, 1, 4 of the first trajectory, and 2, 3, 4 of the second.
    #[test]
    fn steps_and_pairs_are_found_and_never_twice() {
        let known = |k: usize, t: usize| [[0, 1, 4], [2, 3, 4]][k].contains(&t);
        let examples = Examples::new(lessons(&[5, 6], known)).unwrap();
        let mut random = Random::new(3);
        let sorted = |lessons: Vec<Lesson>| {
            let mut places: Vec<_> = lessons.iter().map(place).collect();
            places.sort_unstable();
            places
        };
        let singles = [(0, 0, 1), (0, 1, 1), (0, 4, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1)];
        assert_eq!(sorted(examples.singles(32, &mut random).unwrap()), singles);
        let pairs = [(0, 0, 2), (1, 2, 2), (1, 3, 2)];
        assert_eq!(sorted(examples.pairs(32, &mut random).unwrap()), pairs);
        let mut counts = [0_usize; 6];
        for _ in 0..3000 {
            let mut some = sorted(examples.singles(2, &mut random).unwrap());
            some.dedup();
            assert_eq!(some.len(), 2);
            for one in some {
                counts[singles.iter().position(|&single| single == one).unwrap()] += 1;
            }
        }
        // Binomial(3000, 1/3): mean 1000, standard deviation 26; five of them.
        assert!(counts.iter().all(|&count| count.abs_diff(1000) < 130), "{counts:?}");
    }

    /// Of lengths 23 and 20, windows of 20 steps have four places and one; trajectories are equally likely.
    #[test]
    fn windows_begin_anywhere() {
        let examples = Examples::new(lessons(&[23, 20], |_, t| t == 0)).unwrap();
        assert!(!examples.has_pairs());
        let mut counts = [0_usize; 5];
        for window in examples.windows(4000, &mut Random::new(3)).unwrap() {
            let (number, start, steps) = place(&window);
            assert_eq!(steps, 20);
            counts[4 * number + start] += 1;
        }
        // Binomial(4000, 1/8 or 1/2): standard deviations 21 and 32; five of them.
        assert!(counts[..4].iter().all(|&count| count.abs_diff(500) < 105), "{counts:?}");
        assert!(counts[4].abs_diff(2000) < 160, "{counts:?}");
        let short = Examples::new(lessons(&[23, 7], |_, _| true)).unwrap();
        assert!(short.windows(9, &mut Random::new(1)).unwrap().iter().all(|window| window.len() == 7));
    }

    /// Poses, actions and images that are not finite train nothing.
    #[test]
    fn what_is_not_finite_is_no_example() {
        let spoil = |pose: f32, action: f32, pixel: f32| {
            let mut values = vec![1.0; 9];
            values[3] = action;
            let mut states = Labels::new(3);
            for x in [1.0, pose, 1.0] {
                states.push(Some(&[x, 1.0, 1.0]));
            }
            let pixels = Pixels::Floats(vec![1.0, pixel, 1.0]);
            let images = Observations::Images(Images { height: 1, width: 1, channels: 1, pixels });
            let whole = Trajectory::new(images, Rows::new(3, values).unwrap(), states).unwrap();
            let plan = LabelBudget::new(1.0, 0).unwrap().plan([vec![true; 3]]);
            let examples = Examples::new(vec![plan.lesson(0, whole).unwrap()]).unwrap();
            (examples.singles.len(), examples.pairs.len())
        };
        assert_eq!(spoil(1.0, 1.0, 1.0), (3, 2));
        assert_eq!(spoil(f32::NAN, 1.0, 1.0), (2, 0));
        assert_eq!(spoil(1.0, f32::INFINITY, 1.0), (3, 1));
        assert_eq!(spoil(1.0, 1.0, f32::NAN), (2, 2));
        let none = Examples::new(lessons(&[5], |_, _| false)).map(|_| ()).unwrap_err().to_string();
        assert!(none.contains("label_fraction") && none.contains("no pose known"), "{none}");
    }
}
