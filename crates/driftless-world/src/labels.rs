//! Label budgets: which few true states a learner may see, decided once, by seed.
//!
//! A [`LabelBudget`] is planned over the whole data set from what is labelled at all, then turns
//! each [`Trajectory`] into a [`Lesson`], the only thing a trainer sees. Hidden states are removed
//! from a lesson, not marked in it.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::pfnet::HouseMaps;
use crate::random::Random;
use crate::trajectory::{Camera, Labels, Observations, Rows, Start, Trajectory};
use std::sync::Arc;

/// How many labels to keep, and which draw of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelBudget {
    share: f64,
    seed: u64,
}

/// The kept labels of every episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPlan {
    episodes: Vec<Steps>,
    known: usize,
    kept: usize,
}

/// A bit for each step of an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Steps {
    words: Vec<u64>,
    count: usize,
}

impl Steps {
    fn new(bits: &[bool]) -> Self {
        let word = |chunk: &[bool]| chunk.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
        Self { words: bits.chunks(64).map(word).collect(), count: bits.len() }
    }

    fn get(&self, t: usize) -> bool {
        self.words[t / 64] >> (t % 64) & 1 == 1
    }

    fn clear(&mut self, t: usize) {
        self.words[t / 64] &= !(1 << (t % 64));
    }
}

impl LabelBudget {
    /// Keeps the share (0 to 1) of all known labels, chosen by `seed`.
    pub fn new(share: f64, seed: u64) -> Result<Self> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::new(format!("a share of {share} labels; it must lie between 0 and 1")));
        }
        Ok(Self { share, seed })
    }

    /// Plans from the known steps of each episode, in order.
    ///
    /// Exactly `round(share * known labels)` are kept, every such choice being equally likely.
    pub fn plan(&self, known: impl IntoIterator<Item = Vec<bool>>) -> LabelPlan {
        let mut episodes: Vec<Steps> = known.into_iter().map(|bits| Steps::new(&bits)).collect();
        let bits = |word: &u64| word.count_ones() as usize;
        let known: usize = episodes.iter().flat_map(|steps| steps.words.iter().map(bits)).sum();
        let kept = (self.share * known as f64).round() as usize;
        let mut random = Random::new(self.seed);
        let (mut wanted, mut left) = (kept, known);
        // Selection sampling (Knuth, vol. 2, 3.4.2, algorithm S): one pass, exact count.
        for steps in &mut episodes {
            for t in 0..steps.count {
                if steps.get(t) {
                    if random.below(left) < wanted {
                        wanted -= 1;
                    } else {
                        steps.clear(t);
                    }
                    left -= 1;
                }
            }
        }
        LabelPlan { episodes, known, kept }
    }

    /// Plans for a data set by reading it once.
    pub fn plan_for(&self, data: &impl Dataset<Episode = Trajectory>) -> Result<LabelPlan> {
        let known = (0..data.len())
            .map(|index| Ok(data.get(index)?.states.iter().map(|state| state.is_some()).collect()))
            .collect::<Result<Vec<Vec<bool>>>>()?;
        Ok(self.plan(known))
    }
}

impl LabelPlan {
    /// Number of episodes planned for.
    pub fn episodes(&self) -> usize {
        self.episodes.len()
    }

    /// Labels there were.
    pub fn known(&self) -> usize {
        self.known
    }

    /// Labels that stay.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Episode `index` without its hidden labels.
    pub fn lesson(&self, index: usize, trajectory: Trajectory) -> Result<Lesson> {
        let changed = |what: &str| {
            Err(Error::new(format!("{what}; the data changed after its labels were planned"))
                .in_record(format!("episode {index}")))
        };
        let Some(steps) = self.episodes.get(index) else {
            return changed(&format!("only {} episodes were planned", self.episodes.len()));
        };
        if steps.count != trajectory.len() {
            return changed(&format!("has {} steps, but {} were planned", trajectory.len(), steps.count));
        }
        let mut labels = Labels::new(trajectory.states.width());
        for t in 0..steps.count {
            let state = if steps.get(t) { trajectory.states.get(t) } else { None };
            if steps.get(t) && state.is_none() {
                return changed(&format!("step {t} has lost its label"));
            }
            labels.push(state);
        }
        let Trajectory { observations, actions, floor, start, times, camera, .. } = trajectory;
        Ok(Lesson { observations, actions, labels, floor, start, times, camera })
    }
}

/// One episode as a trainer may see it. Only a [`LabelPlan`] makes lessons.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    observations: Observations,
    actions: Rows,
    labels: Labels,
    floor: Option<Arc<HouseMaps>>,
    start: Option<Start>,
    times: Option<Vec<f64>>,
    camera: Option<Camera>,
}

impl Lesson {
    /// What was perceived at each step.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// Row t is the motion that led into step t.
    pub fn actions(&self) -> &Rows {
        &self.actions
    }

    /// The true states that may be known.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The floor plan, where the robot has one.
    pub fn floor(&self) -> Option<&Arc<HouseMaps>> {
        self.floor.as_ref()
    }

    /// Seconds at each step, if the recording has them.
    pub fn times(&self) -> Option<&[f64]> {
        self.times.as_deref()
    }

