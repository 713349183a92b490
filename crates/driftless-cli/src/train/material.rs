//! What a run learns from and is validated with: episodes of one file or two.

use super::memory;
use crate::output::{complain, grouped};
use crate::recordings::{Purpose, Recordings};
use anyhow::{Context, Result};
use driftless::learn::{DataFiles, Experiment, Material, RunConfig, TrainingSet};
use driftless_world::Trajectory;
use driftless_world::files::Fingerprint;
use driftless_world::labels::LabelBudget;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Where the recordings are.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Episodes to learn from: the first of the file.
    pub train: PathBuf,
    /// Episodes to validate with; if there is no such file, those of `train` that are not learned from.
    pub valid: Option<PathBuf>,
    /// Recorded steps of an episode, where the files do not say it.
    pub steps: Option<usize>,
}

/// All that a session needs, and what somebody should know of it.
pub struct Gathered {
    /// Lessons and validation episodes.
    pub material: Material,
    /// What the files are like.
    pub data: DataFiles,
    warnings: Vec<String>,
}

/// Reads what an experiment asks for, or as much of it as there is.
pub fn gather(experiment: &Experiment, files: &Files) -> Result<Gathered> {
    let open =
        |path: &Path, purpose| Recordings::open(path, files.steps, experiment, experiment.seed, purpose);
    let recordings = open(&files.train, Purpose::Training)?;
    let data = described(files, &recordings)?;
    let mut warnings = Vec::new();
    let there = recordings.len();
    let count = experiment.trajectories.min(there);
    if count < experiment.trajectories {
        let wanted = experiment.trajectories;
        warnings.push(format!(
            "trajectories={wanted}: {} holds {there}; all of them are learned from",
            files.train.display()
        ));
    }
    memory::check(experiment, count, data.steps)?;
    let unseen = open(files.valid.as_ref().unwrap_or(&files.train), Purpose::Validation)?;
    let [height, width, _] = data.image;
    unseen.check(Some(data.steps), [height, width], &format!("{} has some", files.train.display()))?;
    let first = if files.valid.is_some() { 0 } else { count };
    let validation = episodes(&unseen, first..unseen.len().min(first + experiment.validation))?;
    if validation.is_empty() {
        warnings.push("no validation: the last weights are kept".to_owned());
    }
    let budget = LabelBudget::new(experiment.labels, experiment.seed)?;
    let training = TrainingSet::new(Box::new(recordings), 0..count, budget)?;
    if training.labels().0 == 0 {
        warnings.push(
            "no pose is known: where the robot is and how the world looks from there cannot be learned, only \
             what is consistent with itself; do not expect the result to localise"
                .to_owned(),
        );
    }
    Ok(Gathered { material: Material { training, validation }, data, warnings })
}

fn described(files: &Files, recordings: &Recordings) -> Result<DataFiles> {
    Ok(DataFiles {
        train: files.train.clone(),
        valid: files.valid.clone(),
        train_fingerprint: Fingerprint::of_file(&files.train)?,
        valid_fingerprint: files.valid.as_ref().map_or(Ok(String::new()), Fingerprint::of_file)?,
        world: recordings.world()?,
        steps: recordings.steps()?,
        image: recordings.image(),
    })
}

/// Reads what a run began with; the files must still be what they were.
pub fn gather_again(config: &RunConfig, folder: &Path) -> Result<Gathered> {
    let data = &config.data;
    let files = Files { train: data.train.clone(), valid: data.valid.clone(), steps: Some(data.steps) };
    let told =
        || format!("{}: its data cannot be read again (names are as they were typed)", folder.display());
    let gathered = gather(&config.experiment, &files).with_context(told)?;
    anyhow::ensure!(
        gathered.data.image == data.image,
        "{}: field rgbd: has images of {:?}, but when the run in {} began, of {:?}",
        data.train.display(),
        gathered.data.image,
        folder.display(),
        data.image
    );
    let (now, then) = (&gathered.data, data);
    check_contents(&data.train, &now.train_fingerprint, &then.train_fingerprint, folder)?;
    let valid = data.valid.as_ref().unwrap_or(&data.train);
    check_contents(valid, &now.valid_fingerprint, &then.valid_fingerprint, folder)?;
    Ok(gathered)
}

fn check_contents(file: &Path, now: &str, then: &str, folder: &Path) -> Result<()> {
    anyhow::ensure!(
        now == then,
        "{}: has other contents than the file that the run in {} began with; put that file back, or begin a new run",
        file.display(),
        folder.display()
    );
    Ok(())
}

fn episodes(recordings: &Recordings, range: Range<usize>) -> Result<Vec<Trajectory>> {
    range.map(|index| recordings.get(index)).collect()
}

impl Gathered {
    /// Says what is learned from what, and warns.
    pub fn introduce(&self, experiment: &Experiment) {
        let (known, all) = self.material.training.labels();
        let Experiment { method, preset, epochs, seed, .. } = experiment;
        complain(&format!("{method}, preset {preset}, seed {seed}, epochs: {epochs}"));
        complain(&format!(
            "  learns from {} trajectories of {} ({}), {} of {} poses known",
            self.material.training.len(),
            self.data.train.display(),
            self.data.world,
            grouped(known),
            grouped(all)
        ));
        if !self.material.validation.is_empty() {
            let file = self.data.valid.as_ref().unwrap_or(&self.data.train);
            let count = self.material.validation.len();
            complain(&format!("  validated with {count} other trajectories of {}", file.display()));
        }
        for warning in &self.warnings {
            complain(&format!("warning: {warning}"));
        }
    }
}
