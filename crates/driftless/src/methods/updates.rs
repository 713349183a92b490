//! Which episodes make an update, and what an epoch of updates came to.

use crate::error::{Error, Result};
use crate::learn::{EpochReport, TrainingSet};
use crate::optimise::Report;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;

/// Passes over the episodes in an epoch: the authors' "fold".
pub(super) const PASSES: u64 = 4;

/// The batches of an epoch: in each pass ⌊episodes / batch⌋ disjoint ones of whole trajectories, drawn
/// anew, the rest left out, as in the authors' code. Fewer episodes than a batch make one.
pub(super) fn batches(seed: u64, episodes: usize, batch: usize) -> Vec<Vec<usize>> {
    let size = batch.min(episodes).max(1);
    let pass = |pass: u64| {
        let mut order: Vec<usize> = (0..episodes).collect();
        Random::stream(seed, pass).shuffle(&mut order);
        order.chunks_exact(size).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    (0..PASSES).flat_map(pass).collect()
}

/// The seed of an epoch, in which all its random numbers have their origin.
pub(super) fn epoch_seed(seed: u64, epoch: u64) -> u64 {
    Random::stream(seed, epoch).bits()
}

/// The seed of one update of an epoch; not one of those that [`batches`] uses.
pub(super) fn update_seed(epoch_seed: u64, update: usize) -> u64 {
    Random::stream(epoch_seed, PASSES + update as u64).bits()
}

/// All lessons with the crops and the noise that were drawn before training, as in both authors' code.
pub(super) fn fixed_lessons(lessons: &TrainingSet) -> Result<&[Lesson]> {
    if lessons.is_empty() {
        return Err(Error::setting("trajectories", "must be at least 1: there is nothing to learn from"));
    }
    lessons.fixed()
}

/// An epoch over lessons: an update for each batch, with a seed of its own.
pub(super) fn epoch_of(
    lessons: &[Lesson],
    seed: u64,
    batch: usize,
    mut update: impl FnMut(&[Lesson], u64) -> Result<(Figures, Report)>,
) -> Result<EpochReport> {
    let mut tally = Tally::default();
    for (number, batch) in batches(seed, lessons.len(), batch).iter().enumerate() {
        let chosen: Vec<Lesson> = batch.iter().map(|&lesson| lessons[lesson].clone()).collect();
        let (figures, report) = update(&chosen, update_seed(seed, number))?;
        tally.add(&figures, &report);
    }
    Ok(tally.report())
}

/// What one update is made of, as plain numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// The whole loss and its parts, by name.
    pub losses: Vec<(&'static str, f64)>,
    /// Mean over sequences and steps.
    pub effective_sample_size: Option<f64>,
}

/// Sums of an epoch.
#[derive(Debug, Default)]
pub(super) struct Tally {
    losses: Vec<(&'static str, f64)>,
    last: Vec<(&'static str, f64)>,
    effective: Option<f64>,
    gradients: f64,
    updates: u64,
    skipped: u64,
}

impl Tally {
    /// Counts an update; one that was not made counts only as that.
    pub(super) fn add(&mut self, figures: &Figures, report: &Report) {
        self.last.clone_from(&figures.losses);
        if report.skipped.is_some() {
            self.skipped += 1;
            return;
        }
        if self.updates == 0 {
            self.losses = figures.losses.iter().map(|(name, _)| (*name, 0.0)).collect();
        }
        self.losses.iter_mut().zip(&figures.losses).for_each(|((_, sum), (_, loss))| *sum += loss);
        self.effective = figures.effective_sample_size.map(|size| size + self.effective.unwrap_or(0.0));
        self.gradients += report.gradient_norm;
        self.updates += 1;
    }

    /// Means over the updates that were made. If there were none, the losses are those of the last that
    /// was not, so that it can be seen why.
    pub(super) fn report(self) -> EpochReport {
        let count = self.updates.max(1) as f64;
        let losses = if self.updates > 0 { self.losses } else { self.last };
        EpochReport {
            losses: losses.into_iter().map(|(name, sum)| (name.to_owned(), sum / count)).collect(),
            updates: self.updates,
            skipped: self.skipped,
            gradient_norm: self.gradients / count,
            effective_sample_size: self.effective.map(|sum| sum / count),
            without_path: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::Skipped;

    /// The authors': 100 trajectories, 3 batches of 32 a pass, 4 passes, 12 updates.
    #[test]
    fn twelve_updates_an_epoch() {
        let epoch = batches(5, 100, 32);
        assert_eq!(epoch.len(), 12);
        for pass in epoch.chunks(3) {
            let mut seen = pass.concat();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 96, "batches of a pass are disjoint");
        }
        assert_ne!(epoch[0], epoch[3]);
        assert_ne!(epoch, batches(6, 100, 32));
        assert_eq!(epoch, batches(5, 100, 32));
    }

    #[test]
    fn few_episodes_make_one_batch_a_pass() {
        let epoch = batches(5, 3, 32);
        assert_eq!(epoch.iter().map(Vec::len).collect::<Vec<_>>(), [3; 4]);
        assert!(batches(5, 0, 32).is_empty());
    }

    #[test]
    fn skipped_updates_do_not_count() {
        let report = |skipped| Report { gradient_norm: 2.0, learning_rate: 0.1, skipped };
        let figures = |loss| Figures { losses: vec![("loss", loss)], effective_sample_size: Some(loss) };
        let mut tally = Tally::default();
        tally.add(&figures(f64::NAN), &report(Some(Skipped::Loss)));
        tally.add(&figures(1.0), &report(None));
        tally.add(&figures(3.0), &report(None));
        let epoch = tally.report();
        assert_eq!((epoch.losses[0].1, epoch.updates, epoch.skipped), (2.0, 2, 1));
        assert_eq!((epoch.effective_sample_size, epoch.gradient_norm), (Some(2.0), 2.0));
        let mut lost = Tally::default();
        lost.add(&figures(f64::NAN), &report(Some(Skipped::Loss)));
        let epoch = lost.report();
        assert!(epoch.losses[0].1.is_nan() && epoch.updates == 0 && epoch.skipped == 1);
    }
}
