//! Training from the first epoch to the last, so that it can be cut off anywhere and taken up again.
//!
//! After each epoch a [`Session`] validates, keeps the best weights, and writes down all that is needed
//! to go on. Every file appears whole or not at all, the checkpoint last: whatever of an epoch was
//! written before it is written again, with the same bytes, when the epoch is trained again.

mod checkpoint;
mod config;
mod folder;
mod lock;
mod observer;
mod record;
mod trained;

pub(super) use config::changes_of;
pub use config::{DataFiles, RunConfig};
pub use folder::RunFolder;
pub use lock::Lock;
pub use observer::{Observer, Outcome};
pub use record::{EpochRecord, Validation};
pub use trained::{HANDFUL, Trained};

use super::ranks::{any, check_config, check_equal};
use super::{AllRanks, Detail, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet, alone};
use crate::error::{Error, Result};
use crate::parameters::Named;
use checkpoint::Checkpoint;
use driftless_world::evaluation::{About, Thresholds};
use driftless_world::trajectory::Trajectory;
use std::path::Path;

/// Makes a method of its settings, for instance `methods::build`.
pub type Build<'a> = &'a dyn Fn(&Experiment, &Normalisation) -> Result<Box<dyn Method>>;

/// What a session trains and examines with.
pub struct Material {
    /// To learn from.
    pub training: TrainingSet,
    /// To choose the best weights with; if there is none, the last are the best.
    pub validation: Vec<Trajectory>,
}

/// A method being trained, and the folder that remembers it.
pub struct Session {
    folder: RunFolder,
    config: RunConfig,
    normalisation: Normalisation,
    material: Material,
    method: Box<dyn Method>,
    shares_updates: bool,
    records: Vec<EpochRecord>,
}

impl Session {
    /// A new run in a folder that is empty or not there: settings and normalisation are written, nothing is trained yet. If
    /// there is no such method, or it cannot learn from these data, no folder is made.
    pub fn begin(
        folder: impl AsRef<Path>,
        config: RunConfig,
        material: Material,
        build: Build,
    ) -> Result<Self> {
        Self::begin_among(&alone(), folder, config, material, build)
    }

    /// The same for ranks that share the work; all of them call it, with the same settings and data. Results are those of
    /// one process.
    pub fn begin_among(
        ranks: &AllRanks,
        folder: impl AsRef<Path>,
        config: RunConfig,
        material: Material,
        build: Build,
    ) -> Result<Self> {
        if ranks.rank() == 0 {
            RunFolder::check_free(&folder)?;
        }
        config.experiment.check()?;
        check_config(&**ranks, &config)?;
        let normalisation = measured(&config, &material)?;
        let mut method = built(&config.experiment, &material, &normalisation, build)?;
        let shares_updates = method.share_with(ranks);
        let folder = RunFolder::create(folder, ranks)?;
        folder.write_config(&config)?;
        folder.write_normalisation(&normalisation)?;
        Ok(Self { folder, config, normalisation, material, method, shares_updates, records: Vec::new() })
    }

    /// The run of a folder, as it was after the last epoch that was completed.
    ///
    /// Errors: settings, normalisation, log, checkpoint or best weights that are missing or damaged, and settings or
    /// training data other than those the run was trained with. Of settings, `epochs` and the names of data files may
    /// change. Ranks that the folder was opened for share the work; there may be another number of them than before.
    pub fn resume(folder: RunFolder, material: Material, build: Build) -> Result<Self> {
        let config = folder.config()?;
        let checkpoint = folder.checkpoint()?;
        folder.check_config(&config, checkpoint.as_ref())?;
        let normalisation = measured(&config, &material)?;
        match folder.normalisation()? {
            Some(before) if before != normalisation && checkpoint.is_some() => {
                let what = "is not of these training data; a run goes on with its own";
                return Err(folder.wrong("normalisation.json", what));
            }
            Some(before) if before == normalisation => {}
            _ => folder.write_normalisation(&normalisation)?,
        }
        let mut method = built(&config.experiment, &material, &normalisation, build)?;
        let shares_updates = method.share_with(folder.ranks());
        let mut records = Vec::new();
        if let Some(checkpoint) = checkpoint {
            folder.restore(&checkpoint, &mut *method)?;
            records = folder.records(checkpoint.epoch)?;
        }
        folder.write_records(&records)?;
        let session = Self { folder, config, normalisation, material, method, shares_updates, records };
        session.best().map_or(Ok(()), |best| session.folder.check_best(best.epoch))?;
        Ok(session)
    }

