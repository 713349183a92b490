//! Episodes for training: drawn anew or fixed, with all but a few poses removed.

use crate::error::Result;
use driftless_world::Dataset;
use driftless_world::files::dpf::DpfFile;
use driftless_world::labels::{LabelBudget, LabelPlan, Lesson};
use driftless_world::trajectory::Trajectory;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Where episodes come from. A draw names the noise that is added to the observations of one (crops,
/// pixels), so that an epoch can see it as it was never seen before. Actions are the same in all draws: a
/// robot drives once, and noise that is drawn anew could be averaged away.
pub trait Source: Send + Sync {
    /// How many episodes.
    fn episodes(&self) -> usize;

    /// Episode `index` with the noise named `draw`.
    fn episode(&self, index: usize, draw: u64) -> Result<Trajectory>;

    /// Which of its poses are recorded; for sources that can tell without reading all of it.
    fn known(&self, index: usize) -> Result<Vec<bool>> {
        Ok(self.episode(index, 0)?.states.iter().map(|state| state.is_some()).collect())
    }
}

impl Source for DpfFile {
    fn episodes(&self) -> usize {
        self.len()
    }

    fn episode(&self, index: usize, draw: u64) -> Result<Trajectory> {
        Ok(self.get_with(index, draw)?)
    }
}

/// Episodes held in memory, without noise to draw.
impl Source for Vec<Trajectory> {
    fn episodes(&self) -> usize {
        self.len()
    }

    fn episode(&self, index: usize, _: u64) -> Result<Trajectory> {
        Ok(self[index].clone())
    }
}

/// Some episodes of a source, and which of their poses may be known.
pub struct TrainingSet {
    source: Box<dyn Source>,
    first: usize,
    plan: LabelPlan,
    fixed: OnceLock<Vec<Lesson>>,
}

impl TrainingSet {
    /// The episodes `range` of a source with the poses a budget allows.
    pub fn new(source: Box<dyn Source>, range: Range<usize>, budget: LabelBudget) -> Result<Self> {
        let known = range.clone().map(|index| source.known(index)).collect::<Result<Vec<Vec<bool>>>>()?;
        Ok(Self { source, first: range.start, plan: budget.plan(known), fixed: OnceLock::new() })
    }

    /// How many episodes.
    pub fn len(&self) -> usize {
        self.plan.episodes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Poses that may be known, of all there are.
    pub fn labels(&self) -> (usize, usize) {
        (self.plan.kept(), self.plan.known())
    }

    /// Lessons of the episodes numbered, with the noise named `draw`. Which poses are known does not
    /// depend on it.
    pub fn lessons(&self, numbers: &[usize], draw: u64) -> Result<Vec<Lesson>> {
        let lesson = |&number: &usize| {
            let episode = self.source.episode(self.first + number, draw)?;
            Ok(self.plan.lesson(number, episode)?)
        };
        numbers.par_iter().map(lesson).collect()
    }

    /// All lessons with the first noise, decoded once and kept: for methods whose authors draw it before training.
    pub fn fixed(&self) -> Result<&[Lesson]> {
        if let Some(lessons) = self.fixed.get() {
            return Ok(lessons);
        }
        let lessons = self.lessons(&(0..self.len()).collect::<Vec<_>>(), 0)?;
        Ok(self.fixed.get_or_init(|| lessons))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::trajectory::{Labels, Observations, Rows};

    /// Episodes whose observations tell their number and draw.
    struct Told;

    impl Source for Told {
        fn episodes(&self) -> usize {
            6
        }

        fn episode(&self, index: usize, draw: u64) -> Result<Trajectory> {
            let rows = |width: usize, value: f32| Rows::new(width, vec![value; 10 * width]).unwrap();
            let seen = Observations::Vectors(rows(1, index as f32 + 100.0 * draw as f32));
            Ok(Trajectory::new(seen, rows(3, 0.0), Labels::all(rows(3, index as f32)))?)
        }
    }

    #[test]
    fn a_draw_changes_what_is_seen_but_not_what_is_known() {
        let set = TrainingSet::new(Box::new(Told), 2..5, LabelBudget::new(0.2, 3).unwrap()).unwrap();
        assert_eq!((set.len(), set.labels()), (3, (6, 30)));
        let [now, later] = [0, 7].map(|draw| set.lessons(&[2, 0], draw).unwrap());
        let seen = |lesson: &Lesson| match lesson.observations() {
            Observations::Vectors(rows) => rows.row(0)[0],
            Observations::Images(_) => unreachable!("vectors were given"),
        };
        assert_eq!([seen(&now[0]), seen(&now[1]), seen(&later[0])], [4.0, 2.0, 704.0]);
        assert_eq!(now[0].labels(), later[0].labels());
        let known = |lessons: &[Lesson]| lessons.iter().map(|lesson| lesson.labels().known()).sum::<usize>();
        assert_eq!(known(&set.lessons(&[0, 1, 2], 0).unwrap()), 6);
    }

    #[test]
    fn episodes_in_memory() {
        let source = vec![Told.episode(0, 0).unwrap(), Told.episode(1, 0).unwrap()];
        let set = TrainingSet::new(Box::new(source), 0..2, LabelBudget::new(1.0, 3).unwrap()).unwrap();
        assert_eq!((set.is_empty(), set.labels()), (false, (20, 20)));
    }
}
