//! The M-step: what maps and networks are fitted to, and what they are kept from.

use super::RobotEm;
use super::sensor::{Example, Model};
use super::walks::Walk;
use crate::learn::EpochReport;
use crate::methods::anchored::paths::without_path;

/// Every so many episodes with labels networks are kept from one, to calibrate on.
const KEPT_FROM: usize = 6;
/// With fewer episodes than this nothing is held out, and the tempering stays what it was.
const LEAST_EPISODES: usize = 4;

impl RobotEm {
    /// What is learned from: readings, and the poses they may have been taken at; at labels alone if asked.
    fn examples<'a>(
        &'a self,
        walks: &'a [Walk],
        at_labels: bool,
        is_used: impl Fn(usize) -> bool,
    ) -> Vec<Example<'a>> {
        let mut examples = Vec::new();
        for (number, walk) in walks.iter().enumerate().filter(|(number, _)| is_used(*number)) {
            for (t, label) in walk.labels.iter().enumerate() {
                let drawn = self.paths.get(number).and_then(|path| path.get(t)).filter(|_| !at_labels);
                let poses = match (label, drawn) {
                    (Some(label), _) => std::slice::from_ref(label),
                    (None, Some(poses)) => poses,
                    (None, None) => continue,
                };
                examples.push(Example { seen: walk.at(t), poses });
            }
        }
        examples
    }

    /// The M-step. The first maps are made at labels, where nothing is in doubt; networks need more than those.
    pub(super) fn fitted(&self, epoch: u64, walks: &[Walk]) -> (Vec<Box<dyn Model>>, Vec<EpochReport>) {
        let mut reports = Vec::new();
        let mut models: Vec<Box<dyn Model>> = self.models.iter().map(|model| model.fresh()).collect();
        for model in &mut models {
            let examples = if model.goes_on() {
                self.examples(walks, false, |number| !self.held_out[number])
            } else {
                self.examples(walks, epoch == 1, |_| true)
            };
            reports.extend(model.fit(epoch, &examples));
        }
        (models, reports)
    }

    /// What maps of some episodes are, beside networks as they are.
    pub(super) fn others(
        &self,
        epoch: u64,
        walks: &[Walk],
        is_used: impl Fn(usize) -> bool,
    ) -> Vec<Box<dyn Model>> {
        let mut models: Vec<Box<dyn Model>> = self.models.iter().map(|model| model.fresh()).collect();
        for model in models.iter_mut().filter(|model| !model.goes_on()) {
            model.fit(epoch, &self.examples(walks, epoch == 1, &is_used));
        }
        models
    }

    /// What an epoch came to.
    pub(super) fn report(
        &self,
        reports: &[EpochReport],
        surprise: Option<f64>,
        walks: &[Walk],
    ) -> EpochReport {
        let drawn = self.paths.iter().any(|path| !path.is_empty());
        EpochReport {
            effective_sample_size: drawn.then_some(self.effective_sample_size),
            without_path: without_path(&self.paths, walks.iter().map(Walk::has_label)),
            ..epoch_report(reports, surprise)
        }
    }

    /// Whether one of the sensors must be kept from what it is evaluated on.
    pub(super) fn has_network(&self) -> bool {
        self.models.iter().any(|model| model.goes_on())
    }

    /// Fails if images are not as large as those that are learned from.
    pub(super) fn check_images(&self, walk: &Walk) -> driftless_world::Result<()> {
        if self.sees { check_images(walk, self.normalisation.pixels.shape()) } else { Ok(()) }
    }
}

/// What an epoch came to: of several networks, the means.
pub(super) fn epoch_report(reports: &[EpochReport], surprise: Option<f64>) -> EpochReport {
    let mean =
        |of: &dyn Fn(&EpochReport) -> f64| reports.iter().map(of).sum::<f64>() / reports.len().max(1) as f64;
    let contrast =
        (!reports.is_empty()).then(|| mean(&|report| report.losses.first().map_or(0.0, |(_, loss)| *loss)));
    let losses = [("contrast", contrast), ("surprise at held-out labels", surprise)];
    EpochReport {
        losses: losses.iter().filter_map(|(name, loss)| Some(((*name).to_owned(), (*loss)?))).collect(),
        updates: if reports.is_empty() { 1 } else { reports.iter().map(|report| report.updates).sum() },
        skipped: reports.iter().map(|report| report.skipped).sum(),
        gradient_norm: mean(&|report| report.gradient_norm),
        ..EpochReport::default()
    }
}

/// Fails if images have another number of channels, height or width than those that are wanted.
pub(super) fn check_images<S: Clone>(walk: &Walk<S>, wanted: [usize; 3]) -> driftless_world::Result<()> {
    match walk.image_shape().filter(|found| *found != wanted) {
        None => Ok(()),
        Some([channels, height, width]) => {
            let problem = format!(
                "has images of {height} x {width} pixels and {channels} channels, as networks see them, but {} x {} and \
                 {} are wanted",
                wanted[1], wanted[2], wanted[0]
            );
            Err(driftless_world::Error::new(problem).in_field("images"))
        }
    }
}

/// Which episodes are held out: the last of each six that have labels, or of fewer.
pub(super) fn held_out<S: Clone>(walks: &[Walk<S>]) -> Vec<bool> {
    let labelled: Vec<usize> = (0..walks.len()).filter(|number| walks[*number].has_label()).collect();
    let mut held = vec![false; walks.len()];
    if labelled.len() >= LEAST_EPISODES {
        let every = KEPT_FROM.min(labelled.len());
        labelled.iter().skip(every - 1).step_by(every).for_each(|&number| held[number] = true);
    }
    held
}