    /// Trains until all epochs are done, validation has not become better for long, the observer wants to stop, or learning fails.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome> {
        let before = self.records.last().map_or(0.0, |record| record.seconds);
        while self.epochs() < self.config.experiment.epochs && !self.is_out_of_patience() {
            if any(&**self.folder.ranks(), observer.wants_to_stop())? {
                return Ok(Outcome::Stopped { epoch: self.epochs() });
            }
            let report = self.method.train(self.epochs() + 1, &self.material.training)?;
            self.check_ranks()?;
            let record = self.examined(&report, &mut || before + observer.seconds())?;
            observer.epoch(&record);
            if any(&**self.folder.ranks(), !observer.may_write())? {
                return Ok(Outcome::Stopped { epoch: self.epochs() });
            }
            let diverged = record.diverged.clone();
            self.keep(record)?;
            if let Some(why) = diverged {
                return Ok(Outcome::Diverged {
                    epoch: self.records.len() as u64,
                    why,
                    best: self.best().map(|best| best.epoch),
                });
            }
        }
        Ok(Outcome::Finished)
    }

    /// Whether ranks share the work of updates; otherwise each does all of it.
    pub fn shares_updates(&self) -> bool {
        self.shares_updates
    }

    /// Fails if a rank has come to other weights.
    fn check_ranks(&self) -> Result<()> {
        let ranks = self.folder.ranks();
        if ranks.size() == 1 {
            return Ok(());
        }
        check_equal(&**ranks, self.epochs() + 1, &[self.method.parameters(), self.method.memory()].concat())
    }

    /// Whether the best weights are older than the experiment has patience for.
    fn is_out_of_patience(&self) -> bool {
        let (patience, best) = (self.config.experiment.patience, self.best());
        let validated = best.filter(|best| patience > 0 && best.validation.is_some());
        validated.is_some_and(|best| self.epochs() - best.epoch >= patience)
    }

    /// Epochs done.
    pub fn epochs(&self) -> u64 {
        self.records.last().map_or(0, |record| record.epoch)
    }

    /// Everything that was written down, epoch by epoch.
    pub fn records(&self) -> &[EpochRecord] {
        &self.records
    }

    /// The epoch whose weights are the best so far.
    pub fn best(&self) -> Option<&EpochRecord> {
        self.records.iter().rfind(|record| record.best)
    }

    /// The settings.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// What an epoch came to, validated unless it failed.
    fn examined(&self, report: &EpochReport, seconds: &mut dyn FnMut() -> f64) -> Result<EpochRecord> {
        let mut record = EpochRecord::of(report, self.records.last());
        if self.method.learns() {
            record.diverged = divergence(report).or_else(|| self.not_finite());
        }
        if record.diverged.is_none() && self.is_validated(record.epoch) {
            record.validation = self.validated()?;
            record.best = match (&record.validation, self.best().and_then(|best| best.validation.as_ref())) {
                (Some(new), Some(old)) => new.is_better_than(old),
                _ => true,
            };
        }
        record.seconds = seconds();
        Ok(record)
    }

    /// Whether an epoch is compared with others; without validation all are.
    fn is_validated(&self, epoch: u64) -> bool {
        let Experiment { validation_every, epochs, .. } = &self.config.experiment;
        let due = epoch == 1 || epoch == *epochs || epoch.is_multiple_of((*validation_every).max(1));
        due || self.material.validation.is_empty()
    }

    fn validated(&self) -> Result<Option<Validation>> {
        if self.material.validation.is_empty() {
            return Ok(None);
        }
        let experiment = &self.config.experiment;
        let (particles, seed) = (experiment.validation_particles(), experiment.seed);
        let how = Tracking { particles, seed, detail: Detail::Means };
        let tracks = self.method.track(&self.material.validation, how)?;
        let evaluation = self.normalisation.evaluation(About::default(), Thresholds::default(), &tracks)?;
        Ok(Some(Validation::of(&evaluation)))
    }

    fn not_finite(&self) -> Option<String> {
        let finite = |tensor: &Named| tensor.values.iter().all(|value| value.is_finite());
        let (parameters, memory) = (self.method.parameters(), self.method.memory());
        let broken = parameters.iter().chain(&memory).find(|tensor| !finite(tensor))?;
        Some(format!("{} is no longer finite", broken.name))
    }

    /// Writes an epoch down. The checkpoint comes last: an epoch without it is trained again.
    fn keep(&mut self, record: EpochRecord) -> Result<()> {
        let (best, failed, epoch) = (record.best, record.diverged.is_some(), record.epoch);
        self.records.push(record);
        self.folder.write_records(&self.records)?;
        if failed {
            return Ok(());
        }
        let parameters = self.method.parameters();
        if best {
            self.folder.write_best(&parameters, &self.config.experiment)?;
        }
        let settings = Some(self.folder.settings(&self.config)?);
        self.folder.write_checkpoint(&Checkpoint {
            epoch,
            parameters,
            memory: self.method.memory(),
            settings,
        })
    }
}

/// The normalisation of what is learned from, whose file an error names.
fn measured(config: &RunConfig, material: &Material) -> Result<Normalisation> {
    Normalisation::measure_for(&config.experiment, &material.training).map_err(|error| match error {
        Error::File(error) => Error::File(error.in_file(&config.data.train)),
        other => other,
    })
}

/// The method of an experiment. A share of labels so small that none is left is the same as 0.
fn built(
    experiment: &Experiment,
    material: &Material,
    normalisation: &Normalisation,
    build: Build,
) -> Result<Box<dyn Method>> {
    let (kept, all) = material.training.labels();
    if kept > 0 || experiment.label_fraction == 0.0 {
        return build(experiment, normalisation);
    }
    let share = experiment.label_fraction;
    build(&Experiment { label_fraction: 0.0, ..experiment.clone() }, normalisation).map_err(|error| {
        match error {
            Error::Setting { key, problem, .. } if key == "label_fraction" => {
                Error::setting(key, format!("{share} of {all} poses leaves none known; {problem}"))
            }
            other => other,
        }
    })
}

/// Why an epoch's report means that learning has failed, if it does.
fn divergence(report: &EpochReport) -> Option<String> {
    if let Some((name, value)) = report.losses.iter().find(|(_, value)| !value.is_finite()) {
        return Some(format!("the loss {name:?} became {value}"));
    }
    match (report.updates, report.skipped) {
        (0, 0) => Some("no update was made: there is nothing to learn from".to_owned()),
        (0, skipped) => {
            Some(format!("all {skipped} updates were skipped, as losses or gradients were not finite"))
        }
        _ => None,
    }
}

/// A problem of a file, in the library's error.
fn problem(what: impl Into<String>) -> Error {
    Error::File(driftless_world::Error::new(what))
}

#[cfg(test)]
mod tests;