    /// A camera beside the sensors of [`Lesson::observations`].
    pub fn camera(&self) -> Option<&Camera> {
        self.camera.as_ref()
    }

    /// The same without its floor plan, which is large.
    pub fn without_floor(self) -> Self {
        Self { floor: None, ..self }
    }

    /// What the robot was told of its first pose.
    pub fn start(&self) -> Option<Start> {
        self.start
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.observations.len()
    }

    /// Never true for a checked trajectory's lesson.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [f64; 6] = [0.0, 0.05, 0.1, 0.25, 0.5, 1.0];

    /// Five episodes of unequal length; `known` says which steps have labels at all.
    fn data(known: impl Fn(usize, usize) -> bool) -> Vec<Trajectory> {
        (0..5)
            .map(|episode| {
                let steps = 60 + 7 * episode;
                let values = (0..steps).map(|t| (episode * 1000 + t) as f32).collect();
                let mut states = Labels::new(1);
                (0..steps).for_each(|t| states.push(known(episode, t).then_some(&[t as f32])));
                let observations = Observations::Vectors(Rows::new(1, values).unwrap());
                Trajectory::new(observations, Rows::default(), states).unwrap()
            })
            .collect()
    }

    fn masks(data: &[Trajectory]) -> Vec<Vec<bool>> {
        data.iter().map(|episode| episode.states.iter().map(|state| state.is_some()).collect()).collect()
    }

    #[test]
    fn exactly_the_share_is_kept() {
        let some: fn(usize, usize) -> bool = |episode, t| (episode + t) % 3 == 0;
        for known in [(|_, _| true) as fn(usize, usize) -> bool, some, |_, _| false] {
            let data = data(known);
            let total: usize = data.iter().map(|episode| episode.states.known()).sum();
            for share in SHARES {
                let plan = LabelBudget::new(share, 9).unwrap().plan(masks(&data));
                let lessons: Vec<Lesson> =
                    data.iter().enumerate().map(|(i, e)| plan.lesson(i, e.clone()).unwrap()).collect();
                let kept: usize = lessons.iter().map(|lesson| lesson.labels().known()).sum();
                assert_eq!(kept, (share * total as f64).round() as usize, "{share} of {total}");
                assert_eq!((plan.kept(), plan.known(), plan.episodes()), (kept, total, 5));
                for (lesson, episode) in lessons.iter().zip(&data) {
                    let honest = |t| lesson.labels().get(t).is_none_or(|s| Some(s) == episode.states.get(t));
                    assert!((0..lesson.len()).all(honest));
                }
            }
        }
    }

    /// A hidden state must not leave a trace: NaN in its place changes nothing.
    #[test]
    fn hidden_states_cannot_leak() {
        let data = data(|_, _| true);
        let plan = LabelBudget::new(0.1, 4).unwrap().plan(masks(&data));
        let mut poisoned_steps = 0;
        for (index, episode) in data.iter().enumerate() {
            let mut poisoned = Labels::new(1);
            for t in 0..episode.len() {
                let hidden = !plan.episodes[index].get(t);
                poisoned_steps += usize::from(hidden);
                poisoned.push(if hidden { Some(&[f32::NAN]) } else { episode.states.get(t) });
            }
            let poisoned = Trajectory { states: poisoned, ..episode.clone() };
            assert_eq!(plan.lesson(index, poisoned).unwrap(), plan.lesson(index, episode.clone()).unwrap());
        }
        assert_eq!(poisoned_steps, plan.known() - plan.kept());
    }

    /// Every step is kept equally often over many seeds.
    #[test]
    fn the_choice_is_uniform_over_all_steps() {
        let (runs, steps) = (4000, 40);
        let mut counts = vec![0_u32; steps];
        for seed in 0..runs {
            let plan = LabelBudget::new(0.25, seed).unwrap().plan([vec![true; 10], vec![true; 30]]);
            for (t, count) in counts.iter_mut().enumerate() {
                let kept = if t < 10 { plan.episodes[0].get(t) } else { plan.episodes[1].get(t - 10) };
                *count += u32::from(kept);
            }
        }
        // Binomial(4000, 1/4): mean 1000, standard deviation 27.4; five of them.
        assert!(counts.iter().all(|&count| (f64::from(count) - 1000.0).abs() < 137.0), "{counts:?}");
    }

    #[test]
    fn plans_repeat_and_notice_changed_data() {
        let data = data(|_, _| true);
        let plan = |seed| LabelBudget::new(0.5, seed).unwrap().plan(masks(&data));
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
        let problem =
            |index, episode: &Trajectory| plan(1).lesson(index, episode.clone()).unwrap_err().to_string();
        assert!(problem(5, &data[0]).contains("only 5 episodes"));
        assert!(problem(1, &data[0]).contains("60 steps, but 67"));
        let mut none = Labels::new(1);
        (0..60).for_each(|_| none.push(None));
        let bare = Trajectory { states: none, ..data[0].clone() };
        assert!(problem(0, &bare).contains("lost its label"));
        for share in [-0.1, 1.1, f64::NAN] {
            assert!(LabelBudget::new(share, 0).is_err());
        }
    }
}
